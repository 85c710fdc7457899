"""Copies of a file and its template, from before the confirmations, in the folder of a person's work.

Such a copy is a base. The units of a trace are counted in it, so a changed file or template cannot shift them. A base
is complete when it has `confirmed.json`, which is written last; the newest complete one counts.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mtloop.core.atomic import atomic, write_text
from mtloop.core.errors import InputError
from mtloop.core.json_files import json_errors, parse_json
from mtloop.translation.file_plan import FilePlan
from mtloop.translation.fill_state import writing
from mtloop.translation.fill_units import FillOptions, Languages, OpenedFile

_BASES, _CONFIRMED, _DIGITS = "base-*-*", "confirmed.json", 9


@dataclass(frozen=True)
class FileContents:
    """The bytes of a file and of its template; None for one that does not exist."""

    target: bytes | None
    template: bytes | None

    @classmethod
    def read(cls, plan: FilePlan) -> FileContents:
        return cls(_bytes(plan.path), _bytes(plan.template))

    def write(self, plan: FilePlan) -> None:
        for path, content in ((plan.path, self.target), (plan.template, self.template)):
            if path is not None and content is not None:
                with atomic(path) as file:
                    file.write(content)


@dataclass(frozen=True)
class Base:
    """A copy that was opened. `events`: the number of events in the trace before it."""

    folder: Path
    events: int
    contents: FileContents
    opened: OpenedFile

    def carried(self) -> dict[int, str]:
        """Return the units that were confirmed before the base, with the texts."""
        path = self.folder / _CONFIRMED
        with json_errors(path, "a record of confirmed units"):
            return {int(unit): str(text) for unit, text in parse_json(path.read_bytes()).items()}


@dataclass(frozen=True)
class WorkBases:
    """The bases in the folder of a work."""

    plan: FilePlan
    options: FillOptions
    model: Languages
    folder: Path

    def newest(self) -> Base | None:
        """Open the newest complete base; None if there is none."""
        found = max((path.parent for path in self.folder.glob(f"{_BASES}/{_CONFIRMED}")), default=None)
        if found is None:
            return None
        return Base(found, int(found.name.split("-")[1]), FileContents.read(self._plan_in(found)), self._open(found))

    def add(self, contents: FileContents, events: int) -> Base:
        """Write and open a base, which is not complete yet."""
        last = max((int(path.name.split("-")[2]) for path in self.folder.glob(_BASES)), default=0)
        folder = self.folder / f"base-{events:0{_DIGITS}d}-{last + 1:0{_DIGITS}d}"
        try:
            return Base(folder, events, contents, self._copy(contents, folder))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def complete(self, base: Base, carried: Mapping[int, str]) -> None:
        """Make a base count from now on, and delete the others."""
        with writing(self.folder):
            write_text(base.folder / _CONFIRMED, json.dumps(dict(carried)))
        for other in self.folder.glob(_BASES):
            if other != base.folder:
                shutil.rmtree(other, ignore_errors=True)

    def reread(self, contents: FileContents) -> OpenedFile:
        """Open contents as if they were the file: a text that is read back may differ from the one that was written."""
        folder = self.folder / "expected"
        try:
            return self._copy(contents, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def named(self, text: str, folder: Path) -> str:
        """Return a message about a copy with the names of the user's files."""
        copy = self._plan_in(folder)
        for ours, users in ((copy.path, self.plan.path), (copy.template, self.plan.template)):
            text = text.replace(str(ours), str(users)) if ours else text
        return text

    def _copy(self, contents: FileContents, folder: Path) -> OpenedFile:
        with writing(self.folder):
            contents.write(self._plan_in(folder))
        return self._open(folder)

    def _open(self, folder: Path) -> OpenedFile:
        try:
            return OpenedFile.open(self._plan_in(folder), self.options, self.model)
        except InputError as error:
            raise InputError(self.named(str(error), folder)) from error

    def _plan_in(self, folder: Path) -> FilePlan:
        template = self.plan.template
        copy = folder / "template" / _inner(template) if template else None
        return replace(self.plan, path=folder / "file" / _inner(self.plan.path), template=copy)


def _inner(path: Path) -> Path:
    """Return the name of a file with its last two folders: a format may read the language from them."""
    return Path(*path.resolve().relative_to(path.resolve().anchor).parts[-3:])


def _bytes(path: Path | None) -> bytes | None:
    try:
        return path.read_bytes() if path is not None and path.exists() else None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from error
