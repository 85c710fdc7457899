"""The lessons of a command: translated units of the files to fill in, and of files that are only learned from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import FILES, TEMPLATE_FORMATS, takes_template
from mtloop.text.files import format_suffix
from mtloop.translation.file_plan import FilePlan
from mtloop.translation.fill_units import FillOptions, Languages, Only, OpenedFile
from mtloop.translation.lesson_choice import TranslatedUnit, choose_lessons


class ChosenLessons(NamedTuple):
    """The units to learn, the number of all translated units, and how many of those are copies of their sources."""

    lessons: list[TranslatedUnit]
    candidates: int
    copies: int


def open_lesson_files(
    paths: Sequence[Path], options: FillOptions, model: Languages, written: Iterable[Path | None] = ()
) -> list[OpenedFile]:
    """Open files that are only learned from.

    Raise InputError for a file without a translated unit, and for one of the files that are `written`.
    """
    outputs = {path.resolve() for path in written if path is not None}
    return [_open(path, replace(options.for_file(path), only=Only.UNTRANSLATED), model, outputs) for path in paths]


def lessons_of(opened: Sequence[OpenedFile], limit: int, learn_from: Sequence[OpenedFile] = ()) -> ChosenLessons:
    """Return the units to learn. A copy of its source in another language than that of the target is none.

    The files that are only learned from come first, and the newest file of each kind comes last.
    """
    by_age = [*sorted(learn_from, key=_last_change), *sorted(opened, key=_last_change)]
    candidates = [unit for file in by_age for unit in file.lessons]
    units = [unit for unit in candidates if not unit.is_copy]
    sources = (source for file in opened for source in file.sources)
    chosen = choose_lessons(units, sources, limit) if limit else []
    return ChosenLessons(chosen, len(candidates), len(candidates) - len(units))


def _open(path: Path, options: FillOptions, model: Languages, outputs: set[Path]) -> OpenedFile:
    if path.is_dir():
        raise InputError("is a folder; --learn-from takes files, one each", path=path)
    if not path.exists():
        raise InputError("no such file", path=path)
    if format_suffix(path) in FILES and takes_template(path):
        known = ", ".join(suffix for suffix in FILES if suffix not in TEMPLATE_FORMATS)
        raise InputError(f"has one language; --learn-from takes files with source and translation: {known}", path=path)
    if path.resolve() in outputs:
        raise InputError("is an output too, and a file of --learn-from is never written; name another one", path=path)
    opened = OpenedFile.open(FilePlan(path), options, model)
    if next(opened.lessons, None) is None:
        message = "has no translated unit to learn from (one that is marked for review does not count)"
        raise InputError(f"{message}; leave out --learn-from for it", path=path)
    return opened


def _last_change(file: OpenedFile) -> int:
    """Return when a file was changed last, by its time of modification."""
    path = file.plan.path
    return path.stat().st_mtime_ns if path.exists() else 0
