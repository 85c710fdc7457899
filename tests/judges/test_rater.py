from __future__ import annotations

import statistics

import pytest
from helpers.many_scripts import REFERENCES, TRANSLATIONS

from mtloop.core import InputError, Proposal, Reward, Segment, Truth, UnknownName
from mtloop.judges import Noise, PostEditor, RatedEdits, Rater
from mtloop.judges.rewards import corpus_bleu_statistics, sentence_reward

TRUTH = Truth(("Speichern Sie die Datei .",))
HALF = "Speichern Sie das Bild ."


def proposal_of(text: str, number: int = 1) -> Proposal:
    return Proposal(Segment(str(number), "Save the file."), text)


def half(text: str, reference: str) -> float:
    return 0.5


def test_the_reward_is_the_sentence_metric() -> None:
    metric = sentence_reward("wmt17")
    assert Rater(metric)(proposal_of(TRUTH.references[0]), TRUTH) == Reward(1.0)
    answer = Rater(metric, rater="ann")(proposal_of(HALF), TRUTH)
    assert answer == Reward(metric(HALF, TRUTH.references[0]), "ann")
    assert 0 < answer.value < 1


def test_a_post_edit_becomes_a_reward() -> None:
    rater = Rater(sentence_reward("wmt17"))
    assert RatedEdits(PostEditor(), rater)(proposal_of(HALF), TRUTH) == rater(proposal_of(HALF), TRUTH)
    assert RatedEdits(PostEditor(), rater)(proposal_of(HALF), Truth()) is None
    assert RatedEdits(lambda proposal, truth: Reward(1.0), rater)(proposal_of(HALF), TRUTH) is None


def test_without_a_reference_it_returns_none() -> None:
    assert Rater(half)(proposal_of("x"), None) is None
    assert Rater(half)(proposal_of("x"), Truth()) is None


def test_a_metric_that_needs_a_post_edit_is_not_a_reward() -> None:
    with pytest.raises(UnknownName, match="hter"):
        sentence_reward("hter")


@pytest.mark.parametrize(("threshold", "thumb"), [(0.4, 1.0), (0.5, 1.0), (0.6, 0.0)])
def test_thumbs(threshold: float, thumb: float) -> None:
    assert Rater(half, thumbs=threshold)(proposal_of("x"), TRUTH) == Reward(thumb)


@pytest.mark.parametrize("threshold", [0.0, 1.5, -1.0])
def test_a_threshold_outside_the_range_of_rewards_is_refused(threshold: float) -> None:
    with pytest.raises(InputError, match="thumb"):
        Rater(half, thumbs=threshold)


def test_noise_depends_on_the_seed_and_is_reproducible() -> None:
    rater = Rater(half, Noise(variance=1.0))
    answers = [rater(proposal_of("x", number), TRUTH) for number in range(300)]
    values = [answer.value for answer in answers if answer]
    assert answers == [rater(proposal_of("x", number), TRUTH) for number in range(300)]
    assert all(0 <= value <= 1 for value in values)
    assert statistics.mean(values) == pytest.approx(0.5, abs=0.06)
    assert statistics.stdev(values) > 0.2
    assert rater(proposal_of("x", 1), TRUTH) != Rater(half, Noise(variance=1.0), seed=2)(proposal_of("x", 1), TRUTH)


def test_coarse_and_harsh_raters() -> None:
    assert Rater(half, Noise(granularity=5))(proposal_of("x"), TRUTH) == Reward(0.4)
    assert Rater(half, Noise(skew=3.0))(proposal_of("x"), TRUTH) == Reward(0.125)


@pytest.mark.parametrize("name", ["wmt17", "sbleu", "bleu", "ter"])
def test_the_reward_of_text_without_spaces_uses_the_tokeniser_of_its_language(name: str) -> None:
    for language in ("ja", "zh-TW", "th"):
        code = language.partition("-")[0]
        pairs = list(zip(TRANSLATIONS[code], REFERENCES[code], strict=True))
        known, unknown = (sum(sentence_reward(name, tag)(*pair) for pair in pairs) for tag in (language, None))
        assert known > 1.2 > unknown
    pair = ("Save file.", "Save the file.")
    assert sentence_reward(name, "de")(*pair) == sentence_reward(name)(*pair)


def test_checkpoints_count_the_words_of_the_language() -> None:
    text, reference = TRANSLATIONS["ja"][0], REFERENCES["ja"][0]
    assert corpus_bleu_statistics(text, reference)[:2] == (1, 1)
    assert corpus_bleu_statistics(text, reference, "ja")[:2] == (13, 13)
