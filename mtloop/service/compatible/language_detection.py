"""Which language a text has: the most likely one among those that can be translated."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mtloop.service.likely_languages import language_probabilities
from mtloop.text.language_codes import language_of


@dataclass(frozen=True)
class DetectedLanguage:
    """A language, as the caller names it, and how sure it is, from 0 to 100.

    The confidence compares it with all languages that the detector knows, not only with the given ones.
    """

    language: str
    confidence: float

    def to_json(self) -> dict[str, str | float]:
        return {"language": self.language, "confidence": self.confidence}


async def detect_languages(texts: Sequence[str], languages: Iterable[str]) -> list[list[DetectedLanguage]]:
    """The same as `rank_languages`, for several texts, in a thread."""
    chosen = list(languages)
    return await asyncio.to_thread(lambda: [rank_languages(text, chosen) for text in texts])


def rank_languages(text: str, languages: Iterable[str]) -> list[DetectedLanguage]:
    """The given languages, the most likely one first. One that the detector does not know comes last, with 0."""
    likely = language_probabilities(text)
    found = [(one, likely.get(language_of(one), 0.0)) for one in _distinct(languages)]
    found.sort(key=lambda one: -one[1])
    return [DetectedLanguage(language, round(100 * share, 1)) for language, share in found]


def _distinct(languages: Iterable[str]) -> list[str]:
    """Each language once, under the first of its tags."""
    return list({language_of(tag): tag for tag in reversed(list(languages)) if tag}.values())[::-1]
