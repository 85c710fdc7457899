"""The file that a person works on: what was confirmed is put into the bytes that the file had at the beginning.

The folder of the work keeps these bytes (`base-000000000/`), so that undoing a confirmation gives the old bytes back.
Another program may change the file meanwhile. Its version is then the new base, and its changes stay as they are. The
number of a base is the number of events in the trace before it.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.core.trace import Event, Retract
from mtloop.core.types import PostEdit, Step
from mtloop.data.formats.filling import BilingualFile, FileUnit, Filling, UnitState
from mtloop.translation.file_plan import FilePlan
from mtloop.translation.fill_state import writing
from mtloop.translation.fill_units import FILL, NOT_ICU, FillOptions, Languages, OpenedFile, write_like_before

MAX_NAMED = 3  # units in a message
UNIT = "unit"  # field of a proposal's memo: the index of the unit in the file
_BASE, _CONFIRMED, _DIGITS = "base-", "confirmed.json", 9


@dataclass
class WorkFile:
    """A file, its base, and what was confirmed since the base.

    Attributes:
        plan: The file, and its template.
        options: Which units are open, and how the file is read.
        model: The languages of the model.
        folder: The folder of the work.
        opened: The base.
        events: The number of the base.
        carried: Units that were confirmed before the base, with the texts.
        confirmed: Units that were confirmed since the base, with the texts.
    """

    plan: FilePlan
    options: FillOptions
    model: Languages
    folder: Path
    opened: OpenedFile
    events: int = 0
    carried: dict[int, str] = field(default_factory=dict)
    confirmed: dict[int, str] = field(default_factory=dict)
    _written: bytes | None = None
    _stamp: tuple[int, ...] = ()
    _found: _Choice | None = None

    @classmethod
    def open(
        cls, plan: FilePlan, options: FillOptions, model: Languages, folder: Path, events: Sequence[Event]
    ) -> tuple[WorkFile, list[str]]:
        """Open the file and bring it to the state of the trace. Also return what the user should know, line by line."""
        base = _newest_base(folder)
        if base is None:
            file = cls(plan, options, model, folder, OpenedFile.open(plan, options, model), len(events))
            file._keep_base(file.opened.file.filled({}) if plan.path.exists() else None)
            file._note_disk()
            return file, list(file.opened.file.notes)
        number = int(base.name.removeprefix(_BASE))
        opened = OpenedFile.open(replace(plan, path=base / _inner(plan.path)), options, model)
        file = cls(plan, options, model, folder, opened, number, _read_confirmed(base), texts_of(events[number:]))
        return file, [*opened.file.notes, *file._catch_up(events)]

    @property
    def path(self) -> Path:
        return self.plan.path

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
    def names(self) -> Sequence[tuple[str, str, int]]:
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

    def is_workable(self, index: int) -> bool:
        return index in self._choice.all

    @property
    def _choice(self) -> _Choice:
        """Which units of the base can be translated; found once for each base."""
        if self._found is None or self._found.opened is not self.opened:
            self._found = _Choice(self.opened)
        return self._found

    def content(self, confirmed: Mapping[int, str]) -> bytes:
        """Return the base with these texts. Raise InputError if the file cannot hold one."""
        try:
            return self.opened.file.filled({unit: Filling(text, approved=True) for unit, text in confirmed.items()})
        except InputError as error:
            raise InputError(str(error).replace(str(self.opened.plan.path), str(self.path))) from error

    def write(self, content: bytes, confirmed: Mapping[int, str]) -> None:
        """Write the file: readers see the old file or the complete new one."""
        self.confirmed = dict(confirmed)
        self._write(content)

    def refresh(self, events: int) -> tuple[dict[int, int], list[str]] | None:
        """If another program has changed the file, make its version the base.

        Return for each unit of the old base its index in the new one, and what the user should know. Return None if the
        file is as it was written here.
        """
        if self._is_as_written():
            return None
        return self._rebase(self.content(self.confirmed), events, {})

    def _write(self, content: bytes) -> None:
        write_like_before(self.path, content)
        self._written, self._stamp = content, _stamp(self.path)

    def _note_disk(self) -> None:
        self._written, self._stamp = _bytes(self.path), _stamp(self.path)

    def _is_as_written(self) -> bool:
        if _stamp(self.path) == self._stamp:
            return True
        same = _bytes(self.path) == self._written
        if same:
            self._stamp = _stamp(self.path)
        return same

    def _catch_up(self, events: Sequence[Event]) -> list[str]:
        """Bring the file to the state of the trace: the process may have been killed before it wrote the file."""
        self._note_disk()
        expected = self.content(self.confirmed)
        if self._written == expected:
            return []
        before = texts_of(events[self.events : -1])
        if (self._written is None and not before) or self._written == self.content(before):
            self._write(expected)
            return []
        unwritten = [unit for unit, text in self.confirmed.items() if before.get(unit) != text]
        last = {unit: before.get(unit, self.units[unit].target) for unit in unwritten}
        return self._rebase(expected, len(events), last)[1]

    def _rebase(self, expected: bytes, events: int, unwritten: Mapping[int, str]) -> tuple[dict[int, int], list[str]]:
        """Make the version on the disk the base.

        `expected`: what was written here. `unwritten`: the units whose confirmation may not be written yet, with the
        texts that they had before.
        """
        ours = self._open_copy(expected)
        theirs = OpenedFile.open(self.plan, self.options, self.model)
        places, known = match_units(self.units, theirs.file.units), {**self.carried, **self.confirmed}
        found = {unit: theirs.file.units[place] for unit, place in places.items() if unit in known}
        same = {unit for unit, now in found.items() if now.target == ours.units[unit].target}
        again = {unit for unit in found.keys() - same if found[unit].target == unwritten.get(unit)}
        changed = [now.id for unit, now in found.items() if unit not in same | again]
        if again:
            self._write(theirs.file.filled({places[unit]: Filling(known[unit], approved=True) for unit in again}))
            theirs = OpenedFile.open(self.plan, self.options, self.model)
        self.opened, self.events, self.confirmed = theirs, events, {}
        self.carried = {places[unit]: known[unit] for unit in same | again}
        self._keep_base(theirs.file.filled({}))
        self._note_disk()
        return places, list(_changes(self.path, changed, len(known) - len(found)))

    def _open_copy(self, content: bytes) -> BilingualFile:
        """Open content as if it were the file: a text that is read back may differ from the text that was written."""
        folder = self.folder / "expected"
        path = folder / _inner(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        try:
            return OpenedFile.open(replace(self.plan, path=path), self.options, self.model).file
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _keep_base(self, content: bytes | None) -> None:
        """Write the base to the folder of the work, and delete the bases before it."""
        unfinished, name = self.folder / "unfinished-base", f"{_BASE}{self.events:0{_DIGITS}d}"
        with writing(self.folder):
            shutil.rmtree(unfinished, ignore_errors=True)
            (unfinished / _inner(self.path)).parent.mkdir(parents=True)
            if content is not None:
                (unfinished / _inner(self.path)).write_bytes(content)
            (unfinished / _CONFIRMED).write_text(json.dumps(self.carried), encoding="utf-8")
            shutil.rmtree(self.folder / name, ignore_errors=True)
            unfinished.rename(self.folder / name)
            for old in self.folder.glob(f"{_BASE}*"):
                if old.name < name:
                    shutil.rmtree(old)


class _Choice:
    """The units of a file that can be translated, and those of them that are to be translated now."""

    def __init__(self, opened: OpenedFile) -> None:
        self.opened = opened
        self.names = _numbered(opened.file.units)
        units = enumerate(opened.file.units)
        self.workable = [n for n, unit in units if unit.source.strip() and unit.state is not UnitState.LOCKED]
        self.all = frozenset(self.workable)
        self.to_do = frozenset(n for n, decision in enumerate(opened.decisions) if decision in (FILL, NOT_ICU))


def texts_of(events: Iterable[Event]) -> dict[int, str]:
    """Return the texts that events confirm, by the index of the unit, without the retracted ones."""
    events = list(events)
    retracted = {event.step for event in events if isinstance(event, Retract)}
    steps = (event for event in events if isinstance(event, Step) and event.index not in retracted)
    return {unit_of(step): text_of(step) for step in steps}


def unit_of(step: Step) -> int:
    """Return the index of the unit that a step confirms."""
    return int(str(step.proposal.memo[UNIT]))


def text_of(step: Step) -> str:
    assert isinstance(step.feedback, PostEdit)
    return step.feedback.text


def match_units(old: Sequence[FileUnit], new: Sequence[FileUnit]) -> dict[int, int]:
    """Return for each unit of a file its index in another version of the file; a unit that is missing is left out.

    Units have the same source, and the same id or else the same number among the units with this source: in some
    formats the id is the number of the unit.
    """
    by_id = {(unit.id, unit.source): index for index, unit in enumerate(new)}
    by_number = dict(zip(_numbered(new), range(len(new)), strict=True))
    found = {}
    for index, (unit, key) in enumerate(zip(old, _numbered(old), strict=True)):
        place = by_id.get((unit.id, unit.source), by_number.get(key))
        if place is not None:
            found[index] = place
    return found


def _numbered(units: Iterable[FileUnit]) -> list[tuple[str, str, int]]:
    """Return for each unit its source and plural form, and its number among the units with the same ones."""
    counts: Counter[tuple[str, str]] = Counter()
    keys = []
    for unit in units:
        key = unit.source, str(unit.context.get("plural", ""))
        keys.append((*key, counts[key]))
        counts[key] += 1
    return keys


def _changes(path: Path, changed: Sequence[str], lost: int) -> Iterable[str]:
    yield f"{path}: another program has changed the file; its version is used"
    if changed:
        names = ", ".join(changed[:MAX_NAMED]) + (", ..." if len(changed) > MAX_NAMED else "")
        yield f"{path}: {len(changed)} confirmed units were changed by another program and stay so: {names}"
    if lost:
        yield f"{path}: {lost} confirmed units are no longer in the file; the trace keeps them"


def _newest_base(folder: Path) -> Path | None:
    return max(folder.glob(f"{_BASE}*"), default=None)


def _read_confirmed(base: Path) -> dict[int, str]:
    fields = json.loads((base / _CONFIRMED).read_text(encoding="utf-8"))
    return {int(unit): str(text) for unit, text in fields.items()}


def _inner(path: Path) -> Path:
    """Return the name of a file with its last two folders: a format may read the language from them."""
    return Path(*path.resolve().relative_to(path.resolve().anchor).parts[-3:])


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _stamp(path: Path) -> tuple[int, ...]:
    if not path.exists():
        return ()
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
