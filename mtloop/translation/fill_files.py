"""Fill in files: learn from what is translated, translate the rest, check it, write. What `mtloop translate` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from tqdm import tqdm

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.log import logger
from mtloop.core.protocols import DeclaresFeedback, Learner, Stateful
from mtloop.core.record import newest_snapshot
from mtloop.core.types import JSON, PostEdit
from mtloop.data.formats.filling import TABLE_FORMATS, takes_columns
from mtloop.methods.defaults import DEFAULT_METHOD
from mtloop.methods.learner_config import LearnerConfig
from mtloop.smt.card import CARD_FILE
from mtloop.text.messages import join_names
from mtloop.translation.file_plan import FilePlan, SkippedFile, plan_files
from mtloop.translation.fill_report import FileReport, FillReport
from mtloop.translation.fill_state import FORMAT, VERSIONS, FileProgress, FillState, digest_of, writing
from mtloop.translation.fill_units import FillOptions, Languages, Only, OpenedFile
from mtloop.translation.lesson_choice import TranslatedUnit
from mtloop.translation.lesson_files import lessons_of, open_lesson_files
from mtloop.translation.translator import DEFAULT_SMT_METHOD, Translator, load
from mtloop.translation.unit_translation import learn_unit

MAX_LESSONS = 2000
SNAPSHOT_EVERY = 100  # lessons


@dataclass(frozen=True)
class EngineChoice:
    """The arguments of `load`: the model, the method with its settings, the delta to start from, and a glossary."""

    model: str = ""
    method: str = ""
    settings: Mapping[str, JSON] = field(default_factory=dict)
    delta: str = ""
    threads: int = 2
    glossary: str = ""

    def load(self) -> Translator:
        return load(
            self.model or None,
            method=self.method or None,
            settings=self.settings,
            delta=self.delta or None,
            threads=self.threads,
            glossary=self.glossary or None,
        )

    def languages(self) -> Languages:
        """Return the languages of the model without loading it; "" where they are unknown."""
        return self._config.languages

    def never_learns(self) -> bool:
        """Whether the method is known not to learn from corrections."""
        return self._config.method.learns_from == ()

    @cached_property
    def _config(self) -> LearnerConfig:
        default = DEFAULT_SMT_METHOD if self.model and (Path(self.model) / CARD_FILE).is_file() else DEFAULT_METHOD
        return LearnerConfig.create(self.method or default, self.model)

    def to_json(self) -> dict[str, JSON]:
        fields: dict[str, JSON] = {"model": self.model, "method": self.method, "settings": dict(self.settings)}
        return fields | {"delta": self.delta, "threads": self.threads, "glossary": self.glossary}


@dataclass(frozen=True)
class FillJob:
    """Fill in one file in another process, with the state that the learner has after the lessons.

    `output`: the version of the output when the command was begun.
    """

    kind: ClassVar[str] = "fill"
    engine: EngineChoice
    plan: FilePlan
    options: FillOptions
    state: Path
    learned: Path | None = None
    output: str = ""

    @property
    def name(self) -> str:
        return str(self.plan.path)

    @property
    def done(self) -> bool:
        return FileProgress.read(self.state).is_done(self.plan)

    def run(self) -> None:
        with self.engine.load() as translator:
            learner = translator.learner
            if self.learned is not None and isinstance(learner, Stateful):
                learner.load(self.learned)
            opened = OpenedFile.open(self.plan, self.options, translator.config.languages)
            if not self.plan.in_place:
                opened = replace(opened, versions=opened.versions._replace(out=self.output))
            fill_file(opened, translator, FileProgress.read(self.state))

    def to_json(self) -> dict[str, JSON]:
        paths = {"path": self.plan.path, "out": self.plan.out, "template": self.plan.template}
        paths |= {"state": self.state, "learned": self.learned}
        named: dict[str, JSON] = {name: str(path) if path else None for name, path in paths.items()}
        named["output"] = self.output
        return named | {"options": self.options.to_json(), "engine": self.engine.to_json()}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> FillJob:
        out, template, learned = (
            Path(fields[name]) if fields[name] else None for name in ("out", "template", "learned")
        )
        options = FillOptions(**fields["options"] | {"only": Only(fields["options"]["only"])})
        plan = FilePlan(Path(fields["path"]), out, template)
        return cls(EngineChoice(**fields["engine"]), plan, options, Path(fields["state"]), learned, fields["output"])


RunJobs: TypeAlias = Callable[[Sequence[FillJob]], object]
"""Runs jobs in other processes. Raises InputError if one fails."""


def fill_files(
    inputs: Sequence[Path],
    out: Path,
    *,
    engine: EngineChoice | None = None,
    options: FillOptions | None = None,
    template: Path | None = None,
    learn: int = MAX_LESSONS,
    learn_from: Sequence[Path] = (),
    save_delta: Path | None = None,
    table: Path | None = None,
    run_jobs: RunJobs | None = None,
) -> FillReport:
    """Fill in files and return what was done. If it is killed, the same call goes on.

    Args:
        inputs: Files and folders.
        out: The output: a file for one file, else a folder.
        engine: The model and the method.
        options: Which units are filled, and how the files are read.
        template: The file or folder with the source texts, for formats with one language in a file.
        learn: Maximum number of translated units that are learned first (0: none).
        learn_from: More bilingual files to learn from, such as a translation memory. They are not written.
        save_delta: Where to write what was learned.
        table: Where to write the table of all units that a person should look at.
        run_jobs: Fills in the files in other processes (None: in this process).
    """
    engine, options = engine or EngineChoice(), options or FillOptions()
    plans, skipped = plan_files(inputs, out, template)
    named = (*learn_from, save_delta, *(Path(path) for path in (engine.delta, engine.glossary) if path))
    _check_table(table, plans, named)
    with FillState(out) as state:
        opened, refused = open_files(plans, options, engine.languages(), learn_from)
        memories = open_memories(learn_from, engine, options, learn, [*(plan.out for plan in plans), save_delta])
        own = _with_own_delta(engine, save_delta, state)
        work = _Work(own, engine.delta, options, state, learn, opened, memories)
        with own.load() as translator:
            replaced = work.begin(translator)
            rejected = work.learn_first(translator.learner)
            if save_delta is not None:
                with writing(save_delta):
                    translator.save(save_delta)
            work.fill(translator, run_jobs)
        report = FillReport(
            work.reports(),
            [*skipped, *refused],
            len(state.lessons()),
            state.candidates,
            state.copies,
            rejected,
            replaced=replaced,
            table="" if table is None else str(table),
        )
        if table is not None:
            with writing(table):
                write_text(table, report.units_as_tsv())
        state.remove()
    return report


def plan_filling(
    inputs: Sequence[Path],
    out: Path | None = None,
    *,
    engine: EngineChoice | None = None,
    options: FillOptions | None = None,
    template: Path | None = None,
    learn: int = MAX_LESSONS,
    learn_from: Sequence[Path] = (),
) -> FillReport:
    """Return what `fill_files` would do. Nothing is written, and no model is loaded."""
    engine, options = engine or EngineChoice(), options or FillOptions()
    plans, skipped = plan_files(inputs, out, template)
    opened, refused = open_files(plans, options, engine.languages(), learn_from)
    memories = open_memories(learn_from, engine, options, learn, [plan.out for plan in plans])
    chosen = lessons_of(opened, 0 if engine.never_learns() else learn, memories)
    files, replaced = [file.planned() for file in opened], replaced_files(opened)
    numbers = len(chosen.lessons), chosen.candidates, chosen.copies
    return FillReport(files, [*skipped, *refused], *numbers, replaced=replaced, is_dry=True)


def replaced_files(opened: Sequence[OpenedFile]) -> list[str]:
    """Return the outputs that exist already and are not filled in place."""
    outputs = [file.plan.out for file in opened if file.plan.out is not None and not file.plan.in_place]
    return [str(path) for path in outputs if path.exists()]


def open_files(
    plans: Sequence[FilePlan], options: FillOptions, model: Languages, learn_from: Sequence[Path] = ()
) -> tuple[list[OpenedFile], list[SkippedFile]]:
    """Open the files. One that was found in a folder and cannot be filled in is skipped; a named one is an error."""
    if options.columns and not any(map(takes_columns, [*(plan.path for plan in plans), *learn_from])):
        message = f"is not a table; leave out --columns, which is for {', '.join(TABLE_FORMATS)}"
        raise InputError(message, path=plans[0].path)
    opened, skipped = [], []
    for plan in plans:
        try:
            opened.append(OpenedFile.open(plan, options.for_file(plan.path), model))
        except InputError as error:
            if plan.is_named:
                raise
            skipped.append(SkippedFile.because(plan.path, error))
    if not opened:
        raise InputError(f"no file can be filled in; the first one: {skipped[0]}")
    return opened, skipped


def fill_file(opened: OpenedFile, translator: Translator, progress: FileProgress) -> None:
    """Translate the units of a file that are missing in its state, and write the file."""
    with _bar(len(opened.to_fill), opened.plan.path.name) as bar:
        opened.translate(translator.learner, progress, bar.update, partial(_one_thread, translator.config))
    opened.write(progress)


@contextmanager
def _one_thread(config: LearnerConfig) -> Iterator[None]:
    """Let the engine compute with one thread for a while."""
    config.method.engine.set_threads(1)
    try:
        yield
    finally:
        config.method.engine.set_threads(config.threads)


def open_memories(
    paths: Sequence[Path],
    engine: EngineChoice,
    options: FillOptions,
    learn: int,
    written: Sequence[Path | None],
) -> list[OpenedFile]:
    """Open the files that are only learned from. Raise InputError if nothing would be learned."""
    if paths and not learn:
        raise InputError("give --learn-from, or learn nothing, not both")
    if paths and engine.never_learns():
        raise InputError("the method learns nothing; leave out --learn-from, or choose another --method")
    return open_lesson_files(paths, options, engine.languages(), written)


def _check_table(table: Path | None, plans: Sequence[FilePlan], named: Sequence[Path | None]) -> None:
    """Raise InputError if the table would overwrite a file of the command. `named`: those beside the plans."""
    if table is None:
        return
    if table.is_dir():
        raise InputError("is a folder; --report takes the name of a file", path=table)
    paths = [*named, *(path for plan in plans for path in (plan.path, plan.out, plan.template))]
    if table.resolve() in {path.resolve() for path in paths if path is not None}:
        raise InputError("is an input or output of the command; name another file for --report", path=table)


def _with_own_delta(engine: EngineChoice, save_delta: Path | None, state: FillState) -> EngineChoice:
    """Return the engine with a copy of its delta in the state, if the command overwrites the delta."""
    delta = Path(engine.delta)
    if not engine.delta or save_delta is None or delta.resolve() != save_delta.resolve() or not delta.exists():
        return engine
    return replace(engine, delta=str(state.first_delta(delta)))


@dataclass(frozen=True)
class _Work:
    """The steps of a command, with the state beside its output. `delta`: the one that the user named."""

    engine: EngineChoice
    delta: str
    options: FillOptions
    state: FillState
    learn: int
    opened: Sequence[OpenedFile]
    memories: Sequence[OpenedFile] = ()

    def begin(self, translator: Translator) -> list[str]:
        """Choose the lessons and write the header, or check that the same command was begun.

        Return the outputs that are replaced.
        """
        lessons: list[TranslatedUnit] = []
        if self.state.header():
            found: dict[str, JSON] = {"candidates": self.state.candidates, "replaced": [*self.state.replaced]}
            found["copies"] = self.state.copies
        else:
            limit = self.learn if learns(translator.learner) else 0
            lessons, candidates, copies = lessons_of(self.opened, limit, self.memories)
            found = {"candidates": candidates, "copies": copies, "replaced": [*replaced_files(self.opened)]}
        header = self._header(translator) | found
        self.state.begin(header, lessons)
        numbers = [number for number, file in enumerate(self.opened) if not self._is_done(number + 1, file)]
        self._say_changes([number for number in self.state.changed(header) if number in numbers])
        now = replaced_files([self.opened[number] for number in numbers])
        return [*dict.fromkeys([*self.state.replaced, *now])]

    def _say_changes(self, numbers: Sequence[int]) -> None:
        if numbers:
            names = join_names(str(self.opened[number].plan.path) for number in numbers)
            kept = "it goes on with its lessons, and keeps the translations of units that are as they were"
            advice = f"to start anew, stop it and delete {self.state.folder}"
            logger.warning(f"changed since this command was begun: {names}; {kept}; {advice}")

    def _header(self, translator: Translator) -> dict[str, JSON]:
        config, model = translator.config, getattr(translator.learner, "base", None)
        return {
            "format": FORMAT,
            "versions": dict(config.method.engine.versions()),
            "inputs": [_paths(file.plan) for file in self.opened],
            VERSIONS: [file.versions.inputs for file in self.opened],
            "options": self.options.to_json() | {"learn": self.learn, "learn_from": self._memory_digests()},
            "engine": config.describe(model) | {"delta given": self.delta},
            "glossary": digest_of(Path(self.engine.glossary)) if self.engine.glossary else "",
            "threads": self.engine.threads,
        }

    def _memory_digests(self) -> list[JSON]:
        return [digest_of(file.plan.path) for file in self.memories]

    def learn_first(self, learner: Learner) -> Mapping[str, int]:
        """Learn the lessons that are not in a snapshot yet. Return the number of those not used, by reason."""
        lessons = self.state.lessons()
        first = self.state.snapshots.restore(learner, len(lessons)) if lessons else 0
        rejected = Counter(self.state.rejected(first))
        with _bar(len(lessons), "learning", first) as bar:
            for number, lesson in enumerate(lessons[first:], start=first + 1):
                if reason := learn_unit(learner, lesson).rejected:
                    rejected[reason] += 1
                bar.update()
                if number % SNAPSHOT_EVERY == 0 or number == len(lessons):
                    self.state.save_learner(learner, number, rejected)
        return rejected

    def fill(self, translator: Translator, run_jobs: RunJobs | None) -> None:
        """Fill in the files whose output is not written yet."""
        if run_jobs is not None:
            run_jobs(self._jobs(translator.learner))
            return
        for number, file in enumerate(self.opened, start=1):
            if not self._is_done(number, file):
                fill_file(file, translator, self._progress(number))

    def _jobs(self, learner: Learner) -> list[FillJob]:
        learned = newest_snapshot(self.state.snapshots.folder)
        if self.state.lessons() and not isinstance(learner, Stateful):
            raise InputError("the method cannot be saved for other processes; leave out --jobs")
        return [
            FillJob(self.engine, file.plan, file.options, self.state.progress_path(number), learned, file.versions.out)
            for number, file in enumerate(self.opened, start=1)
        ]

    def reports(self) -> list[FileReport]:
        return [FileReport.from_json(self._progress(number).report) for number in range(1, len(self.opened) + 1)]

    def _is_done(self, number: int, file: OpenedFile) -> bool:
        return self._progress(number).is_done(file.plan)

    def _progress(self, number: int) -> FileProgress:
        return FileProgress.read(self.state.progress_path(number))


def _paths(plan: FilePlan) -> list[JSON]:
    return [str(path.resolve()) if path else "" for path in (plan.path, plan.out, plan.template)]


def learns(learner: Learner) -> bool:
    """Whether a learner learns from corrections."""
    return not isinstance(learner, DeclaresFeedback) or PostEdit in learner.learns_from


def _bar(total: int, label: str, first: int = 0) -> tqdm[Any]:
    """Return a progress bar, shown if stderr is a terminal."""
    return tqdm(total=total, initial=first, desc=label, unit="unit", delay=1, leave=False, disable=None)
