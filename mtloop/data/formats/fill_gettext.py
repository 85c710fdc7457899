"""Filling in gettext's PO files.

A message with plural forms is a unit for each form. The form for 1 has the singular as its source, the others the
plural. A filled message is marked with the flag `fuzzy`, unless every filling is approved.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from gettext import c2py
from itertools import chain
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.core.types import JSON
from mtloop.data.formats.filling import Edit, FileUnit, Filling, OpenRequest, UnitState, check_targets
from mtloop.data.formats.po_syntax import PoCatalogue, PoEntry, PoString, escape, flags_of
from mtloop.data.languages import LanguageChoice, OtherLanguage, is_tag, normalise_tag

PAGE_WIDTH = 79
"""The longest line that gettext writes, with the quotes."""

_PLURAL_FORMS = re.compile(r"nplurals\s*=\s*(\d{1,4})\s*;.*?plural\s*=\s*([^;]+)", re.DOTALL)
_PLACEHOLDER = re.compile(r"%\(\w+\)|%[\w$.]|\{\w*\}")
_LINE_NUMBER = re.compile(r":\d+$")
_AFTER_NEWLINE = re.compile("(?<=\n)")
_CJK = "\u2e80-\u2fff\u3001-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60"
_BREAK = re.compile(
    r"(?<= )(?! )(?!\\n$)"
    r"|(?<=\w-)(?=[^\W\d])"
    rf"|(?<=[{_CJK}])(?<![（「『【〔])(?=[{_CJK}])(?![、。，．：；！？）」』】〕ー])"
)
"""Where a line may end: after spaces, after a hyphen in a word, and between characters of East Asian scripts."""
_ZERO_WIDTH = frozenset({"Mn", "Me", "Cf"})


def open_po(request: OpenRequest) -> PoFile:
    """Open a PO file. Raise InputError for a syntax error, or if the header declares another language."""
    file = PoFile(PoCatalogue.parse(request.content(), request.path), request)
    for wanted, tag in zip((request.source_lang, request.target_lang), file.languages, strict=True):
        if wanted and tag and not LanguageChoice(wanted).matches(tag):
            message = f"the header declares the language {tag}; expected {wanted}"
            raise OtherLanguage(message, language=tag, path=request.path)
    return file


class PoFile:
    """A PO file. `filled` writes the targets in the file's own style: line ends, and whether long lines are wrapped."""

    marks_review = True

    def __init__(self, catalogue: PoCatalogue, request: OpenRequest) -> None:
        self._catalogue, self._request = catalogue, request
        self._rule = PluralForms.of(catalogue.header.get("plural-forms", ""))
        entries = list(enumerate(_numbered(catalogue.entries)))
        self._slots = [(index, form) for index, (_, entry) in entries for form in range(len(entry.forms))]
        self._units = [unit for _, (number, entry) in entries for unit in _units(entry, number, self._rule)]

    @property
    def path(self) -> Path:
        return self._catalogue.path

    @property
    def units(self) -> Sequence[FileUnit]:
        return self._units

    @property
    def languages(self) -> tuple[str, str]:
        """The languages of the header, else the requested ones. Few headers name the source language."""
        header, request = self._catalogue.header, self._request
        source, target = _tag(header.get("x-source-language", "")), _tag(header.get("language", ""))
        return source or request.source_lang or "", target or request.target_lang or ""

    @property
    def notes(self) -> Sequence[str]:
        content_type = self._catalogue.header.get("content-type", "")
        has_charset = "charset=" in content_type and not content_type.endswith("=CHARSET")
        charset = "" if has_charset else "the header declares no charset; add: charset=UTF-8, in which the file is read"
        return tuple(filter(None, (charset, self._plural_note())))

    def _plural_note(self) -> str:
        entries = (entry for entry in self._catalogue.entries if "msgid_plural" in entry.strings and not entry.obsolete)
        lines = [entry.line for entry in entries if len(entry.forms) != self._rule.number]
        if not lines:
            return ""
        expected = f"{self._rule.number} forms (Plural-Forms of the header)"
        problem = expected if self._rule.number else f"a valid Plural-Forms in the header{self._from_template}"
        return f"{len(lines)} plurals are left as they are, the first in line {lines[0]}; expected {problem}"

    @property
    def _from_template(self) -> str:
        """The command that makes a PO file of a template, if the header is that of a template."""
        if "INTEGER" not in self._catalogue.header.get("plural-forms", ""):
            return ""
        language = (self.languages[1] or "LANGUAGE").replace("-", "_")
        command = f"msginit --locale={language} --input=TEMPLATE.pot --output-file={language}.po"
        return f"; write charset=UTF-8 into the header of the template, then: {command}"

    def filled(self, targets: Mapping[int, Filling]) -> bytes:
        """Return the file with these units filled in.

        A message is fuzzy as a whole. It is so until all its forms have a text that is approved: those of a fuzzy
        message in one call. A line break at either end of the source must be there in the target too, else msgfmt
        refuses the file: it is added or taken away.
        """
        check_targets(self, targets, lambda text, _: self._check(text))
        by_entry: dict[int, dict[int, Filling]] = {}
        for index, filling in targets.items():
            entry, form = self._slots[index]
            by_entry.setdefault(entry, {})[form] = filling
        entries = self._catalogue.entries
        edits = (self._entry_edits(entries[index], fillings) for index, fillings in by_entry.items())
        return self._catalogue.spliced(chain.from_iterable(edits))

    def _check(self, text: str) -> None:
        if "\0" in text:
            raise InputError(f"a PO file cannot hold a NUL character, as in {text[:60]!r}; remove it", path=self.path)
        self._catalogue.encoded(text)

    def _entry_edits(self, entry: PoEntry, fillings: Mapping[int, Filling]) -> Iterator[Edit]:
        source = entry.text("msgid") or ""
        texts = {form: _with_same_ends(filling.text, source) for form, filling in fillings.items()}
        for form, text in texts.items():
            if text != entry.forms[form].text:
                yield self._string_edit(entry, entry.forms[form], text)
        fuzzy = "fuzzy" in entry.flags
        approved = all(
            fillings[form].approved if form in fillings else string.text and not fuzzy
            for form, string in enumerate(entry.forms)
        )
        if fuzzy and approved:
            yield from self._without_fuzzy(entry)
        elif not fuzzy and not approved and any(texts.values()):
            yield self._with_fuzzy(entry)

    def _string_edit(self, entry: PoEntry, string: PoString, text: str) -> Edit:
        lines = self._style.lines(text, string.start - self._catalogue.line_start(string.keyword_start))
        separator = self._catalogue.newline(string.end) + self._continuation(entry)
        return Edit(string.start, string.end, separator.join(f'"{line}"'.encode() for line in lines))

    def _continuation(self, entry: PoEntry) -> bytes:
        """Return the white space before the second line of the source, which targets get too."""
        string = entry.strings["msgid"]
        second = self._catalogue.utf8.find(b"\n", string.start, string.end) + 1
        line = self._catalogue.utf8[second : string.end] if second else b""
        return line[: len(line) - len(line.lstrip(b" \t"))]

    def _with_fuzzy(self, entry: PoEntry) -> Edit:
        """Put `fuzzy` before the other flags, or into a line of its own after the other comments, as gettext does."""
        flags = next((comment for comment in entry.comments if comment.kind == ","), None)
        if flags:
            return Edit(flags.start + 2, flags.start + 2, b" fuzzy," if flags.text else b" fuzzy")
        previous = next((comment.start for comment in entry.comments if comment.kind == "|"), entry.start)
        start = self._catalogue.line_start(previous)
        newline = self._catalogue.newline(previous)
        if self._catalogue.utf8[start:previous].strip():  # the end of another message
            return Edit(previous, previous, newline + b"#, fuzzy" + newline)
        return Edit(start, start, b"#, fuzzy" + newline)

    def _without_fuzzy(self, entry: PoEntry) -> Iterator[Edit]:
        """Remove the flag, and the comments with the previous texts, which explain what is fuzzy."""
        for comment in entry.comments:
            flags = flags_of(comment) if comment.is_flags else []
            rest = ", ".join(flag for flag in flags if flag != "fuzzy")
            if comment.kind == "|" or (flags and not rest):
                yield Edit(comment.start, self._catalogue.line_end(comment.end), b"")
            elif "fuzzy" in flags:
                yield Edit(comment.start + 2, comment.end, f" {rest}".encode())

    @cached_property
    def _style(self) -> PoStyle:
        entries = (entry for entry in self._catalogue.entries if not entry.is_header and not entry.obsolete)
        return PoStyle.of(string for entry in entries for string in (*entry.strings.values(), *entry.forms))


