"""The syntax of gettext's PO files: entries, with the places of their strings and comments in the file.

Positions are offsets into the file in UTF-8 (`PoCatalogue.utf8`). The grammar is that of msgfmt: what msgfmt refuses is
refused here, with its line.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import Edit, splice
from mtloop.text.files import check_declared_encoding

_TOKEN = re.compile(
    rb"""
      [ \t\r\f\v]+
    | (?P<newline>\n)
    | (?P<obsolete>\#~(?!\|))
    | (?P<comment>\#[^\n]*)
    | "(?P<string>(?:[^"\\\n]|\\[^\n])*+)"
    | (?P<keyword>[A-Za-z_]+)(?:[ \t]*\[[ \t]*(?P<form>\d{1,4})[ \t]*\])?
    | (?P<other>.)
    """,
    re.VERBOSE,
)
_CHARSET = re.compile(rb'^(?![ \t]*#).*content-type:.*charset=\s*([^\s\\"]+)', re.IGNORECASE | re.MULTILINE)
_HEADER_SIZE = 1 << 16
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))", re.DOTALL)
_ESCAPES = {char: f"\\{letter}" for char, letter in zip('\\"\a\b\f\n\r\t\v', '\\"abfnrtv', strict=True)}
_UNESCAPES = {escape[1:].encode(): char.encode() for char, escape in _ESCAPES.items()}
_TO_ESCAPE = re.compile('["\\\\\x00-\x1f\x7f]')
_START = frozenset({"msgctxt", "msgid", "domain"})
_FOLLOWERS = {
    "": _START,
    "domain": _START,
    "msgctxt": frozenset({"msgid"}),
    "msgid": frozenset({"msgid_plural", "msgstr"}),
    "msgid_plural": frozenset({"msgstr[]"}),
    "msgstr": _START,
    "msgstr[]": _START | {"msgstr[]"},
}
"""Which keywords may follow a keyword. "": the beginning of the file."""


@dataclass(slots=True)
class PoString:
    """A keyword and its string: `start` and `end` are the first and the last quote, `pieces` what the quotes hold."""

    keyword: str
    line: int
    keyword_start: int
    start: int = -1
    end: int = -1
    pieces: list[bytes] = field(default_factory=list)
    text: str = ""


@dataclass(slots=True)
class PoComment:
    """A comment line, without its line end. `kind` is its second character: `,` for flags, `|` for previous texts."""

    kind: str
    start: int
    end: int
    text: str

    @property
    def is_flags(self) -> bool:
        return self.kind in (",", "=")  # "=": sticky flags, since gettext 0.25


@dataclass(slots=True)
class PoEntry:
    """A message with its comments. `strings` has the keywords as they are written, `forms` those of the targets."""

    line: int
    comments: list[PoComment]
    obsolete: bool
    domain: str
    strings: dict[str, PoString] = field(default_factory=dict)
    forms: list[PoString] = field(default_factory=list)

    def text(self, keyword: str) -> str | None:
        """Return the text after `msgctxt`, `msgid` or `msgid_plural`, None if the entry does not have it."""
        return self.strings[keyword].text if keyword in self.strings else None

    @property
    def start(self) -> int:
        """Where the first keyword stands."""
        return next(iter(self.strings.values())).keyword_start

    @property
    def is_header(self) -> bool:
        return not self.obsolete and self.text("msgid") == "" and "msgctxt" not in self.strings

    @property
    def flags(self) -> list[str]:
        return [flag for comment in self.comments if comment.is_flags for flag in flags_of(comment)]


@dataclass(frozen=True, slots=True)
class PoCatalogue:
    """A parsed PO file."""

    path: Path
    charset: str
    """The Python name of the file's encoding."""
    utf8: bytes
    entries: list[PoEntry]

    @classmethod
    def parse(cls, content: bytes, path: Path) -> PoCatalogue:
        """Parse a file. Raise InputError, with the line, for what msgfmt refuses too."""
        charset = _charset(content, path)
        utf8 = _to_utf8(content, charset, path)
        return cls(path, charset, utf8, _PoScanner(utf8, charset, path).scan())

    @property
    def header(self) -> dict[str, str]:
        """The fields of the header, by their names in lower case."""
        text = next((entry.forms[0].text for entry in self.entries if entry.is_header), "")
        fields = (line.partition(":") for line in text.split("\n"))
        return {name.strip().lower(): value.strip() for name, _, value in fields if name.strip()}

    def spliced(self, edits: Iterable[Edit]) -> bytes:
        """Return the file with the edits made. Raise InputError for a character that the charset does not have."""
        new = splice(self.utf8, edits)
        return new if self.charset == "utf-8" else self.encoded(new.decode())

    def encoded(self, text: str) -> bytes:
        """Return a text in the charset of the file. Raise InputError for a character that the charset does not have."""
        try:
            return text.encode(self.charset)
        except UnicodeEncodeError as error:
            message = f"the charset {self.charset} of the file does not have {error.object[error.start]!r}"
            hint = f"convert the file first: msgconv --to-code=UTF-8 -o {self.path.name} {self.path.name}"
            raise InputError(f"{message}; {hint}", path=self.path) from error

    def line_start(self, position: int) -> int:
        """Return where the line of a position begins, after the byte-order mark in the first line."""
        return self.utf8.rfind(b"\n", 0, position) + 1 or _text_start(self.utf8)

    def line_end(self, position: int) -> int:
        """Return where the line after that of a position begins."""
        found = self.utf8.find(b"\n", position)
        return len(self.utf8) if found < 0 else found + 1

    def newline(self, position: int) -> bytes:
        """Return the line end at a position, or that of the first line at the end of the file."""
        found = self.utf8.find(b"\n", position)
        found = self.utf8.find(b"\n") if found < 0 else found
        return b"\r\n" if found > 0 and self.utf8[found - 1] == 0x0D else b"\n"


