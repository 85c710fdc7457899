"""XML files that are changed in place: elements with their byte ranges, and edits that replace text and attributes.

Positions are offsets into the document in UTF-8 (`XmlDocument.utf8`), found by expat. A file in another encoding is
converted to UTF-8 and back; that the conversion returns the same bytes is checked when the file is read.

Entity declarations are refused, because with them a small file can fill the memory ("billion laughs").
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import Edit, splice
from mtloop.text.files import check_declared_encoding

MAX_DEPTH = 200

_DECLARED = re.compile(rb"<\?xml\s[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_START_TAG = re.compile(rb"<(?:[^\"'>]|\"[^\"]*\"|'[^']*')*+>")
_TAG_NAME = re.compile(rb"<[^\s/>]+")
_ATTRIBUTE = re.compile(rb"(\s+)([^\s=]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_UTF16_STARTS = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}


@dataclass(slots=True, eq=False)
class XmlElement:
    """An element: its name and attributes as they are written, its content, and where it stands.

    `start` and `end` include the tags, `inner_start` and `inner_end` do not. In `<x/>` both of the latter are `end`.
    """

    tag: str
    """The name with its prefix, such as `sdl:seg`."""
    attributes: dict[str, str]
    parent: XmlElement | None = field(repr=False)
    line: int
    start: int
    inner_start: int
    inner_end: int = 0
    end: int = 0
    content: list[str | XmlElement] = field(default_factory=list, repr=False)
    """Texts and elements in order. Entities are resolved, line ends are newlines, comments are left out."""

    @property
    def name(self) -> str:
        """The name without its prefix."""
        return self.tag.rpartition(":")[2]

    @property
    def children(self) -> list[XmlElement]:
        return [node for node in self.content if isinstance(node, XmlElement)]

    def find(self, name: str) -> XmlElement | None:
        """Return the first child with this name, without its prefix."""
        elements = (node for node in self.content if isinstance(node, XmlElement))
        return next((child for child in elements if child.name == name), None)

    def iter(self) -> Iterator[XmlElement]:
        """Yield this element and all below it, in the order of the file."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def ancestors(self) -> Iterator[XmlElement]:
        """Yield the elements around this one, the nearest first."""
        element = self.parent
        while element is not None:
            yield element
            element = element.parent

    def text(self) -> str:
        """Return the text of this element and of all below it."""
        texts, stack = [], [*reversed(self.content)]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                texts.append(node)
            else:
                stack.extend(reversed(node.content))
        return "".join(texts)

    def inherited(self, *names: str) -> str:
        """Return the first of these attributes on this element or the nearest around it; "" if none has one."""
        elements = (self, *self.ancestors())
        values = (element.attributes.get(name) for element in elements for name in names)
        return next(filter(None, values), "")


@dataclass(frozen=True, slots=True)
class AttributeRange:
    """Where an attribute stands: from the white space before it to its last quote, and the value between the quotes."""

    start: int
    end: int
    value_start: int
    value_end: int


