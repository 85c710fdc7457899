from __future__ import annotations

from pathlib import Path

import pytest

from mtloop.experiments.demo import METRICS, demo


def test_the_recorded_systems_are_scored_and_reported(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    result = demo(tmp_path / "demo", recorded=True)
    assert (result.report, result.report.is_file()) == (tmp_path / "demo" / "report.html", True)
    frame = result.to_pandas().set_index("system")
    assert list(frame.index) == ["static", "adapting"]
    assert set(METRICS) <= set(frame.columns)
    assert frame.loc["adapting", "ter"] < frame.loc["static", "ter"]
    assert list(result.text()) == [f"{result}\n"]
