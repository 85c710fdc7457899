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
from mtloop.smt.foreground import FOREGROUND, Foreground, WittenBell, extract
from mtloop.smt.language_model import NgramCounts
from mtloop.smt.phrases import TABLE, PhraseTable
from mtloop.smt.tokens import Casing, SmtTokeniser
from mtloop.smt.tuner import bleu, bleu_row, ngrams, search
from mtloop.text.reversible import join, split


@given(st.text(st.characters(blacklist_characters="￭￬", blacklist_categories=["Cc", "Cs", "Cf"])))
def test_split_and_joined_a_text_is_as_it_was(text: str) -> None:
    assert join(split(text)) == " ".join(text.split())


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
def test_words(text: str, tokens: list[str]) -> None:
    assert split(text) == tokens
    assert not any(char.isspace() for token in tokens for char in token)


def test_the_first_word_has_the_case_it_has_elsewhere() -> None:
    casing = Casing.of([split("You can save with Excel"), split("Then save")])
    words = SmtTokeniser(casing, casing)
    assert words.read("Save as Excel") == ["save", "as", "Excel"]
    assert words.read("Excel") == ["Excel"]
    assert words.write(["save", "as"], "Save") == "Save as"
    assert words.write(["save", "as"], "save") == "save as"


def test_witten_bell_sums_to_one_over_words_seen_and_the_unseen() -> None:
    model = WittenBell()
    for text in ("a b c", "a b d", "b c"):
        model.add(text.split())
    for context in (("a", "b"), ("<s>", "<s>"), ("z", "b"), ("z", "z")):
        seen = sum(model.probability(context, word) for word in ("a", "b", "c", "d", "</s>"))
        assert seen < 1
        assert seen + 1000 * model.probability(context, "never") == pytest.approx(1)


def test_witten_bell_by_hand() -> None:
    model = WittenBell(order=1)
    model.add(["a"])  # seen: a, </s>; two types, two tokens; 1/(2 + 1000) is what any word has before
    assert model.probability((), "a") == pytest.approx((1 + 2 / 1002) / 4)
    assert model.score(["a"]) == pytest.approx(2 * math.log((1 + 2 / 1002) / 4))


def test_phrases_agree_with_the_alignment() -> None:
    matrix = np.array([[1, 0, 0], [0, 0, 1], [0, 1, 0]], dtype=bool)
    assert list(extract(matrix)) == [
        ((0, 1), (0, 1)),
        ((0, 3), (0, 3)),
        ((1, 2), (2, 3)),
        ((1, 3), (1, 3)),
        ((2, 3), (1, 2)),
    ]


def test_a_phrase_table_is_the_same_in_one_go_and_bit_by_bit(engine: Thot, tmp_path: Path) -> None:
    pairs = [(engine.words.read(source), engine.words.read_target(target)) for source, target in known_pairs()[:20]]
    whole, parts = PhraseTable(engine.align, 6), PhraseTable(engine.align, 6)
    whole.write(pairs, tmp_path)
    wanted = (tmp_path / TABLE).read_text(encoding="utf-8")
    for count in (7, 7, 20):
        parts.write(pairs[:count], tmp_path)
    assert (tmp_path / TABLE).read_text(encoding="utf-8") == wanted
    assert "￭. ||| ￭. ||| 20 20\n" in wanted
    assert max(len(line.split(" ||| ")[0].split()) for line in wanted.splitlines()) == 6


def test_the_foreground_prefers_what_it_has_seen() -> None:
    foreground = Foreground()
    source, target = ["the", "toolbar"], ["die", "Werkzeugleiste"]
    foreground.add(source, target, np.eye(2, dtype=bool))
    spans = (((0, 1), (0, 1)), ((1, 2), (1, 2)))
    seen = foreground.features(source, target, spans)
    other = foreground.features(source, ["die", "Leiste"], spans)
    assert tuple(seen) == FOREGROUND
    assert all(seen[name] > other[name] for name in FOREGROUND)


def test_language_model_weights_make_held_out_text_likely() -> None:
    counts = NgramCounts()
    for _ in range(30):
        counts.add(["open", "the", "file", "now"])
    weights = counts.fit([["open", "the", "file", "now"]] * 5)
    assert weights[-1] > 0.6  # a context seen often and always followed by the same word is trusted


def test_bleu_is_that_of_the_metric_but_for_its_smoothing() -> None:
    said, wanted = ["a", "b", "c", "d", "e", "f", "g", "h", "x"], ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
    row = np.array(bleu_row(said, ngrams(wanted), len(wanted))) * 200  # so many segments that adding one is nothing
    step = Step(0, Proposal(Segment("1", "s"), " ".join(said)), truth=Truth((" ".join(wanted),)))
    assert float(bleu(row)) == pytest.approx(BLEU().score([step]).value, abs=0.1)


def test_the_search_finds_the_feature_that_tells_good_from_bad() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(40, 6, 3))
    good = features[:, :, 1].argmax(axis=1)
    wanted = ["a", "b", "c", "d", "e"]
    rows = np.array([[bleu_row(wanted if k == g else ["x"] * 5, ngrams(wanted), 5) for k in range(6)] for g in good])
    weights, score = search(features, rows, np.ones(3), [], rng)
    assert score > 95
    assert abs(weights[1]) > 3 * max(abs(weights[0]), abs(weights[2]))
