"""Recorded human scores: scales, missing ratings and resuming."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from mtloop.core import Header, InputError, Proposal, Scores, Segment, Trace, Truth, UnknownName, record
from mtloop.core.protocols import ObservingJudge
from mtloop.judges import HumanRatings, Preferences
from mtloop.judges.missing_ratings import MissingRatings
from mtloop.judges.scales import SCALES, find_scale, guess_scale, min_max
from mtloop.methods.recorded import Recorded
from mtloop.selection import EWAF, Select

NAMES = ("a", "b", "c")


def proposal_for(asked: list[str] | None = None, segment: str = "1") -> Proposal:
    return Proposal(Segment(segment, "Save."), "", system="a", memo={"asked": [*(asked or [])]})


def answer(judge: HumanRatings, truth: dict[str, float], **kind: list[str]) -> dict[str, float]:
    scores = judge(proposal_for(**kind), Truth(scores=truth))
    assert scores is not None
    return dict(scores.values)


@pytest.mark.parametrize(
    ("scale", "given", "unit"),
    [
        ("da", [0, 87, 100], [0, 0.87, 1]),
        ("mqm", [0, -5, -25, -40], [1, 0.8, 0, 0]),
        ("binary", [0, 1], [0, 1]),
        ("unit", [0.25], [0.25]),
        ("z", [-3.5, 0, 0.6], [0, 0.5, 0.6]),
    ],
)
def test_scales_by_hand(scale: str, given: list[float], unit: list[float]) -> None:
    assert find_scale(scale)(np.array(given, dtype=float)) == pytest.approx(unit)
    assert np.isnan(find_scale(scale)(np.array([np.nan]))).all()


@pytest.mark.parametrize(
    ("scale", "bad"), [("da", 100.5), ("da", -1), ("mqm", 0.5), ("binary", 0.5), ("unit", 2), ("z", 87)]
)
def test_scores_outside_their_scale_are_refused(scale: str, bad: float) -> None:
    with pytest.raises(InputError, match=f"score {float(bad)}"):
        SCALES[scale](np.array([bad, np.nan]))


def test_the_scale_is_guessed_and_an_unknown_scale_is_refused() -> None:
    assert guess_scale(np.array([-3.0, 0.0])) == "mqm"
    assert guess_scale(np.array([0.0, np.nan])) == guess_scale(np.array([50.0])) == "da"
    with pytest.raises(UnknownName, match="did you mean 'mqm'"):
        find_scale("mqn")


def test_metrics_are_mapped_by_their_range() -> None:
    assert min_max(np.array([-0.8, -0.3, 0.2])) == pytest.approx([0, 0.5, 1])
    assert min_max(np.array([4.0, 4.0])).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("rated", "asked", "answered"),
    [("asked", ["a", "b"], "ab"), ("asked", [], "a"), ("all", [], "abc"), ("shown", ["b"], "a")],
)
def test_the_rated_systems(rated: str, asked: list[str], answered: str) -> None:
    judge = HumanRatings(NAMES, rated=rated)  # type: ignore[arg-type]
    assert "".join(answer(judge, {"a": 50, "b": 60, "c": 70}, asked=asked)) == answered


def test_rewards_are_rounded_to_two_decimals() -> None:
    assert answer(HumanRatings(NAMES), {"a": 71.46}) == {"a": 0.71}
    assert answer(HumanRatings(NAMES, decimals=None), {"a": 71.46}) == {"a": pytest.approx(0.7146)}


def test_strategies_for_missing_ratings() -> None:
    truth, asked = {"a": 80.0}, ["a", "b"]
    assert answer(HumanRatings(NAMES, missing="zero"), truth, asked=asked) == {"a": 0.8, "b": 0.0}
    assert answer(HumanRatings(NAMES, missing="skip"), truth, asked=asked) == {"a": 0.8}
    metric = {"1": {"b": 0.314}}
    assert answer(HumanRatings(NAMES, missing="metric", metric=metric), truth, asked=asked) == {"a": 0.8, "b": 0.31}
    with pytest.raises(InputError, match="--metric"):
        answer(HumanRatings(NAMES, missing="metric"), truth, asked=asked)
    with pytest.raises(UnknownName, match="average"):
        HumanRatings(NAMES, missing="averag")


def test_average_is_of_the_human_scores_so_far_and_zero_before_the_first() -> None:
    fallback = MissingRatings("average", (1, 2))
    ask = np.array([[True, True]])
    for human, expected in [([0.8, np.nan], [0.8, 0.0]), ([np.nan, np.nan], [0.8, 0.0]), ([0.4, 0.5], [0.4, 0.5])]:
        row = np.array([human])
        assert fallback.fill(row, ask)[0].tolist() == expected
        fallback.observe(row)
    assert fallback.fill(np.full((1, 2), np.nan), ask)[0].tolist() == [0.6, 0.5]


def test_no_rating_gives_empty_scores_and_no_truth_gives_none() -> None:
    judge = HumanRatings(NAMES)
    assert judge(proposal_for(), Truth()) == Scores({})
    assert judge(proposal_for(), None) is None


STREAM = [
    (Segment(str(i), ""), Truth(scores={n: 10.0 * i + j for j, n in enumerate(NAMES) if (i + j) % 3})) for i in range(9)
]


def test_averages_are_rebuilt_from_the_trace_on_resume(tmp_path: Path) -> None:
    """A run interrupted after any step and resumed writes the same bytes."""

    def run(name: str, steps: int | None) -> bytes:
        judge = HumanRatings(NAMES, missing="average", rated="all")
        assert isinstance(judge, ObservingJudge)
        select = Select(EWAF(NAMES, horizon=9), {n: Recorded([""] * 9 + [""], n) for n in NAMES})
        stream = [(Segment(str(i + 1), ""), truth) for i, (_, truth) in enumerate(STREAM)]
        for done, _ in enumerate(record(tmp_path / name, Header(), stream, select, judge, snapshot_every=4), start=1):
            if done == steps:
                break
        return (tmp_path / name).read_bytes()

    whole = run("whole.jsonl", None)
    filled = [
        step.feedback.filled for step in Trace.read(tmp_path / "whole.jsonl").steps if isinstance(step.feedback, Scores)
    ]
    assert any(filled)
    for cut in range(1, 9):
        run(f"{cut}.jsonl", cut)
        assert run(f"{cut}.jsonl", None) == whole


def test_pairwise_ratings_are_the_share_of_beaten_systems() -> None:
    scores = np.array([[70.0, 5.0, np.nan], [90.0, np.nan, 1.0], [70.0, np.nan, 2.0]])
    shares = SCALES["pairwise"](scores)
    assert shares[:, 0].tolist() == [0.25, 1.0, 0.25]
    assert np.isnan(shares[:, 1]).all()  # only one rated system: no preference
    assert shares[1:, 2].tolist() == [0.0, 1.0]


def test_preferences_name_the_better_system() -> None:
    judge = Preferences("kim")
    preference = judge(proposal_for(["a", "b"]), Truth(scores={"a": 40, "b": 60}))
    assert preference is not None
    assert (preference.better, preference.worse, preference.rater) == ("b", "a", "kim")
    assert judge(proposal_for(["a", "b"]), Truth(scores={"a": 60, "b": 60})) is None
    assert judge(proposal_for(), Truth(scores={"b": 60})) is None
    assert judge(proposal_for(), Truth(scores={"a": 60})) is None
    with pytest.raises(InputError, match="undefined"):
        judge(proposal_for(), Truth(scores={"a": 60, "b": math.nan}))
