"""Helpers for the XML formats: a check that refuses entity declarations, and text without inline codes.

With entities a small file can expand until it fills the memory ("billion laughs"), or can include another file.
Entities are declared in the internal subset of a DOCTYPE, the part in brackets. `check_root` refuses any internal
subset before parsing it. A plain `<!DOCTYPE tmx SYSTEM "tmx14.dtd">` is accepted, and the DTD is not fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.parsers import expat

from lxml import etree

from mtloop.core.errors import InputError
from mtloop.text.files import MAX_LINE_BYTES, open_bytes
from mtloop.text.messages import one_line
from mtloop.text.protected.tags import NATIVE_CODES

_CHUNK = 1 << 14


def check_root(path: Path, *roots: str) -> dict[str, str]:
    """Return the attributes of the root element. Raise InputError for another name, or if entities may occur."""
    with expat_errors(path, "not XML"):
        name, attributes = _root(path)
    if name.rpartition(":")[2] not in roots:
        expected = " or ".join(f"<{root}>" for root in roots)
        raise InputError(f"the root element is <{name[:40]}>; expected {expected}", path=path)
    return attributes


def safe_parser(path: Path) -> expat.XMLParserType:
    """Return a parser that refuses declarations of entities."""
    parser = expat.ParserCreate()

    def refuse_subset(name: str, system: str | None, public: str | None, subset: bool) -> None:
        if subset:
            message = "a DOCTYPE with declarations in brackets is not allowed, because entities are unsafe; remove them"
            raise InputError(message, path=path, line=parser.CurrentLineNumber)

    parser.StartDoctypeDeclHandler = refuse_subset
    return parser


@contextmanager
def expat_errors(path: Path, problem: str = "not well-formed XML") -> Iterator[None]:
    """Convert an error of expat to InputError."""
    try:
        yield
    except expat.ExpatError as error:
        raise InputError(f"{problem}: {expat.ErrorString(error.code)}", path=path, line=error.lineno) from error
    except (LookupError, ValueError) as error:
        raise InputError(f"unsupported encoding ({error}); save the file as UTF-8", path=path, line=1) from error


def _root(path: Path) -> tuple[str, dict[str, str]]:
    parser = safe_parser(path)
    elements: list[tuple[str, dict[str, str]]] = []
    parser.StartElementHandler = lambda name, attributes: elements.append((name, attributes))
    fed = 0
    with open_bytes(path) as file:
        while not elements:
            chunk = file.read(_CHUNK)
            parser.Parse(chunk, not chunk)
            fed += len(chunk)
            if fed > MAX_LINE_BYTES:
                raise InputError(f"no element in the first {MAX_LINE_BYTES >> 20} MB", path=path)
    return elements[0]


@contextmanager
def xml_errors(path: Path) -> Iterator[None]:
    """Convert a syntax error of lxml to InputError."""
    try:
        yield
    except etree.XMLSyntaxError as error:
        raise InputError(f"not well-formed XML: {one_line(error.msg)}", path=path, line=error.lineno) from error


def plain_text(element: etree._Element, path: Path) -> str:
    """Return the text of an element, including the text of its inline elements, without native codes.

    >>> seg = etree.fromstring('<seg>Press <bpt i="1">&lt;b></bpt><hi>Save</hi><ept i="1">&lt;/b></ept> now.</seg>')
    >>> plain_text(seg, Path("memory.tmx"))
    'Press Save now.'
    """
    return "".join(_runs(element, path))


def fragment_text(fragment: str) -> str:
    """Return the text of a well-formed fragment, including that of its inline elements, without native codes.

    >>> fragment_text('Press <bpt i="1">&lt;b></bpt><mrk mid="1">Save &amp; go</mrk><sdl:x/> now.')
    'Press Save & go now.'
    """
    texts, codes, parser = list[str](), list[str](), expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        if name.rpartition(":")[2] in NATIVE_CODES:
            codes.append(name)

    def end(name: str) -> None:
        if codes and codes[-1] == name:
            codes.pop()

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda text: None if codes else texts.append(text)
    parser.Parse(f"<x>{fragment}</x>", True)
    return "".join(texts)


def local_name(element: etree._Element) -> str:
    """Return the name of an element without its namespace, "" for comments and processing instructions."""
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def _runs(element: etree._Element, path: Path) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag is etree.Entity:
            raise InputError(f"the entity {child.text} is not defined", path=path, line=_line(child))
        if (name := local_name(child)) and name not in NATIVE_CODES:
            yield from _runs(child, path)
        yield child.tail or ""


def _line(element: etree._Element) -> int | None:
    line: object = element.sourceline
    return line if isinstance(line, int) else None
