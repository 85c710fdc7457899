"""How similar the memories of a project are to a text: the share of its content words that occur in their sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from mtloop.service.project_log.client_store import TranslationMemory
from mtloop.service.project_log.correction_store import StoredCorrection
from mtloop.text.stopwords import StopWords, has_stopwords

MAX_COMPARED = 10_000  # the newest corrections of a project
_WORD = re.compile(r"[^\W\d_]+")


def context_vector(scores: Mapping[int, float], most: int) -> str:
    """The most similar memories with their scores, as ModernMT writes them.

    >>> context_vector({7: 0.25, 3: 1.0, 4: 0.0}, 10)
    '3:1.0,7:0.25'
    """
    best = sorted((one for one in scores.items() if one[1] > 0), key=lambda one: (-one[1], one[0]))
    return ",".join(f"{memory}:{round(score, 4)}" for memory, score in best[:most])


def memory_scores(
    corrections: Iterable[StoredCorrection], memories: Sequence[TranslationMemory], text: str, language: str
) -> dict[int, float]:
    """The similarity of each memory to a text, from 0 to 1, by its id. `language` is that of the text."""
    words, stop_words = frozenset(_words(text)), _stop_words(language)
    content = words - stop_words
    found: dict[str, set[str]] = {one.document: set() for one in memories}
    for one in corrections:
        if one.event.document in found:
            found[one.event.document] |= content.intersection(_words(one.event.source))
    return {one.id: len(found[one.document]) / len(content) if content else 0.0 for one in memories}


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _stop_words(language: str) -> frozenset[str]:
    return StopWords.of_language(language).words if has_stopwords(language) else frozenset()
