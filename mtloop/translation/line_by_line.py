"""Standard input as plain text, line by line. A raw file of a format with markup is refused: it would be ruined."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

from mtloop.core.errors import InputError
from mtloop.text.files import MAX_LINE_BYTES, decode_line

NAME = "standard input"
MAX_COMMENTS = 1000  # lines at the start that are read to recognise a PO file
_MAX_START = 1 << 16  # bytes that are read to find the root element
_XML_START = re.compile(r"\s*<(?:\?xml|!doctype|xliff|tmx|ts|resources)\b", re.IGNORECASE)
_PO_START = re.compile(r"(?:#~ ?)?(?:msgid|msgctxt)\s+\"")
_ROOT = re.compile(r"<(xliff|tmx|ts|resources)\b", re.IGNORECASE)
_SUFFIXES = {"xliff": ".xlf", "tmx": ".tmx", "ts": ".ts", "resources": ".xml"}


def plain_lines(file: BinaryIO) -> Iterator[str]:
    """Yield the lines of a text. Raise InputError, with the right command, for raw PO, XML and JSON."""
    numbered = enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), start=1)
    lines = (decode_line(_without_bom(raw, number), NAME, number) for number, raw in numbered)
    start = []
    for line in lines:
        start.append(line)
        if len(start) > MAX_COMMENTS or (line.strip() and not line.startswith("#")) or _PO_START.match(line):
            break
    if start:
        _check_plain(start[-1], file)
    return chain(start, lines)


def _without_bom(raw: bytes, number: int) -> bytes:
    return raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw


def _check_plain(line: str, file: BinaryIO) -> None:
    """Check the first line that is neither empty nor a comment."""
    if _PO_START.match(line):
        _refuse("a PO file", ".po")
    if line.strip() in ("{", "[", "[{"):
        _refuse("a JSON file", ".json", " --template SOURCE.json")
    if _XML_START.match(line):
        root = _ROOT.search(line + file.read(_MAX_START).decode(errors="replace"))
        _refuse("an XML file", _SUFFIXES[root[1].lower()] if root else ".xlf")


def _refuse(kind: str, suffix: str, template: str = "") -> None:
    command = f"mtloop translate FILE{suffix}{template} --out FILLED{suffix}"
    raise InputError(f"{NAME} is {kind}, which would be ruined line by line; fill in the file: {command}")