@dataclass(frozen=True, slots=True)
class PluralForms:
    """What the header says about plurals: the number of forms (0: nothing), and which form is the one for 1."""

    number: int = 0
    singular: int = 0
    only_one: bool = True
    """Whether the form for 1 is not used for other numbers, or for few of them, as in French for 0."""

    @classmethod
    def of(cls, field: str) -> PluralForms:
        """Return the forms by a rule such as `nplurals=2; plural=(n != 1);`.

        >>> PluralForms.of("nplurals=2; plural=(n % 10 != 1);")  # Icelandic: 21 has the form of 1
        PluralForms(number=2, singular=0, only_one=False)
        """
        match = _PLURAL_FORMS.search(field)
        try:
            rule = c2py(match[2]) if match else None
            forms = [int(rule(number)) for number in range(1001)] if rule else [0, 0]
        except (ValueError, ArithmeticError, RecursionError):
            return cls()
        return cls(int(match[1]) if match else 0, forms[1], forms.count(forms[1]) < 5)  # 5 is msgfmt's limit

    def source(self, form: int, singular: str, plural: str) -> str:
        """Return the source of a form. The singular lacks the number in some messages: "a minute ago"."""
        if form != self.singular or self.number == 1:
            return plural
        is_complete = set(_PLACEHOLDER.findall(plural)) <= set(_PLACEHOLDER.findall(singular))
        return singular if self.only_one or is_complete else plural


