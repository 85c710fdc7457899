"""Put tags and line breaks back into a translation, where the words around them went, in legal nesting."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mtloop.text.protected.word_links import UNKNOWN, TargetWord

_WORD, _BRIDGE = 100, 1  # a token of unknown origin may lie inside a range but does not extend it
_BLOCKED, _FAR = 1 << 29, 1 << 28
_MAX_DEPTH = 50
_GAP = re.compile(r"(?<=\S) +(?=\S)")
LINE_END = re.compile(r"[\r\n]|&#(?:0*1[03]|x0*[AaDd]);")
FIXED_CHARACTERS = "\u00a0\u2007\u202f"
FIXED_CODES = r"#0*(?:160|8199|8239)|#[xX]0*(?:[aA]0|2007|202[fF])|nbsp|NonBreakingSpace"
FIXED_SPACE = re.compile(rf"(?:[{FIXED_CHARACTERS}]|&(?:{FIXED_CODES});)")
"""A space at which no line may end, as a character or an entity."""
Integers: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Mark:
    """Something without width in a source: a tag, or a line break that took the place of a space (`replaces_space`).

    `offset` is its place in the source without marks. Opening and closing tags of a pair have the same number `pair`.
    """

    offset: int
    raw: str
    pair: int = -1
    replaces_space: bool = False
    joined_left: bool = False
    """Whether no space is between the mark and the text before it."""
    stands_alone: bool = False
    """Whether spaces are on both sides of the mark."""


@dataclass(frozen=True)
class Insertion:
    """A text to be put into a translation at an offset. With `replaces_space`, the space there is taken out."""

    offset: int
    raw: str
    replaces_space: bool = False


@dataclass
class _Node:
    """A pair of tags with what is inside, or one mark."""

    start: Mark
    end: Mark | None = None
    children: list[_Node] = field(default_factory=list)
    range: tuple[int, int] = (0, 0)  # token boundaries in the translation

    @property
    def is_empty(self) -> bool:
        return self.end is None or self.end.offset == self.start.offset


def place_marks(marks: Sequence[Mark], tokens: Sequence[TargetWord], source: str, target: str) -> list[Insertion]:
    """Return where each mark goes in a translation, in the order of the translation."""
    root = _tree(marks, len(source))
    root.range = (0, len(tokens))
    placer, nodes = _Placer(tokens, source, target), [root]
    while nodes:
        node = nodes.pop()
        placer.place_children(node)
        nodes += reversed(node.children)
    return _ordered(_insertions(root, tokens, len(target)))


def _tree(marks: Sequence[Mark], source_length: int) -> _Node:
    """Return the marks as a tree; a mark whose partner is absent, or crosses another pair, stands alone.

    So do pairs inside more than `_MAX_DEPTH` others: they stay in order, and none of them has words of its own.
    """
    last = {mark.pair: index for index, mark in enumerate(marks) if mark.pair >= 0}
    root = _Node(Mark(0, ""), Mark(source_length, ""))
    open_nodes = [(len(marks), root)]
    for index, mark in enumerate(marks):
        end, parent = open_nodes[-1]
        if index == end:
            open_nodes.pop()
            continue
        partner = last.get(mark.pair, index)
        node = _Node(mark, marks[partner] if index < partner < end and len(open_nodes) <= _MAX_DEPTH else None)
        parent.children.append(node)
        if node.end:
            open_nodes.append((partner, node))
    return root


class _Placer:
    """Gives each pair of tags a range of tokens, and each single mark a boundary between tokens."""

    def __init__(self, tokens: Sequence[TargetWord], source: str, target: str) -> None:
        self._tokens, self._source, self._target, self._source_length = tokens, source, target, len(source)
        self._known = sorted((token.origin, index) for index, token in enumerate(tokens) if token.origin != UNKNOWN)
        self._crossings = _Crossings(self._known, len(tokens))
        self._costs = [list(accumulate((_cost(token, sure) for token in tokens), initial=0)) for sure in (False, True)]

    def place_children(self, parent: _Node) -> None:
        """Give each child a range of tokens inside its parent's range. Ranges of children do not overlap."""
        if not parent.children:
            return
        wide = [child for child in parent.children if not child.is_empty]
        free = _FreeTokens(*parent.range)
        strangers = self._strangers(parent, wide)
        for child in sorted(wide, key=lambda node: node.start.offset - _end_offset(node)):
            found = self._best_range(child, free)
            child.range = self._label(child, *found) if found else self._nearest_word(child, strangers, free)
            free.take(*child.range)
        least = parent.range[0]
        for child in parent.children:
            if child.is_empty:
                least = self._boundary(child.start, free, least)
                child.range = least, least

    def _best_range(self, node: _Node, free: _FreeTokens) -> tuple[int, int] | None:
        """Return the range with the most tokens from inside the pair and the fewest from outside; None without any."""
        inside = self._from(node.start.offset, _end_offset(node))
        sure = any(self._tokens[index].is_sure for index in inside)
        costs, chosen, best, total, start, end, run = self._costs[sure], None, 0, 0, 0, 0, -1
        for index in inside:
            if (sure and not self._tokens[index].is_sure) or (number := free.number_of(index)) is None:
                continue
            total -= costs[index] - costs[end]
            if total <= 0 or number != run:
                total, start, run = 0, index, number
            total, end = total + _WORD, index + 1
            if total > best:
                best, chosen = total, (start, end)
        return chosen

    def _label(self, node: _Node, low: int, high: int) -> tuple[int, int]:
        """Return the range of a label, such as Save in "Click <b>Save</b>", without the words before it: "auf".

        A label begins with a capital letter inside the sentence. A word in front of its translation is left out if it
        has no capital letter of its own, and a later word with one comes from the same source word.
        """
        inside = self._source[node.start.offset : _end_offset(node)].lstrip()
        if not inside[:1].isupper() or not self._source[: node.start.offset].strip():
            return low, high
        labels = {self._tokens[index].origin: index for index in range(low, high) if self._is_capital(index)}
        for index in range(low, high):
            origin = self._tokens[index].origin
            if origin != UNKNOWN and (self._is_capital(index) or labels.get(origin, -1) <= index):
                return index, high
        return low, high

    def _is_capital(self, index: int) -> bool:
        """Whether a token begins with a capital letter that is not the one of the sentence."""
        return index > 0 and self._target[self._tokens[index].start].isupper()

    def _from(self, start: int, end: int) -> list[int]:
        """Return the tokens that come from a part of the source, in their order."""
        low, high = bisect_left(self._known, (start,)), bisect_left(self._known, (end,))
        return sorted(index for _, index in self._known[low:high])

    def _strangers(self, parent: _Node, pairs: Sequence[_Node]) -> list[tuple[float, int]]:
        """Return the words in a parent's range that come from outside all pairs in it, by their origin."""
        low, high = parent.range
        ends = list(accumulate((_end_offset(node) for node in pairs), max, initial=0))
        starts = [node.start.offset for node in pairs]
        words = ((token.origin, index) for index, token in enumerate(self._tokens[low:high], low) if token.is_sure)
        return sorted(word for word in words if ends[bisect_right(starts, word[0])] <= word[0])

    def _nearest_word(self, node: _Node, words: list[tuple[float, int]], free: _FreeTokens) -> tuple[int, int]:
        """Return the word from next to the pair: in a compound, two source words are one. Without any, an empty range.

        `words` are those from outside all pairs; words from inside another pair are left to it.
        """
        middle = (node.start.offset + _end_offset(node)) / 2
        while words:
            place = bisect_left(words, (middle,))
            before = bisect_left(words, (words[place - 1][0],)) if place else place
            places = {min(before, len(words) - 1), min(place, len(words) - 1)}
            nearest = min(places, key=lambda one: (abs(words[one][0] - middle), words[one][1]))
            index = words.pop(nearest)[1]
            if free.number_of(index) is not None:
                return index, index + 1
        where = self._boundary(node.start, free, free.low)
        return where, where

    def _boundary(self, mark: Mark, free: _FreeTokens, least: int) -> int:
        """Return the boundary between tokens that fewest tokens cross; of equal ones, the nearest by position."""
        share = mark.offset / self._source_length if self._source_length else 0.0
        crossings = self._crossings.of(mark.offset)[least : free.high + 1] + free.blocked[least - free.low :]
        if FIXED_SPACE.search(mark.raw):
            crossings += self._distance_from_neighbours(mark, least, free.high)
        if not len(crossings):
            return least
        places = np.flatnonzero(crossings == crossings.min()) + least
        return int(places[np.argmin(np.abs(places - share * len(self._tokens)))])

    @cached_property
    def _gaps(self) -> Integers:
        """A cost for each boundary: less where a space is."""
        are_gaps = [left.end < right.start for left, right in pairwise(self._tokens)]
        return np.array([_FAR, *(_FAR // 2 if is_gap else _FAR for is_gap in are_gaps), _FAR], dtype=np.int32)

    def _distance_from_neighbours(self, mark: Mark, low: int, high: int) -> Integers:
        """Return a cost for each boundary: a space that joins two words stays at one of them, where a space is."""
        costs: Integers = self._gaps[low : high + 1].copy()
        before = bisect_left(self._known, (mark.offset,))
        neighbours = [self._known[place][1] for place in (before - 1, before) if 0 <= place < len(self._known)]
        for place in (boundary for index in neighbours for boundary in (index, index + 1)):
            if low <= place <= high and costs[place - low] < _FAR:
                costs[place - low] -= _FAR // 4
        return costs


class _Crossings:
    """For each boundary between tokens, the number of tokens that a mark there has on the wrong side."""

    def __init__(self, known: Sequence[tuple[float, int]], length: int) -> None:
        self._known, self._done = known, 0
        is_known = np.zeros(length + 1, dtype=np.int32)
        is_known[[index + 1 for _, index in known]] = 1
        self._counts = is_known.cumsum(dtype=np.int32)

    def of(self, offset: int) -> Integers:
        """Return the numbers for a mark at this place of the source, less a number that is the same for all boundaries.

        They change little from one mark to the next.
        """
        done = bisect_left(self._known, (offset,))
        for _, index in self._known[self._done : done]:
            self._counts[index + 1 :] -= 2
        for _, index in self._known[done : self._done]:
            self._counts[index + 1 :] += 2
        self._done = done
        return self._counts


class _FreeTokens:
    """The tokens of a range that no pair has taken yet, as ranges without gaps."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high
        self.blocked: Integers = np.zeros(high - low + 1, dtype=np.int32)
        """A large number for each boundary inside a range that is taken."""
        self._lows, self._highs = [low], [high]

    def number_of(self, index: int) -> int | None:
        """Return the low end of the free range with this token, None if it is not free."""
        place = bisect_right(self._lows, index) - 1
        return self._lows[place] if place >= 0 and index < self._highs[place] else None

    def take(self, low: int, high: int) -> None:
        """Take a range. An empty one divides the range that it is in."""
        self.blocked[low + 1 - self.low : max(low + 1, high) - self.low] = _BLOCKED
        place = bisect_right(self._lows, low) - 1
        if place < 0 or high > self._highs[place]:
            return  # an empty range between two that are taken
        rest = [(self._lows[place], low), (high, self._highs[place])]
        rest = [(start, end) for start, end in rest if start < end]
        self._lows[place : place + 1] = [start for start, _ in rest]
        self._highs[place : place + 1] = [end for _, end in rest]


def _cost(token: TargetWord, sure: bool) -> int:
    """Return what it costs to have a token from outside in the range of a pair."""
    return _BRIDGE if token.origin == UNKNOWN or (sure and not token.is_sure) else _WORD


def _end_offset(node: _Node) -> int:
    return node.end.offset if node.end else node.start.offset


def _insertions(root: _Node, tokens: Sequence[TargetWord], length: int) -> Iterator[Insertion]:
    waiting: list[_Node | Insertion] = [root]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Insertion):
            yield one
            continue
        low, high = one.range
        start = _offset_before(low, tokens, length) if low < high else _offset_at(one.start, low, tokens, length)
        before, after = _spaces_around(one, low, len(tokens))
        if one is not root:
            raw = before + one.start.raw + ("" if one.end else after)
            yield Insertion(start, raw, one.start.replaces_space)
        if one.end and one is not root:
            waiting.append(Insertion(tokens[high - 1].end if low < high else start, one.end.raw + after))
        waiting += sorted(one.children, key=lambda child: child.range)[::-1]


def _spaces_around(node: _Node, boundary: int, number: int) -> tuple[str, str]:
    """Return the spaces to add before and after a mark or an empty pair that stands alone in the source."""
    if not node.start.stands_alone or not node.is_empty or not number:
        return "", ""
    return (" ", "") if boundary == number else ("", " ")


def _offset_before(boundary: int, tokens: Sequence[TargetWord], length: int) -> int:
    return tokens[boundary].start if boundary < len(tokens) else length


def _offset_at(mark: Mark, boundary: int, tokens: Sequence[TargetWord], length: int) -> int:
    """Return the offset at a boundary: after the token before it if the mark was joined to that, else at the next."""
    if boundary > 0 and (mark.joined_left or mark.replaces_space or boundary == len(tokens)):
        return tokens[boundary - 1].end
    return _offset_before(boundary, tokens, length)


def _ordered(insertions: Iterator[Insertion]) -> list[Insertion]:
    """Return the insertions with offsets that never decrease: their order is legal, their offsets may touch."""
    ordered, offset = list[Insertion](), 0
    for one in insertions:
        offset = max(offset, one.offset)
        ordered.append(Insertion(offset, one.raw, one.replaces_space))
    return ordered


def fill_lines(insertions: Sequence[Insertion], text: str) -> list[Insertion]:
    """Move line breaks so that no line of a translation is empty, if it has enough words."""
    breaks = [number for number, one in enumerate(insertions) if one.replaces_space and LINE_END.search(one.raw)]
    edges = [0, *(insertions[number].offset for number in breaks), len(text)]
    gaps = [found.start() for found in _GAP.finditer(text)]
    if all(text[start:end].strip() for start, end in pairwise(edges)) or len(gaps) < len(breaks):
        return list(insertions)
    moved, last = list(insertions), -1
    for order, number in enumerate(breaks):
        wanted = bisect_left(gaps, insertions[number].offset)
        last = min(max(wanted, last + 1), len(gaps) - len(breaks) + order)
        moved[number] = replace(insertions[number], offset=gaps[last])
    return sorted(moved, key=lambda one: one.offset)