@dataclass(frozen=True, slots=True)
class XmlDocument:
    """A parsed document. Collect edits from the methods below, and get the changed file from `spliced`."""

    path: Path
    content: bytes
    """The file."""
    encoding: str
    utf8: bytes
    root: XmlElement
    newline: str
    """The line end of the file: that of its first line."""

    @classmethod
    def parse(cls, content: bytes, path: Path, root: str = "") -> XmlDocument:
        """Parse a file. Raise InputError if it is not well-formed, declares entities, or has another root element."""
        encoding = _encoding(content, path)
        utf8 = _to_utf8(content, encoding, path)
        document = cls(path, content, encoding, utf8, _TreeBuilder(utf8, path).build(), _newline(utf8))
        if root and document.root.name != root:
            raise InputError(f"the root element is <{document.root.tag}>; expected <{root}>", path=path)
        return document

    def raw(self, element: XmlElement) -> str:
        """Return what stands between the tags of an element, as it is written, with newlines as line ends."""
        text = self.utf8[element.inner_start : element.inner_end].decode()
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def outer(self, element: XmlElement) -> str:
        """Return an element as it is written, with its tags and with newlines as line ends."""
        return self.utf8[element.start : element.end].decode().replace("\r\n", "\n").replace("\r", "\n")

    def indentation(self, element: XmlElement) -> str:
        """Return a newline and the white space before an element; "" if something else stands before it."""
        begin = element.start
        while begin and self.utf8[begin - 1] in b" \t":
            begin -= 1
        if not begin or self.utf8[begin - 1] != 0x0A:
            return ""
        return "\n" + self.utf8[begin : element.start].decode()

    def attribute(self, element: XmlElement, name: str) -> AttributeRange | None:
        """Return where an attribute stands, None if the element does not have it."""
        for match in self._attributes(element):
            if match[2].decode() == name:
                return AttributeRange(match.start(), match.end(), match.start(3) + 1, match.end(3) - 1)
        return None

    def set_inner(self, element: XmlElement, fragment: str) -> Edit:
        """Return the edit that replaces the content of an element by a fragment of XML. `<x/>` becomes `<x>...</x>`."""
        check_characters(fragment, self.path)
        new = fragment.replace("\n", self.newline).encode()
        if not self._is_empty_tag(element):
            return Edit(element.inner_start, element.inner_end, new)
        return Edit(self._attributes_end(element), element.end, b">%b</%b>" % (new, element.tag.encode()))

    def set_attribute(self, element: XmlElement, name: str, value: str) -> Edit:
        """Return the edit that gives an attribute this value, or adds it after the other attributes."""
        check_characters(value, self.path)
        new = escape_attribute(value).encode()
        if found := self.attribute(element, name):
            return Edit(found.value_start, found.value_end, new)
        position = self._attributes_end(element)
        return Edit(position, position, b' %b="%b"' % (name.encode(), new))

    def remove_attribute(self, element: XmlElement, name: str) -> list[Edit]:
        """Return the edit that removes an attribute, and the white space before it; none if it is not there."""
        found = self.attribute(element, name)
        return [Edit(found.start, found.end, b"")] if found else []

    def insert_before(self, element: XmlElement, fragment: str) -> Edit:
        """Return the edit that inserts a fragment of XML before an element."""
        check_characters(fragment, self.path)
        return Edit(element.start, element.start, fragment.replace("\n", self.newline).encode())

    def insert_after(self, element: XmlElement, fragment: str) -> Edit:
        """Return the edit that inserts a fragment of XML after an element."""
        check_characters(fragment, self.path)
        return Edit(element.end, element.end, fragment.replace("\n", self.newline).encode())

    def spliced(self, edits: Iterable[Edit]) -> bytes:
        """Return the file with the edits made. A character that its encoding lacks is written as `&#8222;`."""
        new = splice(self.utf8, edits)
        return new if self.encoding == "utf-8" else new.decode().encode(self.encoding, "xmlcharrefreplace")

    def _is_empty_tag(self, element: XmlElement) -> bool:
        return element.inner_start == element.end

    def _attributes(self, element: XmlElement) -> Iterator[re.Match[bytes]]:
        name = _TAG_NAME.match(self.utf8, element.start)
        position = name.end() if name else element.start
        while match := _ATTRIBUTE.match(self.utf8, position, element.inner_start):
            yield match
            position = match.end()

    def _attributes_end(self, element: XmlElement) -> int:
        ends = [match.end() for match in self._attributes(element)]
        return ends[-1] if ends else element.start + 1 + len(element.tag.encode())


