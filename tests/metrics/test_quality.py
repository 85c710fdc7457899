from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import sacrebleu
from helpers.many_scripts import REFERENCES, TRANSLATIONS
from helpers.samples import noisy_steps
from helpers.steps import make_steps
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core import InputError, Step
from mtloop.metrics.base import Additive
from mtloop.metrics.quality import BLEU, SBLEU, TER, ChrF, RewardBLEU, SacreMetric
from mtloop.metrics.registry import MetricOptions, make_metric
from mtloop.text.tokenisers import tokeniser_name

PAIRS = [
    pytest.param(BLEU, sacrebleu.BLEU, {}, id="bleu"),
    pytest.param(BLEU, sacrebleu.BLEU, {"lowercase": True, "tokenize": "char"}, id="bleu-options"),
    pytest.param(ChrF, sacrebleu.CHRF, {}, id="chrf"),
    pytest.param(ChrF, sacrebleu.CHRF, {"word_order": 2}, id="chrf++"),
    pytest.param(TER, sacrebleu.TER, {}, id="ter"),
    pytest.param(TER, sacrebleu.TER, {"normalized": True, "no_punct": True, "case_sensitive": True}, id="ter-options"),
]


@pytest.mark.parametrize("references", [1, 2, 3])
@pytest.mark.parametrize(("ours", "theirs", "options"), PAIRS)
def test_scores_equal_sacrebleu_exactly(
    ours: type[SacreMetric], theirs: Callable[..., sacrebleu.metrics.base.Metric], options: dict, references: int
) -> None:
    steps = noisy_steps(300 if ours is not TER else 150, references=references)
    reference = theirs(**options)
    documents = list(zip(*(step.references for step in steps), strict=True))
    expected = reference.corpus_score([step.proposal.text for step in steps], documents)
    score = ours(**options).score(steps)
    assert score.value == expected.score
    assert score.signature == str(reference.get_signature())


@pytest.mark.parametrize(("ours", "theirs", "options"), PAIRS)
def test_a_varying_number_of_references(
    ours: type[SacreMetric], theirs: Callable[..., sacrebleu.metrics.base.Metric], options: dict
) -> None:
    one, two = noisy_steps(40), noisy_steps(80, references=2)[40:]
    reference = theirs(**options)
    documents = [[step.references[0] for step in one + two], [None] * 40 + [step.references[1] for step in two]]
    expected = reference.corpus_score([step.proposal.text for step in one + two], documents)
    score = ours(**options).score(one + two)
    assert (score.value, score.signature) == (expected.score, str(reference.get_signature()))


# Printed by the command `sacrebleu REF -i HYP -tok TOKENISER -w 10`, sacreBLEU 2.6.0. The texts are ours.
GOLDEN_BLEU = [
    ("ja", "ja-mecab", 69.0793816369, "tok:ja-mecab-0.996-IPA|"),
    ("zh", "zh", 57.7924074488, "tok:zh|"),
    ("ko", "ko-mecab", 53.8707355926, "tok:ko-mecab-0.996/ko-0.9.2-KO|"),
    ("th", "char", 73.0529233497, "tok:char|"),
]
# `sacrebleu -m ter`: for Chinese with --ter-normalized --ter-asian-support; for Japanese and Thai on texts that
# sacreBLEU's tokenisers ja-mecab and char had tokenised; for Korean, which has spaces, without options.
GOLDEN_TER = [
    ("ja", 15.6862745098, "tok:ja-mecab-0.996-IPA+tercom|norm:no|punct:yes|asian:no"),
    ("zh", 18.75, "tok:tercom|norm:yes|punct:yes|asian:yes"),
    ("ko", 36.8421052632, "tok:tercom|norm:no|punct:yes|asian:no"),
    ("th", 22.0588235294, "tok:char+tercom|norm:no|punct:yes|asian:no"),
]


@pytest.mark.parametrize(("language", "tokeniser", "expected", "signature"), GOLDEN_BLEU)
def test_golden_bleu_of_languages_with_a_tokeniser_of_their_own(
    language: str, tokeniser: str, expected: float, signature: str
) -> None:
    steps = make_steps(TRANSLATIONS[language], REFERENCES[language])
    for score in (BLEU(tokenize=tokeniser).score(steps), make_metric("bleu", MetricOptions(language)).score(steps)):
        assert score.value == pytest.approx(expected, abs=5e-11)
        assert signature in score.signature


@pytest.mark.parametrize(("language", "expected", "signature"), GOLDEN_TER)
def test_golden_ter_of_languages_without_spaces(language: str, expected: float, signature: str) -> None:
    score = make_metric("ter", MetricOptions(language)).score(make_steps(TRANSLATIONS[language], REFERENCES[language]))
    assert score.value == pytest.approx(expected, abs=5e-11)
    assert signature in score.signature


