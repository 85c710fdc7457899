"""A text as one line of plain text: a private character for each placeholder, and marks for tags and line breaks."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

from mtloop.text.protected.placeholders import find_placeholders, stand_in
from mtloop.text.protected.placement import Mark
from mtloop.text.protected.tags import Tag, TagKind, find_tags

FIRST, LAST = 0xF0000, 0xFFFFD
"""Private characters of Unicode (plane 15): each stands for a placeholder."""
_PRIVATE = re.compile("[\U000f0000-\U000ffffd]")
_BLOCK_NAMES = (
    "address article aside blockquote br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 "
    "h5 h6 header hr li main nav ol p pre section table tbody td tfoot th thead tr ul"
)
_BLOCK_TAGS = frozenset(_BLOCK_NAMES.split())
_DIGITS = re.compile(r"\d+")
_HARD_BREAK = re.compile(  # an empty line, a break after a sentence, a break before an item or an indented line
    r"[ \t]*(?:\r?\n[ \t]*){2,}|(?<=[.:!?…])[ \t]*\r?\n[ \t]*|[ \t]*\r?\n(?:[ \t]+|(?=(?:[-*•–]|\d+[.)])\s))"
)
_LINE_BREAK = re.compile(r"[ \t]*[\r\n]+[ \t]*")  # in XML it is a space; a break that counts is written &#10;
_SOFT_BREAK = re.compile(r"[ \t]*(?:\r\n|\n|\r|\t)[ \t]*")
_TOKENS = re.compile(f"(?P<hard>{_HARD_BREAK.pattern})|(?P<soft>{_SOFT_BREAK.pattern})|(?P<private>{_PRIVATE.pattern})")


@dataclass(frozen=True)
class FlatMark(Mark):
    """A mark that may also separate texts which are translated one by one (a hard line break, a block element)."""

    separates: bool = False


@dataclass
class Flat:
    """The text with a private character per placeholder, the placeholders as they are written, and the marks."""

    is_xml: bool = False
    text: str = ""
    placeholders: list[str] = field(default_factory=list)
    marks: list[FlatMark] = field(default_factory=list)

    @classmethod
    def of(cls, source: str, *, is_xml: bool = False) -> Flat:
        flat, position = cls(is_xml), 0
        tags = find_tags(source, xml=is_xml)
        for tag in tags:
            flat._add_text(source[position : tag.start])
            flat._add_tag(tag, source[tag.start : tag.end], source[tag.end : tag.end + 1])
            position = tag.end
        flat._add_text(source[position:])
        return flat

    def _add_text(self, raw: str) -> None:
        text, position = html.unescape(_LINE_BREAK.sub(" ", raw)) if self.is_xml else raw, 0
        for start, end in find_placeholders(text):
            self._add_plain(text[position:start])
            self._add_placeholder(html.escape(text[start:end], quote=False) if self.is_xml else text[start:end])
            position = end
        self._add_plain(text[position:])

    def _add_plain(self, text: str) -> None:
        position = self._extend_placeholder(text)
        for found in _TOKENS.finditer(text, position):
            self.text += text[position : found.start()]
            if found["private"]:
                self._add_placeholder(found[0])
            else:
                self._add_mark(found[0], replaces_space=True, separates=found["hard"] is not None)
                self.text += " "
            position = found.end()
        self.text += text[position:]

    def _extend_placeholder(self, text: str) -> int:
        """Add digits at the start of a text to the placeholder before them; return their number.

        After a stand-in they would change its number.
        """
        digits = _DIGITS.match(text)
        if digits is None or not _PRIVATE.match(self.text[-1:]) or self._ends_with_mark():
            return 0
        self.placeholders[-1] += digits[0]
        return digits.end()

    def _ends_with_mark(self) -> bool:
        return bool(self.marks) and self.marks[-1].offset == len(self.text)

    def _add_placeholder(self, raw: str) -> None:
        if len(self.placeholders) > LAST - FIRST:
            raise ValueError("too many placeholders")
        self.text += chr(FIRST + len(self.placeholders))
        self.placeholders.append(raw)

    def _add_tag(self, tag: Tag, raw: str, after: str) -> None:
        if tag.kind is TagKind.WORD:
            self._add_placeholder(raw)
            return
        separates = not self.is_xml and tag.name in _BLOCK_TAGS
        divides = tag.kind is TagKind.SINGLE and self.text[-1:].isalnum() and after.isalnum()
        self._add_mark(raw, pair=tag.pair, replaces_space=divides, separates=separates)
        self.text += " " if divides else ""

    def _add_mark(self, raw: str, *, pair: int = -1, replaces_space: bool = False, separates: bool = False) -> None:
        joined = bool(self.text) and not self.text[-1].isspace()
        self.marks.append(FlatMark(len(self.text), raw, pair, replaces_space, joined, separates))


def depths(marks: list[FlatMark]) -> list[int]:
    """Return for each mark the number of inline pairs that are open around it."""
    open_pairs, found = set[int](), list[int]()
    for mark in marks:
        if mark.pair in open_pairs:
            open_pairs.remove(mark.pair)
            found.append(len(open_pairs))
        else:
            found.append(len(open_pairs))
            if mark.pair >= 0 and not mark.separates:
                open_pairs.add(mark.pair)
    return found


def with_stand_ins(text: str, marks: list[FlatMark], start: int) -> tuple[str, list[int], tuple[Mark, ...]]:
    """Return a part of a flat text with numbered stand-ins, the indices of its placeholders, and its moved marks.

    `start` is the offset of the part; the marks are those of the part.
    """
    out, numbers, offsets = list[str](), list[int](), dict[int, int]()
    length = 0
    for index, character in enumerate(text):
        offsets[index] = length
        if _PRIVATE.match(character):
            numbers.append(ord(character) - FIRST)
            character = stand_in(len(numbers)) + (" " if text[index + 1 : index + 2].isdigit() else "")
        out.append(character)
        length += len(character)
    offsets[len(text)] = length
    moved = tuple(
        Mark(offsets[mark.offset - start], mark.raw, mark.pair, mark.replaces_space, mark.joined_left) for mark in marks
    )
    return "".join(out), numbers, moved


def raw_text(flat: Flat, start: int, end: int, marks: list[FlatMark]) -> str:
    """Return a part of a flat text as it stood in the source."""
    parts, position = list[str](), start
    for mark in marks:
        parts += [_raw_run(flat, position, mark.offset), mark.raw]
        position = mark.offset + mark.replaces_space
    return "".join([*parts, _raw_run(flat, position, end)])


def _raw_run(flat: Flat, start: int, end: int) -> str:
    characters = (
        flat.placeholders[ord(one) - FIRST]
        if _PRIVATE.match(one)
        else html.escape(one, quote=False)
        if flat.is_xml
        else one
        for one in flat.text[start:end]
    )
    return "".join(characters)


def has_letters(text: str) -> bool:
    """Whether a flat text has anything to translate: a letter that is not a placeholder."""
    return any(character.isalpha() for character in text)