def flags_of(comment: PoComment) -> list[str]:
    """Return the flags of a comment such as `#, fuzzy, c-format`."""
    return [flag.strip() for flag in comment.text.split(",") if flag.strip()]


def escape(text: str) -> str:
    r"""Return a text as it stands between quotes. Control characters without an escape of their own become octal.

    >>> print(escape('Say "hello"\n'))
    Say \"hello\"\n
    """
    return _TO_ESCAPE.sub(lambda match: _ESCAPES.get(match[0]) or f"\\{ord(match[0]):03o}", text)


def _text_start(utf8: bytes) -> int:
    return len(codecs.BOM_UTF8) if utf8.startswith(codecs.BOM_UTF8) else 0


def _charset(content: bytes, path: Path) -> str:
    if 0 in content:
        line = content.count(b"\n", 0, content.index(0)) + 1
        raise InputError("NUL byte; expected a PO file, which is text", path=path, line=line)
    match = _CHARSET.search(content, 0, _HEADER_SIZE)
    declared = match[1].decode("ascii", "replace") if match else "CHARSET"
    try:
        return codecs.lookup("UTF-8" if declared == "CHARSET" else declared).name
    except (LookupError, ValueError) as error:
        raise InputError(f"the header declares the unknown charset {declared!r}; try UTF-8", path=path) from error


def _to_utf8(content: bytes, charset: str, path: Path) -> bytes:
    check_declared_encoding(content, charset, path)
    try:
        text = content.decode(charset)
        if charset == "utf-8" or text.encode(charset) == content:
            return text.encode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"invalid bytes for the charset {error.encoding}", path=path, line=line) from error
    except (LookupError, ValueError) as error:
        raise InputError(f"the charset {charset!r} is not supported; convert the file to UTF-8", path=path) from error
    raise InputError(f"the charset {charset} cannot be written back unchanged; convert the file to UTF-8", path=path)


