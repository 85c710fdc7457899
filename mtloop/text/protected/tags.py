"""Find tags: HTML and XML elements in a text, and the inline elements of XLIFF, TMX and TS."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

_NAME = r"(?P<close>/)?(?P<name>[A-Za-z][\w:.-]*)(?P<attributes>(?:\s+(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)?)(?P<void>/)?"
_TAG = re.compile(rf"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<{_NAME}>", re.DOTALL)
_TAG_IN_XML = re.compile(rf"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|(?:<|&lt;){_NAME}(?:>|&gt;)", re.DOTALL)
_ATTRIBUTE = re.compile(r"([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
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
_OPENING = {"bpt": "ept", "bx": "ex", "sc": "ec"}
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
    pair: int = -1


def find_tags(text: str, *, xml: bool = False) -> list[Tag]:
    """Return the tags of a text in order, with their pairs. In an XML fragment, every element is a tag.

    >>> [(tag.name, str(tag.kind), tag.pair) for tag in find_tags("Click <b>Save</b> or<br>type <file>.")]
    [('b', 'open', 0), ('b', 'close', 0), ('br', 'single', -1), ('file', 'word', -1)]
    """
    return [_settled(tag, text, xml) for tag in _paired(list(_scan(text, xml)))]


def _scan(text: str, xml: bool) -> Iterator[Tag]:
    position = 0
    while found := (_TAG_IN_XML if xml else _TAG).search(text, position):
        tag, is_element = _tag(found), xml and found[0].startswith("<")
        if tag.kind is TagKind.OPEN and (end := _content_end(text, tag, is_element)):
            tag = replace(tag, end=end, kind=_code_kind(tag.name, is_element))
        yield tag
        position = tag.end


def _tag(found: re.Match[str]) -> Tag:
    name = found["name"] or ""
    local = name.rpartition(":")[2].lower()
    attributes = {key: first or second for key, first, second in _ATTRIBUTE.findall(found["attributes"] or "")}
    key = next((attributes[one] for one in ("rid", "i", "startRef", "id") if one in attributes), "")
    start, end = found.span()
    if local in _OPENING or local in _CLOSING:
        return Tag(start, end, TagKind.OPEN if not found["void"] else _void_kind(local), local, key)
    if not name or found["void"] or (local in _VOID and not found["close"]):
        return Tag(start, end, TagKind.SINGLE, local)
    return Tag(start, end, TagKind.CLOSE if found["close"] else TagKind.OPEN, local)


def _void_kind(name: str) -> TagKind:
    return TagKind.OPEN if name in _OPENING else TagKind.CLOSE


def _content_end(text: str, tag: Tag, is_element: bool) -> int:
    """Return the end of an element whose content is not translated, 0 for other elements."""
    opening = text[tag.start : tag.end]
    protected = tag.name in (NATIVE_CODES if is_element else _UNTRANSLATED)
    if not protected and not (is_element and _PROTECTED.search(opening)):
        return 0
    end = re.compile(rf"(?:<|&lt;)/(?:[\w.-]+:)?{re.escape(tag.name)}\s*(?:>|&gt;)", re.IGNORECASE)
    found = end.search(text, tag.end)
    return found.end() if found else 0


def _code_kind(name: str, is_element: bool) -> TagKind:
    if not is_element or name not in NATIVE_CODES:
        return TagKind.WORD
    return TagKind.OPEN if name in _OPENING else TagKind.CLOSE if name in _CLOSING else TagKind.SINGLE


def _paired(tags: Sequence[Tag]) -> list[Tag]:
    """Number the pairs. A closing tag closes the last open tag of its name and key, if nothing else is open inside."""
    paired, open_tags, number = list(tags), list[int](), 0
    for index, tag in enumerate(paired):
        if tag.kind is TagKind.OPEN:
            open_tags.append(index)
        elif tag.kind is TagKind.CLOSE:
            match = next((one for one in reversed(open_tags) if _closes(tag, paired[one])), None)
            if match is None:
                continue
            paired[match] = replace(paired[match], pair=number)
            paired[index] = replace(tag, pair=number)
            number += 1
            open_tags = open_tags[: open_tags.index(match)]
    return paired


def _closes(tag: Tag, opening: Tag) -> bool:
    return opening.name == _CLOSING.get(tag.name, tag.name) and opening.key == tag.key


def _settled(tag: Tag, text: str, xml: bool) -> Tag:
    """Decide what an unpaired tag is: a word of the sentence if it stands where a word could stand."""
    if tag.pair >= 0 or tag.kind is TagKind.WORD:
        return tag
    is_element = xml and text[tag.start] == "<"
    if is_element and tag.name in {"x", "ph"} and "lb" not in text[tag.start : tag.end]:
        return replace(tag, kind=TagKind.WORD if _stands_alone(text, tag) else TagKind.SINGLE)
    if not is_element and tag.kind is TagKind.OPEN and tag.name not in _HTML:
        return replace(tag, kind=TagKind.WORD)
    return replace(tag, kind=TagKind.SINGLE)


def _stands_alone(text: str, tag: Tag) -> bool:
    before, after = text[tag.start - 1 : tag.start], text[tag.end : tag.end + 1]
    return not (before.isalnum() or after.isalnum()) and (before.isspace() or after.isspace())
