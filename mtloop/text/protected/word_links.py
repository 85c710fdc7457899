"""Words of a source and of its translation, and which comes from which."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Link: TypeAlias = tuple[int, int, int, int]
"""Start and end of a target word, start and end of the source word that it comes from."""
Align: TypeAlias = Callable[[str, str], Sequence[Link]]
"""Returns the links of a source and its translation, in the order of the target."""

_TOKEN = re.compile(r"%\d+|\w+(?:['’-]\w+)*|[^\w\s]")
UNKNOWN = -1.0


@dataclass(frozen=True)
class TargetWord:
    """A word or a punctuation mark of the translation; `origin` is where it comes from in the source, or UNKNOWN.

    `is_sure`: it is a word whose origin was found, not guessed from its position.
    """

    start: int
    end: int
    origin: float = UNKNOWN
    is_sure: bool = True


def tokens_with_origins(source: str, target: str, align: Align | None) -> list[TargetWord]:
    """Return the tokens of a translation with the middle of the source word that each comes from.

    Tokens that occur once on both sides, such as stand-ins and names, belong together. So do the last punctuation
    marks. The others follow `align`, or without it their position in the sentence.
    """
    sources, targets = list(_TOKEN.finditer(source)), list(_TOKEN.finditer(target))
    linked = _linked(targets, align(source, target) if align else ())
    anchors = _anchors(sources, targets)
    found = []
    for number, token in enumerate(targets):
        if number in anchors:
            origin = anchors[number]
        elif not _is_word(token[0]):
            origin = UNKNOWN
        elif align is None:
            origin = _proportional(number, sources, targets)
        else:
            origin = linked[number]
        is_sure = _is_word(token[0]) and (align is not None or number in anchors)
        found.append(TargetWord(token.start(), token.end(), origin, is_sure))
    return found


def _anchors(sources: Sequence[re.Match[str]], targets: Sequence[re.Match[str]]) -> dict[int, float]:
    left, right = (Counter(token[0] for token in tokens) for tokens in (sources, targets))
    places = {token[0]: _middle(*token.span()) for token in sources if left[token[0]] == 1}
    anchors = {i: places[one[0]] for i, one in enumerate(targets) if right[one[0]] == 1 and one[0] in places}
    if sources and targets and not _is_word(sources[-1][0]) and not _is_word(targets[-1][0]):
        anchors[len(targets) - 1] = _middle(*sources[-1].span())
    return anchors


def _is_word(token: str) -> bool:
    return token[0] == "%" or token[0].isalnum() or token[0] == "_"


def _linked(tokens: Sequence[re.Match[str]], links: Sequence[Link]) -> list[float]:
    """Return for each token the origin by the first link that overlaps it."""
    origins, number = list[float](), 0
    for token in tokens:
        while number < len(links) and links[number][1] <= token.start():
            number += 1
        is_linked = number < len(links) and links[number][0] < token.end()
        origins.append(_middle(*links[number][2:]) if is_linked else UNKNOWN)
    return origins


def _proportional(number: int, sources: Sequence[re.Match[str]], targets: Sequence[re.Match[str]]) -> float:
    if not sources:
        return UNKNOWN
    return _middle(*sources[min(len(sources) - 1, number * len(sources) // len(targets))].span())


def _middle(start: int, end: int) -> float:
    return (start + end) / 2
