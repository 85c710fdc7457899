"""A sentence as the model sees it, and what has to come back into its translation."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mtloop.text.protected.placeholders import STAND_IN, find_placeholders, stand_in
from mtloop.text.protected.placement import FIXED_CHARACTERS, FIXED_SPACE, Insertion, Mark, fill_lines, place_marks
from mtloop.text.protected.tags import find_tags
from mtloop.text.protected.word_links import UNKNOWN, Align, tokens_with_origins

_BY_ORDER = re.compile(
    r"%[-#0+' ]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|L|q|j|z|t|I64)?[diouxXeEfFgGaAcsCSpr@]|\{\}"
)
"""Placeholders that a program fills in by their order: %s, %5.1f, {}."""
_SPACES = re.compile(r"(?<=\s) +|^ +| +$")
_HIDDEN = "\ue000"  # a private character in place of a stand-in


@dataclass(frozen=True)
class Assembled:
    """A translation with everything that was protected.

    `repaired`: what the model had lost, doubled or invented and was put right by rule. Such a text needs a review.
    """

    text: str
    repaired: tuple[str, ...] = ()


@dataclass(frozen=True)
class Passage:
    """A sentence with stand-ins for `placeholders` and without `marks`. In an XML fragment the text is unescaped."""

    text: str
    placeholders: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    is_xml: bool = False

    def restore(self, translation: str, align: Align | None = None) -> Assembled:
        """Return the translation with every placeholder and mark exactly once."""
        text, repaired = self._without_surplus(translation)
        present = {found[0] for found in STAND_IN.finditer(text)}
        missing = [number for number in self._numbers if stand_in(number) not in present]
        text = self._with_missing(missing, text, align) if missing else text
        repaired += [self.placeholders[number - 1] for number in missing]
        text, moved = self._with_order(text)
        repaired += moved
        return Assembled(self._written(text, self._insertions(text, align)), tuple(repaired))

    @property
    def spaced(self) -> str:
        """The text with its spaces at which no line may end, as characters."""
        text = self.text
        for mark in reversed(self.marks):
            if FIXED_SPACE.search(mark.raw):
                found = FIXED_SPACE.search(html.unescape(mark.raw))
                space = html.unescape(found[0]) if found else " "
                text = text[: mark.offset] + space + text[mark.offset + 1 :]
        return text

    @property
    def _numbers(self) -> range:
        return range(1, len(self.placeholders) + 1)

    def _without_surplus(self, translation: str) -> tuple[str, list[str]]:
        """Remove stand-ins that the source lacks or that come again, and placeholders and tags that it lacks."""
        allowed, surplus = {stand_in(number) for number in self._numbers}, list[tuple[int, int]]()
        for start, end in self._protected_spans(translation):
            found = translation[start:end]
            if found in allowed:
                allowed.remove(found)
            elif found not in self.text or STAND_IN.fullmatch(found):
                surplus.append((start, end))
        kept = "".join(translation[start:end] for start, end in _gaps(surplus, len(translation)))
        text = _SPACES.sub("", kept) if surplus else translation
        return text, [translation[start:end] for start, end in surplus]

    def _protected_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the placeholders and tags that a translation contains, in order."""
        tags = [] if self.is_xml else [(tag.start, tag.end) for tag in find_tags(text)]
        start = 0
        for tag_start, tag_end in [*tags, (len(text), len(text))]:
            yield from ((start + low, start + high) for low, high in _placeholders(text[start:tag_start]))
            if tag_start < tag_end:
                yield tag_start, tag_end
            start = tag_end

    def _with_missing(self, numbers: Sequence[int], text: str, align: Align | None) -> str:
        """Put missing stand-ins after the word that comes from the word before them in the source."""
        places = {int(found[1]): found.start() for found in STAND_IN.finditer(self.text)}
        tokens = tokens_with_origins(self.text, text, align)
        known = sorted((token.origin, -index) for index, token in enumerate(tokens) if token.origin != UNKNOWN)
        added, at, last = dict[int, str](), 0, UNKNOWN
        for number in numbers:
            place, gap = places[number], " "
            before = bisect_left(known, (place,))
            origin, index = known[before - 1] if before else (UNKNOWN, 0)
            if origin > last:
                at = tokens[-index].end
                gap = "" if text[at - 1].isalpha() and not self.text[place - 1].isspace() else " "
            added[at] = added.get(at, "") + gap + stand_in(number)  # after the stand-in before it, if that is nearer
            last = place
        return _with_added(text, added)

    def _with_order(self, text: str) -> tuple[str, list[str]]:
        """Put placeholders that a program fills in by their order, such as %s, into the order of the source.

        Return the text, and those that were moved.
        """
        ordered = [number for number in self._numbers if _BY_ORDER.fullmatch(self.placeholders[number - 1])]
        present = [int(found[1]) for found in STAND_IN.finditer(text) if int(found[1]) in set(ordered)]
        if present == ordered or len(present) != len(ordered):
            return text, []
        moved = {stand_in(old): stand_in(new) for old, new in zip(present, ordered, strict=True)}
        text = STAND_IN.sub(lambda found: moved.get(found[0], found[0]), text)
        return text, [self.placeholders[new - 1] for old, new in zip(present, ordered, strict=True) if old != new]

    def _insertions(self, text: str, align: Align | None) -> list[Insertion]:
        if not self.marks:
            return []
        if text == self.text:
            return [Insertion(mark.offset, mark.raw, mark.replaces_space) for mark in self.marks]
        tokens = tokens_with_origins(self.text, text, align)
        return fill_lines(place_marks(self.marks, tokens, self.text, text), text)

    def _written(self, text: str, insertions: Sequence[Insertion]) -> str:
        parts, position = list[str](), 0
        for number, one in enumerate(insertions):
            parts += [self.written(text[position : one.offset]), one.raw]
            position = max(position, one.offset)
            eaten = f" {FIXED_CHARACTERS}" if FIXED_SPACE.search(one.raw) else " "
            later = insertions[number + 1].offset if number + 1 < len(insertions) else len(text)
            limit = later if later > one.offset else len(text)
            while one.replaces_space and position < limit and text[position] in eaten:
                position += 1
        return "".join([*parts, self.written(text[position:])])

    def as_seen(self, typed: str) -> str:
        """Return the beginning of a translation as the model sees it: stand-ins for placeholders, and no tags."""
        text = typed.lstrip()
        for mark in self.marks:
            text = text.replace(mark.raw, " " if mark.replaces_space else "", 1)
        for number in self._numbers:
            text = text.replace(self.placeholders[number - 1], stand_in(number), 1)
        return html.unescape(text) if self.is_xml else text

    def written(self, text: str) -> str:
        """Return a text with placeholders for its stand-ins; in XML its characters are escaped."""
        parts = STAND_IN.split(text)
        outside = [html.escape(part, quote=False) if self.is_xml else part for part in parts[::2]]
        inside = [self._placeholder(int(number)) for number in parts[1::2]]
        return "".join(one for pair in zip(outside, [*inside, ""], strict=True) for one in pair)

    def _placeholder(self, number: int) -> str:
        known = 0 < number <= len(self.placeholders)
        return self.placeholders[number - 1] if known else stand_in(number)


def _with_added(text: str, added: Mapping[int, str]) -> str:
    """Return a text with stand-ins put into it, each with a space before it. No digit may follow them."""
    parts, position = list[str](), 0
    for at, names in sorted(added.items()):
        divides = not at or text[at : at + 1].isdigit()
        parts += [text[position:at], names if at else names.lstrip(), " " if divides else ""]
        position = at
    return "".join([*parts, text[position:]]).rstrip()


def _placeholders(text: str) -> list[tuple[int, int]]:
    """Return the stand-ins and the placeholders of a translation; %1 in %1$s counts as itself."""
    stand_ins = [found.span() for found in STAND_IN.finditer(text)]
    hidden = STAND_IN.sub(lambda found: _HIDDEN * len(found[0]), text)
    others = [(start, end) for start, end in find_placeholders(hidden) if _HIDDEN not in hidden[start:end]]
    return sorted([*stand_ins, *others])


def _gaps(spans: Sequence[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    edges = [0, *(edge for span in spans for edge in span), length]
    return ((start, end) for start, end in list(pairwise(edges))[::2])
