"""The recorded outputs of the demo are what the embedded model translates today."""

from __future__ import annotations

from pathlib import Path

import demo_outputs
import pytest

from mtloop.experiments.demo import BASELINE, LEARNER

SEGMENTS = 58  # two chapters; the learner's outputs depend on all segments before them


@pytest.mark.slow
def test_the_recorded_outputs_are_those_of_the_present_code(tmp_path: Path) -> None:
    """Run `python scripts/demo_outputs.py` after a change of the model or of a method."""
    demo_outputs.main(["--out", str(tmp_path), "--limit", str(SEGMENTS)])
    for method in (BASELINE, LEARNER):
        made, shipped = (
            (folder / f"{method}.txt").read_text(encoding="utf-8") for folder in (tmp_path, demo_outputs.DEMO)
        )
        assert made.splitlines() == shipped.splitlines()[:SEGMENTS], method


def test_a_part_does_not_overwrite_the_recorded_outputs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        demo_outputs.main(["--limit", "1"])
    assert "--limit needs --out" in capsys.readouterr().err
