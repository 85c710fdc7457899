from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from helpers.command_result import CommandResult
from helpers.report_samples import report_lead

Call = Callable[..., CommandResult]


def test_the_recorded_demo_prints_the_table_and_the_path_of_the_report(mtloop: Call, tmp_path: Path) -> None:
    result = mtloop("demo", "--recorded", "--out", tmp_path)
    assert result.code == 0
    note, lead, table, *_ = result.out.split("\n\n")
    assert note == "These are recorded outputs of the embedded model."
    assert lead.startswith("lora+memory+copy learns from one correction")
    assert " ".join(lead.split()) == report_lead(tmp_path / "report.html")
    assert table.startswith("system")
    assert f"Report: {tmp_path / 'report.html'}" in result.out
    assert (tmp_path / "report.html").is_file()
