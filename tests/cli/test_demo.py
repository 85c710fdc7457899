from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from helpers.command_result import CommandResult

Call = Callable[..., CommandResult]


def test_the_recorded_demo_prints_the_table_and_the_path_of_the_report(mtloop: Call, tmp_path: Path) -> None:
    result = mtloop("demo", "--recorded", "--out", tmp_path)
    assert result.code == 0
    assert result.out.startswith("These are recorded outputs of the embedded model.\n")
    assert "lora+memory+copy" in result.out
    assert f"Report: {tmp_path / 'report.html'}" in result.out
    assert (tmp_path / "report.html").is_file()
