"""The texts of Android's string resources: escapes, quotes and white space as aapt2 reads them.

A text without elements becomes plain text. A text with elements, such as `<b>` and `<xliff:g>`, becomes a fragment of
XML, in which a line break is `&#10;`. Quotes and escapes are resolved in both; they are written as escapes. The quotes
of a tag that is text, in CDATA or as `&lt;a href="...">`, stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from pathlib import Path

from mtloop.data.formats.filling import XML
from mtloop.data.formats.xml_splice import XmlElement, check_fragment, escape_attribute, escape_text

_TOKEN = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.)|(\")|([ \t\n\r\f\v]+)|\\", re.DOTALL)
_HTML_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_BARE_QUOTE = re.compile(r'((?<!\\)(?:\\\\)*)"')
_ESCAPED_QUOTE = re.compile(r'((?<!\\)(?:\\\\)*)\\"')
_LETTERS = {"n": "\n", "t": "\t"}
_SPECIAL = re.compile(r"[\\'\"\t\n]|\r\n?")
_CODES = {"\n": "\\n", "\t": "\\t", "\r": "\\n", "\r\n": "\\n"}
_SPACE = "\\u0020"
_SOFT_SPACE = "\ufdd0"  # stands for white space that may be dropped; Unicode has no character there
_MARKUP = re.compile(r"(<(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>)")
_REFERENCE = re.compile(r"\s*(?:@(?:null|empty|\+?(?:[\w.]+:)?[a-z]+/[\w.]+)|\?(?:[\w.]+:)?(?:[a-z]+/)?[\w.]+)\s*")
_CDATA = re.compile(r"\s*<!\[CDATA\[(?:(?!\]\]>).)*\]\]>\s*", re.DOTALL)
_CHARACTER = re.compile(r"&#(?:x([0-9a-fA-F]+)|(\d+));|&(amp|lt|gt|quot|apos);")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def read_android(element: XmlElement, syntax: str) -> str:
    """Return the text of a resource: plain, or as a fragment of XML."""
    text = "".join(_read_pieces(element, _Reading(), syntax))
    return text.removesuffix(_SOFT_SPACE).replace(_SOFT_SPACE, " ")


def is_reference(element: XmlElement) -> bool:
    """Whether a resource has no text, but names another resource: `@string/app_name`, `?attr/title`."""
    return not element.children and _REFERENCE.fullmatch(element.text()) is not None


def write_android(text: str, syntax: str, pattern: str, path: Path) -> str:
    """Return a text as the content of a resource. `pattern` is the content of the template: CDATA stays CDATA."""
    if syntax == XML:
        check_fragment(text, path)
        return "".join(_written(_MARKUP.split(text), pattern))
    escaped = _with_bare_quotes("".join(_escaped([text])), pattern)
    if _CDATA.fullmatch(pattern):
        return f"<![CDATA[{escaped.replace(']]>', ']]]]><![CDATA[>')}]]>"
    return escape_text(escaped)


class _Reading:
    """The state of a reader: whether it is inside quotes, and whether white space is dropped."""

    def __init__(self) -> None:
        self.is_quoted = False
        self.after_space = True

    def text(self, raw: str) -> str:
        """Return a piece of text without quotes and escapes. The quotes of a tag belong to the text."""
        raw = _HTML_TAG.sub(lambda tag: _BARE_QUOTE.sub(r'\1\\"', tag[0]), raw)
        pieces, position = list[str](), 0
        for found in _TOKEN.finditer(raw):
            pieces += [self._kept(raw[position : found.start()]), self._token(*found.groups())]
            position = found.end()
        text = "".join([*pieces, self._kept(raw[position:])])
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

    def _token(self, code: str | None, letter: str | None, quote: str | None, space: str | None) -> str:
        if quote:
            self.is_quoted = not self.is_quoted
            return ""
        if space and not self.is_quoted:
            collapsed, self.after_space = "" if self.after_space else _SOFT_SPACE, True
            return collapsed
        return self._kept(chr(int(code, 16)) if code else _LETTERS.get(letter, letter) if letter else space or "")

    def _kept(self, text: str) -> str:
        self.after_space = self.after_space and not text
        return text


def _read_pieces(element: XmlElement, reading: _Reading, syntax: str) -> Iterator[str]:
    for is_text, nodes in groupby(element.content, lambda node: isinstance(node, str)):
        if is_text:
            text = reading.text("".join(map(str, nodes)))
            yield escape_text(text).replace("\n", "&#10;") if syntax == XML else text
        else:
            for node in nodes:
                assert isinstance(node, XmlElement)
                yield from _read_element(node, reading)


def _read_element(element: XmlElement, reading: _Reading) -> Iterator[str]:
    attributes = (f'{name}="{escape_attribute(value)}"' for name, value in element.attributes.items())
    opening = " ".join([element.tag, *attributes])
    if not element.content:
        yield f"<{opening}/>"
        return
    yield f"<{opening}>"
    yield from _read_pieces(element, reading, XML)
    yield f"</{element.tag}>"


def _with_bare_quotes(text: str, pattern: str) -> str:
    """Return an escaped text with the quotes of its tags as in the template: usually, they are no escapes."""
    return text if '\\"' in pattern else _HTML_TAG.sub(lambda tag: _ESCAPED_QUOTE.sub(r'\1"', tag[0]), text)


def _written(pieces: Sequence[str], pattern: str) -> Iterator[str]:
    """Yield the texts and the tags, which take turns, with the texts escaped."""
    texts = _escaped([_CHARACTER.sub(_resolved, text) for text in pieces[::2]])
    for text, tag in zip_longest(texts, pieces[1::2], fillvalue=""):
        yield escape_text(_with_bare_quotes(text, pattern))
        yield tag


def _resolved(found: re.Match[str]) -> str:
    code, number, name = found.groups()
    return _NAMED[name] if name else chr(int(code, 16) if code else int(number))


def _escaped(texts: Sequence[str]) -> list[str]:
    """Return the texts of one resource with escapes. A space that would be dropped becomes an escape."""
    out, after_space = list[list[str]](), True
    for text in texts:
        out.append([])
        for part in filter(None, re.split("( )", text)):
            is_soft = part == " " and not after_space
            out[-1].append(part if is_soft else _SPACE if part == " " else _SPECIAL.sub(_code, part))
            after_space = is_soft
    if out[-1] and out[-1][-1] == " ":
        out[-1][-1] = _SPACE
    if len(texts) == 1 and texts[0].startswith(("@", "?")):
        out[0].insert(0, "\\")
    return ["".join(pieces) for pieces in out]


def _code(found: re.Match[str]) -> str:
    return _CODES.get(found[0], f"\\{found[0]}")
