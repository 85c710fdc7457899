"""Files that are filled in: their units, and the registry of formats by suffix (`FILES`).

A `BilingualFile` never writes a file anew. It puts the targets into the original bytes, so every other byte stays as it
was: `file.filled({})` is the file. To support another format, write a class with the members of `BilingualFile`, a
function that makes it from an `OpenRequest`, and add the function to `FILES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from mtloop.core.errors import InputError
from mtloop.core.types import Fields
from mtloop.text.files import DECOMPRESSORS, format_suffix, read_bytes

SURROGATE = re.compile("[\ud800-\udfff]")

PLAIN, XML = "plain", "xml"
"""The values of `FileUnit.syntax`: the text is plain, or a fragment of XML with its tags and `&amp;`."""


class UnitState(StrEnum):
    """What the file says about the target of a unit."""

    UNTRANSLATED = "untranslated"
    FUZZY = "fuzzy"
    """There is a target, and the file says that it must be reviewed."""
    TRANSLATED = "translated"
    LOCKED = "locked"
    """Not to be filled: a header, an obsolete message, `translate="no"`."""


@dataclass(frozen=True, slots=True)
class FileUnit:
    """A place for one target. A message with plural forms is a unit for each form, with its index in `plural`.

    `context` has the fields of a segment's context, such as `document`, and of the format: `plural`, `flags`, `note`.
    `line` is where the unit stands in the file, 0 if the format does not know it. An `obsolete` unit is locked, and no
    program uses it any more.
    """

    id: str
    source: str
    target: str = ""
    state: UnitState = UnitState.UNTRANSLATED
    context: Fields = field(default_factory=dict)
    syntax: str = PLAIN
    line: int = field(default=0, compare=False)
    obsolete: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Filling:
    """The text for a unit. Unless it is approved, the file marks the unit for review, as its format does that."""

    text: str
    approved: bool = False


class BilingualFile(Protocol):
    """A file with units in order. `languages` are the tags of source and target, "" where the file names none."""

    @property
    def path(self) -> Path: ...

    @property
    def units(self) -> Sequence[FileUnit]: ...

    @property
    def languages(self) -> tuple[str, str]: ...

    @property
    def marks_review(self) -> bool:
        """Whether the format can mark a unit for review."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What the user should know about the file, a line each."""
        ...

    def filled(self, targets: Mapping[int, Filling]) -> bytes:
        """Return the file with these units filled in, by their index in `units`. Every other byte is as it was.

        A unit that has a target gets the new one. Raise UnfillableTexts for locked units, and for texts that the file
        cannot hold.
        """
        ...


class UnfillableTexts(InputError):
    """Texts that a file cannot hold. `reasons` says why, by the index of the unit; the first one is the message."""

    def __init__(self, reasons: Mapping[int, str], path: Path) -> None:
        super().__init__(next(iter(reasons.values())), path=path)
        self.reasons = dict(reasons)


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """The input of an opener: the file, and what the user says about it."""

    path: Path
    columns: Mapping[str, str] = field(default_factory=dict)
    """Roles to the columns of a table: `{"source": "English", "target": "German"}`."""
    source_lang: str | None = None
    target_lang: str | None = None
    template: Path | None = None
    """The file in the source language, of a format with one language in a file."""

    def content(self) -> bytes:
        """Return the bytes of the file. Raise InputError if it is empty, too large or cannot be read."""
        return read_content(self.path)