def escape_text(text: str) -> str:
    """Return a text as the content of an element.

    >>> escape_text("a < b & c")
    'a &lt; b &amp; c'
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("\r", "&#13;")


def escape_attribute(text: str) -> str:
    """Return a text as the value of an attribute in double quotes."""
    return escape_text(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")


def check_characters(text: str, path: Path) -> None:
    """Raise InputError for a character that XML cannot hold, such as a control character."""
    if found := _NOT_XML.search(text):
        raise InputError(f"XML cannot hold the character U+{ord(found[0]):04X} of {text[:60]!r}; remove it", path=path)


def check_fragment(fragment: str, path: Path) -> None:
    """Raise InputError if a text is not a well-formed fragment of XML."""
    check_characters(fragment, path)
    try:
        expat.ParserCreate("UTF-8").Parse(f"<x>{fragment}</x>".encode(), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise InputError(f"not well-formed XML ({reason}): {fragment[:60]!r}", path=path) from error


def _encoding(content: bytes, path: Path) -> str:
    """Return the Python name of the encoding: that of the byte-order mark, else the declared one, else UTF-8."""
    for start, encoding in (_BOMS | _UTF16_STARTS).items():
        if content.startswith(start):
            return encoding
    match = _DECLARED.match(content)
    declared = match[1].decode() if match else "utf-8"
    try:
        name = codecs.lookup(declared).name
    except LookupError as error:
        raise InputError(f"unknown encoding {declared!r}; save the file as UTF-8", path=path, line=1) from error
    if name.startswith(("utf-16", "utf-32")):
        raise InputError(f"declares {declared}, but it is not; correct the first line", path=path, line=1)
    return name


def _to_utf8(content: bytes, encoding: str, path: Path) -> bytes:
    check_declared_encoding(content, encoding, path)
    try:
        text = content.decode(encoding)
        if encoding == "utf-8":
            return content
        if text.encode(encoding) == content:
            return text.encode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"invalid bytes for the encoding {error.encoding}", path=path, line=line) from error
    except (LookupError, ValueError) as error:
        raise InputError(f"unsupported encoding ({error}); save the file as UTF-8", path=path, line=1) from error
    raise InputError(f"the encoding {encoding} cannot be written back unchanged; save the file as UTF-8", path=path)


def _newline(utf8: bytes) -> str:
    first = utf8.find(b"\n")
    return "\r\n" if first > 0 and utf8[first - 1] == 0x0D else "\n"


class _TreeBuilder:
    def __init__(self, utf8: bytes, path: Path) -> None:
        self._utf8, self._path = utf8, path
        self._open: list[XmlElement] = []
        self._root: XmlElement | None = None
        self._parser = parser = expat.ParserCreate("UTF-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._doctype
        parser.SkippedEntityHandler = self._skipped_entity

    def build(self) -> XmlElement:
        try:
            self._parser.Parse(self._utf8, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise InputError(f"not well-formed XML: {reason}", path=self._path, line=error.lineno) from error
        assert self._root is not None  # expat refuses a document without elements
        return self._root

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        start, line = self._parser.CurrentByteIndex, self._parser.CurrentLineNumber
        match = _START_TAG.match(self._utf8, start)
        assert match is not None  # expat has accepted the tag
        parent = self._open[-1] if self._open else None
        element = XmlElement(tag, attributes, parent, line, start, match.end())
        if parent is None:
            self._root = element
        else:
            parent.content.append(element)
        if len(self._open) == MAX_DEPTH:
            raise InputError(f"more than {MAX_DEPTH} elements inside each other", path=self._path, line=line)
        self._open.append(element)

    def _end(self, tag: str) -> None:
        element = self._open.pop()
        if self._utf8[element.inner_start - 2] == 0x2F:  # "/>"
            element.inner_end = element.end = element.inner_start
            return
        element.inner_end = self._parser.CurrentByteIndex
        element.end = self._utf8.index(b">", element.inner_end) + 1

    def _characters(self, text: str) -> None:
        self._open[-1].content.append(text)

    def _doctype(self, name: str, system: str | None, public: str | None, subset: bool) -> None:
        if subset:
            message = "a DOCTYPE with declarations in brackets is not allowed, because entities are unsafe; remove them"
            raise InputError(message, path=self._path, line=self._parser.CurrentLineNumber)

    def _skipped_entity(self, name: str, is_parameter: bool) -> None:
        message = f"unknown entity &{name};; write the character itself"
        raise InputError(message, path=self._path, line=self._parser.CurrentLineNumber)
