"""What the formats with one language in a file share: a template in the source language, and a target file.

The template is the file in the source language. The target file may have some of its keys, or not exist yet. A key
without a translation is left out of the target file: programs then show the text of the source language, and whoever
opens the file again sees what is untranslated.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import Edit, OpenRequest, UnitState
from mtloop.data.languages import is_tag, normalise_tag
from mtloop.data.writing_systems import is_language
from mtloop.text.files import read_bytes
from mtloop.text.messages import join_names

_SEPARATOR = re.compile("[-_.]")
_ANDROID_FOLDER = re.compile(
    r"values-(?:b\+(?P<bcp>[\w+]+)|(?P<language>[a-z]{2,3})(?:-r(?P<region>[A-Z]{2}))?)(?:-|$)"
)
_LINE_END = re.compile(rb"\r\n|\r|\n")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_NAMES = 5


def template_path(request: OpenRequest) -> Path:
    """Return the path of the template. Raise InputError if there is none, or if it is the target file itself."""
    if request.template is None:
        message = "the file has texts in one language; name the file with the source texts: --template FILE"
        raise InputError(message, path=request.path)
    if request.template.resolve() == request.path.resolve():
        raise InputError("the template is the file itself; write the translation to another file", path=request.path)
    return request.template


def existing_content(request: OpenRequest) -> bytes | None:
    """Return the bytes of the target file, None if it does not exist yet or has no bytes."""
    if not request.path.exists() or (request.path.is_file() and request.path.stat().st_size == 0):
        return None
    return request.content()


def template_content(request: OpenRequest) -> bytes:
    """Return the bytes of the template."""
    return read_bytes(template_path(request))


def pair_languages(request: OpenRequest) -> tuple[str, str]:
    """Return the languages of template and target: the requested ones, else those that their paths name, else ""."""
    template = template_path(request)
    source = request.source_lang or path_language(template, request.path)
    return source, request.target_lang or path_language(request.path, template)


def path_language(path: Path, other: Path) -> str:
    """Return the language that a path names, "" if none. `other` is the file in the other language.

    >>> path_language(Path("app/messages_pt_BR.properties"), Path("app/messages.properties"))
    'pt-BR'
    >>> path_language(Path("res/values-de/strings.xml"), Path("res/values/strings.xml"))
    'de'
    """
    stem = [] if path.stem == other.stem else _endings(path.stem)
    folders = [path.parent.name, path.parent.parent.name]
    names = [*stem, *(_folder_tag(name) for name in folders)]
    return next((normalise_tag(name) for name in names if is_tag(name) and is_language(name)), "")


def _endings(stem: str) -> list[str]:
    """Return the stem, and what follows each separator in it: the longest first."""
    return [stem, *(stem[found.end() :] for found in _SEPARATOR.finditer(stem))]


def _folder_tag(name: str) -> str:
    found = _ANDROID_FOLDER.match(name)
    if found is None:
        return name.removesuffix(".lproj")
    return found["bcp"].replace("+", "-") if found["bcp"] else "-".join(filter(None, found.group("language", "region")))


def unit_state(source: str, target: str | None, *, may_be_missing: bool = True) -> UnitState:
    """Return the state of a unit. Where no text can be left out, a target that equals its source is untranslated."""
    if not source.strip() or _SURROGATE.search(source):
        return UnitState.LOCKED
    if target is None or not target.strip() or (target == source and not may_be_missing):
        return UnitState.UNTRANSLATED
    return UnitState.TRANSLATED


def extra_keys_note(names: Sequence[str], template: Path) -> tuple[str, ...]:
    """Return the note about keys of the target file that the template does not have; () if there are none."""
    if not names:
        return ()
    dots = ", ..." if len(names) > _MAX_NAMES else ""
    count = "1 key is" if len(names) == 1 else f"{len(names)} keys are"
    return (f"{count} not in {template} and stay as they are: {join_names(names[:_MAX_NAMES])}{dots}",)


def decode_utf8(content: bytes, path: Path, kind: str) -> str:
    """Return the text of a file in UTF-8. Raise InputError, with the line, for other bytes and for NUL."""
    if 0 in content:
        line = content.count(b"\n", 0, content.index(0)) + 1
        raise InputError(f"NUL byte; expected {kind} in UTF-8", path=path, line=line)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"invalid UTF-8; expected {kind} in UTF-8", path=path, line=line) from error


@dataclass(frozen=True, slots=True)
class FileEntry:
    """An entry of a file, from the comments that belong to it (or its indentation) to its line end."""

    key: Hashable
    start: int
    end: int
    line: int
    content: Any
    note: str = ""


@dataclass(frozen=True)
class EntryFile:
    """A file as a list of entries, with other text (a gap) before, between and after them. Keys occur once."""

    path: Path
    content: bytes
    entries: Sequence[FileEntry]
    body_end: int
    """Where an entry may be added, if there is none yet."""

    def __post_init__(self) -> None:
        lines: dict[Hashable, int] = {}
        for entry in self.entries:
            if entry.key in lines:
                message = f"the key {str(entry.key)!r:.80} is already on line {lines[entry.key]}; remove one of them"
                raise InputError(message, path=self.path, line=entry.line)
            lines[entry.key] = entry.line

    @cached_property
    def by_key(self) -> dict[Hashable, FileEntry]:
        return {entry.key: entry for entry in self.entries}

    @cached_property
    def newline(self) -> bytes:
        """The line end of the file: that of its first line."""
        found = _LINE_END.search(self.content)
        return found[0] if found else b"\n"

    def gaps(self) -> Iterator[tuple[bytes, FileEntry]]:
        """Yield each entry with the text before it."""
        position = 0
        for entry in self.entries:
            yield self.content[position : entry.start], entry
            position = entry.end


def new_file_edits(template: EntryFile, new: Mapping[Hashable, bytes]) -> Iterator[Edit]:
    """Yield the edits that make a new target file of a template: entries without a translation are left out."""
    for entry in template.entries:
        yield Edit(entry.start, entry.end, new.get(entry.key, b""))


def insertions(template: EntryFile, target: EntryFile, new: Mapping[Hashable, bytes]) -> Iterator[Edit]:
    """Yield the edits that insert new entries into a target file: each after the entry before it in the template.

    What stands between the entries in the template may stand in the target file too: then they are inserted behind it.
    """
    position = _first_place(template, target)
    for number, (gap, entry) in enumerate(template.gaps()):
        if entry.key in target.by_key:
            position = target.by_key[entry.key].end
            continue
        if number and target.content.startswith(gap, position):
            position += len(gap)
        if entry.key in new:
            yield Edit(position, position, _as_lines(new[entry.key], position, target))


def _first_place(template: EntryFile, target: EntryFile) -> int:
    """Return where the first entry of the template belongs: after the same header, else before the first entry."""
    header, _ = next(template.gaps(), (b"", None))
    if header and target.content.startswith(header):
        return len(header)
    place = target.entries[0].start if target.entries else target.body_end
    return place if header or target.content[:place].strip() else 0


def _as_lines(text: bytes, place: int, target: EntryFile) -> bytes:
    """Return an entry with the line ends of the target file. An entry that ends a line also begins one."""
    text = _LINE_END.sub(target.newline, text)
    begins = place == 0 or target.content[place - 1] in b"\r\n"
    return text if begins or not text.endswith(target.newline) else target.newline + text


def extra_keys(template: EntryFile, target: EntryFile | None) -> Iterable[Hashable]:
    """Return the keys of a target file that its template does not have."""
    return [] if target is None else [entry.key for entry in target.entries if entry.key not in template.by_key]
