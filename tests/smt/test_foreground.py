from __future__ import annotations

import math

import numpy as np
import pytest

from mtloop.smt.foreground import FOREGROUND_FEATURES, Foreground, WittenBell, phrase_spans


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


def test_the_foreground_prefers_seen_phrases() -> None:
    foreground = Foreground()
    source, target = ["the", "toolbar"], ["die", "Werkzeugleiste"]
    foreground.add(source, target, np.eye(2, dtype=bool))
    spans = (((0, 1), (0, 1)), ((1, 2), (1, 2)))
    seen = foreground.features(source, target, spans)
    other = foreground.features(source, ["die", "Leiste"], spans)
    assert tuple(seen) == FOREGROUND_FEATURES
    assert all(seen[name] > other[name] for name in FOREGROUND_FEATURES)
