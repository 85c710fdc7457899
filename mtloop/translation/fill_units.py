"""Fill in the units of one file: which ones are filled, and how the file is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from glob import escape
from pathlib import Path
from typing import TypeAlias

from mtloop.core.atomic import atomic
from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner
from mtloop.core.types import JSON
from mtloop.data.formats.filling import BilingualFile, FileUnit, Filling, UnitState, open_file
from mtloop.data.languages import check_languages
from mtloop.text.text_unit import TextUnit
from mtloop.translation.file_plan import FilePlan
from mtloop.translation.fill_report import FileReport
from mtloop.translation.fill_state import FileProgress, FilledUnit, digest_of_bytes, writing
from mtloop.translation.lesson_choice import TranslatedUnit, segment_of
from mtloop.translation.unit_translation import translate_units

CHUNK = 96  # units that are translated together; a kill loses the work of one chunk at most
FILL, KEEP, OWN = "fill", "keep", "own"  # own: the header of a PO file, which is no text to translate
NO_SOURCE, NOT_ICU = "without a source", "not a valid ICU message"
EMPTY, IMPOSSIBLE = "without a translation by the model", "the file cannot hold the translation"
Languages: TypeAlias = tuple[str, str]


class Only(StrEnum):
    """Which units are filled."""

    UNTRANSLATED = "untranslated"
    FUZZY = "fuzzy"
    """Untranslated ones, and those that are marked for review."""
    ALL = "all"


@dataclass(frozen=True)
class FillOptions:
    """What the user wants: which units, the mark for review, and how the files are read."""

    only: Only = Only.UNTRANSLATED
    approve: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    source_lang: str | None = None
    target_lang: str | None = None

    def to_json(self) -> dict[str, JSON]:
        fields: dict[str, JSON] = {"only": str(self.only), "approve": self.approve, "columns": dict(self.columns)}
        return fields | {"source_lang": self.source_lang, "target_lang": self.target_lang}


@dataclass(frozen=True)
class OpenedFile:
    """A file that was opened, and what is done with each of its units."""

    plan: FilePlan
    file: BilingualFile
    options: FillOptions
    target_lang: str

    @classmethod
    def open(cls, plan: FilePlan, options: FillOptions, model: Languages) -> OpenedFile:
        """Open a file. Raise InputError if it cannot be read, or is in other languages than those of the model."""
        file = _open(plan, options, model)
        check_languages(_FileLanguages(plan.path, *file.languages), *model)
        return cls(plan, file, options, file.languages[1] or model[1])

    @cached_property
    def decisions(self) -> list[str]:
        """For each unit FILL, KEEP, OWN, or the reason why it is skipped."""
        return [decide(unit, self.options.only) for unit in self.file.units]

    @property
    def to_fill(self) -> list[int]:
        return [index for index, decision in enumerate(self.decisions) if decision == FILL]

    @property
    def sources(self) -> Iterator[str]:
        """The sources of the units to be filled."""
        return (self.file.units[index].source for index in self.to_fill)

    @property
    def lessons(self) -> Iterator[TranslatedUnit]:
        """The translated units that stay as they are."""
        for unit, decision in zip(self.file.units, self.decisions, strict=True):
            if decision == KEEP and unit.source.strip() and unit.target.strip():
                yield TranslatedUnit.of(unit)

    def planned(self) -> FileReport:
        """Return the numbers of what would be done."""
        decisions = Counter(self.decisions)
        filled, kept, _ = (decisions.pop(name, 0) for name in (FILL, KEEP, OWN))
        return FileReport(
            str(self.plan.path),
            filled,
            kept,
            dict(decisions),
            problems=self._problems,
            notes=list(self.file.notes),
            is_unmarked=self._is_unmarked,
        )

    def done(self, units: Iterable[FilledUnit], unfilled: Mapping[int, str]) -> FileReport:
        """Return the numbers of what was done. `unfilled`: why units were not filled, by their index."""
        filled, plan = [unit for unit in units if unit.index not in unfilled], self.planned()
        return replace(
            plan,
            filled=len(filled),
            skipped=dict(Counter(plan.skipped) + Counter(unfilled.values())),
            repaired=sum(bool(unit.repaired) for unit in filled),
            failed=[self._message(unit.index, str(unit.failed[0])) for unit in filled if unit.failed],
            problems=[*plan.problems, *(self._message(*one) for one in sorted(unfilled.items()))],
        )

    @property
    def _is_unmarked(self) -> bool:
        """Whether filled units should be marked for review, and the format cannot mark them."""
        return not self.file.marks_review and not self.options.approve and bool(self.to_fill)

    @property
    def _problems(self) -> list[str]:
        found = (index for index, decision in enumerate(self.decisions) if decision == NOT_ICU)
        return [self._message(index, _text_unit(self.file.units[index]).problem) for index in found]

    def _message(self, index: int, text: str) -> str:
        return f"{self.plan.path}: unit {self.file.units[index].id}: {text}"

    def translate(self, learner: Learner, progress: FileProgress, on_filled: Callable[[int], object]) -> None:
        """Translate the units that are not in the state yet, chunk by chunk; the same chunks as without a kill."""
        for chunk in _chunks(self.to_fill):
            if not all(index in progress.units for index in chunk):
                segments = [(index, segment_of(self.file.units[index])) for index in chunk]
                progress.add(translate_units(learner, segments, target_lang=self.target_lang))
            on_filled(len(chunk))

    def write(self, progress: FileProgress) -> None:
        """Write the output: readers see the old file or the complete new one."""
        out = self.plan.out
        assert out is not None
        fillings = {index: self._filling(unit) for index, unit in progress.units.items() if unit.text.strip()}
        content, impossible = filled_as_possible(self.file, fillings)
        unfilled = dict.fromkeys(progress.units.keys() - fillings.keys(), EMPTY) | dict.fromkeys(impossible, IMPOSSIBLE)
        progress.finish(digest_of_bytes(content), self.done(progress.units.values(), unfilled).to_json())
        write_like_before(out, content)

    def _filling(self, unit: FilledUnit) -> Filling:
        """A unit that was repaired or fails a check stays marked for review."""
        return Filling(unit.text, approved=self.options.approve and not unit.repaired and not unit.failed)


def decide(unit: FileUnit, only: Only) -> str:
    """Return FILL, KEEP, OWN, or the reason why a unit is skipped."""
    if not unit.source.strip():
        return OWN if unit.state is UnitState.LOCKED and unit.target else NO_SOURCE
    if unit.state is UnitState.LOCKED:
        return "locked"
    if unit.state is UnitState.TRANSLATED and only is not Only.ALL:
        return KEEP
    if unit.state is UnitState.FUZZY and only is Only.UNTRANSLATED:
        return "fuzzy"
    return NOT_ICU if "{" in unit.source and _text_unit(unit).problem else FILL


def _text_unit(unit: FileUnit) -> TextUnit:
    return TextUnit.of(unit.source, unit.syntax)


def filled_as_possible(file: BilingualFile, fillings: Mapping[int, Filling]) -> tuple[bytes, list[int]]:
    """Return the filled file, and the units that the file cannot hold, for example because of its encoding."""
    try:
        return file.filled(fillings), []
    except InputError:
        unfilled = list(_impossible(file, sorted(fillings.items())))
        return file.filled({index: one for index, one in fillings.items() if index not in unfilled}), unfilled


def _impossible(file: BilingualFile, fillings: Sequence[tuple[int, Filling]]) -> Iterator[int]:
    """Yield the units that cannot be filled, by halving: usually they are few."""
    try:
        file.filled(dict(fillings))
    except InputError:
        if len(fillings) == 1:
            yield fillings[0][0]
            return
        middle = len(fillings) // 2
        yield from _impossible(file, fillings[:middle])
        yield from _impossible(file, fillings[middle:])


def write_like_before(path: Path, content: bytes) -> None:
    """Write a file atomically; a file that is replaced passes on its permissions."""
    mode = path.stat().st_mode & 0o7777 if path.exists() else None
    with writing(path):
        for stale in path.parent.glob(f".{escape(path.name)}.*.tmp"):  # a process was killed while writing it
            stale.unlink()
        with atomic(path) as file:
            file.write(content)
        if mode is not None:
            path.chmod(mode)


def _open(plan: FilePlan, options: FillOptions, model: Languages) -> BilingualFile:
    """Open a file; if it does not say which languages to fill in, with those of the model."""
    languages = options.source_lang, options.target_lang
    ours = options.source_lang or model[0] or None, options.target_lang or model[1] or None
    try:
        return _open_with(plan, options, languages)
    except InputError as error:
        if ours == languages:
            raise
        first = error
    try:
        return _open_with(plan, options, ours)
    except InputError:
        raise first from None  # it says what is wrong with the file as it is


def _open_with(plan: FilePlan, options: FillOptions, languages: tuple[str | None, str | None]) -> BilingualFile:
    source, target = languages
    return open_file(plan.path, columns=options.columns, source_lang=source, target_lang=target, template=plan.template)


def _chunks(indices: Sequence[int]) -> Iterator[Sequence[int]]:
    return (indices[start : start + CHUNK] for start in range(0, len(indices), CHUNK))


@dataclass(frozen=True)
class _FileLanguages:
    path: Path
    source_lang: str
    target_lang: str
