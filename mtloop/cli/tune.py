"""`mtloop tune`: search for settings on one part of a stream, and evaluate them on another part."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._options import COUNT, PATH, POSITIVE, split_names, stream_options
from mtloop.cli.run import make_experiment, run_experiment
from mtloop.methods.defaults import DEFAULT_METHOD

if TYPE_CHECKING:
    from mtloop.core.types import Step
    from mtloop.experiments.runners import ExperimentJob, Runner
    from mtloop.experiments.tuning.trial import TrialResult
    from mtloop.experiments.tuning.tuning_search import Search
    from mtloop.metrics.base import Additive
    from mtloop.metrics.evaluation import Evaluation

REPORTED = "bleu,ter,r0,r1,r01,rer"
EPILOG = """
\b
Examples:
  mtloop tune --data manual.tsv --method full --space learning_rate=1e-3:2e-2:log --space target_perplexity=1.5,2.0,3.0
      --tune-rows 1-4000 --report-rows 4001-6000 --trials 16 --halving --out out/tune
  mtloop tune --data manual.tsv --method lora --space rank=4:32 --metric ter,r1 --tune-rows 1-1000
      --report-rows 1001-2000 --out out/lora
\b
Run the same command again to resume after an interruption; it finds the same winner. To use the winner:
  mtloop run --config out/tune/winner.toml --data other.tsv --out other.jsonl