class _PoScanner:
    """One pass over the tokens of a file. `_current` is the last string, `_entry` the entry it belongs to."""

    def __init__(self, utf8: bytes, charset: str, path: Path) -> None:
        self._utf8, self._charset, self._path = utf8, charset, path
        self._entries: list[PoEntry] = []
        self._entry: PoEntry | None = None
        self._current: PoString | None = None
        self._comments: list[PoComment] = []
        self._seen: dict[tuple[str, str | None, str | None], int] = {}
        self._line, self._obsolete, self._domain, self._last = 1, False, "", ""

    def scan(self) -> list[PoEntry]:
        for token in _TOKEN.finditer(self._utf8, _text_start(self._utf8)):
            kind = token.lastgroup
            if kind == "newline":
                self._line, self._obsolete = self._line + 1, False
            elif kind == "string":
                self._string(token)
            elif kind in ("keyword", "form"):
                self._keyword(token)
            elif kind == "comment":
                self._comment(token)
            elif kind == "obsolete":
                self._obsolete = True
            elif kind == "other":
                raise self._unexpected(token.start())
        self._end_entry()
        return self._entries

    def _keyword(self, token: re.Match[bytes]) -> None:
        self._end_string()
        keyword = token["keyword"].decode()
        name = keyword + "[]" if token["form"] else keyword
        if name not in _FOLLOWERS:
            known = ", ".join(key for key in _FOLLOWERS if key)
            raise self._error(f"unknown keyword {token[0].decode()!r}; expected one of {known}")
        if name in _START and self._is_complete():
            self._end_entry()
        if name not in _FOLLOWERS[self._last]:
            raise self._misplaced(name)
        self._last = name
        self._current = PoString(name, self._line, token.start())
        self._place(self._current, token["form"])

    def _place(self, string: PoString, form: bytes | None) -> None:
        """Add a string to its entry. The first one begins an entry."""
        if self._entry is None:
            self._entry = PoEntry(self._line, self._comments, self._obsolete, self._domain)
            self._comments = []
        if self._entry.obsolete != self._obsolete:
            raise self._error("'#~' is not before all lines of the message")
        if not string.keyword.startswith("msgstr"):
            self._entry.strings[string.keyword] = string
            return
        if form is not None and int(form) != len(self._entry.forms):
            raise self._error(f"msgstr[{int(form)}]; expected msgstr[{len(self._entry.forms)}]")
        self._entry.forms.append(string)

    def _string(self, token: re.Match[bytes]) -> None:
        if self._current is None:
            raise self._error("a string without a keyword before it, such as msgid or msgstr")
        if self._entry is not None and self._entry.obsolete != self._obsolete:
            raise self._error("'#~' is not before all lines of the message")
        if self._current.start < 0:
            self._current.start = token.start()
        self._current.end = token.end()
        self._current.pieces.append(token["string"])

    def _comment(self, token: re.Match[bytes]) -> None:
        self._end_string()
        if self._is_complete():
            self._end_entry()
        if self._last:
            raise self._error(f"a comment after {self._last}; expected {_expected(self._last)}")
        text = token[0].removesuffix(b"\r")
        mark = text[1:3].decode("utf-8", "replace")
        kind = "|" if mark == "~|" else mark[:1] if mark[:1] in (".", ":", ",", "=", "|") else ""
        self._comments.append(
            PoComment(kind, token.start(), token.start() + len(text), text[1 + len(kind) :].decode().strip())
        )

    def _is_complete(self) -> bool:
        return self._last in ("domain", "msgstr", "msgstr[]")

    def _end_string(self) -> None:
        """Decode the last string; a keyword or comment follows it."""
        if self._current is None:
            return
        if self._current.start < 0:
            raise self._error(f"no string after {self._current.keyword}")
        self._current.text = self._decoded(self._current)
        self._current = None

    def _end_entry(self) -> None:
        self._end_string()
        entry, self._entry = self._entry, None
        if entry is None:
            return
        if not self._is_complete():
            raise self._error(f"the message of line {entry.line} has no {_expected(self._last)}")
        self._last = ""
        if "domain" in entry.strings:
            self._domain = entry.strings["domain"].text
        else:
            self._check_new(entry)
            self._entries.append(entry)

    def _check_new(self, entry: PoEntry) -> None:
        if entry.obsolete:
            return
        key = entry.domain, entry.text("msgctxt"), entry.text("msgid")
        if key in self._seen:
            hint = f"merge them with: msguniq -o {self._path.name} {self._path.name}"
            raise self._error(f"the message of line {self._seen[key]} a second time; {hint}", line=entry.line)
        self._seen[key] = entry.line

    def _decoded(self, string: PoString) -> str:
        raw = b"".join(string.pieces)
        if b"\\" not in raw:
            return raw.decode()
        if b"\\x" not in raw and not re.search(rb"\\[0-7]", raw):
            return _ESCAPE.sub(lambda match: self._unescaped(match, string), raw).decode()
        native = raw.decode().encode(self._charset)  # octal and hexadecimal escapes are bytes in the file's charset
        try:
            return _ESCAPE.sub(lambda match: self._unescaped(match, string), native).decode(self._charset)
        except UnicodeDecodeError as error:
            message = f"an escape that is invalid in {self._charset}: {raw[:60].decode('utf-8', 'replace')}"
            raise self._error(message, line=string.line) from error

    def _unescaped(self, match: re.Match[bytes], string: PoString) -> bytes:
        octal, hexadecimal, char = match.groups()
        if char in _UNESCAPES:
            return _UNESCAPES[char]
        code = 0 if char else int(octal or hexadecimal, 8 if octal else 16)
        if not 0 < code < 256:
            raise self._error(f"unknown escape {match[0].decode('utf-8', 'replace')}", line=string.line)
        return bytes([code])

    def _misplaced(self, name: str) -> InputError:
        return self._error(f"unexpected {name}; expected {_expected(self._last)}")

    def _unexpected(self, position: int) -> InputError:
        char = self._utf8[position : position + 4].decode("utf-8", "ignore")[:1]
        if char == '"':
            return self._error("a string without a closing quote in its line")
        return self._error(f"unexpected {char!r}; expected a keyword, a string or a comment")

    def _error(self, message: str, line: int | None = None) -> InputError:
        return InputError(message, path=self._path, line=line or self._line)


def _expected(last: str) -> str:
    return " or ".join(sorted(_FOLLOWERS[last]))
