"""A sentence as the model sees it, and what has to come back into its translation."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mtloop.text.protected.placeholders import STAND_IN, find_placeholders, stand_in
from mtloop.text.protected.placement import Insertion, Mark, place_marks
from mtloop.text.protected.tags import find_tags
from mtloop.text.protected.word_links import Align, tokens_with_origins

_SPACES = re.compile(r"(?<=\s) +|^ +| +$")


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
        missing = [number for number in self._numbers if stand_in(number) not in _stand_ins(text)]
        for number in missing:
            text = self._insert(number, text, align)
        repaired += [self.placeholders[number - 1] for number in missing]
        return Assembled(self._written(text, self._insertions(text, align)), tuple(repaired))

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
            for low, high in find_placeholders(text[start:tag_start]):
                yield from _split_stand_in(text, start + low, start + high)
            if tag_start < tag_end:
                yield tag_start, tag_end
            start = tag_end

    def _insert(self, number: int, text: str, align: Align | None) -> str:
        """Put a missing stand-in after the word that comes from the word before it in the source."""
        name = stand_in(number)
        place = self.text.index(name)
        known = [token for token in tokens_with_origins(self.text, text, align) if 0 <= token.origin < place]
        if not known:
            return f"{name} {text}".rstrip() if text.strip() else name
        end = max(known, key=lambda token: token.origin).end
        glued = place > 0 and not self.text[place - 1].isspace() and text[end - 1].isalpha()
        rest = f" {text[end:]}" if text[end : end + 1].isdigit() else text[end:]
        return f"{text[:end]}{'' if glued else ' '}{name}{rest}"

    def _insertions(self, text: str, align: Align | None) -> list[Insertion]:
        if not self.marks:
            return []
        if text == self.text:
            return [Insertion(mark.offset, mark.raw, mark.replaces_space) for mark in self.marks]
        tokens = tokens_with_origins(self.text, text, align)
        return place_marks(self.marks, tokens, len(self.text), len(text))

    def _written(self, text: str, insertions: Sequence[Insertion]) -> str:
        parts, position = list[str](), 0
        for one in insertions:
            parts += [self.written(text[position : one.offset]), one.raw]
            position = max(position, one.offset)
            if one.replaces_space:
                position += len(text[position:]) - len(text[position:].lstrip(" "))
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


def _stand_ins(text: str) -> list[str]:
    return [found[0] for found in STAND_IN.finditer(text)]


def _split_stand_in(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a placeholder; stand-ins inside a longer one, such as %1 in %1$s, count as themselves."""
    inner = [found.span() for found in STAND_IN.finditer(text, start, end)]
    yield from inner or [(start, end)]


def _gaps(spans: Sequence[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    edges = [0, *(edge for span in spans for edge in span), length]
    return ((start, end) for start, end in list(pairwise(edges))[::2])
