"""XML files that are read as they stream by: only known elements are kept, and only until their unit is complete."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from mtloop.core.errors import InputError
from mtloop.data.formats.xml_text import expat_errors, safe_parser
from mtloop.text.files import MAX_LINE_BYTES, open_bytes
from mtloop.text.protected.tags import NATIVE_CODES

MAX_DEPTH = 200
MAX_PARTS = 1000  # known elements in one unit
_CHUNK = 1 << 16


@dataclass(slots=True)
class StreamedElement:
    """A known element with the known elements in it. Only the elements in `XmlGrammar.texts` have a text."""

    name: str
    """The name without its prefix."""
    attributes: dict[str, str]
    line: int
    parent: StreamedElement | None = field(default=None, repr=False)
    children: list[StreamedElement] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list, repr=False)
    written: list[str] = field(default_factory=list, repr=False)
    """The pieces of the text with its inline elements; empty if it has none."""

    @property
    def fragment(self) -> str:
        """The content of this element as XML, with its inline elements and native codes."""
        return "".join(self.written) if self.written else escape(self.text)

    @property
    def text(self) -> str:
        """The text of this element and of its inline elements, without native codes."""
        return "".join(self.pieces)

    @property
    def language(self) -> str:
        """The value of `xml:lang`, else of `lang`; "" without one."""
        return self.attributes.get("xml:lang") or self.attributes.get("lang") or ""

    def named(self, name: str) -> Iterator[StreamedElement]:
        """Yield the children with a name."""
        return (child for child in self.children if child.name == name)

    def iter(self) -> Iterator[StreamedElement]:
        """Yield the elements below this one, in the order of the file."""
        for child in self.children:
            yield child
            yield from child.iter()


@dataclass(frozen=True)
class XmlGrammar:
    """Which elements are read: `units` are yielded, with the `parts` and `texts` in them.

    Any other element is skipped with all in it. If `looks_inside`, the known elements in it are read.
    """

    units: Collection[str]
    parts: Collection[str]
    texts: Collection[str]
    looks_inside: bool = False


def stream_units(path: Path, grammar: XmlGrammar) -> Iterator[StreamedElement]:
    """Yield the units of a file one at a time. Raise InputError if it is not XML, or if a part of it is too large."""
    builder = _UnitBuilder(path, grammar)
    with open_bytes(path) as file:
        chunk = b"start"
        while chunk:
            chunk = file.read(_CHUNK)
            with expat_errors(path):
                builder.parse(chunk)
            yield from builder.take()


class _UnitBuilder:
    """Builds the units of a file. `_open` are the known elements around the current place."""

    def __init__(self, path: Path, grammar: XmlGrammar) -> None:
        self._path, self._grammar = path, grammar
        self._known = {*grammar.units, *grammar.parts, *grammar.texts}
        self._open: list[StreamedElement] = []
        self._complete: list[StreamedElement] = []
        self._depths: list[int] = []
        self._depth = self._fed = self._parts = self._length = 0
        self._skipped_at = 0  # the depth of the element that is skipped with all in it; 0: none
        self._parser = parser = safe_parser(path)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.SkippedEntityHandler = self._entity

    def parse(self, chunk: bytes) -> None:
        self._parser.Parse(chunk, not chunk)
        self._fed += len(chunk)
        if self._fed - self._parser.CurrentByteIndex > MAX_LINE_BYTES:
            raise self._error(f"a tag or comment of more than {MAX_LINE_BYTES >> 20} MB")

    def take(self) -> list[StreamedElement]:
        units, self._complete = self._complete, []
        return units

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"more than {MAX_DEPTH} elements inside each other")
        if self._in_text:
            self._write_tag(tag, attributes)
        if self._skipped_at:
            return
        name = tag.rpartition(":")[2]
        if self._in_text:
            self._skipped_at = self._depth if name in NATIVE_CODES else 0
        elif name in self._grammar.units if not self._open else name in self._known:
            self._keep(StreamedElement(name, attributes, self._parser.CurrentLineNumber))
        elif self._open and not self._grammar.looks_inside:
            self._skipped_at = self._depth

    @property
    def _in_text(self) -> bool:
        return bool(self._open) and self._open[-1].name in self._grammar.texts

    def _write_tag(self, name: str, attributes: dict[str, str]) -> None:
        written, tag = self._open[-1].written, "".join(f" {key}={quoteattr(text)}" for key, text in attributes.items())
        if not written:
            written.append(escape(self._open[-1].text))
        written.append(f"<{name}{tag}>")
        self._count(len(written[-1]))

    def _write_end(self, name: str) -> None:
        written = self._open[-1].written
        if written[-1].startswith(f"<{name}") and not written[-1].endswith("/>"):
            written[-1] = f"{written[-1][:-1]}/>"  # nothing is in it
        else:
            written.append(f"</{name}>")

    def _keep(self, element: StreamedElement) -> None:
        if self._open:
            element.parent = self._open[-1]
            element.parent.children.append(element)
        self._open.append(element)
        self._depths.append(self._depth)
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise self._error(f"more than {MAX_PARTS} texts and properties in one <{self._open[0].name}>")

    def _end(self, tag: str) -> None:
        if self._in_text and self._depth > self._depths[-1]:
            self._write_end(tag)
        if self._depth == self._skipped_at:
            self._skipped_at = 0
        elif self._depths and self._depth == self._depths[-1]:
            self._depths.pop()
            element = self._open.pop()
            if not self._open:
                self._complete.append(element)
                self._parts = self._length = 0
        self._depth -= 1

    def _characters(self, text: str) -> None:
        if not self._in_text:
            return
        element = self._open[-1]
        if element.written:
            element.written.append(escape(text))
        if not self._skipped_at:
            element.pieces.append(text)
        self._count(len(text))

    def _count(self, characters: int) -> None:
        self._length += characters
        if self._length > MAX_LINE_BYTES:
            raise self._error(f"texts of more than {MAX_LINE_BYTES >> 20} MB in one <{self._open[0].name}>")

    def _entity(self, name: str, is_parameter: bool) -> None:
        if self._in_text and not self._skipped_at:
            raise self._error(f"the entity &{name}; is not defined")

    def _error(self, message: str) -> InputError:
        return InputError(message, path=self._path, line=self._parser.CurrentLineNumber)
