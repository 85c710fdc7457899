"""Where the segments belong that a target of XLIFF 1.2 lacks: beside their neighbours, in the order of `<seg-source>`.

Nothing that the target has is moved or changed. What stands between two segments in `<seg-source>`, such as a space or
a tag, is copied with a missing segment, unless the target has it already.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TypeAlias
from unicodedata import category

from mtloop.data.formats.xml_splice import XmlDocument, XmlElement

_SPACE = " \t\r\n"
_Tag: TypeAlias = tuple[str, str]  # the name of an element and its id


@dataclass(frozen=True, slots=True)
class MissingSegments:
    """Segments in a row that a target lacks, with the tags around them.

    They stand from `start` to `end` in `<seg-source>`. They belong at `position` of the target, between the bytes
    `before` and `after`.
    """

    mids: frozenset[str]
    start: int
    end: int
    position: int
    before: bytes = b""
    after: bytes = b""


def missing_segments(
    document: XmlDocument,
    source: XmlElement,
    target: XmlElement,
    sources: Mapping[str, XmlElement],
    targets: Mapping[str, XmlElement],
) -> list[MissingSegments]:
    """Return the segments that a target lacks, as far as their place is known.

    `source` is `<seg-source>`. `sources` and `targets` are the segments of both sides by their `mid`.
    """
    return list(_Texts(document, source, target, sources, targets).runs(source))


def is_segment(element: XmlElement) -> bool:
    """Whether an element is the mark of a segment."""
    return element.name == "mrk" and element.attributes.get("mtype") == "seg"


@dataclass(frozen=True)
class _Texts:
    document: XmlDocument
    source: XmlElement
    target: XmlElement
    sources: Mapping[str, XmlElement]
    targets: Mapping[str, XmlElement]

    def runs(self, parent: XmlElement) -> Iterator[MissingSegments]:
        """Yield the missing segments below an element of the source, as far as their place is known."""
        nodes = [child for child in parent.children if child in self._mids]
        groups = [list(group) for _, group in groupby(nodes, self._is_missing)]
        for number, group in enumerate(groups):
            if not self._is_missing(group[0]):
                for node in group:
                    yield from self.runs(node) if node not in self._marks else ()
                continue
            left = groups[number - 1][-1] if number else None
            right = groups[number + 1][0] if number + 1 < len(groups) else None
            if found := self._placed(parent, group, left, right):
                yield found

    def _is_missing(self, node: XmlElement) -> bool:
        return not any(mid in self.targets for mid in self._mids[node])

    def _placed(
        self, parent: XmlElement, group: Sequence[XmlElement], left: XmlElement | None, right: XmlElement | None
    ) -> MissingSegments | None:
        """Put a group after its left neighbour, else before the right one. None if its tags are elsewhere already."""
        start, end = group[0].start, group[-1].end
        before = self._gap(left.end if left else parent.inner_start, start)
        after = self._gap(end, right.start if right else parent.inner_end)
        place = None if self._gap(start, end).is_used else self._place(parent, left, right, before, after)
        return MissingSegments(frozenset(self._mids_of(group)), start, end, *place) if place else None

    def _place(
        self, parent: XmlElement, left: XmlElement | None, right: XmlElement | None, before: _Gap, after: _Gap
    ) -> tuple[int, bytes, bytes] | None:
        if left and (mark := self._counterpart(left, parent, -1)):
            end, following = self._gap_end(mark)
            gap = self.document.utf8[mark.end : end].decode()
            if placed := _place_in(gap, before, after, is_alike=following == bool(right)):
                skipped, near, far = (text.encode() for text in placed)
                return mark.end + len(skipped), near, far
        if right and (mark := self._counterpart(right, parent, 0)):
            start, preceding = self._gap_start(mark)
            gap = self.document.utf8[start : mark.start].decode()
            if placed := _place_in(gap[::-1], after.mirrored(), before.mirrored(), is_alike=preceding == bool(left)):
                skipped, near, far = (text[::-1].encode() for text in placed)
                return mark.start - len(skipped), far, near
        return None

    def _mids_of(self, nodes: Sequence[XmlElement]) -> Iterator[str]:
        return (mid for node in nodes for mid in self._mids[node])

    def _counterpart(self, node: XmlElement, parent: XmlElement, number: int) -> XmlElement | None:
        """Return the element of the target for one of the source, by its first or last segment.

        None if other elements are around the segment there.
        """
        mid = [mid for mid in self._mids[node] if mid in self.targets][number]
        mark, found = self.sources[mid], self.targets[mid]
        while mark is not node:
            assert mark.parent is not None
            if found.parent is None or not _is_same(mark.parent, found.parent):
                return None
            mark, found = mark.parent, found.parent
        around = found.parent
        if parent is self.source or around is None:
            return found if around is self.target else None
        return found if _is_same(parent, around) else None

    def _gap(self, start: int, end: int) -> _Gap:
        inside = self._tags[bisect_left(self._starts, start) : bisect_left(self._starts, end)]
        return _Gap(self.document.utf8[start:end].decode(), any(tag in self._used for tag in inside))

    def _gap_end(self, mark: XmlElement) -> tuple[int, bool]:
        """Where the next segment of the target begins, or else the element around the mark ends; and which of both."""
        assert mark.parent is not None
        beside = self._in_target[mark.parent]
        number = bisect_left(beside, mark.end, key=lambda one: one.start)
        return (beside[number].start, True) if number < len(beside) else (mark.parent.inner_end, False)

    def _gap_start(self, mark: XmlElement) -> tuple[int, bool]:
        assert mark.parent is not None
        beside = self._in_target[mark.parent]
        number = bisect_right(beside, mark.start, key=lambda one: one.end)
        return (beside[number - 1].end, True) if number else (mark.parent.inner_start, False)

    @cached_property
    def _mids(self) -> Mapping[XmlElement, list[str]]:
        """The segments in each element of the source that has some, also in the segment itself."""
        found = defaultdict[XmlElement, list[str]](list)
        for mid, mark in self.sources.items():
            for node in _up_to(mark, self.source):
                found[node].append(mid)
        return dict(found)

    @cached_property
    def _marks(self) -> frozenset[XmlElement]:
        return frozenset(self.sources.values())

    @cached_property
    def _in_target(self) -> Mapping[XmlElement, Sequence[XmlElement]]:
        """The elements of the target that are segments or have some, by the element that they stand in, in order."""
        marks = (element for element in self.target.iter() if is_segment(element))
        nodes = {node for mark in marks for node in _up_to(mark, self.target)}
        parents = {node.parent for node in nodes if node.parent is not None}
        return {parent: [child for child in parent.children if child in nodes] for parent in parents}

    @cached_property
    def _used(self) -> frozenset[_Tag]:
        return frozenset(_tag(element) for element in self.target.iter() if not is_segment(element))

    @cached_property
    def _outside(self) -> list[XmlElement]:
        """The elements of the source outside its segments."""
        inside = {node for mark in self._marks for node in mark.iter()}
        return [element for element in self.source.iter() if element not in inside]

    @cached_property
    def _starts(self) -> list[int]:
        return [element.start for element in self._outside]

    @cached_property
    def _tags(self) -> list[_Tag]:
        return [_tag(element) for element in self._outside]


@dataclass(frozen=True, slots=True)
class _Gap:
    """The text between segments of the source. `is_used`: a tag in it is in the target already, somewhere."""

    text: str
    is_used: bool

    def mirrored(self) -> _Gap:
        return _Gap(self.text[::-1], self.is_used)


def _place_in(gap: str, near: _Gap, far: _Gap, *, is_alike: bool) -> tuple[str, str, str] | None:
    """Return what stands before missing segments in a gap of the target after a neighbour, and what goes around them.

    `near` is what the source has between the neighbour and the segments, `far` what follows them. `is_alike`: another
    segment follows on both sides, or on none. None if the target has something else in place of the text that is near.
    """
    wanted = near.text.strip(_SPACE)
    if is_alike and gap == near.text + far.text:
        return near.text, "", ""
    if wanted and _begins_with(gap.lstrip(_SPACE), wanted):
        return gap[: gap.index(wanted) + len(wanted)], "", ""
    if wanted and (gap.strip(_SPACE) or near.is_used):
        return None
    return "", near.text, far.text if is_alike and not gap and not far.is_used else ""


def _begins_with(text: str, wanted: str) -> bool:
    """Whether a text begins with another one that ends there as a word: "and more", but not "andere" with "and"."""
    following = text[len(wanted) : len(wanted) + 1]
    return text.startswith(wanted) and not (_is_of_word(wanted[-1]) and following and _is_of_word(following))


def _is_of_word(character: str) -> bool:
    return category(character)[0] in "LMN"


def _is_same(one: XmlElement, other: XmlElement) -> bool:
    return _tag(one) == _tag(other)


def _tag(element: XmlElement) -> _Tag:
    return element.tag, element.attributes.get("id", "")


def _up_to(element: XmlElement, last: XmlElement) -> Iterator[XmlElement]:
    """Yield an element and those around it, without the last one."""
    node: XmlElement | None = element
    while node is not None and node is not last:
        yield node
        node = node.parent
