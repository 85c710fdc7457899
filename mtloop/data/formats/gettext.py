"""gettext catalogues, PO and MO, parsed by translate-toolkit.

A message that depends on a number is one entry with several forms. The singular is paired with the form for 1, and
the plural with the only other form. If the target language has more than two forms, the plural is skipped, because no
single form translates it.
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
from mtloop.data.formats.corpus import IN_OTHER_LANGUAGES, Pair, ReadRequest, TranslationUnit, to_pairs
from mtloop.data.formats.parsing import parser_errors
from mtloop.data.languages import LanguageChoice, is_tag, normalise_tag
from mtloop.text.files import MAX_ROWS, read_bytes

PluralRule: TypeAlias = Callable[[int], int]

_HEADER_SIZE = 1 << 16
_CHARSET = re.compile(rb'^(?![ \t]*#).*content-type:.*charset=\s*([^\s\\"]+)', re.IGNORECASE | re.MULTILINE)
_LINE_NUMBER = re.compile(r":\d+$")
_LANGUAGES = ("X-Source-Language", "Language")
"""The header fields with the languages of source and target. The first one is rare: sources are usually English."""


def read_po(request: ReadRequest) -> Iterator[Pair]:
    """Return the translated messages of a PO file. Fuzzy, obsolete and untranslated messages are skipped."""
    content = _to_utf8(read_bytes(request.path), request.path)
    with parser_errors(request.path, "PO"):
        catalogue = _PoMessages(request)
        catalogue.parse(content)
    return to_pairs(catalogue.messages, request)


def read_mo(request: ReadRequest) -> Iterator[Pair]:
    """Return the messages of a compiled catalogue (MO), which contains only translated messages."""
    content = read_bytes(request.path)
    with parser_errors(request.path, "MO"):
        _check_tables(content)
        catalogue = _MoMessages(request)
        catalogue.parse(content)
    return to_pairs(catalogue.messages, request)


class _Messages:
    """A catalogue that keeps the messages of its entries, but of the entries, which are large, only the header."""

    def __init__(self, request: ReadRequest) -> None:
        super().__init__()
        self._request = request
        self.messages: list[TranslationUnit] = []

    def addunit(self, unit: Any) -> None:
        catalogue: Any = self
        if not catalogue.units:
            super().addunit(unit)  # type: ignore[misc]
            self._convert = _converter(catalogue, self._request)
        self.messages.extend(self._convert(unit))


class _PoMessages(_Messages, pofile):
    """The messages of a PO file."""


class _MoMessages(_Messages, mofile):
    """The messages of a compiled catalogue."""


def _to_utf8(content: bytes, path: Path) -> bytes:
    """Return the catalogue in UTF-8. Decode it strictly: the library would guess if the declared charset is wrong."""
    if 0 in content:
        line = content.count(b"\n", 0, content.index(0)) + 1
        raise InputError("NUL byte; expected a PO file, which is text", path=path, line=line)
    match = _CHARSET.search(content, 0, _HEADER_SIZE)
    charset = match[1].decode("ascii", "replace") if match else "CHARSET"
    if match:
        content = content[: match.start(1)] + b"UTF-8" + content[match.end(1) :]
    try:
        return content.decode("UTF-8" if charset == "CHARSET" else charset).encode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"invalid bytes for the charset {error.encoding}", path=path, line=line) from error
    except (LookupError, UnicodeError) as error:
        raise InputError(f"the header declares the unknown charset {charset!r}; try UTF-8", path=path) from error


def _check_tables(content: bytes) -> None:
    """Refuse files that the parser would accept: texts beyond the end of the file, and texts that overlap."""
    order, _, _, count, *starts, _, _ = mofile.parse_header(content)
    if count > MAX_ROWS:
        raise ValueError(f"more than {MAX_ROWS:,} messages")
    size = 0
    for start in starts:
        if start < 0 or count < 0:
            raise ValueError("a table outside the file")
        table = struct.unpack_from(f"{order}{2 * count}i", content, start)
        for length, offset in zip(table[::2], table[1::2], strict=True):
            if length < 0 or offset < 0 or offset + length > len(content):
                raise ValueError("a text outside the file; the file may be truncated")
            size += length
    if size > 8 * len(content):
        raise ValueError("texts that overlap")


def _converter(catalogue: Any, request: ReadRequest) -> Callable[[Any], Iterator[TranslationUnit]]:
    """Return the function from an entry to its messages, by what the header says."""
    rule = _plural_rule(catalogue.getheaderplural()[1])
    languages = _languages(catalogue)
    other = "" if _has_languages(languages, request) else IN_OTHER_LANGUAGES

    def convert(entry: Any) -> Iterator[TranslationUnit]:
        if entry.isheader() or entry.isblank():
            return
        reason = "obsolete" if entry.isobsolete() else "fuzzy" if entry.isfuzzy() else ""
        context = _context(entry)
        for source, target, form_reason in _forms(_strings(entry.source), _strings(entry.target), rule):
            yield TranslationUnit(source, target, context, other or reason or form_reason, languages=languages)

    return convert


def _languages(catalogue: Any) -> tuple[str, str]:
    """The languages that the header declares; "" for one that is absent or not a language tag."""
    header = catalogue.parseheader()
    source, target = (str(header.get(name, "")).partition(".")[0] for name in _LANGUAGES)
    return normalise_tag(source) if is_tag(source) else "", normalise_tag(target) if is_tag(target) else ""


def _has_languages(languages: tuple[str, str], request: ReadRequest) -> bool:
    wanted = zip((request.source_lang, request.target_lang), languages, strict=True)
    return all(not (lang and tag) or LanguageChoice(lang).matches(tag) for lang, tag in wanted)


def _forms(sources: list[str], targets: list[str], rule: PluralRule) -> Iterable[tuple[str, str, str]]:
    """Pair the source forms with the target forms: source, target, reason to skip the pair (empty: keep it)."""
    if len(sources) == 1 or not any(targets):
        return [(source, targets[0], "") for source in sources]
    singular, plural = sources[:2]
    if len(targets) == 1:
        return [(plural, targets[0], "")]
    if not 0 <= (index := rule(1)) < len(targets):
        return [(singular, "", "plural without a rule")]
    others = targets[:index] + targets[index + 1 :]
    unique = len(others) == 1
    return [(singular, targets[index], ""), (plural, others[0], "" if unique else "plural with several forms")]


def _plural_rule(text: str | None) -> PluralRule:
    """Return a function from a number to the index of its form, -1 if the rule is invalid.

    Without a rule, the first form is for 1 and the second for all other numbers, as in nearly all languages.
    """
    if text is None:
        return lambda number: int(number != 1)
    try:
        rule = c2py(text)
        rule(1)
    except (ValueError, ArithmeticError):
        return lambda _: -1
    return rule


def _context(entry: Any) -> Fields:
    """The document is the source file that contains the message, or else the message context (msgctxt)."""
    msgctxt, locations = entry.getcontext() or "", entry.getlocations()
    document = _LINE_NUMBER.sub("", locations[0]) if locations else msgctxt
    fields = {"document": document, "msgctxt": msgctxt}
    return {key: str(value) for key, value in fields.items() if value}


def _strings(text: Any) -> list[str]:
    return [str(form) for form in getattr(text, "strings", [text or ""])]