"""


@click.command(epilog=EPILOG)
@stream_options
@click.option("--method", help=f"Method to tune.  [default: {DEFAULT_METHOD}]")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Setting of all trials. Repeat for more.")
@click.option(
    "--space",
    multiple=True,
    required=True,
    metavar="KEY=...",
    help="Search space of a setting: LOW:HIGH, LOW:HIGH:log, or A,B,... Repeat for more settings.",
)
@click.option("--tune-rows", required=True, metavar="A-B", help="Rows of the stream to tune on, from 1.")
@click.option(
    "--report-rows", required=True, metavar="A-B", help="Rows to report on. They must not overlap with --tune-rows."
)
@click.option(
    "--trials",
    default=16,
    show_default=True,
    type=click.IntRange(min=2),
    help="Number of trials. The first uses the default settings.",
)
@click.option(
    "--halving", is_flag=True, help="Successive halving: start on few rows, continue only the best trials on more rows."
)
@click.option(
    "--factor",
    default=2,
    show_default=True,
    type=click.IntRange(min=2),
    help="With --halving: one trial in this number continues.",
)
@click.option(
    "--metric",
    default="ter",
    show_default=True,
    help="Metric to optimise; for several (ter,r1), their mean relative gain.",
)
@click.option("--report-metrics", default=REPORTED, show_default=True, help="Metrics of the report.")
@click.option("--lang", "language", default="de", show_default=True, help="Target language, for content words.")
@click.option("--jobs", default=2, show_default=True, type=POSITIVE, help="Number of trials in parallel.")
@click.option("--seed", default=1, show_default=True, type=COUNT, help="Random seed of the trial settings.")
@click.option(
    "--snapshot-every", default=100, show_default=True, type=POSITIVE, help="Number of segments between snapshots."
)
@click.option("--out", type=PATH, required=True, help="Folder for traces, trials.jsonl and winner.toml.")
def command(
    space: tuple[str, ...],
    tune_rows: str,
    report_rows: str,
    trials: int,
    halving: bool,
    factor: int,
    metric: str,
    report_metrics: str,
    language: str,
    jobs: int,
    seed: int,
    snapshot_every: int,
    out: Path,
    pairs: tuple[str, ...],
    **options: Any,
) -> None:
    """Search for the best settings of a method on one part of a stream, and report on another part."""
    from mtloop.experiments.runners import locked
    from mtloop.experiments.tuning.objective import Objective
    from mtloop.experiments.tuning.plan import SearchPlan
    from mtloop.experiments.tuning.row_range import RowRange
    from mtloop.experiments.tuning.tuning_search import Search
    from mtloop.metrics.registry import MetricOptions, make_metrics

    plan = SearchPlan(
        experiment=make_experiment(pairs, **options),
        space=space,
        tune=RowRange.parse(tune_rows),
        report=RowRange.parse(report_rows),
        trials=trials,
        factor=factor if halving else 0,
        metric=metric,
        language=language,
        seed=seed,
    )
    measures = MetricOptions(language=language)
    objective = Objective.from_metrics(make_metrics(split_names(metric, "--metric", "metric", "ter"), measures))
    reported = Objective.from_metrics(
        make_metrics(split_names(report_metrics, "--report-metrics", "metric", REPORTED), measures)
    ).metrics
    with locked(out, _log) as lock:
        plan.save_or_check(out)
        search = Search(plan, objective, out, _runner(jobs, lock, snapshot_every, language), _log)
        winner = search.run()
        click.echo(leaderboard(search))
        click.echo(
            report(
                search.report(winner),
                list(reported),
                f"rows {plan.report} of {Path(plan.default.data).name}, seed {seed}",
            )
        )
    click.echo(f"Winner: {out / 'winner.toml'} ({winner})")


def leaderboard(search: Search) -> str:
    """A table of all trials, best first, with the scores on their last rows."""
    from tabulate import tabulate

    names = [metric.name for metric in search.objective.metrics]
    gain = ["gain %"] if len(names) > 1 else []
    rows = [_row(result, names, with_gain=bool(gain)) for result in search.leaderboard]
    title = f"Tuned on rows {search.plan.tune}: {search.objective.description}."
    return f"{title}\n\n{tabulate(rows, ['trial', 'settings', 'segments', *names, *gain], disable_numparse=True)}\n"


def _row(result: TrialResult, names: Sequence[str], *, with_gain: bool) -> list[str]:
    from mtloop.experiments.tuning.trial import format_score

    scores = [format_score(result.scores[name]) if name in result.scores else "-" for name in names]
    gain = [f"{result.value:+.2f}" if math.isfinite(result.value) else "-"] if with_gain else []
    return [result.trial.name, result.failed or str(result.trial), str(result.rows), *scores, *gain]


def report(systems: dict[str, list[Step]], metrics: list[Additive], where: str) -> str:
    """A table of scores and differences on the reported rows, with 95 % intervals."""
    from mtloop.metrics.evaluation import Evaluation

    parts = [f"Reported on {where}; in brackets 95 % intervals (bootstrap, 1000 resamples).\n"]
    parts.append(_table(Evaluation(systems, metrics), "system", list(systems)))
    for baseline in list(systems)[:-1]:
        evaluation = Evaluation(systems, metrics, baseline)
        names = list(systems)[list(systems).index(baseline) + 1 :]
        parts.append(_table(evaluation, f"minus {baseline}", names))
    parts.append("* p < 0.05, ** p < 0.01, *** p < 0.001 (approximate randomisation, 1000 resamples, seed 1)")
    return "\n".join(parts)


def _table(evaluation: Evaluation, title: str, systems: list[str]) -> str:
    from tabulate import tabulate

    from mtloop.metrics import titles

    rows = [[name, *(_cell(evaluation, name, metric) for metric in evaluation.additive)] for name in systems]
    headers = [title, *(titles.title(metric.name) for metric in evaluation.additive)]
    return tabulate(rows, headers, disable_numparse=True, stralign="right", colalign=("left",)) + "\n"


def _cell(evaluation: Evaluation, system: str, metric: Additive) -> str:
    """A score or, with a baseline, a difference, with its interval; `0/0` or `-` if it is not defined."""
    if (found := evaluation.comparison(system, metric)) is not None:
        if math.isnan(found.difference):
            return "-"
        return f"{found.difference:+.2f}{found.mark}{_interval(found.interval, '+.2f')}"
    return f"{evaluation.score(system, metric)}{_interval(evaluation.interval(system, metric), '.2f')}"


def _interval(bounds: tuple[float, float], form: str) -> str:
    """The interval in brackets; empty if it is not defined."""
    low, high = bounds
    return "" if math.isnan(low) or math.isnan(high) else f" [{low:{form}}, {high:{form}}]"


def _runner(jobs: int, lock: int, snapshot_every: int, language: str) -> Runner:
    from mtloop.experiments.runners import InProcess, Processes

    def run(job: ExperimentJob) -> None:
        deque(run_experiment(job.experiment, job.trace, snapshot_every, language, job.rows), maxlen=0)

    return InProcess(run) if jobs == 1 else Processes(jobs, lock, snapshot_every)


def _log(line: str) -> None:
    click.echo(line, err=True)