@dataclass(frozen=True, slots=True)
class PoStyle:
    r"""How a file writes long strings: the width of a line (None: any), and whether a line ends at each `\n`."""

    width: int | None = PAGE_WIDTH
    breaks: bool = True

    @classmethod
    def of(cls, strings: Iterable[PoString]) -> PoStyle:
        """Return the style of most strings. A string that fits into a line says nothing about it."""
        pieces = [[_neutral(piece) for piece in string.pieces if piece] for string in strings]
        soft = [piece for lines in pieces for piece in lines[:-1] if not piece.endswith("\\n")]
        width = _usual_width(soft)
        long = sum(any(_is_long(piece, width) for piece in lines) for lines in pieces)
        unbroken = sum(any("\\n" in piece[:-2] for piece in lines) for lines in pieces)
        broken = sum(any(piece.endswith("\\n") for piece in lines[:-1]) for lines in pieces)
        return cls(width if len(soft) >= long else None, broken >= unbroken)

    def lines(self, text: str, indentation: int) -> list[str]:
        r"""Return the lines of a string, without quotes. The first begins after the keyword, at column `indentation`.

        >>> PoStyle().lines("One\nTwo\n", len("msgstr "))
        ['', 'One\\n', 'Two\\n']
        """
        paragraphs = [escape(line) for line in (_AFTER_NEWLINE.split(text) if self.breaks else [text]) if line]
        if len(paragraphs) <= 1 and self._fits("".join(paragraphs), indentation):
            return paragraphs or [""]
        if self.width is None:
            return ["", *paragraphs]
        return ["", *(line for paragraph in paragraphs for line in _wrap(paragraph, self.width - 2))]

    def _fits(self, line: str, indentation: int) -> bool:
        return self.width is None or indentation + _width(line) + 2 <= self.width


def _numbered(entries: Iterable[PoEntry]) -> Iterator[tuple[int, PoEntry]]:
    """Yield the entries with their numbers, from 1. The header has no number of its own."""
    number = 0
    for entry in entries:
        number += not entry.is_header
        yield number, entry


