"""A JSON file with the places of its values, and how it is laid out: indentation, separators, escapes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.core.json_files import parse_json
from mtloop.data.formats.monolingual import decode_utf8

MAX_DEPTH = 100
BOM = "\ufeff"

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[^\s,\]}]+")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_INDENTED_LINE = re.compile(r"(?:\r\n|\r|\n)([ \t]*)")
_HEX_CODE = re.compile(r"\\u[0-9a-fA-F]{4}")


@dataclass(eq=False)
class JsonValue:
    """A value and its place. `text` is the text of a string, None for other values; containers have `members`."""

    start: int
    end: int = 0
    text: str | None = None
    brackets: str = ""
    members: list[JsonMember] = field(default_factory=list)

    def member(self, key: str | int) -> JsonMember | None:
        """Return the member with this key or index, None if there is none."""
        return self.by_key.get(key)

    @cached_property
    def by_key(self) -> dict[str | int, JsonMember]:
        return {member.key: member for member in self.members}


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A member of an object, with the place of its key, or of a list, with its index as key.

    `start` is the place of the key, or of the value in a list; `number` counts the members.
    """

    key: str | int
    start: int
    value: JsonValue
    number: int


@dataclass(frozen=True)
class JsonLayout:
    """A parsed file. Places are offsets into `text`, which is without a byte-order mark."""

    path: Path
    text: str
    root: JsonValue
    has_bom: bool = False

    @classmethod
    def parse(cls, content: bytes, path: Path) -> JsonLayout:
        """Parse a file. Raise InputError, with the line, if it is not JSON or has a key twice in an object."""
        decoded = decode_utf8(content, path, "JSON")
        text = decoded.removeprefix(BOM)
        try:
            parse_json(text)
        except json.JSONDecodeError as error:
            raise InputError(f"not JSON: {error.msg} (column {error.colno})", path=path, line=error.lineno) from error
        except ValueError as error:
            raise InputError(f"not JSON that can be read: {error}", path=path) from error
        root = _Scanner(text, path).value(_skip(text, 0), 0)
        if not root.brackets:
            raise InputError("expected an object or a list of texts", path=path, line=1)
        return cls(path, text, root, decoded != text)

    def encoded(self, text: str) -> bytes:
        """Return the bytes of a changed text of this file."""
        return ((BOM if self.has_bom else "") + text).encode()

    @cached_property
    def newline(self) -> str:
        """The line end of the file, "" if it has one line."""
        inside = _NEWLINE.search(self.text, 0, len(self.text.rstrip()))
        return inside[0] if inside else ""

    @cached_property
    def indentation(self) -> str:
        """The white space before the members of the root."""
        found = _INDENTED_LINE.match(self.first_gap(self.root)) if self.root.members else None
        return found[1] if found else ""

    @cached_property
    def escapes_all(self) -> bool:
        """Whether characters beyond ASCII are written as escapes."""
        return self.text.isascii() and _HEX_CODE.search(self.text) is not None

    @cached_property
    def escapes_slashes(self) -> bool:
        return "\\/" in self.text

    def raw(self, value: JsonValue) -> str:
        """Return a value as it is written."""
        return self.text[value.start : value.end]

    def first_gap(self, container: JsonValue) -> str:
        """Return what stands between the bracket and the first member."""
        return self.text[container.start + 1 : container.members[0].start]

    def last_gap(self, container: JsonValue) -> str:
        """Return what stands between the last member and the bracket."""
        return self.text[container.members[-1].value.end : container.end - 1]

    def separator(self, container: JsonValue) -> str:
        """Return what stands between two members, with the comma. Members on lines of their own tell it, too."""
        for one, other in pairwise(container.members):
            return self.text[one.value.end : other.start]
        gap = self.first_gap(container) if container.members else ""
        return "," + (gap if "\n" in gap else " ")

    def separator_before(self, container: JsonValue, member: JsonMember) -> str:
        """Return what stands before a member, with the comma."""
        if not member.number:
            return self.separator(container)
        return self.text[container.members[member.number - 1].value.end : member.start]

    def colon(self, member: JsonMember) -> str:
        """Return what stands between the key and the value of a member."""
        return self.text[_DECODER.raw_decode(self.text, member.start)[1] : member.value.start]


def written(text: str, layouts: Sequence[JsonLayout]) -> str:
    """Return a text as a JSON string, with the escapes that the first of these files with any escapes has."""
    shown = [layout for layout in layouts if not layout.text.isascii() or layout.escapes_all]
    raw = json.dumps(text, ensure_ascii=bool(shown) and shown[0].escapes_all)
    return raw.replace("/", "\\/") if layouts[0].escapes_slashes else raw


def relaid(raw: str, source: JsonLayout, target: JsonLayout) -> str:
    """Return a value of one file with the indentation and the line ends of another. Strings have no line ends."""
    if not target.newline:
        return _INDENTED_LINE.sub("", raw) if target.root.members else raw
    indentation = target.indentation if target.root.members else source.indentation

    def indented(found: re.Match[str]) -> str:
        steps = len(found[1]) // len(source.indentation) if source.indentation else 0
        return target.newline + indentation * steps

    return _INDENTED_LINE.sub(indented, raw)


class _Scanner:
    """Finds the places of values in a text that is known to be JSON."""

    def __init__(self, text: str, path: Path) -> None:
        self.text, self.path = text, path

    def value(self, start: int, depth: int) -> JsonValue:
        if depth > MAX_DEPTH:
            line = self.text.count("\n", 0, start) + 1
            raise InputError(f"more than {MAX_DEPTH} objects and lists inside each other", path=self.path, line=line)
        first = self.text[start]
        if first == '"':
            text, end = _DECODER.raw_decode(self.text, start)
            return JsonValue(start, end, text)
        if first in "{[":
            return self._container(start, depth)
        found = _SCALAR.match(self.text, start)
        assert found is not None  # a number or a word
        return JsonValue(start, found.end())

    def _container(self, start: int, depth: int) -> JsonValue:
        container = JsonValue(start, brackets="{}" if self.text[start] == "{" else "[]")
        position = _skip(self.text, start + 1)
        while self.text[position] not in "]}":
            member = self._member(position, len(container.members), container.brackets == "{}", depth)
            container.members.append(member)
            position = _skip(self.text, member.value.end)
            position = _skip(self.text, position + 1) if self.text[position] == "," else position
        container.end = position + 1
        self._check_keys(container)
        return container

    def _member(self, start: int, index: int, has_key: bool, depth: int) -> JsonMember:
        if not has_key:
            return JsonMember(index, start, self.value(start, depth + 1), index)
        key, end = _DECODER.raw_decode(self.text, start)
        colon = _skip(self.text, end)
        return JsonMember(key, start, self.value(_skip(self.text, colon + 1), depth + 1), index)

    def _check_keys(self, container: JsonValue) -> None:
        seen: dict[str | int, int] = {}
        for member in container.members:
            if member.key in seen:
                line, first = (self.text.count("\n", 0, place) + 1 for place in (member.start, seen[member.key]))
                message = f"the key {member.key!r:.80} is already on line {first}; remove one of them"
                raise InputError(message, path=self.path, line=line)
            seen[member.key] = member.start


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    assert found is not None  # it also matches nothing
    return found.end()
