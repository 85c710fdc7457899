"""Kinds of ratings: values, penalties after MQM, answers that do not fit."""

from __future__ import annotations

from typing import Any

import pytest

from mtloop.core import InputError
from mtloop.selection.rating_kinds import ErrorSpan, RatingKind, mqm_score, rating_values


def span(category: str, severity: str) -> dict[str, Any]:
    return {"start": 0, "end": 1, "category": category, "severity": severity}


@pytest.mark.parametrize(
    ("category", "severity", "penalty"),
    [  # Freitag et al. (2021), "Experts, Errors, and Context", Table 1
        ("non-translation", "major", 25),
        ("accuracy/mistranslation", "major", 5),
        ("fluency/punctuation", "major", 5),
        ("fluency/punctuation", "minor", 0.1),
        ("style", "minor", 1),
        ("style", "neutral", 0),
    ],
)
def test_the_penalties_are_the_published_ones(category: str, severity: str, penalty: float) -> None:
    assert mqm_score([ErrorSpan(0, 1, category, severity)]) == -penalty
    assert rating_values("mqm", {"spans": [[span(category, severity)]]}, ["text"]) == pytest.approx((1 - penalty / 25,))


def test_more_penalties_than_25_are_25() -> None:
    assert rating_values("mqm", {"spans": [[span("style", "major")] * 7, []]}, ["a b", "c"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("kind", "answer", "message"),
    [
        ("score", {"scores": [1, 2]}, "scores has 2 values; expected 1"),
        ("score", {"thumbs": [True]}, "scores is missing"),
        ("score", {"scores": [101]}, "from 0 to 100"),
        ("pair", {"better": 2}, "expected 0, 1, or null"),
        ("mqm", {"spans": [[span("style", "awful")]]}, "unknown severity"),
        ("mqm", {"spans": [[span("taste", "major")]]}, "unknown category"),
        ("mqm", {"spans": [[span("style", "major") | {"end": 5}]]}, "<= 4 characters"),
        ("mqm", {"spans": [[span("style", "major")] * 51]}, "at most 50"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(kind: RatingKind, answer: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rating_values(kind, answer, ["text"])
