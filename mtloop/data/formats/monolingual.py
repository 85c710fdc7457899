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
from mtloop.data.formats.filling import SURROGATE, Edit, OpenRequest, UnitState, read_content
from mtloop.data.languages import is_tag, normalise_tag
from mtloop.data.writing_systems import is_language
from mtloop.text.messages import join_names

_SEPARATOR = re.compile("[-_.]")
_LOCALE = re.compile(r"[a-z]{2,3}([-_][a-z]{4})?([-_]([a-z]{2}|\d{3}))?([-_@][a-z0-9]{5,8})?(@[a-z]+)?", re.IGNORECASE)
_ANDROID_FOLDER = re.compile(
    r"values-(?:b\+(?P<bcp>[\w+]+)|(?P<language>[a-z]{2,3})(?:-r(?P<region>[A-Z]{2}))?)(?:-|$)"
)
_LINE_END = re.compile(rb"\r\n|\r|\n")
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
    return read_content(template_path(request))


def pair_languages(request: OpenRequest, declared: tuple[str, str] = ("", "")) -> tuple[str, str]:
    """Return the languages of template and target: the requested, else the declared, else those that the paths name.

    A language that nothing names is "".
    """
    template, path = template_path(request).resolve(), request.path.resolve()
    source = request.source_lang or declared[0] or path_language(template, path)
    return source, request.target_lang or declared[1] or path_language(path, template)


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
    return next((normalise_tag(name) for name in names if _is_locale(name)), "")


def named_language(path: Path) -> str:
    """Return the language that the path of a bilingual file names, "" if none.

    >>> named_language(Path("locale/pt_BR/LC_MESSAGES/django.po")), named_language(Path("po/app.fr.po"))
    ('pt-BR', 'fr')
    """
    folders = [*path.parts[:-1]]
    if "LC_MESSAGES" in folders[1:]:
        folder = folders[folders.index("LC_MESSAGES", 1) - 1]
        return normalise_tag(folder) if is_tag(folder) else ""
    names = [*_endings(path.stem), *map(_folder_tag, folders[-1:])]
    return next((normalise_tag(name) for name in names if _is_locale(name)), "")


def is_named_translation(path: Path, template: Path) -> bool:
    """Whether a file has the name of a translation of a template: it names a language, and else is called the same.

    >>> is_named_translation(Path("messages_de.properties"), Path("messages.properties"))
    True
    >>> is_named_translation(Path("values-de/colors.xml"), Path("values/strings.xml"))
    False
    """
    stem = _without_language(path.stem)
    return bool(path_language(path, template)) and stem in ("", _without_language(template.stem))


def _without_language(stem: str) -> str:
    found = next(filter(_is_locale, _endings(stem)), "")
    return stem.removesuffix(found).rstrip("-_.")


def _is_locale(name: str) -> bool:
    return _LOCALE.fullmatch(name) is not None and is_language(name)


def _endings(stem: str) -> list[str]:
    """Return the stem, and what follows each separator in it: the longest first."""
    return [stem, *(stem[found.end() :] for found in _SEPARATOR.finditer(stem))]


def _folder_tag(name: str) -> str:
    found = _ANDROID_FOLDER.match(name)
    if found is None:
        return "" if name == "in" else name.removesuffix(".lproj")  # a folder of inputs, not Indonesian
    return found["bcp"].replace("+", "-") if found["bcp"] else "-".join(filter(None, found.group("language", "region")))


def unit_state(source: str, target: str | None, *, may_be_missing: bool = True) -> UnitState:
    """Return the state of a unit. Where no text can be left out, a target that equals its source is untranslated."""
    if not source.strip() or SURROGATE.search(source):
        return UnitState.LOCKED
    if target is None or not target.strip() or (target == source and not may_be_missing):
        return UnitState.UNTRANSLATED
    return UnitState.TRANSLATED


def extra_keys_note(names: Sequence[str], template: Path) -> tuple[str, ...]:
    """Return the note about keys of the target file that the template does not have; () if there are none."""
    if not names:
        return ()
    dots = ", ..." if len(names) > _MAX_NAMES else ""
    is_one = len(names) == 1
    count, left = ("1 key is", "is left as it is") if is_one else (f"{len(names)} keys are", "are left as they are")
    return (f"{count} not in {template} and {left}: {join_names(names[:_MAX_NAMES])}{dots}",)


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
