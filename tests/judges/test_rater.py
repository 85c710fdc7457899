from __future__ import annotations

import statistics

import pytest

from mtloop.core import InputError, Proposal, Reward, Segment, Truth, UnknownName
from mtloop.judges import Noise, PostEditor, RatedEdits, Rater
from mtloop.judges.rewards import sentence_reward

TRUTH = Truth(("Speichern Sie die Datei .",))
HALF = "Speichern Sie das Bild ."


def said(text: str, number: int = 1) -> Proposal:
    return Proposal(Segment(str(number), "Save the file."), text)


def half(text: str, reference: str) -> float:
    return 0.5


def test_the_reward_is_the_sentence_metric() -> None:
    worth = sentence_reward("wmt17")
    assert Rater(worth)(said(TRUTH.references[0]), TRUTH) == Reward(1.0)
    answer = Rater(worth, rater="ann")(said(HALF), TRUTH)
    assert answer == Reward(worth(HALF, TRUTH.references[0]), "ann")
    assert 0 < answer.value < 1


def test_a_post_edit_is_read_as_a_reward() -> None:
    rater = Rater(sentence_reward("wmt17"))
    assert RatedEdits(PostEditor(), rater)(said(HALF), TRUTH) == rater(said(HALF), TRUTH)
    assert RatedEdits(PostEditor(), rater)(said(HALF), Truth()) is None
    assert RatedEdits(lambda proposal, truth: Reward(1.0), rater)(said(HALF), TRUTH) is None


def test_without_a_reference_it_is_silent() -> None:
    assert Rater(half)(said("x"), None) is None
    assert Rater(half)(said("x"), Truth()) is None


def test_what_needs_a_post_edit_is_no_reward() -> None:
    with pytest.raises(UnknownName, match="hter"):
        sentence_reward("hter")


@pytest.mark.parametrize(("mark", "thumb"), [(0.4, 1.0), (0.5, 1.0), (0.6, 0.0)])
def test_thumbs(mark: float, thumb: float) -> None:
    assert Rater(half, thumbs=mark)(said("x"), TRUTH) == Reward(thumb)


@pytest.mark.parametrize("mark", [0.0, 1.5, -1.0])
def test_a_mark_nobody_can_miss_or_reach_is_a_mistake(mark: float) -> None:
    with pytest.raises(InputError, match="thumb"):
        Rater(half, thumbs=mark)


def test_noise_is_the_raters_own_and_the_same_every_time() -> None:
    rater = Rater(half, Noise(variance=1.0))
    answers = [rater(said("x", number), TRUTH) for number in range(300)]
    values = [answer.value for answer in answers if answer]
    assert answers == [rater(said("x", number), TRUTH) for number in range(300)]
    assert all(0 <= value <= 1 for value in values)
    assert statistics.mean(values) == pytest.approx(0.5, abs=0.06)
    assert statistics.stdev(values) > 0.2
    assert rater(said("x", 1), TRUTH) != Rater(half, Noise(variance=1.0), seed=2)(said("x", 1), TRUTH)


def test_coarse_and_harsh_raters() -> None:
    assert Rater(half, Noise(granularity=5))(said("x"), TRUTH) == Reward(0.4)
    assert Rater(half, Noise(skew=3.0))(said("x"), TRUTH) == Reward(0.125)
