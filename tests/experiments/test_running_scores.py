"""Running scores beside the progress bar."""

from __future__ import annotations

import pytest
from helpers.samples import noisy_steps

from mtloop.experiments.running_scores import RunningScores


@pytest.mark.parametrize(
    ("language", "names"),
    [("de", ["BLEU", "R0", "R1"]), ("is", ["BLEU"]), ("ja", ["chrF"]), (None, ["chrF"])],
)
def test_the_scores_fit_the_language(language: str | None, names: list[str]) -> None:
    scores = RunningScores(language)
    assert str(scores) == ""
    for step in noisy_steps(3):
        scores.add(step)
    assert str(scores).split()[::2] == names
