"""The scores of an evaluation as tables."""

from __future__ import annotations

import math

import pytest
from helpers.report_samples import stream

from mtloop.metrics import TER, Slope
from mtloop.metrics.evaluation import Evaluation
from mtloop.report.text_tables import as_table, relative_score_table, score_table


def test_the_printed_table_has_stars_verdicts_and_signatures(evaluation: Evaluation) -> None:
    text = as_table(evaluation, list(evaluation.results()))
    assert text.startswith("system       BLEU     TER    SBLEU     R0      R1    S (U)    S (CA)\n")
    paragraphs = text.split("\n\n")
    assert paragraphs[1].splitlines() == [
        "* p < 0.05, ** p < 0.01, *** p < 0.001 against static",
        "(approximate randomisation, 100 resamples, seed 1)",
    ]
    assert paragraphs[2].startswith("static S (U): no learning shown (95 % interval ")
    assert paragraphs[4].startswith("adapting S (U): learning (95 % interval ")
    assert paragraphs[6].startswith("Signatures:\n  BLEU: nrefs:1|")
    assert paragraphs[6].endswith("\n")


def test_a_data_frame_has_scores_differences_and_p_values(evaluation: Evaluation) -> None:
    results = list(evaluation.results())
    frame = score_table(evaluation, results).to_pandas().set_index("system")
    assert frame.dtypes.eq(float).all()
    scores = {(result.system, result.score.name): result.score.value for result in results}
    assert frame.loc["adapting", "ter"] == scores["adapting", "ter"]
    difference = scores["adapting", "ter"] - scores["static", "ter"]
    assert frame.loc["adapting", "ter_difference"] == pytest.approx(difference)
    assert frame.loc["adapting", "ter_p"] < 0.05
    assert math.isnan(frame.loc["static", "ter_p"])
    assert "slope-u_p" not in frame


def test_relative_scores_are_in_per_cent_of_the_baseline(evaluation: Evaluation) -> None:
    results = list(evaluation.results())
    base, adapting = str(relative_score_table(evaluation, results)).splitlines()[2:]
    assert base.split()[:3] == ["static", "12.27", "20.83"]
    assert adapting.split()[:5] == ["adapting", "+480.9", "%**", "-57.3", "%**"]
    (record,) = relative_score_table(evaluation, results).records
    assert record["ter"] == pytest.approx(100 * (8.888889 / 20.833333 - 1), abs=0.01)


def test_a_slope_that_the_stream_is_too_short_for_is_one_line() -> None:
    systems = {"a": stream(False), "b": stream(True)}
    evaluation = Evaluation(systems, [TER(), Slope(TER(), "u", 100), Slope(TER(), "ca", 100)], "a", resamples=20)
    results = list(evaluation.results())
    text = as_table(evaluation, results)
    assert text.splitlines()[0].split() == ["system", "TER"]
    assert text.count("\nthe stream is too short for slopes (3 blocks; 8 are needed)\n") == 1
    assert "S (U)" not in text + str(relative_score_table(evaluation, results))
    assert score_table(evaluation, results).records[1]["slope-u"] < 100  # type: ignore[operator]
    only_slopes = Evaluation(systems, [Slope(TER(), "u", 100)])
    assert as_table(only_slopes, list(only_slopes.results())).splitlines()[0] == "system"
