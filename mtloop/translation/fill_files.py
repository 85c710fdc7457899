"""Fill in files: learn from what is translated, translate the rest, check it, write. What `mtloop translate` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from tqdm import tqdm

from mtloop.core.errors import InputError
from mtloop.core.protocols import DeclaresFeedback, Learner, Stateful
from mtloop.core.record import newest_snapshot
from mtloop.core.types import JSON, PostEdit
from mtloop.methods.defaults import DEFAULT_METHOD
from mtloop.methods.learner_config import LearnerConfig
from mtloop.smt.card import CARD_FILE
from mtloop.translation.file_plan import FilePlan, SkippedFile, plan_files
from mtloop.translation.fill_report import FileReport, FillReport
from mtloop.translation.fill_state import FORMAT, FileProgress, FillState, digest_of
from mtloop.translation.fill_units import FillOptions, Languages, Only, OpenedFile
from mtloop.translation.lesson_choice import TranslatedUnit, choose_lessons
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
    """Fill in one file in another process, with the state that the learner has after the lessons."""

    kind: ClassVar[str] = "fill"
    engine: EngineChoice
    plan: FilePlan
    options: FillOptions
    state: Path
    learned: Path | None = None

    @property
    def name(self) -> str:
        return str(self.plan.path)

    @property
    def done(self) -> bool:
        assert self.plan.out is not None
        return FileProgress.read(self.state).is_done(self.plan.out)

    def run(self) -> None:
        with self.engine.load() as translator:
            learner = translator.learner
            if self.learned is not None and isinstance(learner, Stateful):
                learner.load(self.learned)
            opened = OpenedFile.open(self.plan, self.options, translator.config.languages)
            fill_file(opened, learner, FileProgress.read(self.state))

    def to_json(self) -> dict[str, JSON]:
        paths = {"path": self.plan.path, "out": self.plan.out, "template": self.plan.template}
        paths |= {"state": self.state, "learned": self.learned}
        named: dict[str, JSON] = {name: str(path) if path else None for name, path in paths.items()}
        return named | {"options": self.options.to_json(), "engine": self.engine.to_json()}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> FillJob:
        out, template, learned = (
            Path(fields[name]) if fields[name] else None for name in ("out", "template", "learned")
        )
        options = FillOptions(**fields["options"] | {"only": Only(fields["options"]["only"])})
        plan = FilePlan(Path(fields["path"]), out, template)
        return cls(EngineChoice(**fields["engine"]), plan, options, Path(fields["state"]), learned)


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
    save_delta: Path | None = None,
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
        save_delta: Where to write what was learned.
        run_jobs: Fills in the files in other processes (None: in this process).
    """
    engine, options = engine or EngineChoice(), options or FillOptions()
    plans, skipped = plan_files(inputs, out, template)
    with FillState(out) as state:
        opened, refused = open_files(plans, options, engine.languages())
        work = _Work(engine, options, state, learn, opened)
        with engine.load() as translator:
            work.begin(translator)
            rejected = work.learn_first(translator.learner)
            if save_delta is not None:
                translator.save(save_delta)
            work.fill(translator.learner, run_jobs)
        report = FillReport(work.reports(), [*skipped, *refused], len(state.lessons()), state.candidates, rejected)
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
) -> FillReport:
    """Return what `fill_files` would do. Nothing is written, and no model is loaded."""
    engine, options = engine or EngineChoice(), options or FillOptions()
    plans, skipped = plan_files(inputs, out, template)
    opened, refused = open_files(plans, options, engine.languages())
    lessons, candidates = lessons_of(opened, 0 if engine.never_learns() else learn)
    files = [file.planned() for file in opened]
    return FillReport(files, [*skipped, *refused], len(lessons), candidates, is_dry=True)


def open_files(
    plans: Sequence[FilePlan], options: FillOptions, model: Languages
) -> tuple[list[OpenedFile], list[SkippedFile]]:
    """Open the files. One that was found in a folder and cannot be filled in is skipped; a named one is an error."""
    opened, skipped = [], []
    for plan in plans:
        try:
            opened.append(OpenedFile.open(plan, options, model))
        except InputError as error:
            if plan.is_named:
                raise
            skipped.append(SkippedFile.because(plan.path, error))
    if not opened:
        raise InputError(f"no file can be filled in; the first one: {skipped[0]}")
    return opened, skipped


