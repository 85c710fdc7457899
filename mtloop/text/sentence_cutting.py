"""Cut a text into sentences, and align the sentences of a text with those of its translation."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

_BOUNDARY = re.compile(
    r"(?:[.!?…]+[\"'”’»)\]]*(?P<space>\s+)(?=[\"'“‘„«(\[¿¡]*[^\Wa-z_]|[\U000f0000-\U000ffffd])|[。！？]+)"
)
_SHORTENED = (
    "abb abs art aufl bd betr bsp bzgl bzw ca cap cf chap co corp dept dr ecc ed eds eg engl etc evtl exkl ff fig "
    "figs geb gest ggf hg hr hrsg ie inc inkl jh jr kap lt ltd max min mr mrs ms nr no nos od op pag pp prof resp "
    "s sec sig sog sr st str tab tel u ua usw usf v vgl vol vs z zb zit zzgl dh bes dipl ing jan feb mar apr jun "
    "jul aug sep sept oct okt nov dec dez"
)
_ABBREVIATIONS = frozenset(_SHORTENED.split())
_LAST_WORD = re.compile(r"(?:(?<=\s)|^|(?<=[(\[\"']))([^\W\d_](?:[\w.]*\w)?|\d+)\.$")
_NUMBER, _INITIAL = re.compile(r"\d{1,3}"), re.compile(r"[^\W\d_]")
_BEADS = {(1, 1): 0.0, (1, 2): 2.0, (2, 1): 2.0, (2, 2): 4.0, (1, 3): 4.5, (3, 1): 4.5}
_ANCHOR = re.compile(r"%\d+|[\U000f0000-\U000ffffd]|\d+(?:[.,]\d+)*|\b[A-Z][\w-]*[A-Z\d][\w-]*\b")


def cut_sentences(text: str, language: str = "") -> list[str]:
    """Cut a text into sentences. Each keeps the white space after it, so that together they are the text.

    >>> cut_sentences("Press F5, e.g. twice. Wait 1.5 s! (It is slow.) Done?")
    ['Press F5, e.g. twice. ', 'Wait 1.5 s! ', '(It is slow.) ', 'Done?']
    """
    cuts = [0, *_cuts(text, language), len(text)]
    return [text[start:end] for start, end in pairwise(cuts) if start < end]


def _cuts(text: str, language: str) -> Iterator[int]:
    start = 0
    for found in _BOUNDARY.finditer(text):
        end = found.start("space") if found["space"] else found.end()
        if found["space"] and _is_abbreviation(text[start : found.start() + 1], language):
            continue
        if not any(map(str.isalnum, text[start:end])):
            continue
        start = found.end()
        yield start


def _is_abbreviation(sentence: str, language: str) -> bool:
    """Whether the full stop at the end of this text belongs to an abbreviation, an initial, or an ordinal number."""
    found = _LAST_WORD.search(sentence)
    if found is None:
        return False
    word = found[1]
    if _NUMBER.fullmatch(word):  # "1. Open the file", and in German "am 3. März"
        return found.start(1) == 0 or (language.startswith("de") and len(word) < 3)
    return bool(_INITIAL.fullmatch(word)) or "." in word or word.replace(".", "").lower() in _ABBREVIATIONS


def align_sentences(sources: Sequence[str], targets: Sequence[str]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Align the sentences of a text with those of its translation, both in order; every sentence is in one group.

    A group has up to three sentences on one side and one on the other, or two on both. The groups are those whose
    lengths fit best, and which share numbers, names and placeholders. Without any such alignment, all is one group.

    >>> align_sentences(["Open it. ", "Then press F5 and wait."], ["Öffnen. ", "Dann F5. ", "Bitte warten Sie."])
    [(('Open it. ',), ('Öffnen. ',)), (('Then press F5 and wait.',), ('Dann F5. ', 'Bitte warten Sie.'))]
    """
    ratio = max(1, sum(map(len, targets))) / max(1, sum(map(len, sources)))
    best: dict[tuple[int, int], tuple[float, tuple[int, int]]] = {(0, 0): (0.0, (0, 0))}
    for i in range(len(sources) + 1):
        for j in range(len(targets) + 1):
            for (m, n), penalty in _BEADS.items() if (i, j) in best else ():
                if i + m <= len(sources) and j + n <= len(targets):
                    cost = best[i, j][0] + penalty + _cost(sources[i : i + m], targets[j : j + n], ratio)
                    if cost < best.get((i + m, j + n), (math.inf,))[0]:
                        best[i + m, j + n] = cost, (i, j)
    if (len(sources), len(targets)) not in best:
        return [(tuple(sources), tuple(targets))]
    return list(_path(sources, targets, best))


def _path(
    sources: Sequence[str], targets: Sequence[str], best: dict[tuple[int, int], tuple[float, tuple[int, int]]]
) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    groups, end = list[tuple[tuple[str, ...], tuple[str, ...]]](), (len(sources), len(targets))
    while end != (0, 0):
        start = best[end][1]
        groups.append((tuple(sources[start[0] : end[0]]), tuple(targets[start[1] : end[1]])))
        end = start
    return groups[::-1]


def _cost(sources: Sequence[str], targets: Sequence[str], ratio: float) -> float:
    """Return a cost from the lengths (squared difference by variance: Gale and Church, 1993) and from anchors."""
    length, expected = sum(map(len, targets)), ratio * sum(map(len, sources))
    deviation = (length - expected) ** 2 / (6.8 * max(1.0, expected + length) / 2) / 2
    left, right = (Counter(_ANCHOR.findall(" ".join(texts))) for texts in (sources, targets))
    return min(deviation, 12.0) + 3.0 * ((left - right).total() + (right - left).total())
