from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from helpers.said import Said

Call = Callable[..., Said]


def test_the_recorded_demo_prints_the_table_and_says_where_the_report_lies(mtloop: Call, tmp_path: Path) -> None:
    said = mtloop("demo", "--recorded", "--out", tmp_path)
    assert said.code == 0
    assert "adapting" in said.out
    assert f"The report: {tmp_path / 'report.html'}" in said.out
    assert (tmp_path / "report.html").is_file()
