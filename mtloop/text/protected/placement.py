"""Put tags and line breaks back into a translation, where the words around them went, in legal nesting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mtloop.text.protected.word_links import UNKNOWN, TargetWord

_BRIDGE = -0.01  # a token of unknown origin may lie inside a range but does not extend it


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


def place_marks(
    marks: Sequence[Mark], tokens: Sequence[TargetWord], source_length: int, length: int
) -> list[Insertion]:
    """Return where each mark goes in a translation of `length` characters, in the order of the translation."""
    root = _Node(Mark(0, ""), Mark(source_length, ""), _tree(marks), (0, len(tokens)))
    _Placer(tokens, source_length).place(root)
    return _ordered(_insertions(root, tokens, length))


def _tree(marks: Sequence[Mark]) -> list[_Node]:
    """Return the marks as a tree; a mark whose partner is absent, or crosses another pair, stands alone."""
    last = {mark.pair: index for index, mark in enumerate(marks) if mark.pair >= 0}
    nodes, index = list[_Node](), 0
    while index < len(marks):
        mark, end = marks[index], last.get(marks[index].pair, index)
        if end > index:
            nodes.append(_Node(mark, marks[end], _tree(marks[index + 1 : end])))
        else:
            nodes.append(_Node(mark))
        index = end + 1
    return nodes


class _Placer:
    def __init__(self, tokens: Sequence[TargetWord], source_length: int) -> None:
        self._tokens, self._source_length = tokens, source_length

    def place(self, parent: _Node) -> None:
        """Give each child a range of tokens inside its parent's range. Ranges of children do not overlap."""
        free = [parent.range]
        wide = [child for child in parent.children if not child.is_empty]
        for child in sorted(wide, key=lambda node: node.start.offset - _end_offset(node)):
            child.range = self._best_range(child, free)
            free = list(_without(free, child.range))
            self.place(child)
        least = parent.range[0]
        for child in parent.children:
            if child.is_empty:
                least = self._boundary(child.start, free, least)
                child.range = least, least
                self.place(child)

    def _best_range(self, node: _Node, free: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Return the range with the most tokens from inside the pair and the fewest from outside."""
        inside = [token for token in self._tokens if self._value(token, node) > 0]
        sure = any(token.is_sure for token in inside)
        values = [self._value(token, node) if token.is_sure or not sure else _BRIDGE for token in self._tokens]
        best, chosen = 0.0, None
        for low, high in free:
            total, start = 0.0, low
            for index in range(low, high):
                if total <= 0:
                    total, start = 0.0, index
                total += values[index]
                if total > best:
                    best, chosen = total, (start, index + 1)
        if chosen is None:
            where = self._boundary(node.start, free, free[0][0] if free else 0)
            return where, where
        return chosen

    def _value(self, token: TargetWord, node: _Node) -> float:
        if token.origin == UNKNOWN:
            return _BRIDGE
        return 1.0 if node.start.offset <= token.origin < _end_offset(node) else -1.0

    def _boundary(self, mark: Mark, free: Sequence[tuple[int, int]], least: int) -> int:
        """Return the boundary between tokens that fewest tokens cross; of equal ones, the nearest by position."""
        places = [place for low, high in free for place in range(low, high + 1) if place >= least]
        share = mark.offset / self._source_length if self._source_length else 0.0
        wanted = share * len(self._tokens)
        return min(places, key=lambda place: (self._crossings(mark, place), abs(place - wanted)), default=least)

    def _crossings(self, mark: Mark, place: int) -> int:
        before = sum(token.origin >= mark.offset for token in self._tokens[:place])
        return before + sum(UNKNOWN < token.origin < mark.offset for token in self._tokens[place:])


def _end_offset(node: _Node) -> int:
    return node.end.offset if node.end else node.start.offset


def _without(free: Sequence[tuple[int, int]], taken: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the free ranges that are left. An empty range at the edge stays, for marks between two pairs."""
    for low, high in free:
        if low <= taken[0] and taken[1] <= high:
            yield low, taken[0]
            yield taken[1], high
        else:
            yield low, high


def _insertions(node: _Node, tokens: Sequence[TargetWord], length: int) -> Iterator[Insertion]:
    for child in sorted(node.children, key=lambda one: one.range):
        low, high = child.range
        start = _offset_before(low, tokens, length) if low < high else _offset_at(child.start, low, tokens, length)
        yield Insertion(start, child.start.raw, child.start.replaces_space)
        yield from _insertions(child, tokens, length)
        if child.end:
            yield Insertion(tokens[high - 1].end if low < high else start, child.end.raw)


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
