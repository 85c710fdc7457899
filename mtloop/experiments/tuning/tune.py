"""Tune the settings of a method: what `mtloop tune` and `mtloop.tune` do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from mtloop.core.errors import InputError
from mtloop.core.extras import need_extras
from mtloop.core.locks import locked
from mtloop.core.names import list_names
from mtloop.core.ranges import check_at_least
from mtloop.core.types import JSON
from mtloop.experiments.experiment import Experiment
from mtloop.experiments.folders import output_folder
from mtloop.experiments.options import ExperimentOptions
from mtloop.experiments.runners import Runner, make_runner
from mtloop.experiments.tuning.objective import Objective
from mtloop.experiments.tuning.plan import SearchPlan
from mtloop.experiments.tuning.row_range import RowRange
from mtloop.experiments.tuning.space import GivenSpace, make_space
from mtloop.experiments.tuning.tune_result import TuneResult
from mtloop.experiments.tuning.tuning_search import Search
from mtloop.methods.defaults import COUNTING_METRICS, REPORTED_METRICS
from mtloop.methods.method import Method
from mtloop.metrics.base import Additive
from mtloop.metrics.registry import MetricOptions, make_metrics


def tune(
    data: str | Path | None = None,
    method: str | None = None,
    *,
    space: GivenSpace,
    settings: Mapping[str, JSON] | None = None,
    tune_rows: str,
    report_rows: str,
    trials: int = 16,
    halving: bool = False,
    factor: int = 2,
    sampler: str | None = None,
    batch: int = 4,
    metric: str | Sequence[str] = "ter",
    report_metrics: str | Sequence[str] | None = None,
    jobs: int = 2,
    runner: Runner | None = None,
    seed: int = 1,
    snapshot_every: int = 100,
    out: str | Path | None = None,
    log: Callable[[str], None] = lambda line: None,
    **options: Unpack[ExperimentOptions],
) -> TuneResult:
    """Search for the best settings of a method on one part of a stream, and report on another part.

    Args:
        data: A file with sources and references (or post-edits). It may also be named in the file `config`.
        method: The method to tune.
        space: The settings to search. A tuple is a range and a list holds values:
            `{"learning_rate": (1e-3, 2e-2, "log"), "rank": [4, 8]}`.
        settings: Settings of all trials.
        tune_rows: The segments of the search, such as `1-4000`.
        report_rows: The segments of the report. They must be other segments than `tune_rows`.
        trials: Number of trials.
        halving: Start all trials on few segments; continue only the best.
        factor: With `halving`: one trial in this number continues.
        sampler: How trials are drawn: `tpe` (by earlier results) or `random`. The default is `tpe`, with `halving`
            `random`.
        batch: With `tpe`: number of trials that are drawn together.
        metric: The metric to optimise. For several, their mean relative gain.
        report_metrics: The metrics of the report.
        jobs: Number of trials in parallel.
        runner: How the trials are run, instead of `jobs` child processes.
        seed: Random seed of the trial settings.
        snapshot_every: Number of segments between snapshots of a learner.
        out: The folder of the search (None: a temporary folder). The same call with the same folder resumes it.
        log: A function that gets lines of progress.
        **options: Model, languages, segments and schedule: see `ExperimentOptions`.
    """
    need_extras("tune")
    check_at_least(1, jobs=jobs, snapshot_every=snapshot_every)
    check_at_least(2, factor=factor)
    experiment = Experiment.create(data, method=method, settings=settings, **options)
    _check_learns(experiment.learner_config.method)
    measures = MetricOptions(language=experiment.language)
    objective = _objective(metric, measures)
    reported = _objective(report_metrics or default_report_metrics(measures), measures).metrics
    plan = SearchPlan(
        experiment=experiment,
        space=make_space(space, experiment.learner_config.method, experiment.settings),
        tune=RowRange.parse(tune_rows),
        report=RowRange.parse(report_rows),
        trials=trials,
        factor=factor if halving else 0,
        metric=",".join(each.name for each in objective.metrics),
        language=experiment.language,
        seed=seed,
        sampler=sampler or ("random" if halving else "tpe"),
        batch=batch,
    )
    search = Search(plan, objective, output_folder(out), runner or make_runner(jobs), snapshot_every, log)
    return run_search(search, reported)


def default_report_metrics(measures: MetricOptions) -> list[str]:
    """The metrics of the report: those that count words only where the language is known and has spaces."""
    names = REPORTED_METRICS.split(",")
    return [name for name in names if measures.can_count_words or name not in COUNTING_METRICS]


def run_search(search: Search, reported: Sequence[Additive]) -> TuneResult:
    """Run the search and its report in its folder. Wait while another search uses the folder."""
    folder = search.folder
    search.plan.experiment.check_data()
    with locked(folder / ".lock", on_wait=lambda: search.log(f"{folder}: another search is running here; waiting")):
        search.plan.save_or_check(folder)
        winner = search.run()
        systems = search.report(winner)
        result = TuneResult(search.plan, search.objective, search.leaderboard, systems, reported, folder)
        search.write_winner(result.verdict)
        return result


def _check_learns(method: Method) -> None:
    if method.learns_from == ():
        raise InputError(f"method {method.name} never learns, so there is nothing to tune; give --method")


def _objective(names: str | Sequence[str], measures: MetricOptions) -> Objective:
    """The metrics with these names; raise InputError if there is none or one is not additive."""
    return Objective.from_metrics(make_metrics(list_names(names, "metric"), measures))
