"""How likely a text is in each language that the detector knows."""

from __future__ import annotations

from functools import cache
from math import exp, sqrt
from typing import cast

from mtloop.text.language_codes import language_of

MAX_CHARACTERS = 2_000  # of a text that are looked at


def language_probabilities(text: str) -> dict[str, float]:
    """How likely each known language is. All are equal for a text without a trace of any, such as a number."""
    from py3langid import rank

    text = text[:MAX_CHARACTERS]
    scores = cast("list[tuple[str, float]]", rank(text))
    sharpness = 1 / sqrt(len(text.encode(errors="replace")) or 1)  # as the detector itself does for its probabilities
    weights = [(_language(label), exp((score - scores[0][1]) * sharpness)) for label, score in scores]
    whole, found = sum(weight for _, weight in weights), dict[str, float]()
    for language, weight in weights:
        found[language] = found.get(language, 0) + weight / whole
    return found


@cache
def _language(label: str) -> str:
    """The language of a label. A text has all labels, so each is parsed once."""
    return language_of(label)
