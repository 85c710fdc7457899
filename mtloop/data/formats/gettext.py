"""gettext catalogues, PO and MO, parsed by translate-toolkit.

A message that depends on a number is one unit with several forms. The singular pairs with the form for 1, the
plural with the only other form; where a language has more of them, no single one translates the plural.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator
from gettext import c2py
from pathlib import Path
from typing import Any, TypeAlias

from translate.storage.mo import mofile
from translate.storage.pypo import pofile

from mtloop.core.errors import InputError
from mtloop.core.types import Fields
from mtloop.data.formats.corpus import Pair, Request, Unit, fit
from mtloop.data.formats.parsing import parsing
from mtloop.text.files import read_bytes

Plural: TypeAlias = Callable[[int], int]

_HEADER_SIZE = 1 << 16
_CHARSET = re.compile(rb'^(?![ \t]*#).*content-type:.*charset=\s*([^\s\\"]+)', re.IGNORECASE | re.MULTILINE)
_LINE_NUMBER = re.compile(r":\d+$")


def read_po(request: Request) -> Iterator[Pair]:
    """The translated messages of a PO file; fuzzy, obsolete and untranslated ones are skipped."""
    content = _to_utf8(read_bytes(request.path), request.path)
    with parsing(request.path, "PO"):
        catalogue = pofile()
        catalogue.parse(content)
        units = list(_units(catalogue))
    return fit(units, request)


def read_mo(request: Request) -> Iterator[Pair]:
    """The messages of a compiled catalogue, which holds no others than translated ones."""
    content = read_bytes(request.path)
    with parsing(request.path, "MO"):
        _check_tables(content)
        catalogue = mofile()
        catalogue.parse(content)
        units = list(_units(catalogue))
    return fit(units, request)


def _to_utf8(content: bytes, path: Path) -> bytes:
    """The catalogue in UTF-8, strictly; the library guesses where the bytes are not in the charset it names."""
    if 0 in content:
        line = content.count(b"\n", 0, content.index(0)) + 1
        raise InputError("NUL byte; expected a PO file, which is text", path=path, line=line)
    named = _CHARSET.search(content, 0, _HEADER_SIZE)
    charset = named[1].decode("ascii", "replace") if named else "CHARSET"
    if named:
        content = content[: named.start(1)] + b"UTF-8" + content[named.end(1) :]
    try:
        return content.decode("UTF-8" if charset == "CHARSET" else charset).encode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"not in the charset it names, {error.encoding}", path=path, line=line) from error
    except (LookupError, UnicodeError) as error:
        raise InputError(f"the header names the charset {charset!r}, which is unknown; try UTF-8", path=path) from error


def _check_tables(content: bytes) -> None:
    """Refuse what the parser would take without a word: texts beyond the end, and the same bytes over and over."""
    order, _, _, count, *starts, _, _ = mofile.parse_header(content)
    size = 0
    for start in starts:
        if start < 0 or count < 0:
            raise ValueError("a table outside the file")
        table = struct.unpack_from(f"{order}{2 * count}i", content, start)
        for length, offset in zip(table[::2], table[1::2], strict=True):
            if length < 0 or offset < 0 or offset + length > len(content):
                raise ValueError("a text outside the file; it may have been cut short")
            size += length
    if size > 8 * len(content):
        raise ValueError("texts that overlap")


def _units(catalogue: Any) -> Iterator[Unit]:
    plural = _plural(catalogue.getheaderplural()[1])
    for entry in catalogue.units:
        if entry.isheader() or entry.isblank():
            continue
        unfit = "obsolete" if entry.isobsolete() else "fuzzy" if entry.isfuzzy() else ""
        context = _context(entry)
        for source, target, why in _forms(_strings(entry.source), _strings(entry.target), plural):
            yield Unit(source, target, context, unfit or why)


def _forms(sources: list[str], targets: list[str], plural: Plural) -> Iterable[tuple[str, str, str]]:
    if len(sources) == 1 or not any(targets):
        return [(source, targets[0], "") for source in sources]
    one, many = sources[:2]
    if len(targets) == 1:
        return [(many, targets[0], "")]
    if not 0 <= (place := plural(1)) < len(targets):
        return [(one, "", "plural without a rule")]
    others = targets[:place] + targets[place + 1 :]
    clear = len(others) == 1
    return [(one, targets[place], ""), (many, others[0], "" if clear else "plural with several forms")]


def _plural(rule: str | None) -> Plural:
    """Which form goes with a number. Without a rule, the first with 1: so it is in nearly all languages."""
    if rule is None:
        return lambda number: int(number != 1)
    try:
        form = c2py(rule)
        form(1)
    except (ValueError, ArithmeticError):
        return lambda _: -1
    return form


def _context(entry: Any) -> Fields:
    """The document is the file that the message was taken from; where none is named, what sets the message apart."""
    msgctxt, locations = entry.getcontext() or "", entry.getlocations()
    document = _LINE_NUMBER.sub("", locations[0]) if locations else msgctxt
    named = {"document": document, "msgctxt": msgctxt}
    return {key: str(value) for key, value in named.items() if value}


def _strings(text: Any) -> list[str]:
    return [str(form) for form in getattr(text, "strings", [text or ""])]
