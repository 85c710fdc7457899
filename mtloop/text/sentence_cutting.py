"""Cut a text into sentences, and align the sentences of a text with those of its translation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

_BOUNDARY = re.compile(
    r"(?:(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?P<space>\s++)(?=[\"'“‘„«(\[¿¡]*+[^\Wa-z_]|[\U000f0000-\U000ffffd])|[。！？]++)"
)
_SHORTENED = (
    "abb abs art aufl bd betr bsp bzgl bzw ca cap cf chap co corp dept dr ecc ed eds eg engl etc evtl exkl ff fig "
    "figs geb gest ggf hg hr hrsg ie inc inkl jh jr kap lt ltd max min mr mrs ms nr no nos od op pag pp prof resp "
    "s sec sig sog sr st str tab tel u ua usw usf v vgl vol vs z zb zit zzgl dh bes dipl ing jan feb mar apr jun "
    "jul aug sep sept oct okt nov dec dez"
)
_ABBREVIATIONS = frozenset(_SHORTENED.split())
_LAST_WORD = re.compile(r"(?:(?<=\s)|^|(?<=[(\[\"']))([^\W\d_](?:[\w.]*\w)?|\d+)\.$")
_MAX_WORD = 40  # characters of an abbreviation
_NUMBER, _INITIAL = re.compile(r"\d{1,3}"), re.compile(r"[^\W\d_]")
_ORDINAL_BEFORE = re.compile(  # German words before an ordinal number: "der 2. Absatz"
    r"\b(?:(?<!I )am|im|vom|zu[mr]|beim|de[rmns]|die|das|(?:k?ein|jed|dies|sein|ihr)e[mnrs]?)\s+\d{1,2}\.$",
    re.IGNORECASE,
)
_ORDINAL_AFTER = re.compile(
    r"\s+(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|"
    r"(?:Jan|Feb|Mär|Apr|Jun|Jul|Aug|Sept?|Okt|Nov|Dez)\.|Jahrhunderts?|Quartals?)(?!\w)"
)
_BEADS = {(1, 1): 0.0, (1, 2): 2.0, (2, 1): 2.0, (2, 2): 4.0, (1, 3): 4.5, (3, 1): 4.5}
_ANCHOR = re.compile(r"%\d+|[\U000f0000-\U000ffffd]|\d+(?:[.,]\d+)*|\b[A-Z][\w-]*[A-Z\d][\w-]*\b")
_MIN_BAND, _CELLS = 10, 30_000


def cut_sentences(text: str) -> list[str]:
    """Cut a text into sentences. Each keeps the white space after it, so that together they are the text.

    >>> cut_sentences("Press F5, e.g. twice. Wait 1.5 s! (It is slow.) Done?")
    ['Press F5, e.g. twice. ', 'Wait 1.5 s! ', '(It is slow.) ', 'Done?']
    """
    cuts = [0, *_cuts(text), len(text)]
    return [text[start:end] for start, end in pairwise(cuts) if start < end]


def _cuts(text: str) -> Iterator[int]:
    start, seen, has_words = 0, 0, False
    for found in _BOUNDARY.finditer(text):
        has_words = has_words or any(map(str.isalnum, text[seen : found.end()]))
        seen = found.end()
        if has_words and not (found["space"] and _is_abbreviation(text, start, found.start() + 1)):
            start, has_words = found.end(), False
            yield start


def _is_abbreviation(text: str, start: int, end: int) -> bool:
    """Whether the full stop before `end` belongs to an abbreviation, an initial, or an ordinal number.

    `start` is the start of the sentence.
    """
    found = _LAST_WORD.search(text, max(start, end - _MAX_WORD), end)
    if found is None:
        return False
    word = found[1]
    if _NUMBER.fullmatch(word):
        return found.start(1) == start or (len(word) < 3 and _is_ordinal(text, start, end))
    return bool(_INITIAL.fullmatch(word)) or "." in word or word.replace(".", "").lower() in _ABBREVIATIONS


def _is_ordinal(text: str, start: int, end: int) -> bool:
    """Whether a number with a full stop is one of "am 3. März", and not the end of "See page 3. Then"."""
    before = _ORDINAL_BEFORE.search(text, max(start, end - _MAX_WORD), end)
    return before is not None or _ORDINAL_AFTER.match(text, end) is not None


@dataclass(frozen=True)
class _Side:
    """The sentences of a text, with what the alignment compares: lengths and anchors of one to three sentences."""

    sentences: Sequence[str]

    @cached_property
    def lengths(self) -> list[int]:
        """The lengths of the first sentences together."""
        return list(accumulate(map(len, self.sentences), initial=0))

    @cached_property
    def anchors(self) -> list[list[frozenset[tuple[str, int]]]]:
        """For each number of sentences (from 0) and each first sentence, their anchors, equal ones numbered."""
        found = [_ANCHOR.findall(sentence) for sentence in self.sentences]
        return [
            [_counted([one for texts in found[start : start + size] for one in texts]) for start in range(len(found))]
            for size in range(4)
        ]


def _counted(anchors: Sequence[str]) -> frozenset[tuple[str, int]]:
    seen = Counter[str]()
    numbered = set[tuple[str, int]]()
    for anchor in anchors:
        seen[anchor] += 1
        numbered.add((anchor, seen[anchor]))
    return frozenset(numbered)


def align_sentences(sources: Sequence[str], targets: Sequence[str]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Align the sentences of a text with those of its translation, both in order; every sentence is in one group.

    A group has up to three sentences on one side and one on the other, or two on both. The groups are those whose
    lengths fit best, and which share numbers, names and placeholders. Without any such alignment, all is one group.
    In a long text, only sentences at about the same place are compared.

    >>> align_sentences(["Open it. ", "Then press F5 and wait."], ["Öffnen. ", "Dann F5. ", "Bitte warten Sie."])
    [(('Open it. ',), ('Öffnen. ',)), (('Then press F5 and wait.',), ('Dann F5. ', 'Bitte warten Sie.'))]
    """
    left, right = _Side(sources), _Side(targets)
    ratio = max(1, right.lengths[-1]) / max(1, left.lengths[-1])
    slope = len(targets) / max(1, len(sources))
    band = max(_MIN_BAND, _CELLS // max(1, len(sources), len(targets)))
    best: dict[tuple[int, int], tuple[float, tuple[int, int]]] = {(0, 0): (0.0, (0, 0))}
    for i in range(len(sources) + 1):
        for j in range(max(0, int(i * slope) - band), min(len(targets), int(i * slope) + band) + 1):
            if (i, j) in best:
                _extend(best, (i, j), left, right, ratio)
    if (len(sources), len(targets)) not in best:
        return [(tuple(sources), tuple(targets))]
    return list(_path(sources, targets, best))


def _extend(
    best: dict[tuple[int, int], tuple[float, tuple[int, int]]],
    start: tuple[int, int],
    left: _Side,
    right: _Side,
    ratio: float,
) -> None:
    """Add every group that starts here to the best alignment up to here."""
    i, j = start
    for (m, n), penalty in _BEADS.items():
        end = i + m, j + n
        if end[0] < len(left.lengths) and end[1] < len(right.lengths):
            expected = ratio * (left.lengths[i + m] - left.lengths[i])
            cost = best[start][0] + penalty + _length_cost(right.lengths[j + n] - right.lengths[j], expected)
            cost += 3.0 * len(left.anchors[m][i] ^ right.anchors[n][j])
            if end not in best or cost < best[end][0]:
                best[end] = cost, start


def _path(
    sources: Sequence[str], targets: Sequence[str], best: dict[tuple[int, int], tuple[float, tuple[int, int]]]
) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    groups, end = list[tuple[tuple[str, ...], tuple[str, ...]]](), (len(sources), len(targets))
    while end != (0, 0):
        start = best[end][1]
        groups.append((tuple(sources[start[0] : end[0]]), tuple(targets[start[1] : end[1]])))
        end = start
    return groups[::-1]


def _length_cost(length: int, expected: float) -> float:
    """Return a cost from the lengths: the squared difference by the variance (Gale and Church, 1993)."""
    return min((length - expected) ** 2 / (6.8 * max(1.0, expected + length) / 2) / 2, 12.0)
