"""The corrections that a translation uses, as people wrote them.

The engine knows them as its model reads them: with %1 in place of the first placeholder, and without tags.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mtloop.service.documents.text_parts import TEXT, parts_of


def numbers_of(answers: Iterable[Mapping[str, Any]]) -> list[int]:
    """The numbers of all corrections that these answers of the engine use."""
    found = (one["number"] for answer in answers for one in answer["corrections"])
    return sorted({number for number in found if number is not None})


def as_written(
    corrections: Sequence[Mapping[str, Any]], texts: Mapping[int, tuple[str, str]], syntax: str
) -> list[dict[str, Any]]:
    """Corrections with the source and the translation that the log has, by number, and with words only."""
    return [dict(one) | _written(one, texts) | {"words": list(_words(one["words"], syntax))} for one in corrections]


def _written(one: Mapping[str, Any], texts: Mapping[int, tuple[str, str]]) -> dict[str, str]:
    source, translation = texts.get(one["number"], (one["source"], one["translation"]))
    return {"source": source, "translation": translation}


def _words(words: Sequence[str], syntax: str) -> Iterator[str]:
    """Yield the words without tags and placeholders.

    >>> list(_words(["%1,", "die", "<b>Datei</b>", "%s", "5"], "plain"))
    ['die', 'Datei', '5']
    """
    text = " ".join(words)
    for part in parts_of(text, syntax):
        if part["kind"] == TEXT:
            yield from (word for word in part["text"].split() if any(map(str.isalnum, word)))
