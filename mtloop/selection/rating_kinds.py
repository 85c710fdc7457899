"""The kinds of ratings: a score, a thumb up or down, the better of two, or error spans after MQM.

A rating of every kind becomes one value from 0 to 1 for each translation that was shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from mtloop.core.errors import InputError
from mtloop.judges.scales import mqm

RatingKind: TypeAlias = Literal["score", "thumbs", "pair", "mqm"]
KINDS: tuple[RatingKind, ...] = get_args(RatingKind)
NOMINAL: tuple[RatingKind, ...] = ("thumbs", "pair")  # their values are categories, not amounts
STANDARDISED: tuple[RatingKind, ...] = ("score", "mqm")  # raters use these scales differently
SEVERITIES = ("major", "minor", "neutral")
NON_TRANSLATION = "non-translation"
PUNCTUATION = "fluency/punctuation"
CATEGORIES = (
    "accuracy/addition",
    "accuracy/omission",
    "accuracy/mistranslation",
    "accuracy/untranslated",
    PUNCTUATION,
    "fluency/spelling",
    "fluency/grammar",
    "fluency/register",
    "fluency/inconsistency",
    "fluency/character encoding",
    "terminology",
    "style",
    "locale convention",
    NON_TRANSLATION,
    "other",
)
MAX_SPANS = 50  # in one translation
_PENALTIES = {"major": 5.0, "minor": 1.0, "neutral": 0.0}


@dataclass(frozen=True)
class ErrorSpan:
    """An error in a translation, from the character `start` up to `end`, which is not part of it.

    Characters are Unicode code points. An empty span marks the place of an omission.
    """

    start: int
    end: int
    category: str
    severity: str

    @property
    def penalty(self) -> float:
        """The weight of the error after Freitag et al. (2021), Table 1."""
        if self.category == NON_TRANSLATION and self.severity == "major":
            return 25.0
        if self.category == PUNCTUATION and self.severity == "minor":
            return 0.1
        return _PENALTIES[self.severity]


def mqm_score(spans: Sequence[ErrorSpan]) -> float:
    """The MQM score of a translation: minus the sum of its penalties.

    >>> mqm_score([ErrorSpan(0, 3, "style", "minor"), ErrorSpan(4, 6, "accuracy/omission", "major")])
    -6.0
    """
    return -sum(span.penalty for span in spans)


def rating_values(kind: RatingKind, answer: Mapping[str, Any], texts: Sequence[str]) -> tuple[float, ...]:
    """The values of an answer, one for each text, from 0 to 1. Raise InputError if the answer does not fit.

    >>> rating_values("score", {"scores": [70]}, ["A"]), rating_values("pair", {"better": 1}, ["A", "B"])
    ((0.7,), (0.0, 1.0))
    """
    match kind:
        case "score":
            return tuple(_unit_score(score) for score in _per_text(answer, "scores", texts))
        case "thumbs":
            return tuple(float(up) for up in _per_text(answer, "thumbs", texts))
        case "pair":
            return _pair_values(_field(answer, "better"))
        case "mqm":
            marked = zip(_per_text(answer, "spans", texts), texts, strict=True)
            return tuple(_unit_mqm(read_spans(spans, text)) for spans, text in marked)


def read_spans(spans: Sequence[Mapping[str, Any]], text: str) -> tuple[ErrorSpan, ...]:
    """The error spans of a text; raise InputError for one that does not fit."""
    if len(spans) > MAX_SPANS:
        raise InputError(f"{len(spans)} spans in one translation; expected at most {MAX_SPANS}")
    found = tuple(ErrorSpan(**span) for span in spans)
    for span in found:
        if not 0 <= span.start <= span.end <= len(text):
            raise InputError(f"span {span.start} to {span.end}; expected 0 <= start <= end <= {len(text)} characters")
        if span.category not in CATEGORIES:
            raise InputError(f"an unknown category; expected one of {', '.join(CATEGORIES)}")
        if span.severity not in SEVERITIES:
            raise InputError(f"an unknown severity; expected one of {', '.join(SEVERITIES)}")
    return found


def _field(answer: Mapping[str, Any], name: str) -> Any:
    if name not in answer:
        raise InputError(f"{name} is missing; a rating in this campaign has the field {name}")
    return answer[name]


def _per_text(answer: Mapping[str, Any], name: str, texts: Sequence[str]) -> Sequence[Any]:
    values: Sequence[Any] = _field(answer, name)
    if len(values) != len(texts):
        raise InputError(f"{name} has {len(values)} values; expected {len(texts)}, one for each translation")
    return values


def _unit_score(score: float) -> float:
    if not 0 <= score <= 100:
        raise InputError(f"score {score:g}; expected a number from 0 to 100")
    return score / 100


def _unit_mqm(spans: Sequence[ErrorSpan]) -> float:
    return float(mqm(np.array([mqm_score(spans)]))[0])


def _pair_values(better: int | None) -> tuple[float, float]:
    if better is None:
        return 0.5, 0.5
    if better not in (0, 1):
        raise InputError(f"better is {better}; expected 0, 1, or null if both are equally good")
    return (1.0, 0.0) if better == 0 else (0.0, 1.0)
