from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from helpers.tiny_smt import known_pairs
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core import Proposal, Segment, Step, Truth
from mtloop.metrics import BLEU
from mtloop.smt.engine import Thot
from mtloop.smt.foreground import FOREGROUND_FEATURES, Foreground, WittenBell, phrase_spans
from mtloop.smt.language_model import NgramCounts
from mtloop.smt.phrases import PHRASE_TABLE_FILE, PhraseTable
from mtloop.smt.tokens import FirstWordTruecaser, SmtTokeniser
from mtloop.smt.tuner import bleu, bleu_statistics, ngrams, search_weights
from mtloop.text.reversible import detokenise, tokenise_reversibly


@given(st.text(st.characters(blacklist_characters="￭￬", blacklist_categories=["Cc", "Cs", "Cf"])))
def test_tokenisation_is_reversible(text: str) -> None:
    assert detokenise(tokenise_reversibly(text)) == " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Save.", ["Save", "￭."]),
        ("%PRODUCTNAME", ["%￭", "PRODUCTNAME"]),
        ("dell'interfaccia", ["dell", "￭'￭", "interfaccia"]),
        ("a|||b", ["a", "￭|", "￭|", "￭|￭", "b"]),
        ("NULL", ["￬NULL"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenise_reversibly(text) == tokens
    assert not any(char.isspace() for token in tokens for char in token)


def test_the_first_word_is_truecased() -> None:
    truecaser = FirstWordTruecaser.of(
        [tokenise_reversibly("You can save with Excel"), tokenise_reversibly("Then save")]
    )
    tokeniser = SmtTokeniser(truecaser, truecaser)
    assert tokeniser.tokenise_source("Save as Excel") == ["save", "as", "Excel"]
    assert tokeniser.tokenise_source("Excel") == ["Excel"]
    assert tokeniser.detokenise(["save", "as"], "Save") == "Save as"
    assert tokeniser.detokenise(["save", "as"], "save") == "save as"


def test_witten_bell_probabilities_sum_to_one() -> None:
    model = WittenBell()
    for text in ("a b c", "a b d", "b c"):
        model.add(text.split())
    for context in (("a", "b"), ("<s>", "<s>"), ("z", "b"), ("z", "z")):
        seen = sum(model.probability(context, word) for word in ("a", "b", "c", "d", "</s>"))
        assert seen < 1
        assert seen + 1000 * model.probability(context, "never") == pytest.approx(1)


def test_witten_bell_by_hand() -> None:
    model = WittenBell(order=1)
    model.add(["a"])  # seen: a, </s>; two types, two tokens; the base probability of a word is 1/(2 + 1000)
    assert model.probability((), "a") == pytest.approx((1 + 2 / 1002) / 4)
    assert model.score(["a"]) == pytest.approx(2 * math.log((1 + 2 / 1002) / 4))


def test_phrase_spans_are_consistent_with_the_alignment() -> None:
    matrix = np.array([[1, 0, 0], [0, 0, 1], [0, 1, 0]], dtype=bool)
    assert list(phrase_spans(matrix)) == [
        ((0, 1), (0, 1)),
        ((0, 3), (0, 3)),
        ((1, 2), (2, 3)),
        ((1, 3), (1, 3)),
        ((2, 3), (1, 2)),
    ]


def test_a_phrase_table_does_not_depend_on_the_number_of_updates(engine: Thot, tmp_path: Path) -> None:
    pairs = [
        (engine.tokeniser.tokenise_source(source), engine.tokeniser.tokenise_target(target))
        for source, target in known_pairs()[:20]
    ]
    whole, parts = PhraseTable(engine.align, 6), PhraseTable(engine.align, 6)
    whole.write(pairs, tmp_path)
    reference = (tmp_path / PHRASE_TABLE_FILE).read_text(encoding="utf-8")
    for count in (7, 7, 20):
        parts.write(pairs[:count], tmp_path)
    assert (tmp_path / PHRASE_TABLE_FILE).read_text(encoding="utf-8") == reference
    assert "￭. ||| ￭. ||| 20 20\n" in reference
    assert max(len(line.split(" ||| ")[0].split()) for line in reference.splitlines()) == 6


def test_the_foreground_prefers_seen_phrases() -> None:
    foreground = Foreground()
    source, target = ["the", "toolbar"], ["die", "Werkzeugleiste"]
    foreground.add(source, target, np.eye(2, dtype=bool))
    spans = (((0, 1), (0, 1)), ((1, 2), (1, 2)))
    seen = foreground.features(source, target, spans)
    other = foreground.features(source, ["die", "Leiste"], spans)
    assert tuple(seen) == FOREGROUND_FEATURES
    assert all(seen[name] > other[name] for name in FOREGROUND_FEATURES)


def test_language_model_weights_fit_held_out_text() -> None:
    counts = NgramCounts()
    for _ in range(30):
        counts.add(["open", "the", "file", "now"])
    weights = counts.fit([["open", "the", "file", "now"]] * 5)
    assert weights[-1] > 0.6  # a context seen often and always followed by the same word gets a high weight


def test_bleu_equals_the_metric_except_for_smoothing() -> None:
    hypothesis, reference = ["a", "b", "c", "d", "e", "f", "g", "h", "x"], ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
    row = np.array(bleu_statistics(hypothesis, ngrams(reference), len(reference)))
    sums = row * 200  # with 200 equal segments add-one smoothing is negligible
    step = Step(0, Proposal(Segment("1", "s"), " ".join(hypothesis)), truth=Truth((" ".join(reference),)))
    assert float(bleu(sums)) == pytest.approx(BLEU().score([step]).value, abs=0.1)


def test_the_search_finds_the_informative_feature() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(40, 6, 3))
    good = features[:, :, 1].argmax(axis=1)
    reference = ["a", "b", "c", "d", "e"]
    rows = np.array(
        [[bleu_statistics(reference if k == g else ["x"] * 5, ngrams(reference), 5) for k in range(6)] for g in good]
    )
    weights, score = search_weights(features, rows, np.ones(3), [], rng)
    assert score > 95
    assert abs(weights[1]) > 3 * max(abs(weights[0]), abs(weights[2]))