MARKS = dict.fromkeys((".json", ".arb"), b",[{")
MARKS |= dict.fromkeys((".ts", ".tmx", ".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".xml"), b"<=")
"""The bytes that begin a part of a file: a value, a tag, an attribute. In other formats a line is a part."""


def read_content(path: Path) -> bytes:
    """Return the bytes of a file or template. Raise InputError if it is empty, too large or cannot be read."""
    return read_bytes(path, MARKS.get(format_suffix(path), b"\n"))


class Opener(Protocol):
    """Open a file. Raise InputError for any problem with it."""

    def __call__(self, request: OpenRequest, /) -> BilingualFile: ...


@dataclass(frozen=True, slots=True)
class LazyOpener:
    """An opener that is imported on first use."""

    module: str
    name: str

    def __call__(self, request: OpenRequest, /) -> BilingualFile:
        opener: Opener = getattr(import_module(self.module), self.name)
        return opener(request)


FILES: dict[str, Opener] = {
    ".po": LazyOpener("mtloop.data.formats.fill_gettext", "open_po"),
    ".pot": LazyOpener("mtloop.data.formats.fill_gettext", "open_po"),
    ".ts": LazyOpener("mtloop.data.formats.fill_qt_ts", "open_ts"),
    ".tmx": LazyOpener("mtloop.data.formats.fill_tmx", "open_tmx"),
    ".xlf": LazyOpener("mtloop.data.formats.fill_xliff", "open_xliff"),
    ".xliff": LazyOpener("mtloop.data.formats.fill_xliff", "open_xliff"),
    ".sdlxliff": LazyOpener("mtloop.data.formats.fill_xliff", "open_xliff"),
    ".mqxliff": LazyOpener("mtloop.data.formats.fill_xliff", "open_xliff"),
    ".tsv": LazyOpener("mtloop.data.formats.fill_table", "open_fillable_table"),
    ".csv": LazyOpener("mtloop.data.formats.fill_table", "open_fillable_table"),
    ".txt": LazyOpener("mtloop.data.formats.fill_text", "open_text"),
    ".json": LazyOpener("mtloop.data.formats.fill_json", "open_json"),
    ".arb": LazyOpener("mtloop.data.formats.fill_json", "open_json"),
    ".xml": LazyOpener("mtloop.data.formats.fill_android", "open_android"),
    ".properties": LazyOpener("mtloop.data.formats.fill_properties", "open_properties"),
}
TEMPLATE_FORMATS = (".json", ".arb", ".xml", ".properties", ".txt")
"""The formats with one language in a file."""
TABLE_FORMATS = (".tsv", ".csv")


def takes_template(path: Path) -> bool:
    """Whether a file of this name has one language, so that its source texts are in another file."""
    return path.suffix.lower() in TEMPLATE_FORMATS


def takes_columns(path: Path) -> bool:
    """Whether a file of this name is a table."""
    return path.suffix.lower() in TABLE_FORMATS


def open_file(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
    template: str | Path | None = None,
) -> BilingualFile:
    """Open a file to be filled in, with the opener for its suffix (`FILES`)."""
    request = OpenRequest(Path(path), columns or {}, source_lang, target_lang, Path(template) if template else None)
    opener = _opener(request.path)
    if request.template is not None and not takes_template(request.path):
        raise InputError("has its own source texts; leave out --template", path=request.path)
    if request.columns and not takes_columns(request.path):
        raise InputError("is not a table; leave out --columns", path=request.path)
    return opener(request)


def _opener(path: Path) -> Opener:
    if path.suffix.lower() in DECOMPRESSORS:
        raise InputError("a compressed file cannot be filled in; decompress it first", path=path)
    kind = format_suffix(path)
    if kind not in FILES:
        raise InputError(f"unknown file type {kind!r}; known: {', '.join(FILES)}", path=path)
    return FILES[kind]


class Edit(NamedTuple):
    """Bytes that replace the bytes from `start` to `end` of a file. If both are equal, they are inserted there."""

    start: int
    end: int
    new: bytes


CheckText: TypeAlias = Callable[[str, FileUnit], object]
"""Raises InputError if a file cannot hold a text for a unit."""


def splice(content: bytes, edits: Iterable[Edit]) -> bytes:
    """Return the content with the edits made. Edits at the same place are made in their order; none may overlap.

    >>> splice(b"a  c", [Edit(2, 2, b"b"), Edit(3, 4, b"C!")])
    b'a b C!'
    """
    pieces, end = [], 0
    for edit in sorted(edits, key=lambda edit: edit[:2]):
        if edit.start < end or edit.end < edit.start:
            raise ValueError(f"edits overlap at byte {edit.start}")
        pieces += [content[end : edit.start], edit.new]
        end = edit.end
    return b"".join([*pieces, content[end:]])


def check_targets(
    file: BilingualFile, targets: Mapping[int, Filling], check: CheckText = lambda text, unit: None
) -> None:
    """Raise IndexError for an index without a unit, UnfillableTexts for locked units and wrong texts.

    A text that is not Unicode is wrong, and one for which `check` raises InputError. Each text is looked at, so that
    the wrong ones are known without filling in the file again and again.
    """
    reasons = {}
    for index, filling in targets.items():
        if not 0 <= index < len(file.units):
            raise IndexError(f"{file.path} has {len(file.units)} units, and none with index {index}")
        if file.units[index].state is UnitState.LOCKED:
            reasons[index] = f"unit {file.units[index].id} is locked and cannot be filled in"
        elif reason := _refusal(filling.text, file.units[index], check):
            reasons[index] = reason
    if reasons:
        raise UnfillableTexts(reasons, file.path)


def _refusal(text: str, unit: FileUnit, check: CheckText) -> str:
    """Return why a text cannot be filled in, "" if it can."""
    if found := SURROGATE.search(text):
        return f"the text for unit {unit.id} has half a character, U+{ord(found[0]):04X}; remove it"
    try:
        check(text, unit)
    except InputError as error:
        return str(error).removeprefix(f"{error.path}: ")
    return ""
