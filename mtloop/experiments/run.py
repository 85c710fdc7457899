"""Run one method on one stream: what `mtloop run` and `mtloop.run` do."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Unpack

from mtloop.core.atomic import write_text
from mtloop.core.closing import closed_after
from mtloop.core.errors import InputError
from mtloop.core.ranges import check_at_least
from mtloop.core.record import record
from mtloop.core.trace import Trace
from mtloop.core.types import JSON, Step
from mtloop.experiments.experiment import Experiment
from mtloop.experiments.experiment_toml import to_toml
from mtloop.experiments.folders import output_folder
from mtloop.experiments.measures import Measures
from mtloop.experiments.options import ExperimentOptions
from mtloop.experiments.running_scores import with_progress
from mtloop.experiments.score import EvaluationResult
from mtloop.experiments.trace_notes import with_notes
from mtloop.judges import PostEditor
from mtloop.methods.own import HttpEngine
from mtloop.report.result import Result
from mtloop.report.table import Table


def run(
    data: str | Path | None = None,
    method: str | None = None,
    *,
    settings: Mapping[str, JSON] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    stop_after: int | None = None,
    snapshot_every: int = 100,
    **options: Unpack[ExperimentOptions],
) -> RunResult:
    """Translate a stream, learn from each correction, and record every step in a trace.

    Args:
        data: A file with sources and references (or post-edits). It may also be named in the file `config`.
        method: How the model learns (default: `lora+memory+copy`), or your own engine, such as `file.py:Class`.
        settings: Settings of the method by name.
        out: The file of the trace (None: a temporary file).
        resume: Continue an existing trace. Without it, an existing trace is an error.
        stop_after: Stop when the trace has this number of segments (None: run to the end).
        snapshot_every: Number of segments between snapshots of the learner.
        **options: Model, languages, segments and schedule: see `ExperimentOptions`.
    """
    check_at_least(1, snapshot_every=snapshot_every, **({} if stop_after is None else {"stop_after": stop_after}))
    trace = Path(out) if out is not None else output_folder() / "run.jsonl"
    check_output(trace, resume=resume)
    experiment = Experiment.create(data, method=method, settings=settings, **options)
    if experiment.delta and Path(experiment.delta).is_relative_to(trace.with_name(f"{trace.stem}.state")):
        raise InputError("this run would overwrite the snapshots in --delta; choose another name", path=trace)
    experiment.check_data()
    deque(run_experiment(experiment, trace, snapshot_every, stop_after), maxlen=0)
    return RunResult(experiment, trace)


def check_output(trace: Path, *, resume: bool) -> None:
    """Raise InputError if the trace is a folder, or exists and is not to be resumed."""
    if trace.is_dir():
        raise InputError("is a folder; give the name of a file, such as run.jsonl", path=trace)
    if trace.exists() and not resume:
        raise InputError("already exists; resume it with --resume, or choose another name", path=trace)


def run_experiment(
    experiment: Experiment, out: Path, snapshot_every: int = 100, stop_after: int | None = None
) -> Iterator[Step]:
    """Run the experiment and yield its steps. Write the trace to `out`, and notes to a file beside it."""
    stream, schedule = experiment.stream(), experiment.make_schedule()
    model = experiment.load()
    learner, header = experiment.learner(model), experiment.header(model)
    if isinstance(learner, HttpEngine) and not out.exists():
        learner.warn_if_corrected()
    total = min(len(stream), stop_after or len(stream))  # a complete trace is not learned again
    steps = record(
        out, header, stream, learner, PostEditor(), schedule=schedule, snapshot_every=snapshot_every, stop_after=total
    )
    noted = with_notes(closed_after(steps, learner), out)
    return with_progress(noted, total, experiment.method, experiment.language)


@dataclass(frozen=True)
class ExperimentJob:
    """Run an experiment until its trace has `rows` steps (0: all). An existing trace is resumed."""

    kind: ClassVar[str] = "run"
    experiment: Experiment
    trace: Path
    rows: int = 0
    snapshot_every: int = 100

    @property
    def name(self) -> str:
        return f"method {self.experiment.method}"

    @property
    def done(self) -> bool:
        """Whether the trace has `rows` complete lines after the header."""
        return bool(self.rows) and self.trace.is_file() and self.trace.read_bytes().count(b"\n") > self.rows

    def run(self) -> None:
        deque(run_experiment(self.experiment, self.trace, self.snapshot_every, self.rows or None), maxlen=0)

    def write_config(self) -> None:
        """Write the experiment as a TOML file beside its trace."""
        write_text(self.trace.with_suffix(".toml"), to_toml(self.experiment))

    def to_json(self) -> dict[str, JSON]:
        experiment, trace = self.experiment.to_json(), str(self.trace)
        return {"experiment": experiment, "trace": trace, "rows": self.rows, "snapshot_every": self.snapshot_every}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> ExperimentJob:
        experiment = Experiment(**fields["experiment"])
        return cls(experiment, Path(fields["trace"]), fields["rows"], fields["snapshot_every"])


@dataclass(frozen=True, repr=False)
class RunResult(Result):
    """A finished run.

    Attributes:
        experiment: What was run: data, model, method, settings.
        trace: The file of the trace.
    """

    experiment: Experiment
    trace: Path

    @cached_property
    def steps(self) -> list[Step]:
        """The steps of the run, read from the trace."""
        return Trace.read(self.trace).steps

    @cached_property
    def scores(self) -> EvaluationResult:
        """The scores of the run, as `mtloop.score` returns them."""
        measures = Measures(language=self.experiment.language)
        return EvaluationResult(measures.evaluate({self.experiment.method: self.steps}))

    @property
    def table(self) -> Table:
        return self.scores.table
