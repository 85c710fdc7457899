"""The file that a person works on: what was confirmed is put into the bytes that the file had at the beginning.

The folder of the work keeps these bytes (`work_base`), so that undoing a confirmation gives the old bytes back. Another
program may change the file or its template meanwhile. Their versions are then the new base, and the changes stay as
they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.core.plural import pluralise
from mtloop.core.trace import Event, Retract
from mtloop.core.types import PostEdit, Step
from mtloop.data.formats.filling import FileUnit, Filling, UnitState
from mtloop.translation.file_plan import FilePlan
from mtloop.translation.fill_units import (
    FILL,
    NOT_ICU,
    FillOptions,
    Languages,
    Only,
    OpenedFile,
    decide,
    write_like_before,
)
from mtloop.translation.work_base import Base, FileContents, WorkBases
from mtloop.translation.work_units import UnitName, is_unit, match_units, unit_names

MAX_NAMED = 3  # units in a message
TO_DO = (FILL, NOT_ICU)  # decisions about units that a person translates
UNIT = "unit"  # field of a proposal's memo: the index of the unit in the base


@dataclass
class WorkFile:
    """A file, its base, and what was confirmed since the base.

    Attributes:
        bases: The file, its template, and the copies of them.
        base: The base.
        carried: Units that were confirmed before the base, with the texts.
        confirmed: Units that were confirmed since the base, with the texts.
    """

    bases: WorkBases
    base: Base
    carried: dict[int, str] = field(default_factory=dict)
    confirmed: dict[int, str] = field(default_factory=dict)
    _written: FileContents = field(init=False)  # on the disk, as far as is known here
    _found: _Choice | None = None

    def __post_init__(self) -> None:
        self._written = self.base.contents

    @classmethod
    def open(
        cls, plan: FilePlan, options: FillOptions, model: Languages, folder: Path, events: Sequence[Event]
    ) -> tuple[WorkFile, list[str]]:
        """Open the file and bring it to the state of the trace. Also return what the user should know, line by line."""
        bases = WorkBases(plan, options, model, folder)
        base = bases.newest()
        if base is None:
            base = bases.add(FileContents.read(plan), len(events))
            bases.complete(base, {})
        file = cls(bases, base, base.carried())
        file.confirmed = file.texts_of(events[base.events :])
        notes = file._catch_up(events)
        return file, [*(bases.named(note, file.base.folder) for note in file.opened.file.notes), *notes]

    @property
    def plan(self) -> FilePlan:
        return self.bases.plan

    @property
    def path(self) -> Path:
        return self.plan.path

    @property
    def opened(self) -> OpenedFile:
        return self.base.opened

    @property
    def events(self) -> int:
        """The number of events in the trace before the base."""
        return self.base.events

    @property
    def units(self) -> Sequence[FileUnit]:
        return self.opened.file.units

    @property
    def target_lang(self) -> str:
        return self.opened.target_lang

    def text(self, index: int) -> str:
        """Return the translation that a unit has now."""
        return self.confirmed.get(index, self.units[index].target)

    def is_confirmed(self, index: int) -> bool:
        """Whether the unit was confirmed in this work."""
        return index in self.confirmed or index in self.carried

    def is_open(self, index: int) -> bool:
        """Whether the unit is still to be translated or reviewed."""
        return index in self._choice.to_do and not self.is_confirmed(index)

    @property
    def names(self) -> Sequence[UnitName]:
        """A name for each unit, which it keeps if another program inserts other units."""
        return self._choice.names

    @property
    def workable(self) -> Sequence[int]:
        """The indices of the units that can be translated, in order."""
        return self._choice.workable

    @property
    def left(self) -> int:
        """The number of open units."""
        return len(self._choice.to_do) - len(self._choice.to_do & (self.confirmed.keys() | self.carried.keys()))

    @property
    def more_with_all(self) -> int:
        """The number of further units that `Only.ALL` would open: they are translated, and not confirmed here."""
        units = enumerate(self.units)
        every = {index for index, unit in units if decide(unit, Only.ALL) in TO_DO and not self.is_confirmed(index)}
        return len(every - self._choice.to_do)

    def is_workable(self, index: int) -> bool:
        return index in self._choice.all

    @property
    def _choice(self) -> _Choice:
        """Which units of the base can be translated; found once for each base."""
        if self._found is None or self._found.opened is not self.opened:
            self._found = _Choice(self.opened)
        return self._found

    def texts_of(self, events: Iterable[Event]) -> dict[int, str]:
        """Return the texts that events since the base confirm, by unit, without the retracted ones."""
        return {unit_of(step): text_of(step) for step in steps_of(events) if self.holds(step)}

    def holds(self, step: Step) -> bool:
        """Whether the unit that a step confirms is in the base, at the same place."""
        index = unit_of(step)
        return index < len(self.units) and is_unit(step.proposal.segment, self.units[index])

    def content(self, confirmed: Mapping[int, str]) -> bytes:
        """Return the base with these texts. Raise InputError if the file cannot hold one."""
        try:
            return self.opened.file.filled(_approved(confirmed))
        except InputError as error:
            raise InputError(self.bases.named(str(error), self.base.folder)) from error

    def write(self, content: bytes, confirmed: Mapping[int, str]) -> None:
        """Write the file: readers see the old file or the complete new one."""
        self.confirmed = dict(confirmed)
        self._write(content)

    def refresh(self, events: int) -> tuple[dict[int, int], list[str]] | None:
        """If another program has changed the file or its template, make their versions the base.

        Return for each unit of the old base its index in the new one, and what the user should know. Return None if
        both are as they were.
        """
        disk = FileContents.read(self.plan)
        return None if disk == self._written else self._rebase(disk, events, {})

    def _write(self, content: bytes) -> None:
        write_like_before(self.path, content)
        self._written = replace(self._written, target=content)

    def _catch_up(self, events: Sequence[Event]) -> list[str]:
        """Bring the file to the state of the trace: the process may have been killed before it wrote the file."""
        disk, before = FileContents.read(self.plan), self.texts_of(events[self.events : -1])
        if disk.template == self.base.contents.template:
            self._written = disk
            if self._is_written(disk, self.confirmed):
                return []
            if self._is_written(disk, before):
                self._write(self.content(self.confirmed))
                return []
        unwritten = [unit for unit, text in self.confirmed.items() if before.get(unit) != text]
        last = {unit: before.get(unit, self.units[unit].target) for unit in unwritten}
        self._written = FileContents(self.content(self.confirmed), self.base.contents.template)
        return self._rebase(disk, len(events), last)[1]

    def _is_written(self, disk: FileContents, texts: Mapping[int, str]) -> bool:
        """Whether the file is the base with these texts."""
        return disk.target == self.content(texts) or (not texts and disk.target == self.base.contents.target)

    def _rebase(
        self, disk: FileContents, events: int, unwritten: Mapping[int, str]
    ) -> tuple[dict[int, int], list[str]]:
        """Make the versions on the disk the base. Nothing changes here if that fails.

        `unwritten`: the units whose confirmation may not be written yet, with the texts that they had before.
        """
        ours = self.bases.reread(FileContents(self.content(self.confirmed), self.base.contents.template)).file.units
        base = self.bases.add(disk, events)
        theirs = base.opened.file.units
        places, known = match_units(self.units, theirs), {**self.carried, **self.confirmed}
        found = {unit: theirs[place] for unit, place in places.items() if unit in known}
        same = {unit for unit, now in found.items() if now.target == ours[unit].target}
        again = {unit for unit in found.keys() - same if found[unit].target == unwritten.get(unit)}
        changed = [now.id for unit, now in found.items() if unit not in same | again]
        lost = [self.units[unit].id for unit in known if unit not in found]
        notes = [*self._changes(disk), *self._problems(changed, lost)]
        if again:
            content = base.opened.file.filled(_approved({places[unit]: known[unit] for unit in again}))
            self._write(content)
            base = self.bases.add(replace(disk, target=content), events)
        carried = {places[unit]: known[unit] for unit in same | again}
        self.bases.complete(base, carried)
        self.base, self.carried, self.confirmed, self._written = base, carried, {}, base.contents
        return places, notes

    def _changes(self, disk: FileContents) -> Iterator[str]:
        if disk.target != self._written.target:
            yield f"{self.path}: another program has changed the file; its version is used"
        if disk.template != self._written.template:
            yield f"{self.plan.template}: the template has changed; its new version is used"

    def _problems(self, changed: Sequence[str], lost: Sequence[str]) -> Iterator[str]:
        if changed:
            units = pluralise(len(changed), "confirmed unit")
            yield f"{self.path}: another program changed {units} ({_named(changed)}), and the file keeps its version"
        if lost:
            units = f"{pluralise(len(lost), 'confirmed unit')} ({_named(lost)})"
            yield f"{self.path}: no longer there with the same source: {units}; the trace keeps what you confirmed"


class _Choice:
    """The units of a file that can be translated, and those of them that are to be translated now."""

    def __init__(self, opened: OpenedFile) -> None:
        self.opened = opened
        self.names = unit_names(opened.file.units)
        units = enumerate(opened.file.units)
        self.workable = [n for n, unit in units if unit.source.strip() and unit.state is not UnitState.LOCKED]
        self.all = frozenset(self.workable)
        self.to_do = frozenset(n for n, decision in enumerate(opened.decisions) if decision in TO_DO)


def steps_of(events: Iterable[Event]) -> list[Step]:
    """Return the steps in events, without the retracted ones."""
    events = list(events)
    retracted = {event.step for event in events if isinstance(event, Retract)}
    return [event for event in events if isinstance(event, Step) and event.index not in retracted]


def unit_of(step: Step) -> int:
    """Return the index of the unit that a step confirms."""
    return int(str(step.proposal.memo[UNIT]))


def text_of(step: Step) -> str:
    assert isinstance(step.feedback, PostEdit)
    return step.feedback.text


def _approved(texts: Mapping[int, str]) -> dict[int, Filling]:
    return {unit: Filling(text, approved=True) for unit, text in texts.items()}


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:MAX_NAMED]) + (", ..." if len(ids) > MAX_NAMED else "")
