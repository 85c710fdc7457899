"""Fill in the units of one file: which ones are filled, and how the file is written."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from glob import escape
from itertools import islice
from pathlib import Path
from typing import TypeAlias, TypeVar

from mtloop.core.atomic import atomic
from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner
from mtloop.core.types import JSON
from mtloop.data.formats.filling import (
    BilingualFile,
    FileUnit,
    Filling,
    UnfillableTexts,
    UnitState,
    open_file,
    takes_columns,
)
from mtloop.data.formats.monolingual import is_named_translation, named_language
from mtloop.data.languages import check_languages
from mtloop.text.language_codes import language_of
from mtloop.text.text_batches import text_batches
from mtloop.text.text_unit import TextUnit
from mtloop.translation.file_plan import NOT_OF_TEMPLATE, FilePlan
from mtloop.translation.fill_report import FileReport, ReportedUnit
from mtloop.translation.fill_state import FileProgress, FileVersions, FilledUnit, digest_of, digest_of_bytes, writing
from mtloop.translation.lesson_choice import TranslatedUnit, segment_of
from mtloop.translation.quality_checks import FORMAT, SERIOUS
from mtloop.translation.unit_translation import OneThread, translate_units
from mtloop.translation.work_units import unit_names

CHUNK = (
    384  # units that are translated together: four batches of the engine. A kill loses the work of one chunk at most
)
CHUNK_CHARACTERS = 40_000  # of their sources: as many batches, of longer texts
FILL, KEEP, OWN = "fill", "keep", "own"  # own: the header of a PO file, which is no text to translate
NO_SOURCE, NOT_ICU, CHOICE = "without a source", "not a valid ICU message", "with a choice of Java"
EMPTY, IMPOSSIBLE = "without a translation by the model", "the file cannot hold the translation"
BROKEN = "placeholders or tags are wrong"
_CHOICE = re.compile(r"\{\s*\w+\s*,\s*choice\s*,")
_NAMED_BY_PATH = frozenset({".po", ".ts", ".xlf", ".xliff", ".sdlxliff", ".mqxliff"})
_NO_LANGUAGE = frozenset({".txt", ".tsv", ".csv", ".tmx"})  # nobody expects that these files name one
T = TypeVar("T")
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

    def for_file(self, path: Path) -> FillOptions:
        """Return the options that apply to a file: only a table has columns."""
        return self if takes_columns(path) else replace(self, columns={})

    def to_json(self) -> dict[str, JSON]:
        fields: dict[str, JSON] = {"only": str(self.only), "approve": self.approve, "columns": dict(self.columns)}
        return fields | {"source_lang": self.source_lang, "target_lang": self.target_lang}


@dataclass(frozen=True)
class OpenedFile:
    """A file that was opened, and what is done with each of its units. `versions`: of the files, before it was read."""

    plan: FilePlan
    file: BilingualFile
    options: FillOptions
    target_lang: str
    is_assumed: bool = False
    """Whether neither the file nor its path names the target language."""
    versions: FileVersions = field(default_factory=FileVersions)

    @classmethod
    def open(cls, plan: FilePlan, options: FillOptions, model: Languages) -> OpenedFile:
        """Open a file. Raise InputError if it cannot be read, or is in other languages than those of the model."""
        versions, named = FileVersions.of(plan), "" if options.target_lang else _named_language(plan.path, model)
        file = _open(plan, options, (model[0], named or model[1]))
        source, target = file.languages
        check_languages(_FileLanguages(plan.path, source, target or named), *model)
        _check_is_translation(plan, file)
        target = target or named
        is_assumed = not target and plan.path.suffix.lower() not in _NO_LANGUAGE
        return cls(plan, file, options, target or model[1], is_assumed, versions)

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
            self._not_translated,
            notes=list(self.file.notes),
            is_unmarked=self._is_unmarked,
            assumed=self.target_lang if self.is_assumed else "",
        )

    def done(self, units: Iterable[FilledUnit], unfilled: Mapping[int, str], details: Mapping[int, str]) -> FileReport:
        """Return the numbers of what was done. `unfilled`: why units were not filled, by their index.

        `details`: why the file cannot hold them.
        """
        plan, translated = self.planned(), {unit.index: unit for unit in units}
        reasons = {index: f"{one}: {details[index]}" if index in details else one for index, one in unfilled.items()}
        left = [self._reported(index, left=reason) for index, reason in sorted(reasons.items())]
        filled = [unit for index, unit in translated.items() if index not in unfilled]
        return replace(
            plan,
            filled=len(filled),
            skipped=dict(Counter(plan.skipped) + Counter(unfilled.values())),
            units=[*plan.units, *left, *(self._to_review(unit) for unit in filled if unit.repaired or unit.failed)],
        )

    def _to_review(self, unit: FilledUnit) -> ReportedUnit:
        failed = [str(one) for one in unit.failed]
        return replace(self._reported(unit.index, translation=unit.text), repaired=unit.repaired, failed=failed)

    @property
    def _is_unmarked(self) -> bool:
        """Whether filled units should be marked for review, and the format cannot mark them."""
        return not self.file.marks_review and not self.options.approve and bool(self.to_fill)

    @property
    def _not_translated(self) -> list[ReportedUnit]:
        found = (index for index, decision in enumerate(self.decisions) if decision in (NOT_ICU, CHOICE))
        return [self._reported(index, left=_problem(self.file.units[index])) for index in found]

    def _reported(self, index: int, *, left: str = "", translation: str = "") -> ReportedUnit:
        unit = self.file.units[index]
        return ReportedUnit(str(self.plan.path), unit.line, unit.id, unit.source, translation, left)

    @cached_property
    def names(self) -> list[str]:
        """A name for each unit, which it keeps if another program inserts other units or changes their texts."""
        names = zip(unit_names(self.file.units), self.file.units, strict=True)
        keys = ([*name, unit.syntax, unit.context.get("flags")] for name, unit in names)
        return [digest_of_bytes(json.dumps(key).encode()) for key in keys]

    def translated(self, progress: FileProgress) -> dict[int, FilledUnit]:
        """Return the units to be filled that are in the state, by their index."""
        names = ((index, self.names[index]) for index in self.to_fill)
        return {index: replace(progress.units[name], index=index) for index, name in names if name in progress.units}

    def translate(
        self,
        learner: Learner,
        progress: FileProgress,
        on_filled: Callable[[int], object],
        one_thread: OneThread = nullcontext,
    ) -> None:
        """Translate the units that are not in the state yet, chunk by chunk; the same chunks as without a kill."""
        for chunk in chunks(self.to_fill, self.sources):
            missing = [index for index in chunk if self.names[index] not in progress.units]
            if missing:
                segments = [(index, segment_of(self.file.units[index])) for index in missing]
                units = translate_units(learner, segments, self.target_lang, one_thread)
                progress.add([replace(unit, name=self.names[unit.index]) for unit in units])
            on_filled(len(chunk))

    def write(self, progress: FileProgress) -> None:
        """Write the output: readers see the old file or the complete new one.

        Raise InputError if another program has changed it since this file was opened.
        """
        out, units = self.plan.out, self.translated(progress)
        assert out is not None
        unfilled = {index: reason for index, unit in units.items() if (reason := self._refusal(unit))}
        fillings = {index: self._filling(unit) for index, unit in units.items() if index not in unfilled}
        content, impossible = filled_as_possible(self.file, fillings)
        unfilled |= dict.fromkeys(impossible, IMPOSSIBLE)
        report = self.done(units.values(), unfilled, impossible).to_json()
        progress.finish(digest_of_bytes(content), self.versions.inputs, report)
        write_like_before(out, content, self._check_unchanged)
        progress.mark_written()

    def _check_unchanged(self) -> None:
        """Raise InputError if the output is not what it was when the file was opened."""
        out = self.plan.out
        if digest_of(out) == self.versions.out:
            return
        if self.plan.in_place:
            message = "another program changed the file meanwhile, so it was not overwritten"
            advice = "run the same command again: it fills in the changed file, and keeps what is translated"
        else:
            message = "another program wrote this output meanwhile, so it was not overwritten"
            advice = "move it away if you need it, and run the same command again: it keeps what is translated"
        raise InputError(f"{message}; {advice}", path=out)

    def _refusal(self, unit: FilledUnit) -> str:
        """Return why a translation is not written, "" if it is.

        What breaks a program is written with a mark only. What gettext refuses is not written, not even with one.
        """
        if not unit.text.strip():
            return EMPTY
        names = {failed.name for failed in unit.failed}
        is_broken = FORMAT in names or (not self.file.marks_review and names & SERIOUS)
        return BROKEN if is_broken else ""

    def _filling(self, unit: FilledUnit) -> Filling:
        """A unit that was repaired or fails a check stays marked for review."""
        return Filling(unit.text, approved=self.options.approve and not unit.repaired and not unit.failed)


def decide(unit: FileUnit, only: Only) -> str:
    """Return FILL, KEEP, OWN, or the reason why a unit is skipped."""
    if not unit.source.strip():
        return OWN if unit.state is UnitState.LOCKED and unit.id == "header" else NO_SOURCE
    if unit.state is UnitState.LOCKED:
        return "locked"
    if unit.state is UnitState.TRANSLATED and only is not Only.ALL:
        return KEEP
    if unit.state is UnitState.FUZZY and only is Only.UNTRANSLATED:
        return "fuzzy"
    if _CHOICE.search(unit.source):
        return CHOICE
    return NOT_ICU if "{" in unit.source and _problem(unit) else FILL


def _problem(unit: FileUnit) -> str:
    """Return why a unit cannot be translated, "" if it can."""
    if _CHOICE.search(unit.source):
        return "the choice format of Java is not translated; write a plural"
    return TextUnit.of(unit.source, unit.syntax).problem


def filled_as_possible(file: BilingualFile, fillings: Mapping[int, Filling]) -> tuple[bytes, dict[int, str]]:
    """Return the filled file, and why it cannot hold some units, by their index: for example because of its charset."""
    try:
        return file.filled(fillings), {}
    except UnfillableTexts as error:
        unfilled = error.reasons
    except InputError:
        unfilled = dict(_impossible(file, sorted(fillings.items())))
    return file.filled({index: one for index, one in fillings.items() if index not in unfilled}), unfilled


def _impossible(file: BilingualFile, fillings: Sequence[tuple[int, Filling]]) -> Iterator[tuple[int, str]]:
    """Yield the units that cannot be filled, and why, by halving: for a format that names one at a time."""
    try:
        file.filled(dict(fillings))
    except InputError as error:
        if len(fillings) == 1:
            yield fillings[0][0], str(error).removeprefix(f"{error.path}: ")
            return
        middle = len(fillings) // 2
        yield from _impossible(file, fillings[:middle])
        yield from _impossible(file, fillings[middle:])


def write_like_before(path: Path, content: bytes, check: Callable[[], object] = lambda: None) -> None:
    """Write a file atomically; a file that is replaced passes on its permissions.

    `check` is called as late as possible. If it raises an error, nothing is written.
    """
    mode = path.stat().st_mode & 0o7777 if path.exists() else None
    with writing(path):
        for stale in path.parent.glob(f".{escape(path.name)}.*.tmp"):  # a process was killed while writing it
            stale.unlink()
        with atomic(path, mode) as file:
            file.write(content)
            check()


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


def _named_language(path: Path, model: Languages) -> str:
    """Return the target language that the path of a PO, TS or XLIFF file names, "" if none.

    In XLIFF the language may be that of the source: messages.en.xlf.
    """
    kind = path.suffix.lower()
    named = named_language(path.resolve()) if kind in _NAMED_BY_PATH else ""
    is_source = "xl" in kind and language_of(named) == language_of(model[0])
    return "" if is_source else named


def _check_is_translation(plan: FilePlan, file: BilingualFile) -> None:
    """Raise InputError if a file of a folder has nothing to do with the template of the folder."""
    kind, template = plan.path.suffix.lower(), plan.template
    if not plan.shares_template or template is None:
        return
    shares_key = kind != ".txt" and any(unit.target for unit in file.units)
    if not shares_key and not is_named_translation(plan.path.resolve(), template.resolve()):
        raise InputError(f"{NOT_OF_TEMPLATE} {template}", path=plan.path)


def chunks(units: Iterable[T], sources: Iterable[str]) -> Iterator[list[T]]:
    """Divide units into those that are translated together, by the number and the length of their sources."""
    waiting = iter(units)
    return (list(islice(waiting, len(texts))) for texts in text_batches(sources, CHUNK, CHUNK_CHARACTERS))


@dataclass(frozen=True)
class _FileLanguages:
    path: Path
    source_lang: str
    target_lang: str