def _units(entry: PoEntry, number: int, rule: PluralForms) -> Iterator[FileUnit]:
    source, plural = entry.text("msgid") or "", entry.text("msgid_plural")
    context = _context(entry)
    if plural is None:
        name = "header" if entry.is_header else str(number)
        state = _state(entry, entry.forms[0])
        yield FileUnit(name, source, entry.forms[0].text, state, context, line=entry.line, obsolete=entry.obsolete)
        return
    fits = len(entry.forms) == rule.number  # msgfmt refuses a filled message with more or fewer forms
    for form, string in enumerate(entry.forms):
        state, text = _state(entry, string) if fits else UnitState.LOCKED, rule.source(form, source, plural)
        place = {**context, "plural": form}
        yield FileUnit(f"{number}[{form}]", text, string.text, state, place, line=string.line, obsolete=entry.obsolete)


def _state(entry: PoEntry, string: PoString) -> UnitState:
    if entry.obsolete or entry.is_header:
        return UnitState.LOCKED
    if not string.text:
        return UnitState.UNTRANSLATED
    return UnitState.FUZZY if "fuzzy" in entry.flags else UnitState.TRANSLATED


def _context(entry: PoEntry) -> dict[str, JSON]:
    """The document is the source file that contains the message, or else the message context (msgctxt)."""
    msgctxt = entry.text("msgctxt") or ""
    locations = " ".join(comment.text for comment in entry.comments if comment.kind == ":").split()
    flags = [flag for flag in entry.flags if flag != "fuzzy"]
    kinds = [flag.removesuffix("-format") for flag in flags if flag.endswith("-format") and not flag.startswith("no-")]
    note = "\n".join(comment.text for comment in entry.comments if comment.kind == ".")
    fields: dict[str, JSON] = {
        "document": _LINE_NUMBER.sub("", locations[0]) if locations else msgctxt,
        "msgctxt": msgctxt,
        "flags": list(flags),
        "format": kinds[0] if kinds else "",
        "note": note,
    }
    return {key: value for key, value in fields.items() if value}


def _tag(text: str) -> str:
    tag = text.partition(".")[0]
    return normalise_tag(tag) if is_tag(tag) else ""


def _with_same_ends(text: str, source: str) -> str:
    """Return a text with a line break at its beginning and end if, and only if, the source has one there."""
    if not text.strip("\n"):
        return ""
    begin = "" if text.startswith("\n") else "\n"
    end = "" if text.endswith("\n") else "\n"
    text = begin + text if source.startswith("\n") else text.lstrip("\n")
    return text + end if source.endswith("\n") else text.rstrip("\n")


def _neutral(piece: bytes) -> str:
    r"""Return a piece of a string with `__` for an escaped backslash, so that `\n` always is a line break."""
    return piece.replace(b"\\\\", b"__").decode()


def _usual_width(wrapped: Sequence[str]) -> int:
    """Return the longest line, with quotes, of a file with these wrapped lines. A few may be longer: one long word."""
    widths = sorted(_width(line) + 2 for line in wrapped)
    usual = widths[len(widths) * 19 // 20] if widths else PAGE_WIDTH
    return usual if usual > PAGE_WIDTH + 1 else PAGE_WIDTH


def _is_long(piece: str, width: int) -> bool:
    """Whether a program that wraps lines would have cut this one."""
    return _width(piece) > width - 1 and len(_wrap(piece, width - 2)) > 1


def _wrap(text: str, width: int) -> list[str]:
    """Cut a text into lines of at most this width, where it can be cut.

    >>> _wrap("one two three", 8)
    ['one two ', 'three']
    """
    lines, used = [""], 0
    for chunk in _BREAK.split(text):
        size = _width(chunk)
        if lines[-1] and used + size > width:
            lines.append("")
            used = 0
        lines[-1] += chunk
        used += size
    return lines


def _width(text: str) -> int:
    """Return the number of columns of a text in a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.category(char) in _ZERO_WIDTH for char in text)
