"""Standard input as plain text, line by line. A raw file of a format with markup is refused: it would be ruined."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from mtloop.core.errors import InputError
from mtloop.data.languages import check_languages
from mtloop.text.files import MAX_LINE_BYTES, decode_line

NAME, RUINED = "standard input", "which would be ruined line by line"
HTML = (
    "go by way of PO: html2po FILE.html FILE.po && mtloop translate FILE.po --out FILLED.po --approve "
    "&& po2html -t FILE.html FILLED.po FILLED.html"
)
OTHER_XML = "make an XLIFF or PO file of it, and fill that in: mtloop translate FILE.xlf --out FILLED.xlf"
MAX_COMMENTS = 1 << 22  # characters of comments and empty lines at the start that are read to recognise a file
_MAX_START = 1 << 16  # bytes that are read to find the root element
_OPEN = "<!--"
_COMMENTS = re.compile(r"(?:[\s\ufeff]+|<!--.*?-->|#(?!~ ?msg)[^\n]*\n)*", re.DOTALL)
_PO_START = re.compile(r"(?:#~ ?)?(?:msgid|msgctxt|domain)\s+\"")
_XML_START = re.compile(
    r"<(?:\?xml|!doctype|(?:[\w.-]+:)?(?:xliff|tmx|ts|resources))\b|<[\w:.-]+\s[^<>]*\bxmlns[:=]", re.IGNORECASE
)
_HTML_START = re.compile(
    r"(?:<\?xml\b[^>]*>)?(?:\s|<!--.*?-->)*+<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_JSON_START = re.compile(rf"(?:\[\s*)?\{{\s*{_STRING}\s*:|\[\s*{_STRING}\s*[,\]]|(?:\{{|\[|\[\{{)[ \t]*$", re.MULTILINE)
_PROPERTY = re.compile(r"[ \t]*[A-Za-z_][\w.-]*[ \t]*=")
_DOTTED_PROPERTY = re.compile(r"[ \t]*[A-Za-z_][\w-]*(?:\.[\w-]+)+[ \t]*=")
_NO_PROPERTY = re.compile(r"\s*(?:[#!]|$)")  # a comment or an empty line
MAX_PROPERTIES = 10  # lines at the start that are read, if the first one looks like a property
MOST = 0.75
_ROOT = re.compile(r"<(?:[\w.-]+:)?(xliff|tmx|ts|resources)\b", re.IGNORECASE)
_SUFFIXES = {"xliff": ".xlf", "tmx": ".tmx", "ts": ".ts", "resources": ".xml"}


@dataclass(frozen=True)
class InputLanguages:
    """The languages that the user names for standard input; "" for one that is not named."""

    source_lang: str
    target_lang: str
    path: Path = Path(NAME)


def check_input_languages(source_lang: str | None, target_lang: str | None, model: tuple[str, str]) -> None:
    """Raise InputError if the user names other languages than those of the model."""
    check_languages(InputLanguages(source_lang or "", target_lang or ""), *model)


def plain_lines(file: BinaryIO) -> Iterator[str]:
    """Yield the lines of a text. Raise InputError, with the right command, for a raw file of a known format."""
    numbered = enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), start=1)
    lines = (decode_line(_without_bom(raw, number), NAME, number) for number, raw in numbered)
    start = list[str]()
    text = _first_text(lines, start)
    _check_plain(text, file)
    if text.count("\t") and (following := next(lines, None)) is not None:
        start.append(following)
    if _PROPERTY.match(text):
        start += islice(lines, MAX_PROPERTIES)
        _check_no_properties(start)
    _check_no_table(start)
    return chain(start, lines)


def _first_text(lines: Iterator[str], start: list[str]) -> str:
    """Read the first lines into `start`, until one is no comment. Return it, without the comments before it."""
    text, size = "", 0
    for line in lines:
        start.append(line)
        size += len(line) + 1
        is_inside = text.startswith(_OPEN) and "-->" not in line
        text = _OPEN if is_inside else _without_comments(f"{text}{line}\n")
        if (text and not text.startswith(_OPEN)) or size > MAX_COMMENTS:
            break
    return text


def _without_bom(raw: bytes, number: int) -> bytes:
    return raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw


def _without_comments(text: str) -> str:
    """Return a text without white space and comments of PO and XML at its start."""
    found = _COMMENTS.match(text)
    return text[found.end() :] if found else text


def _check_plain(text: str, file: BinaryIO) -> None:
    """Check what follows the comments at the start."""
    if _PO_START.match(text):
        _refuse("a PO file", ".po")
    if _JSON_START.match(text):
        _refuse("a JSON file", ".json", " --template SOURCE.json")
    is_xml = _XML_START.match(text) is not None
    whole = text + file.read(_MAX_START).decode(errors="replace") if is_xml else text
    if _HTML_START.match(whole):
        raise InputError(f"{NAME} is an HTML file, {RUINED}; {HTML}")
    if is_xml and (root := _ROOT.search(whole)):
        _refuse("an XML file", _SUFFIXES[root[1].lower()])
    if is_xml:
        raise InputError(f"{NAME} is an XML file, {RUINED}; {OTHER_XML}")


def _check_no_table(lines: list[str]) -> None:
    """Check that the text does not start with the header of a table, nor with two rows of one."""
    numbers = [line.count("\t") for line in lines[-2:]]
    if any(_names(lines, separator) >= {"source", "target"} for separator in ",;"):
        _refuse("a CSV file", ".csv")
    if (len(numbers) == 2 and numbers[0] and numbers[0] == numbers[1]) or _names(lines, "\t") >= {"source", "target"}:
        _refuse("a TSV file", ".tsv")


def _names(lines: list[str], separator: str) -> set[str]:
    """Return the names in a header line."""
    return {name.strip().strip('"').lower() for name in lines[0].split(separator)} if lines else set()


def _check_no_properties(lines: list[str]) -> None:
    """Check that the text is not `key=value`, line by line. A backslash at the end of a line joins two lines."""
    joined = [False, *(line.endswith("\\") for line in lines)]
    own = [line for line, goes_on in zip(lines, joined, strict=False) if not goes_on and not _NO_PROPERTY.match(line)]
    found = sum(_PROPERTY.match(line) is not None for line in own)
    is_sure = len(own) > 1 or _DOTTED_PROPERTY.match(own[0])
    if is_sure and found >= MOST * len(own):
        _refuse("a .properties file", ".properties", " --template SOURCE.properties")


def _refuse(kind: str, suffix: str, template: str = "") -> None:
    command = f"mtloop translate FILE{suffix}{template} --out FILLED{suffix}"
    raise InputError(f"{NAME} is {kind}, {RUINED}; fill in the file: {command}")
