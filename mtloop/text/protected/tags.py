"""Find tags: HTML and XML elements in a text, and the inline elements of XLIFF, TMX and TS."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache

_NAME = r"(?P<close>/)?(?P<name>[A-Za-z][\w:.-]*+)"
_ATTRIBUTES = r"(?P<attributes>(?:\s(?:(?!/?{end})(?:[^<>\"']|\"[^\"]*+\"|'[^']*+'))*+)?)(?P<void>/)?"
_SECTIONS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}  # others, such as <!DOCTYPE>, end with >
_START = r"(?P<section><!--|<!\[CDATA\[|<\?|<!(?i:doctype)\b)"
_TAG = re.compile(rf"{_START}|<{_NAME}{_ATTRIBUTES.format(end='>')}>")
_TAG_IN_XML = re.compile(rf"{_START}|(?:<|&lt;){_NAME}{_ATTRIBUTES.format(end='(?:>|&[gl]t;)')}(?:>|&gt;)")
_ATTRIBUTE = re.compile(r"([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_ATTRIBUTE_OF_HTML = re.compile(r"([^\s\"'<>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'<>=`]++)))?")
_VOID_NAMES = "area base br col embed hr img input link meta param source track wbr"
_VOID = frozenset(_VOID_NAMES.split())
_HTML_NAMES = (
    "a abbr acronym b bdi bdo big blockquote body button center cite code dd del details dfn div dl dt em "
    "fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 header html i ins kbd label legend li main "
    "mark nav ol option p pre q s samp section select small span strike strong sub summary sup table tbody td "
    "textarea tfoot th thead title tr tt u ul var"
)
_HTML = frozenset(_HTML_NAMES.split())
NATIVE_CODES = frozenset({"bpt", "ept", "ph", "it", "ut"})
"""Inline elements whose content is a code of the original file, such as an HTML tag. The content is not translated."""
_PROTECTED = re.compile(r"^<(?:xliff:g\b|mrk\b[^>]*\b(?:mtype=[\"']protected|translate=[\"']no))")
"""Elements whose content stands for itself: <xliff:g> of Android, and <mrk> that says so."""
_UNTRANSLATED = frozenset({"code", "pre", "script", "style", "samp"})
_FORMATTING = NATIVE_CODES | {"g", "hi", "mrk", "pc", "sub"}
"""Inline elements of XLIFF and TMX that stand for nothing when they are empty."""
_CLOSING_TAG = re.compile(r"</(?P<name>[\w:.-]++)\s*>")
_OPENING = {"bpt": "ept", "bx": "ex", "sc": "ec", "sm": "em"}
_CLOSING = {close: opening for opening, close in _OPENING.items()}


class TagKind(StrEnum):
    OPEN = "open"
    CLOSE = "close"
    SINGLE = "single"
    WORD = "word"  # stands for a word of the sentence: an unknown <name>, an element with untranslated content


@dataclass(frozen=True)
class Tag:
    """A tag in a text. `pair` is the same number for an opening tag and its closing tag, -1 for others."""

    start: int
    end: int
    kind: TagKind
    name: str = ""
    key: str = ""
    """The same for the tags that can be a pair."""
    pair: int = -1
    is_element: bool = False
    """Whether it is a tag of the XML file that has the text as its content: others may not cross it."""


def find_tags(text: str, *, xml: bool = False, html: bool = False) -> list[Tag]:
    """Return the tags of a text in order, with their pairs. In an XML fragment, every element is a tag.

    So it is in HTML; there the content of code and scripts is not translated.

    >>> [(tag.name, str(tag.kind), tag.pair) for tag in find_tags("Click <b>Save</b> or<br>type <file>.")]
    [('b', 'open', 0), ('b', 'close', 0), ('br', 'single', -1), ('file', 'word', -1)]
    """
    return [_settled(tag, text, xml or html) for tag in _paired(list(_Scanner(text, xml or html, html).tags()))]


@dataclass
class _Scanner:
    """Finds the tags of a text, in time that grows with its length."""

    text: str
    xml: bool
    html: bool = False
    unclosed: set[str] = field(default_factory=set)
    ends: dict[re.Pattern[str], dict[int, int]] = field(default_factory=dict)

    def tags(self) -> Iterator[Tag]:
        pattern, position = _TAG_IN_XML if self.xml else _TAG, 0
        while found := pattern.search(self.text, position):
            tag = self._section(found) if found["section"] else self._element(found)
            if tag is not None:
                yield tag
            position = tag.end if tag else found.end()

    def _section(self, found: re.Match[str]) -> Tag | None:
        """Return a comment, a CDATA section or an instruction; None if it does not end."""
        closing = _SECTIONS.get(found[0], ">")
        end = -1 if closing in self.unclosed else self.text.find(closing, found.end())
        if end < 0:
            self.unclosed.add(closing)
            return None
        return Tag(found.start(), end + len(closing), TagKind.SINGLE)

    def _element(self, found: re.Match[str]) -> Tag:
        is_element = self.xml and found[0].startswith("<")
        tag = _tag(found, is_element)
        if tag.kind is TagKind.OPEN and is_element and (end := self._empty_end(tag)):
            return replace(tag, end=end, kind=TagKind.SINGLE, is_element=False)
        if tag.kind is TagKind.OPEN and (end := self._content_end(tag, is_element)):
            return replace(tag, end=end, kind=_code_kind(tag.name, is_element))
        return tag

    def _empty_end(self, tag: Tag) -> int:
        """Return the end of an element without content that stands for something, such as <x id="7"></x>; else 0."""
        if tag.name in _HTML or tag.name in _FORMATTING:
            return 0
        closing = _CLOSING_TAG.match(self.text, tag.end)
        return closing.end() if closing and closing["name"].rpartition(":")[2].lower() == tag.name else 0

    def _content_end(self, tag: Tag, is_element: bool) -> int:
        """Return the end of an element whose content is not translated, 0 for other elements."""
        protected = (is_element and tag.name in NATIVE_CODES) or (
            (self.html or not is_element) and tag.name in _UNTRANSLATED
        )
        written = self.text[tag.start : tag.end]
        protected = protected or (is_element and bool(_PROTECTED.search(written)))
        if not protected and not (self.html and is_element and _is_kept(written)):
            return 0
        edges = _element_edges(tag.name, self.text[tag.start] == "&")
        if edges not in self.ends:
            self.ends[edges] = _element_ends(self.text, edges)
        return self.ends[edges].get(tag.start, 0)


def _is_kept(tag: str) -> bool:
    """Whether an opening tag of HTML says that its content is not to be translated.

    >>> [_is_kept(tag) for tag in ('<p translate="no">', "<p class='a notranslate'>", '<p title="translate=no">')]
    [True, True, False]
    """
    if "translate" not in tag.lower():
        return False
    attributes = {name.lower(): "".join(values).lower() for name, *values in _ATTRIBUTE_OF_HTML.findall(tag)}
    return attributes.get("translate") == "no" or "notranslate" in attributes.get("class", "").split()


def _element_ends(text: str, edges: re.Pattern[str]) -> dict[int, int]:
    """Return the end of each element with these opening and closing tags, by its start."""
    ends, open_starts = dict[int, int](), list[int]()
    for found in edges.finditer(text):
        if not found["close"]:
            open_starts.append(found.start())
        elif open_starts:
            ends[open_starts.pop()] = found.end()
    return ends


@lru_cache(maxsize=64)
def _element_edges(name: str, is_escaped: bool) -> re.Pattern[str]:
    """Return a pattern for the opening and the closing tag of an element, but not for `<x/>`."""
    start, end = ("&lt;", "&gt;") if is_escaped else ("<", ">")
    local, attributes = rf"(?:[\w.-]+:)?{re.escape(name)}", _ATTRIBUTES.format(end=end)
    return re.compile(rf"{start}(?P<close>/)?{local}{attributes}(?(void)(?!)){end}", re.IGNORECASE)


def _tag(found: re.Match[str], is_element: bool) -> Tag:
    name = found["name"] or ""
    local = name.rpartition(":")[2].lower()
    attributes = {key: first or second for key, first, second in _ATTRIBUTE.findall(found["attributes"] or "")}
    key = next((attributes[one] for one in ("rid", "i", "startRef", "id") if one in attributes), "")
    start, end = found.span()
    if (local in _OPENING or local in _CLOSING) and (local in NATIVE_CODES or (found["void"] and is_element)):
        kind = _void_kind(local) if found["void"] else TagKind.OPEN
        return Tag(start, end, kind, local, f"{_CLOSING.get(local, local)} {key}")
    if not name or found["void"] or (local in _VOID and not found["close"]):
        return Tag(start, end, TagKind.SINGLE, local)
    kind = TagKind.CLOSE if found["close"] else TagKind.OPEN
    return Tag(start, end, kind, local, local, is_element=is_element)


def _void_kind(name: str) -> TagKind:
    return TagKind.OPEN if name in _OPENING else TagKind.CLOSE


def _code_kind(name: str, is_element: bool) -> TagKind:
    if not is_element or name not in NATIVE_CODES:
        return TagKind.WORD
    return TagKind.OPEN if name in _OPENING else TagKind.CLOSE if name in _CLOSING else TagKind.SINGLE


def _paired(tags: Sequence[Tag]) -> list[Tag]:
    """Number the pairs. A closing tag closes the last open tag of its key; what is open inside stays single.

    Tags that would cross an element of the XML file stay single.
    """
    paired, open_tags, number = list(tags), _OpenTags(), 0
    for index, tag in enumerate(tags):
        if tag.kind is TagKind.OPEN:
            open_tags.add(index, tag)
        elif tag.kind is TagKind.CLOSE and (match := open_tags.close(tag)) is not None:
            paired[match] = replace(tags[match], pair=number)
            paired[index] = replace(tag, pair=number)
            number += 1
    return paired


@dataclass
class _OpenTags:
    """The tags that are open, the last one last, with the places of each key and of the elements."""

    stack: list[tuple[int, Tag]] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)
    elements: list[int] = field(default_factory=list)

    def add(self, index: int, tag: Tag) -> None:
        self.places.setdefault(tag.key, []).append(len(self.stack))
        if tag.is_element:
            self.elements.append(len(self.stack))
        self.stack.append((index, tag))

    def close(self, tag: Tag) -> int | None:
        """Return the index of the tag that a closing tag closes, and take it and all tags after it off."""
        places = self.places.get(tag.key)
        if not places or (not tag.is_element and self.elements and self.elements[-1] > places[-1]):
            return None
        place = places[-1]
        index = self.stack[place][0]
        while len(self.stack) > place:
            _, closed = self.stack.pop()
            self.places[closed.key].pop()
        while self.elements and self.elements[-1] >= place:
            self.elements.pop()
        return index


def _settled(tag: Tag, text: str, xml: bool) -> Tag:
    """Decide what an unpaired tag is: a word of the sentence if it stands where a word could stand."""
    if tag.pair >= 0 or tag.kind is TagKind.WORD:
        return tag
    is_element = xml and text[tag.start] == "<"
    written = text[tag.start : tag.end]
    is_empty_pair = tag.kind is TagKind.SINGLE and tag.name not in _FORMATTING and "</" in written
    if is_element and (is_empty_pair or tag.name in {"x", "ph"}) and "lb" not in written:
        return replace(tag, kind=TagKind.WORD if _stands_alone(text, tag) else TagKind.SINGLE)
    if not is_element and tag.kind is TagKind.OPEN and tag.name not in _HTML:
        return replace(tag, kind=TagKind.WORD)
    return replace(tag, kind=TagKind.SINGLE)


def _stands_alone(text: str, tag: Tag) -> bool:
    before, after = text[tag.start - 1 : tag.start], text[tag.end : tag.end + 1]
    return not (before.isalnum() or after.isalnum()) and (before.isspace() or after.isspace())