def lessons_of(opened: Sequence[OpenedFile], limit: int) -> tuple[list[TranslatedUnit], int]:
    """Return the units to learn, those of the newest file last, and the number of all translated units."""
    by_age = sorted(opened, key=lambda file: _last_change(file.plan.path))
    units = [unit for file in by_age for unit in file.lessons]
    sources = (source for file in opened for source in file.sources)
    return (choose_lessons(units, sources, limit) if limit else []), len(units)


def fill_file(opened: OpenedFile, learner: Learner, progress: FileProgress) -> None:
    """Translate the units of a file that are missing in its state, and write the file."""
    with _bar(len(opened.to_fill), opened.plan.path.name) as bar:
        opened.translate(learner, progress, bar.update)
    opened.write(progress)


@dataclass(frozen=True)
class _Work:
    """The steps of a command, with the state beside its output."""

    engine: EngineChoice
    options: FillOptions
    state: FillState
    learn: int
    opened: Sequence[OpenedFile]

    def begin(self, translator: Translator) -> None:
        """Choose the lessons and write the header, or check that the same command was begun."""
        candidates = self.state.candidates if self.state.header() else 0
        lessons: list[TranslatedUnit] = []
        if not self.state.header():
            lessons, candidates = lessons_of(self.opened, self.learn if _learns(translator.learner) else 0)
        self.state.begin(self._header(translator) | {"candidates": candidates}, lessons)

    def _header(self, translator: Translator) -> dict[str, JSON]:
        config, model = translator.config, getattr(translator.learner, "base", None)
        return {
            "format": FORMAT,
            "versions": dict(config.method.engine.versions()),
            "inputs": [self._identity(number, file.plan) for number, file in enumerate(self.opened, start=1)],
            "options": self.options.to_json() | {"learn": self.learn},
            "engine": config.describe(model) | {"delta given": self.engine.delta},
            "glossary": digest_of(Path(self.engine.glossary)) if self.engine.glossary else "",
            "threads": self.engine.threads,
        }

    def _identity(self, number: int, plan: FilePlan) -> list[JSON]:
        """What identifies an input. The digest of one that was filled in place already is that of the begun command."""
        assert plan.out is not None
        begun = self.state.header().get("inputs")
        if (
            isinstance(begun, list)
            and number <= len(begun)
            and plan.in_place
            and self._progress(number).is_done(plan.out)
        ):
            return begun[number - 1]  # type: ignore[return-value]
        names = [str(path.resolve()) for path in (plan.path, plan.out)]
        return [*names, digest_of(plan.path), digest_of(plan.template)]

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

    def fill(self, learner: Learner, run_jobs: RunJobs | None) -> None:
        """Fill in the files whose output is not written yet."""
        if run_jobs is not None:
            run_jobs(self._jobs(learner))
            return
        for number, file in enumerate(self.opened, start=1):
            progress = self._progress(number)
            assert file.plan.out is not None
            if not progress.is_done(file.plan.out):
                fill_file(file, learner, progress)

    def _jobs(self, learner: Learner) -> list[FillJob]:
        learned = newest_snapshot(self.state.snapshots.folder)
        if self.state.lessons() and not isinstance(learner, Stateful):
            raise InputError("the method cannot be saved for other processes; leave out --jobs")
        return [
            FillJob(self.engine, file.plan, self.options, self.state.progress_path(number), learned)
            for number, file in enumerate(self.opened, start=1)
        ]

    def reports(self) -> list[FileReport]:
        return [FileReport.from_json(self._progress(number).report) for number in range(1, len(self.opened) + 1)]

    def _progress(self, number: int) -> FileProgress:
        return FileProgress.read(self.state.progress_path(number))


def _learns(learner: Learner) -> bool:
    return not isinstance(learner, DeclaresFeedback) or PostEdit in learner.learns_from


def _last_change(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


def _bar(total: int, label: str, first: int = 0) -> tqdm[Any]:
    """Return a progress bar, shown if stderr is a terminal."""
    return tqdm(total=total, initial=first, desc=label, unit="unit", delay=1, leave=False, disable=None)
