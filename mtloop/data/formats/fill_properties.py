"""Java's .properties files, filled in with a template.

Files are in ISO-8859-1 with escapes such as \\u00e4, or in UTF-8 (Java 9 and later). A file whose other bytes are valid
UTF-8 is in UTF-8. Where neither the target file nor the template shows which one is meant, characters beyond
ASCII are written as escapes, which are right in both.

Java's MessageFormat reads two apostrophes as one. A message with arguments such as {0} is taken for its pattern, unless
it has a single apostrophe: units have one apostrophe, the file has two.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from mtloop.core.errors import InputError
from mtloop.core.types import Fields
from mtloop.data.formats.filling import BilingualFile, Edit, FileUnit, Filling, OpenRequest, check_targets, splice
from mtloop.data.formats.monolingual import (
    EntryFile,
    FileEntry,
    existing_content,
    extra_keys,
    extra_keys_note,
    insertions,
    new_file_edits,
    pair_languages,
    template_content,
    template_path,
    unit_state,
)

_END = rb"(?:\r\n|\r|\n)"
_LINE_END = re.compile(_END)
_ESCAPE = rb"\\(?:" + _END + rb"[ \t\f]*+|[^\r\n])"
_SPACE = rb"(?:[ \t\f]|\\" + _END + rb"[ \t\f]*+)*+"
_LINE = re.compile(
    rb"(?P<blank>[ \t\f]*+(?:" + _END + rb"|\Z))"
    rb"|(?P<comment>[ \t\f]*+[#!][^\r\n]*+(?:" + _END + rb"|\Z))"
    rb"|[ \t\f]*+(?P<key>(?:" + _ESCAPE + rb"|[^\\=: \t\f\r\n])*+)"
    rb"(?P<separator>" + _SPACE + rb"(?:[=:]" + _SPACE + rb")?)"
    rb"(?P<value>(?:" + _ESCAPE + rb"|[^\\\r\n])*+)\\?(?:" + _END + rb"|\Z)"
)
_CHARACTER = re.compile(r"\\(?:(?P<end>\r\n|\r|\n)[ \t\f]*|u(?P<code>[0-9a-fA-F]{4})|(?P<other>.?))", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_CODES = {"\\": "\\\\", "\t": "\\t", "\r": "\\r", "\f": "\\f"}
_SPECIAL = re.compile(r"[\\\t\r\f]")
_HEX_CODE = re.compile(rb"\\u[0-9a-fA-F]{4}")
_LINE_BREAK = re.compile(rb"\\n(\\" + _END + rb"[ \t\f]*)")
_ARGUMENT = re.compile(r"\{\d+\s*[,}]")
_LONE_APOSTROPHE = re.compile(r"(?<!')'(?:'')*(?!')")
_UNWRITABLE = {
    "ascii": re.compile(r"[^\x20-\x7e]"),
    "iso-8859-1": re.compile(r"[^\x20-\x7e\xa0-\xff]"),
    "utf-8": re.compile(r"[\x00-\x1f\x7f]"),
}
"""The characters of values that are written as escapes, by encoding."""
_UNKNOWN = {"ascii": re.compile(r"[^\x00-\x7f]"), "iso-8859-1": re.compile(r"[^\x00-\xff]")}


def open_properties(request: OpenRequest) -> BilingualFile:
    """Open a .properties file with its template."""
    template = PropertiesFile.parse(template_content(request), template_path(request))
    content = existing_content(request)
    target = None if content is None else PropertiesFile.parse(content, request.path)
    return FillableProperties(request.path, template, target, pair_languages(request))


@dataclass(frozen=True, slots=True)
class PropertyValue:
    """The value of a key: its text, and where it stands. `start` is the end of the key if there is no separator."""

    text: str
    key_end: int
    start: int
    end: int


@dataclass(frozen=True)
class PropertiesFile(EntryFile):
    """A parsed file."""

    encoding: str = "utf-8"

    @classmethod
    def parse(cls, content: bytes, path: Path) -> PropertiesFile:
        """Parse a file. Raise InputError, with the line, for a wrong escape, a key that occurs twice, and NUL."""
        encoding = _encoding(content, path)
        return cls(path, content, tuple(_entries(content, encoding, path)), len(content), encoding)

    def text(self, key: Hashable) -> str | None:
        """Return the value of a key, None if the file does not have it."""
        entry = self.by_key.get(key)
        return None if entry is None else _value(entry).text


@dataclass(frozen=True, slots=True)
class PropertiesStyle:
    """How a file is written: its encoding ("ascii": all other characters are escapes), and the case of the escapes."""

    encoding: str
    lower_case: bool = False

    @classmethod
    def of(cls, *files: PropertiesFile) -> PropertiesStyle:
        """Return the style of the first file that has characters beyond ASCII, as they are or as escapes."""
        lower_case = _has_lower_case(files)
        for file in files:
            if not file.content.removeprefix(codecs.BOM_UTF8).isascii():
                return cls(file.encoding, lower_case)
            if _HEX_CODE.search(file.content):
                return cls("ascii", lower_case)
        return cls("utf-8" if files[0].content.startswith(codecs.BOM_UTF8) else "ascii")

    def value(self, text: str, line_break: str = "") -> bytes:
        """Return a text as a value. `line_break` continues the value on the next line, after each newline in it."""
        lines = [self._line(line, is_first=bool(line_break) or not number) for number, line in _numbered_lines(text)]
        last = f"\\n{line_break}" if lines[-1] else "\\n"
        joined = f"\\n{line_break}".join(lines[:-1]) + last + lines[-1] if lines[1:] else lines[0]
        return joined.encode(self.encoding)

    def transcoded(self, raw: bytes, encoding: str) -> bytes:
        """Return a part of another file in this encoding."""
        if encoding == self.encoding:
            return raw
        text = raw.decode(encoding)
        if self.encoding in _UNKNOWN:
            text = _UNKNOWN[self.encoding].sub(lambda found: self._code(found[0]), text)
        return text.encode(self.encoding)

    def _line(self, line: str, *, is_first: bool) -> str:
        """Return a line of a value. White space at the start of a line of the file must be an escape."""
        line = _SPECIAL.sub(lambda found: _CODES[found[0]], line)
        line = _UNWRITABLE[self.encoding].sub(lambda found: self._code(found[0]), line)
        return "\\" + line if is_first and line.startswith(" ") else line

    def _code(self, character: str) -> str:
        units = character.encode("utf-16-be")
        codes = [units[index : index + 2].hex() for index in range(0, len(units), 2)]
        return "".join(f"\\u{code if self.lower_case else code.upper()}" for code in codes)


@dataclass(frozen=True)
class FillableProperties:
    """A .properties file to be filled in. The format has no mark for review."""

    path: Path
    template: PropertiesFile
    target: PropertiesFile | None
    languages: tuple[str, str]
    marks_review: ClassVar[bool] = False

    @cached_property
    def units(self) -> Sequence[FileUnit]:
        return [self._unit(entry) for entry in self.template.entries]

    @cached_property
    def notes(self) -> Sequence[str]:
        """What else the user should know."""
        return extra_keys_note(list(map(str, extra_keys(self.template, self.target))), self.template.path)

    def filled(self, targets: Mapping[int, Filling]) -> bytes:
        """Return the file with these units filled in. A new file is the template, without untranslated keys."""
        check_targets(self, targets)
        entries = [(self.template.entries[index], filling.text) for index, filling in sorted(targets.items())]
        if self.target is None:
            style = PropertiesStyle.of(self.template)
            new = {entry.key: self._new_entry(entry, text, style) for entry, text in entries}
            return splice(self.template.content, new_file_edits(self.template, new))
        return splice(self.target.content, self._edits(self.target, entries))

    def _edits(self, target: PropertiesFile, entries: Sequence[tuple[FileEntry, str]]) -> Iterator[Edit]:
        style = PropertiesStyle.of(target, self.template)
        new = {}
        for entry, text in entries:
            if entry.key in target.by_key:
                yield self._new_value(_value(target.by_key[entry.key]), target.content, entry, text, style)
            else:
                new[entry.key] = _with_line_end(self._new_entry(entry, text, style), self.template.newline)
        yield from insertions(self.template, target, new)

    def _unit(self, entry: FileEntry) -> FileUnit:
        raw = _value(entry).text
        source, target = _from_pattern(raw, raw), None if self.target is None else self.target.text(entry.key)
        target = None if target is None else _from_pattern(target, raw)
        note: Fields = {"note": entry.note} if entry.note else {}
        return FileUnit(str(entry.key), source, target or "", unit_state(source, target), note)

    def _new_entry(self, entry: FileEntry, text: str, style: PropertiesStyle) -> bytes:
        """Return an entry of the template with another value."""
        raw = self.template.content[entry.start : entry.end]
        start, end, new = self._new_value(_value(entry), self.template.content, entry, text, style)
        before, after = raw[: start - entry.start], raw[end - entry.start :]
        return style.transcoded(before, self.template.encoding) + new + style.transcoded(after, self.template.encoding)

    def _new_value(
        self, value: PropertyValue, content: bytes, entry: FileEntry, text: str, style: PropertiesStyle
    ) -> Edit:
        """Return the edit of a value. Lines are continued as in the template."""
        own = _value(entry)
        found = _LINE_BREAK.search(self.template.content, own.start, own.end)
        new = style.value(_to_pattern(text, own.text), found[1].decode("ascii") if found else "")
        separator = b"=" if value.start == value.key_end else b""
        return Edit(value.start, value.end, separator + new)


def _encoding(content: bytes, path: Path) -> str:
    if 0 in content:
        line = content.count(b"\n", 0, content.index(0)) + 1
        message = "NUL byte; expected a .properties file in ISO-8859-1 or UTF-8"
        raise InputError(message, path=path, line=line)
    try:
        content.decode()
    except UnicodeDecodeError:
        return "iso-8859-1"
    return "utf-8"


def _has_lower_case(files: Sequence[PropertiesFile]) -> bool:
    """Whether the first escape with a letter has a small one, as in \\u00e4."""
    digits = (code[2:] for file in files for code in _HEX_CODE.findall(file.content))
    first = next((code for code in digits if not code.isdigit()), b"")
    return first != first.upper()


def _entries(content: bytes, encoding: str, path: Path) -> Iterator[FileEntry]:
    position = len(codecs.BOM_UTF8) if content.startswith(codecs.BOM_UTF8) else 0
    line, is_first, comments = 1, True, list[bytes]()
    while position < len(content):
        found = _LINE.match(content, position)
        assert found is not None  # every line is blank, a comment or an entry
        if found["comment"] is not None:
            comments.append(found[0])
        elif found["blank"] is not None:
            comments = []
        else:
            own = [] if is_first else comments  # comments above the first entry are about the file
            yield _entry(found, position - sum(map(len, own)), line, _note(own, encoding), encoding, path)
            is_first, comments = False, []
        line += len(_LINE_END.findall(found[0]))
        position = found.end()


def _entry(found: re.Match[bytes], start: int, line: int, note: str, encoding: str, path: Path) -> FileEntry:
    try:
        key, text = (_unescaped(found[name].decode(encoding)) for name in ("key", "value"))
    except ValueError as error:
        raise InputError(str(error), path=path, line=line) from error
    value = PropertyValue(text, found.end("key"), found.start("value"), found.end("value"))
    return FileEntry(key, start, found.end(), line, value, note)


def _unescaped(raw: str) -> str:
    if "\\" not in raw:
        return raw
    text = _CHARACTER.sub(_character, raw)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _character(found: re.Match[str]) -> str:
    if found["end"]:
        return ""
    if found["code"]:
        return chr(int(found["code"], 16))
    if found["other"] == "u":
        raise ValueError(r"wrong escape after \u; expected four hexadecimal digits, as in \u00e4")
    return _LETTERS.get(found["other"], found["other"])


def _value(entry: FileEntry) -> PropertyValue:
    value = entry.content
    assert isinstance(value, PropertyValue)
    return value


def _note(comments: Sequence[bytes], encoding: str) -> str:
    return "\n".join(comment.decode(encoding).strip().lstrip("#!").strip() for comment in comments)


def _numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    return enumerate(text.split("\n"))


def _with_line_end(entry: bytes, newline: bytes) -> bytes:
    return entry if entry.endswith((b"\n", b"\r")) else entry + newline


def _is_pattern(source: str) -> bool:
    return _ARGUMENT.search(source) is not None and _LONE_APOSTROPHE.search(source) is None


def _from_pattern(text: str, source: str) -> str:
    """Return a text for the user: with single apostrophes, if the source is a pattern of MessageFormat."""
    return text.replace("''", "'") if _is_pattern(source) and not _LONE_APOSTROPHE.search(text) else text


def _to_pattern(text: str, source: str) -> str:
    return text.replace("'", "''") if _is_pattern(source) else text
