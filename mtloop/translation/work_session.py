"""A person translates a file, and the engine learns from every confirmed translation: what `mtloop work` does.

A confirmation is written to the trace and to the disk, then to the file; then the engine learns it, and the next
suggestion is made. So a kill at any moment loses nothing that was confirmed. The folder `FILE.work.mtloop` holds:

- `trace.jsonl`: a step for each confirmation, and each undo
- `trace.state/`, `learned.state/`: snapshots of the learner
- `lessons.jsonl`: the translated units that are learned first
- `base-N-M/`: the file and its template before the confirmations
- `frozen.jsonl`: translations of the frozen model, to compare the effort
- `place.json`: where the work was left, and texts that were not confirmed yet
- `sent.txt`: with a project of a server, the number of confirmations that it has
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError, TraceError
from mtloop.core.json_files import json_errors, parse_json
from mtloop.core.record import Snapshots
from mtloop.core.trace import Event, Header, Retract, Trace, TraceWriter, read_header
from mtloop.core.types import JSON, PostEdit, Proposal, SimilarCorrection, Step
from mtloop.data.formats.filling import FileUnit
from mtloop.text.files import format_suffix
from mtloop.text.protected.format_strings import fit_formats
from mtloop.translation.answers import Correction
from mtloop.translation.file_plan import FilePlan
from mtloop.translation.fill_files import MAX_LESSONS, EngineChoice, learns, open_memories
from mtloop.translation.fill_state import FORMAT, FillState, writing
from mtloop.translation.fill_units import FillOptions, Only, OpenedFile
from mtloop.translation.lesson_choice import segment_of
from mtloop.translation.lesson_files import lessons_of
from mtloop.translation.quality_checks import FailedCheck, failed_checks
from mtloop.translation.translator import Translator
from mtloop.translation.unit_translation import propose_all
from mtloop.translation.work_effort import FrozenTranslations, WorkEffort, measure
from mtloop.translation.work_file import UNIT, WorkFile, steps_of, unit_of
from mtloop.translation.work_learner import Progress, WorkLearner

SUFFIX = ".work"
BEGIN_AGAIN = "rename or delete its folder to begin again; what was confirmed is in the file"


def silent(task: str, done: int, total: int) -> None:
    """Show no progress."""


@dataclass(frozen=True)
class WorkOptions:
    """The file of the work, and how it is read.

    `learn`: maximum number of translated units that are learned first. `learn_from`: more files with such units.
    """

    path: Path
    template: Path | None = None
    fill: FillOptions = field(default_factory=lambda: FillOptions(Only.FUZZY))
    learn: int = MAX_LESSONS
    learn_from: Sequence[Path] = ()

    def lasting(self) -> dict[str, JSON]:
        """Return the options that stay as they are once the work is begun: the lessons and the units depend on them."""
        columns = ",".join(f"{role}={name}" for role, name in sorted(self.fill.columns.items()))
        options: dict[str, JSON] = {"--learn": self.learn, "--columns": columns}
        options["--learn-from"] = " ".join(map(str, self.learn_from))
        return options | {"--source-lang": self.fill.source_lang or "", "--target-lang": self.fill.target_lang or ""}


class WorkSession:
    """The units of a file, the present one, and what a person can do with it. Use it in a `with` block.

    Attributes:
        notes: What the user should know, line by line. The caller shows and clears them.
        drafts: Texts that were typed and not confirmed, by the index of the unit.
        position: The index of the present unit.
        steps: The confirmations that count, in order.
        must_end: An error has interrupted a confirmation. Nothing is lost: the next session goes on.
    """

    def __init__(self, options: WorkOptions, engine: EngineChoice | None = None, progress: Progress = silent) -> None:
        self.options, self.engine, self._progress = options, engine or EngineChoice(), progress
        self.notes: list[str] = []
        self.drafts: dict[int, str] = {}
        self.must_end = False
        self._confirmed_here = 0
        with ExitStack() as stack:
            self._open(stack)
            self._stack = stack.pop_all()

    def _open(self, stack: ExitStack) -> None:
        plan = FilePlan(self.options.path, self.options.path, self.options.template)
        check_writable(plan.path)
        opened = OpenedFile.open(plan, self.options.fill, self.engine.languages())  # faults are found before loading
        check_template(plan)
        self._state = stack.enter_context(FillState(plan.path.with_name(plan.path.name + SUFFIX)))
        self._check_options()
        memories = self._open_memories(plan.path)
        translator = stack.enter_context(self.engine.load())
        self._begin_lessons(opened, memories, translator)
        self._trace = stack.enter_context(self._open_trace(translator))
        self._events: list[Event] = list(Trace.read(self._trace.path).events)
        self.file, notes = WorkFile.open(plan, self.options.fill, self.engine.languages(), self.folder, self._events)
        self.notes += notes
        self._learner = WorkLearner(self.engine, translator, self._state, Snapshots(self._trace.path))
        stack.callback(lambda: self._learner.translator.close())
        self._learner.begin(self.steps, self._progress)
        self.position = self._first_position()

    @property
    def folder(self) -> Path:
        """The folder with the trace and the state of the work."""
        return self._state.folder

    def _open_trace(self, translator: Translator) -> TraceWriter:
        """Open the trace. Another version of a library or number of threads does not end a work that was begun."""
        path, header = self.folder / "trace.jsonl", self._header(translator)
        if path.exists() and path.stat().st_size:
            recorded = read_header(path)
            header = replace(header, versions=recorded.versions, threads=recorded.threads)
        try:
            return TraceWriter(path, header, exclusive=True)
        except TraceError as error:
            problem = str(error).removesuffix(" (--out)").removesuffix("choose another file name")
            raise TraceError(problem + BEGIN_AGAIN) from error

    def _header(self, translator: Translator) -> Header:
        config: dict[str, JSON] = {"task": "work", "data": self.options.path.name}
        return translator.config.header(getattr(translator.learner, "base", None), config)

    def _open_memories(self, path: Path) -> list[OpenedFile]:
        """Open the other files to learn from, unless the lessons were chosen before."""
        if self._state.header():
            return []
        options = self.options
        return open_memories(options.learn_from, self.engine, options.fill, options.learn, [path])

    def _begin_lessons(self, opened: OpenedFile, memories: Sequence[OpenedFile], translator: Translator) -> None:
        """Choose the translated units that are learned first, unless that was done before."""
        if self._state.header():
            return
        limit = self.options.learn if learns(translator.learner) else 0
        lessons, candidates, _ = lessons_of([opened], limit, memories)
        header: dict[str, JSON] = {"format": FORMAT, "candidates": candidates, "options": self.options.lasting()}
        self._state.begin(header, lessons)

    def _check_options(self) -> None:
        """Raise InputError if the work was begun with other options."""
        begun = self._state.header().get("options", {})
        assert isinstance(begun, dict)
        for name, now in self.options.lasting().items():
            if begun.get(name, now) != now:
                was, given = (f"no {name}" if value == "" else f"{name} {value}" for value in (begun[name], now))
                raise InputError(f"the work was begun with {was}, not {given}; {BEGIN_AGAIN}", path=self.folder)

    @cached_property
    def steps(self) -> list[Step]:
        return steps_of(self._events)

    # The present unit

    @property
    def unit(self) -> FileUnit:
        return self.file.units[self.position]

    @cached_property
    def proposal(self) -> Proposal:
        """What the engine suggests for the present unit."""
        proposal = self._learner.propose(segment_of(self.unit))
        return replace(proposal, text=fit_formats(self.unit.source, proposal.text, self.unit.context.get("flags", ())))

    @property
    def has_proposal(self) -> bool:
        """Whether the engine has translated the present unit already, so that the suggestion is there at once."""
        return "proposal" in self.__dict__

    @property
    def text(self) -> str:
        """The text to edit: what was typed before, else the translation of a finished unit, else the suggestion."""
        if self.position in self.drafts:
            return self.drafts[self.position]
        return self.proposal.text if self.file.is_open(self.position) else self.file.text(self.position)

    @property
    def alternatives(self) -> list[str]:
        """The suggestion and the text in the file, without doubles."""
        texts = (self.proposal.text, self.file.text(self.position))
        return list(dict.fromkeys(text for text in texts if text))

    def complete(self, prefix: str) -> str:
        """Return a translation of the present unit that begins with what was typed; the prefix alone without one."""
        text = self._learner.complete(self.proposal, prefix)
        return text if text.startswith(prefix) else prefix

    def explain(self) -> tuple[str, tuple[SimilarCorrection, ...]]:
        """Say where the suggestion comes from, and return the confirmations most similar to the source."""
        return self._learner.explain(self.proposal, self.steps)

    def check(self, text: str) -> tuple[FailedCheck, ...]:
        """Return the quality checks that a text for the present unit fails."""
        unit, language = self.unit, self.file.target_lang
        flags = unit.context.get("flags", ())
        return failed_checks(unit.source, text, syntax=unit.syntax, target_lang=language, flags=flags)

    # What a person does

    def confirm(self, text: str, keystrokes: int = 0) -> Correction | None:
        """Confirm a text for the present unit, learn it, and go to the next open unit.

        Return what was learned; None if nothing was changed. `keystrokes`: the keys that were pressed, with the last
        one. Raise InputError if the text is empty, if the file cannot hold it, or if another program changed the unit;
        the text is then a draft of its unit.
        """
        if not text.strip():
            raise InputError("an empty translation cannot be confirmed; skip the unit instead")
        self._refresh(text)
        if not self.file.is_open(self.position) and text == self.file.text(self.position):
            self.leave_draft(text)
            self.next_open()
            return None
        confirmed = {**self.file.confirmed, self.position: text}
        with self._keeping_draft(text):
            content, step = self.file.content(confirmed), self._step(text, keystrokes)
        with self._ending_on_errors():
            self._record(step)
            self.steps.append(step)
            self.file.write(content, confirmed)
            learned = self._learner.learn(step, len(self.steps))
            if self.drafts.pop(self.position, None) is not None:
                self._save_place()
        self._confirmed_here += 1
        self._forget_proposal()
        self.next_open()
        return Correction(step.proposal.segment.source, text, learned)

    def _step(self, text: str, keystrokes: int) -> Step:
        index = sum(isinstance(event, Step) for event in self._events)
        memo: dict[str, JSON] = {**self.proposal.memo, UNIT: self.position}
        if keystrokes:  # the last key confirms, as a mouse action does in the rules of `ksmr`
            memo["interaction"] = {"keystrokes": keystrokes - 1, "mouse": 1, "characters": len(text)}
        return Step(index, replace(self.proposal, memo=memo), PostEdit(text))

    def _record(self, event: Event) -> None:
        """Write an event to the trace, and wait until it is on the disk."""
        with writing(self._trace.path):
            self._trace.write(event)
            self._trace.sync()
        self._events.append(event)

    @contextmanager
    def _keeping_draft(self, text: str | None) -> Iterator[None]:
        """If the text cannot be confirmed, make it a draft of the present unit."""
        try:
            yield
        except (InputError, KeyboardInterrupt):
            if text is not None:
                self.leave_draft(text)
            raise

    @contextmanager
    def _ending_on_errors(self) -> Iterator[None]:
        """After an error here the engine may lack what the trace has: the session must end, and nothing is lost."""
        try:
            yield
        except BaseException:
            self.must_end = True
            raise

    def undo(self) -> bool:
        """Take back the last confirmation: the file and the engine are as before, and its unit is the present one.

        Return False if there is none. Raise InputError if another program has changed the file since then.
        """
        self._refresh()
        if not self.steps:
            return False
        step = self.steps[-1]
        if not self._is_recent(step):
            message = "another program has changed the file since the last confirmation, so it cannot be undone"
            raise InputError(f"{message}; go back to the unit and correct it")
        before = self.file.texts_of([*self._events[self.file.events :], Retract(step.index)])
        content = self.file.content(before)
        with self._ending_on_errors():
            self._learner.prepare_retraction(step, len(self.steps) - 1)
            self._record(Retract(step.index))
            self.steps.pop()
            self.file.write(content, before)
            self._learner.forget(step, self.steps, self._progress)
        self._confirmed_here = max(0, self._confirmed_here - 1)
        self._go(unit_of(step))
        return True

    def _is_recent(self, step: Step) -> bool:
        """Whether the file was not changed by another program after this step."""
        return self.file.holds(step) and any(event is step for event in self._events[self.file.events :])

    def next_open(self) -> bool:
        """Go to the next open unit, from the end of the file to its beginning. Return False if no other is open."""
        count = len(self.file.units)
        order = ((self.position + number) % count for number in range(1, count))
        return self._go(next((index for index in order if self.file.is_open(index)), None))

    def back(self) -> bool:
        """Go to the unit before the present one. Return False if it is the first one."""
        return self._go(next(filter(self.file.is_workable, range(self.position - 1, -1, -1)), None))

    def forward(self) -> bool:
        """Go to the unit after the present one. Return False if it is the last one."""
        return self._go(next(filter(self.file.is_workable, range(self.position + 1, len(self.file.units))), None))

    def leave_draft(self, text: str) -> None:
        """Keep a text that was typed for the present unit and not confirmed."""
        before = dict(self.drafts)
        self.drafts.pop(self.position, None)
        if text and text != self.text:
            self.drafts[self.position] = text
        if self.drafts != before:
            self._save_place()

    def _go(self, index: int | None) -> bool:
        if index is None:
            return False
        self.position = index
        self._forget_proposal()
        return True

    def _forget_proposal(self) -> None:
        self.__dict__.pop("proposal", None)

    def _refresh(self, text: str | None = None) -> None:
        """Take over what another program has changed in the file. `text` is kept if its unit was changed."""
        source, target, is_open = self.unit.source, self.file.text(self.position), self.file.is_open(self.position)
        old = self.file.units
        with self._keeping_draft(text):
            found = self.file.refresh(len(self._events))
        if found is None:
            return
        places, notes = found
        self.notes += notes
        self._set_drafts([(places.get(unit), old[unit].source, draft) for unit, draft in self.drafts.items()])
        position = places.get(self.position)
        self._go(self._first_open() if position is None else position)
        self._save_place()
        is_same = position is not None and (self.file.text(position), self.file.is_open(position)) == (target, is_open)
        if text is None or is_same:
            return
        if position is not None:
            self.leave_draft(text)
        raise InputError(f"another program has changed or removed the unit {source[:60]!r}; nothing was confirmed")

    # Numbers

    @property
    def workable(self) -> Sequence[int]:
        """The indices of all units that can be translated, in order."""
        return self.file.workable

    @property
    def left(self) -> int:
        """The number of open units."""
        return self.file.left

    @property
    def confirmed_here(self) -> int:
        """The number of confirmations since the session began."""
        return self._confirmed_here

    @property
    def project(self) -> str:
        """The address of the project that translates; "" for a model."""
        return str(self.engine.method) if self._learner.keeps_corrections else ""

    def effort(self) -> WorkEffort | None:
        """Measure the effort of all confirmations, against the frozen model; None without a confirmation.

        The server of a project has the frozen model, so the comparison is in the statistics of the project only.
        """
        if not self.steps:
            return None
        if self.project:
            return measure(self.steps, None, self.file.target_lang)
        frozen = FrozenTranslations(self.folder / "frozen.jsonl")
        segments = [step.proposal.segment for step in self.steps]
        learner = None if frozen.has(segments) else self._learner.fresh()
        if learner is not None:
            frozen.add(segments, lambda some: propose_all(learner, some), self._progress)
        return measure(self.steps, frozen.texts, self.file.target_lang)

    # Leaving and coming back

    def close(self) -> None:
        """Save where the work was left, and the learner, so that coming back is quick."""
        if self.must_end:
            with suppress(OSError):  # such as a full disk, which was said already
                self._stack.close()
            return
        with self._stack, writing(self.folder):
            self._save_place()
            self._learner.save(len(self.steps))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _save_place(self) -> None:
        """Write where the work is, and the drafts."""
        names = self.file.names
        drafts = [[names[unit], text] for unit, text in self.drafts.items()]
        place = {"events": len(self._events), "unit": names[self.position], "drafts": drafts}
        with writing(self.folder):
            write_text(self.folder / "place.json", json.dumps(place))

    def _first_position(self) -> int:
        """Return the unit at which the work was left, else the first open one after the last confirmation."""
        path = self.folder / "place.json"
        if not path.exists():
            return self._first_open()
        units = {name: unit for unit, name in enumerate(self.file.names)}
        with json_errors(path, "a place in the work"):
            place = parse_json(path.read_bytes())
            confirmed = self.file.texts_of(self._events[place["events"] :])  # after the place was written
            drafts = [(units.get(tuple(name)), str(name[1]), text) for name, text in place["drafts"]]
            unit = units.get(tuple(place["unit"]))
        self._set_drafts([one for one in drafts if one[0] not in confirmed])
        if unit is None or place["events"] != len(self._events):
            return self._first_open()
        return unit if unit in self.drafts or self.file.is_open(unit) else self._first_open()

    def _set_drafts(self, drafts: Iterable[tuple[int | None, str, str]]) -> None:
        """Set the drafts, given with their units and sources. One whose unit is gone is shown to the user."""
        self.drafts = {}
        for unit, source, text in drafts:
            if unit is None:
                self.notes.append(f"the unit {source[:60]!r} is gone; you typed, and did not confirm: {text}")
            else:
                self.drafts[unit] = text

    def _first_open(self) -> int:
        """Return the first open unit after the last confirmation. If none is open: the unit of this confirmation."""
        last = unit_of(self.steps[-1]) if self.steps and self._is_recent(self.steps[-1]) else -1
        order = [*range(last + 1, len(self.file.units)), *range(last + 1)]
        found = next(filter(self.file.is_open, order), None)
        return found if found is not None else next(filter(self.file.is_workable, [max(last, 0), *order]), 0)


def check_writable(path: Path) -> None:
    """Raise InputError if a file exists and is not writable."""
    if path.exists() and not path.stat().st_mode & 0o222:
        raise InputError("is read-only; make it writable first", path=path)


def is_own_source(path: Path, template: Path | None) -> bool:
    """Whether a file is a text file that has no other file as its template."""
    return format_suffix(path) == ".txt" and (template is None or template.resolve() == path.resolve())


def check_template(plan: FilePlan) -> None:
    """Raise InputError for a text file that is its own source: it would lose its source lines."""
    if is_own_source(plan.path, plan.template):
        message = "the translations would overwrite the source lines; name a new file"
        raise InputError(f"{message}: mtloop work NEW.txt --template {plan.path}", path=plan.path)
