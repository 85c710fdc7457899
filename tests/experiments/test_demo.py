from __future__ import annotations

from pathlib import Path

import pytest

from mtloop.experiments.demo import METRICS, demo


def test_the_recorded_systems_are_scored_and_reported(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    result = demo(tmp_path / "demo", recorded=True)
    assert (result.report, result.report.is_file()) == (tmp_path / "demo" / "report.html", True)
    frame = result.to_pandas().set_index("system")
    assert list(frame.index) == ["baseline", "lora+memory+copy"]
    assert set(METRICS) <= set(frame.columns)
    assert frame.loc["lora+memory+copy", "ter"] < frame.loc["baseline", "ter"]
    note, lead, table = result.text()
    assert note == "These are recorded outputs of the embedded model.\n"
    assert lead == f"{result.scores.lead}\n"
    assert table == f"{result}\n"
    assert "too short for slopes (3 blocks; 8 are needed)" in str(result)


@pytest.mark.slow
def test_without_torch_the_demo_says_that_it_shows_recorded_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jinja2")
    monkeypatch.setattr("mtloop.experiments.demo.find_spec", lambda name: None if name == "torch" else True)
    result = demo(tmp_path / "demo")
    assert result.note == "These are recorded outputs of the embedded model, because torch is not installed."
    assert list(result.to_pandas()["system"]) == ["baseline", "lora+memory+copy"]