@pytest.mark.parametrize("language", ["ja", "zh", "th"])
@pytest.mark.parametrize("metric", [SBLEU, RewardBLEU])
def test_sentence_bleu_of_a_near_translation_without_spaces_is_not_zero(
    metric: type[SBLEU | RewardBLEU], language: str
) -> None:
    steps = make_steps(TRANSLATIONS[language], REFERENCES[language])
    with_tokeniser, without = (metric(tokenize=name) for name in (tokeniser_name(language), "13a"))
    assert with_tokeniser.score(steps).value > 40
    assert without.score(steps).value < 10
    assert f"tok:{tokeniser_name(language)}" in with_tokeniser.signature


@pytest.mark.parametrize("metric", [BLEU(), ChrF(), TER(), SBLEU(), RewardBLEU()], ids=lambda metric: metric.name)
def test_an_empty_hypothesis_scores_worst(metric: Additive) -> None:
    assert metric.score(make_steps([""], ["the house"])).value == (0 if metric.higher_is_better else 100)


@pytest.mark.parametrize(
    ("hypothesis", "reference", "value"),
    [("", "", 0.0), ("a b", "", 100.0), ("", "a b", 100.0), ("a b", "a b", 0.0), ("b a", "a b", 50.0)],
)
def test_ter_with_empty_texts(hypothesis: str, reference: str, value: float) -> None:
    assert TER().score(make_steps([hypothesis], [reference])).value == value


def test_ter_has_its_two_counts() -> None:
    score = TER().score(make_steps(["the dog", "x"], ["the big dog", "y"]))
    assert (score.numerator, score.denominator) == (2, 4)


@pytest.mark.parametrize("length", range(1, 9))
def test_sbleu_of_a_perfect_hypothesis(length: int) -> None:
    """The brevity penalty counts the reference as one word longer (Nakov et al., 2012)."""
    text = " ".join("abcdefgh"[:length])
    assert SBLEU().sentence(text, text) == pytest.approx(math.exp(-1 / length), abs=1e-15)


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        # p1 3/4, p2 (1+1)/(3+1), p3 (0+1)/(2+1), p4 (0+1)/(1+1); BP of 4 words against 4 + 1
        ("a b x c", "a b c d", (3 / 4 * 2 / 4 * 1 / 3 * 1 / 2) ** (1 / 4) * math.exp(1 - 5 / 4)),
        # order 2, as long as the reference: p1 2/3 (clipped), p2 (1+1)/(2+1); no penalty for 3 words against 2 + 1
        ("a b b", "a b", (2 / 3 * 2 / 3) ** (1 / 2)),
        # shorter than the order: p3 and p4 are (0+1)/(0+1)
        ("a b", "a b c d", (1 * 1 * 1 * 1) ** (1 / 4) * math.exp(1 - 5 / 2)),
        ("x y", "a b c d", 0.0),
        ("", "a b", 0.0),
        ("a", "", 0.0),
    ],
)
def test_sbleu_by_hand(hypothesis: str, reference: str, expected: float) -> None:
    assert SBLEU().sentence(hypothesis, reference) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        # 3/4, 1/3, then zero counts become 0.01: 0.01/2 and 0.01/1
        ("A b x c", "a B c d", (3 / 4 * 1 / 3 * 0.01 / 2 * 0.01 / 1) ** (1 / 4)),
        ("a b", "a b c d", (1 * 1) ** (1 / 2) * math.exp(1 - 4 / 2)),
        ("x y", "a b", (0.01 / 2 * 0.01 / 1) ** (1 / 2)),
        ("a b c d e", "a b c d e", 1.0),
        ("a", "A", 1.0),
        ("", "a b", 0.0),
        ("a", "", 0.0),
    ],
)
def test_reward_bleu_by_hand(hypothesis: str, reference: str, expected: float) -> None:
    assert RewardBLEU().sentence(hypothesis, reference) == pytest.approx(expected, abs=1e-15)


@given(st.text("ab .", max_size=12), st.text("ab .", max_size=12))
def test_sentence_scores_are_from_0_to_1(hypothesis: str, reference: str) -> None:
    for metric in (SBLEU(), RewardBLEU()):
        assert 0 <= metric.sentence(hypothesis, reference) <= 1 + 1e-12


def test_sentence_scores_are_averaged_over_segments_and_take_the_best_reference() -> None:
    steps = [*noisy_steps(30, references=2), *make_steps(["a b"], ["a b"])]
    best = [max(SBLEU().sentence(step.proposal.text, ref) for ref in step.references) for step in steps]
    assert SBLEU().score(steps).value == pytest.approx(100 * sum(best) / len(best))


def test_an_empty_stream_is_undefined_or_an_error() -> None:
    assert not SBLEU().score([]).defined
    with pytest.raises(InputError, match="no segments"):
        BLEU().score([])


def test_a_step_without_reference_is_an_error_with_its_id() -> None:
    (step,) = make_steps(["a"], ["b"])
    with pytest.raises(InputError, match="segment '1' has neither a reference nor a post-edit"):
        BLEU().score([Step(0, step.proposal)])
