"""What the XML formats share: a gate that lets no entity through, and the text without its inline codes.

An entity is how a small file grows until it fills the memory (the "billion laughs"), or fetches another file. They
are declared in the part of a DOCTYPE that stands in brackets, so the gate refuses any such part, before it is read.
A plain `<!DOCTYPE tmx SYSTEM "tmx14.dtd">` passes, and is not fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.parsers import expat

from lxml import etree

from mtloop.core.errors import InputError
from mtloop.text.files import open_bytes
from mtloop.text.messages import one_line

CODES = frozenset({"bpt", "ept", "ph", "it", "ut"})
"""Elements around native codes, such as a bold tag of HTML; what they hold is no text of the sentence."""

_CHUNK = 1 << 14


def gate(path: Path, root: str) -> dict[str, str]:
    """Let a file pass whose root has that name and that cannot hold entities; returns the root's attributes."""
    try:
        name, attributes = _root(path)
    except expat.ExpatError as error:
        raise InputError(f"not XML: {expat.ErrorString(error.code)}", path=path, line=error.lineno) from error
    except (LookupError, ValueError) as error:
        raise InputError(f"an encoding that is not supported ({error}); save it as UTF-8", path=path, line=1) from error
    if name.rpartition(":")[2] != root:
        raise InputError(f"the root element is <{name}>; expected <{root}>", path=path)
    return attributes


def _root(path: Path) -> tuple[str, dict[str, str]]:
    parser = expat.ParserCreate()
    elements: list[tuple[str, dict[str, str]]] = []

    def refuse_subset(name: str, system: str | None, public: str | None, subset: bool) -> None:
        if subset:
            message = "a DOCTYPE with declarations in brackets could hide a bomb or another file; remove them"
            raise InputError(message, path=path, line=parser.CurrentLineNumber)

    parser.StartDoctypeDeclHandler = refuse_subset
    parser.StartElementHandler = lambda name, attributes: elements.append((name, attributes))
    with open_bytes(path) as file:
        while not elements:
            chunk = file.read(_CHUNK)
            parser.Parse(chunk, not chunk)
    return elements[0]


@contextmanager
def xml_errors(path: Path) -> Iterator[None]:
    """Turn lxml's complaint about the file into ours."""
    try:
        yield
    except etree.XMLSyntaxError as error:
        raise InputError(f"not well-formed XML: {one_line(error.msg)}", path=path, line=error.lineno) from error


def plain_text(element: etree._Element, path: Path) -> str:
    """The text of an element with the text inside its inline elements, but without native codes.

    >>> seg = etree.fromstring('<seg>Press <bpt i="1">&lt;b></bpt><hi>Save</hi><ept i="1">&lt;/b></ept> now.</seg>')
    >>> plain_text(seg, Path("memory.tmx"))
    'Press Save now.'
    """
    return "".join(_runs(element, path))


def local_name(element: etree._Element) -> str:
    """The name of an element without its namespace; empty for comments and the like."""
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def _runs(element: etree._Element, path: Path) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag is etree.Entity:
            raise InputError(f"the entity {child.text} is not defined", path=path, line=_line(child))
        if (name := local_name(child)) and name not in CODES:
            yield from _runs(child, path)
        yield child.tail or ""


def _line(element: etree._Element) -> int | None:
    line: object = element.sourceline
    return line if isinstance(line, int) else None
