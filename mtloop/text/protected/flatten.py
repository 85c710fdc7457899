"""A text as one line of plain text: a private character for each placeholder, and marks for tags and line breaks."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from mtloop.text.protected.mnemonics import is_marked_word
from mtloop.text.protected.placeholders import ClientMarkup, client_markup, find_placeholders, stand_in
from mtloop.text.protected.placement import FIXED_CHARACTERS, FIXED_CODES, FIXED_SPACE, LINE_END, Mark
from mtloop.text.protected.symbols import find_symbols
from mtloop.text.protected.tags import Tag, TagKind, find_tags

FIRST, LAST = 0xF0000, 0xFFFFD
"""Private characters of Unicode (plane 15): each stands for a placeholder."""
_PRIVATE = re.compile("[\U000f0000-\U000ffffd]")
_BLOCK_NAMES = (
    "address article aside blockquote br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 "
    "h5 h6 header hr li main nav ol p pre section table tbody td tfoot th thead tr ul"
)
_BLOCK_TAGS = frozenset(_BLOCK_NAMES.split())
_PAGE_NAMES = (  # what else stands between the texts of a page
    "body caption center colgroup dialog head hgroup html iframe legend link menu meta noscript optgroup option script "
    "search select style summary template textarea title"
)
_HTML_BLOCKS = _BLOCK_TAGS | frozenset(_PAGE_NAMES.split())
_LINE_BREAK = "br"
_DIGITS = re.compile(r"\d+")
_SPACES = r"(?:(?<![ \t])[ \t]++)?"
_HARD_BREAK = (  # an empty line, a break after a sentence, a break before an item
    rf"{_SPACES}\r?\n[ \t]*(?:\r?\n[ \t]*)+|(?<=[.:!?…])[ \t]*\r?\n[ \t]*|{_SPACES}\r?\n[ \t]*(?=(?:[-*•–]|\d+[.)])\s)"
)
_INDENTED = rf"|{_SPACES}\r?\n[ \t]+"  # in XML, indentation is layout
_TAB = r"(?:(?<![ \t]) ++)?\t[ \t]*"  # it separates columns
_SOFT_BREAK = rf"{_SPACES}(?:\r\n|\n|\r)[ \t]*"
_CHARACTER = re.compile(f"[{FIXED_CHARACTERS}]")
_WORD_BEFORE = re.compile(r"[^\W\d_]{0,40}\Z")
_MNEMONIC = r"(?P<sign>(?<![\w&~/])[_~]|(?<!&)&)(?P<word>[^\W\d_]+)(?![\w(=&;]|\.\w)"
_RUN = rf"(?:(?<! ) *+{FIXED_SPACE.pattern})+ *+"
_KEPT = rf"(?P<kept>(?<=[«‹]){_RUN}|{_RUN}(?=[:;!?»›]|[ \t]*[\r\n]))"  # only French has a space before ! and :
_REST = rf"(?P<soft>{_SOFT_BREAK})|(?P<private>{_PRIVATE.pattern})|{_KEPT}|(?P<space>{_RUN})|{_MNEMONIC}"
_TOKENS = re.compile(f"(?P<hard>{_HARD_BREAK}{_INDENTED}|{_TAB})|{_REST}")
_TOKENS_IN_XML = re.compile(f"(?P<hard>{_HARD_BREAK}|{_TAB})|{_REST}")
_FIXED_IN_XML = re.compile(rf"{FIXED_SPACE.pattern}|&(?:{FIXED_CODES})(?![0-9A-Za-z])")
_MARKED_PAIRS = 1 << 20  # the first number of a pair around a word with a mnemonic; tags have lower ones
MAX_LABEL_WORDS = 2  # lines of so few words are labels, also in lower case
MIN_WRAPPED, WRAPPED_SHARE = 50, 0.7  # characters of the longest line of wrapped prose, and its share in the others


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
    def of(
        cls, source: str, *, is_xml: bool = False, is_html: bool = False, symbols: Mapping[str, bool] | None = None
    ) -> Flat:
        """Flatten a text. HTML is XML, but its block elements separate texts.

        `symbols`: of a translation, those of its source.
        """
        is_xml = is_xml or is_html
        tags, position = find_tags(source, xml=is_xml, html=is_html), 0
        building = _Building(is_xml, len(tags), symbols)
        for tag, separates in zip(tags, _separating(tags, is_xml, is_html), strict=True):
            building.add_text(source[position : tag.start])
            building.add_tag(tag, source[tag.start : tag.end], source[tag.end : tag.end + 1], separates)
            position = tag.end
        building.add_text(source[position:])
        text = "".join(building.pieces)
        return cls(is_xml, text, building.placeholders, with_line_ends(text, building.marks))


def _separating(tags: Sequence[Tag], is_xml: bool, is_html: bool) -> list[bool]:
    """Return for each tag whether it separates texts. XML files have no block elements."""
    if is_html:
        around = _pairs_around_blocks(tags)
        return [tag.name in _HTML_BLOCKS or tag.pair in around for tag in tags]
    return [not is_xml and tag.kind is not TagKind.WORD and tag.name in _BLOCK_TAGS for tag in tags]


def _pairs_around_blocks(tags: Sequence[Tag]) -> set[int]:
    """Return the pairs of tags with a block element between them, such as a link around a paragraph."""
    found, open_pairs, has_block = set[int](), list[int](), [False]
    for tag in tags:
        if tag.name in _HTML_BLOCKS and tag.name != _LINE_BREAK:
            has_block[-1] = True
        if open_pairs and tag.pair == open_pairs[-1]:
            inside = has_block.pop()
            found |= {open_pairs.pop()} if inside else set()
            has_block[-1] |= inside
        elif tag.pair >= 0:
            open_pairs.append(tag.pair)
            has_block.append(False)
    return found


@dataclass
class _Building:
    """A flat text that grows: its pieces and their length."""

    is_xml: bool
    pairs: int = 0
    """The first number of a pair that no tag has."""
    symbols: Mapping[str, bool] | None = None
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    placeholders: list[str] = field(default_factory=list)
    marks: list[FlatMark] = field(default_factory=list)
    breaks: Iterator[str] = field(default_factory=lambda: iter(()))
    """The line breaks of an XML text that are still to come, as they are written."""
    spaces: Iterator[str] = field(default_factory=lambda: iter(()))
    """Its spaces at which no line may end, likewise."""
    marked: int = 0
    """The number of words with a mnemonic."""

    def add_text(self, raw: str) -> None:
        self.breaks, self.spaces = iter(LINE_END.findall(raw)), iter(_FIXED_IN_XML.findall(raw))
        text, position = html.unescape(raw) if self.is_xml else raw, 0
        markup = client_markup(text)
        symbols = {one.start: one for one in find_symbols(text, self.symbols)}
        spans = [*find_placeholders(text), *((one.start, one.end) for one in symbols.values())]
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            if start < position or FIXED_SPACE.fullmatch(text, start, end):
                continue
            self._add_plain(text[position:start])
            raw = self._as_written(text[start:end])
            if start in markup:
                self._add_client_markup(raw, markup[start])
            elif start in symbols and symbols[start].is_mark:
                self._add_mark(raw)
            else:
                self._add_placeholder(raw)
            position = end
        self._add_plain(text[position:])
        self.pairs += len(markup)

    def add_tag(self, tag: Tag, raw: str, after: str, separates: bool) -> None:
        if tag.kind is TagKind.WORD and not separates:
            self._add_placeholder(raw)
            return
        divides = tag.kind is TagKind.SINGLE and self._last.isalnum() and after.isalnum()
        self._add_mark(raw, pair=tag.pair, replaces_space=divides, separates=separates)
        self._add(" " if divides else "")

    def _add_client_markup(self, raw: str, markup: ClientMarkup) -> None:
        self._add_mark(raw, pair=markup.pair + self.pairs if markup.pair >= 0 else -1, replaces_space=markup.divides)
        self._add(" " if markup.divides else "")

    def _as_written(self, text: str) -> str:
        """Return a text as it stands in the source: in XML, escaped and with its own line breaks."""
        if not self.is_xml:
            return text
        text = LINE_END.sub(lambda found: next(self.breaks, found[0]), html.escape(text, quote=False))
        return _CHARACTER.sub(lambda found: next(self.spaces, found[0]), text)

    def _add_plain(self, text: str) -> None:
        position = self._extend_placeholder(text)
        for found in (_TOKENS_IN_XML if self.is_xml else _TOKENS).finditer(text, position):
            self._add(text[position : found.start()])
            if found["private"]:
                self._add_placeholder(found[0])
            elif found["kept"]:
                self._add_kept(found[0])
            elif found["space"]:
                self._add_space(found[0])
            elif found["sign"]:
                self._add_marked(found["sign"], found["word"], text[position : found.start()])
            else:
                raw = self._as_written(found[0])
                self._add_mark(raw, replaces_space=True, separates=found["hard"] is not None)
                self._add(" ")
            position = self._extend_placeholder(text, found.end())
        self._add(text[position:])

    def _add_space(self, text: str) -> None:
        """Add spaces at which no line may end; the model sees one plain space."""
        if self._last.isspace():
            self._add_kept(text)
            return
        self._add_mark(self._as_written(text), replaces_space=True)
        self._add(" ")

    def _add_kept(self, text: str) -> None:
        """Add such spaces as a part of the text; an entity is a placeholder."""
        raw = self._as_written(text)
        if "&" in text:
            self._add_placeholder(raw)
        else:
            self._add(text)

    def _add_marked(self, sign: str, word: str, before: str) -> None:
        """Add a word; if it has a mnemonic, its mark and the end of the word are a pair without the mark itself."""
        left = _WORD_BEFORE.search(before)
        if not is_marked_word(left[0] if left else "", sign, word):
            self._add(sign + word)
            return
        pair = _MARKED_PAIRS + self.marked
        self.marked += 1
        self._add_mark(self._as_written(sign), pair=pair)
        self._add(word)
        self._add_mark("", pair=pair)

    def _add(self, text: str) -> None:
        if text:
            self.pieces.append(text)
            self.length += len(text)

    @property
    def _last(self) -> str:
        """The last character."""
        return self.pieces[-1][-1] if self.pieces else ""

    def _extend_placeholder(self, text: str, position: int = 0) -> int:
        """Add digits at a position of a text to the placeholder before them; return the position after them.

        After a stand-in they would change its number. After a per cent sign and a tag, they would become a stand-in.
        """
        digits = _DIGITS.match(text, position)
        if digits and self._last == "%":
            self._add_placeholder(digits[0])
            return digits.end()
        if digits is None or not _PRIVATE.match(self._last) or self._ends_with_mark():
            return position
        self.placeholders[-1] += digits[0]
        return digits.end()

    def _ends_with_mark(self) -> bool:
        return bool(self.marks) and self.marks[-1].offset == self.length

    def _add_placeholder(self, raw: str) -> None:
        if len(self.placeholders) > LAST - FIRST:
            raise ValueError("too many placeholders")
        self._add(chr(FIRST + len(self.placeholders)))
        self.placeholders.append(raw)

    def _add_mark(self, raw: str, *, pair: int = -1, replaces_space: bool = False, separates: bool = False) -> None:
        joined = bool(self.pieces) and not self._last.isspace()
        self.marks.append(FlatMark(self.length, raw, pair, replaces_space, joined, separates=separates))


def with_line_ends(text: str, marks: Sequence[FlatMark]) -> list[FlatMark]:
    """Return the marks; a line break after a line that is a text of its own separates."""
    found, breaks, start = list(marks), list[int](), 0
    for index, mark in enumerate([*marks, FlatMark(len(text), "", separates=True)]):
        if mark.separates:
            for number in _line_ends(text[start : mark.offset], start, breaks, marks):
                found[number] = replace(marks[number], separates=True)
            breaks, start = [], mark.offset + mark.replaces_space
        elif mark.replaces_space and LINE_END.search(mark.raw):
            breaks.append(index)
    return found


def _line_ends(paragraph: str, start: int, breaks: Sequence[int], marks: Sequence[FlatMark]) -> Iterator[int]:
    """Yield the breaks of a paragraph that end a text. Before an indented line, a break is layout."""
    edges = [0, *(marks[index].offset + 1 - start for index in breaks), len(paragraph) + 1]
    wrapped = wrapped_lines([paragraph[low : high - 1] for low, high in pairwise(edges)])
    for index, goes_on in zip(breaks, wrapped, strict=True):
        if not goes_on and not marks[index].raw.endswith((" ", "\t")):
            yield index


def wrapped_lines(lines: Sequence[str]) -> list[bool]:
    """Return for each line of a paragraph but the last whether it goes on in the next one: hard-wrapped prose.

    Labels and items do not go on.

    >>> wrapped_lines(["Save changes", "Discard changes"]), wrapped_lines(["The file was", "not found"])
    ([False], [True])
    """
    has_sentences = max(len(line.split()) for line in lines) > MAX_LABEL_WORDS
    longest, first, found = max(map(len, lines)), "", list[bool]()
    for line, following in zip(lines[-2::-1], lines[:0:-1], strict=True):
        first = next(filter(str.isalpha, following), first)
        is_long = longest > MIN_WRAPPED and len(line) >= WRAPPED_SHARE * longest
        goes_on = line.rstrip().endswith((",", ";")) or (has_sentences if first.islower() else is_long)
        found.append(goes_on and first != "")
    return found[::-1]


def depths(marks: Sequence[FlatMark]) -> list[int]:
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


def with_stand_ins(text: str, marks: Sequence[FlatMark], start: int) -> tuple[str, list[int], tuple[Mark, ...]]:
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
        Mark(
            offsets[mark.offset - start],
            mark.raw,
            mark.pair,
            mark.replaces_space,
            mark.joined_left,
            text[max(mark.offset - start - 1, 0) : mark.offset - start + 1] == "  ",
        )
        for mark in marks
    )
    return "".join(out), numbers, moved


def raw_text(flat: Flat, start: int, end: int, marks: Sequence[FlatMark]) -> str:
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
