"""`mtloop tune`: find good settings on one part of a stream, and say what they are worth on another."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._inputs import PATH
from mtloop.cli.run import make_experiment, run_experiment, stream_options

if TYPE_CHECKING:
    from mtloop.core.types import Step
    from mtloop.experiments.runners import Runner, Work
    from mtloop.experiments.tuning.trial import TrialResult
    from mtloop.experiments.tuning.tuning_search import Search
    from mtloop.metrics.base import Additive
    from mtloop.metrics.evaluation import Evaluation

REPORTED = "bleu,ter,r0,r1,r01,rer"
EPILOG = """
\b
Examples:
  mtloop tune --data manual.tsv --method full --space rate=1e-3:2e-2:log --space enough=1.5,2.0,3.0
      --tune-rows 1-4000 --report-rows 4001-6000 --trials 16 --halving --out out/tune
  mtloop tune --data manual.tsv --method lora --space rank=4:32 --metric ter,r1 --tune-rows 1-1000
      --report-rows 1001-2000 --out out/lora
\b
Killed and started again, it goes on where it was and picks the same winner. The winner, on any stream:
  mtloop run --config out/tune/winner.toml --data other.tsv --out other.jsonl
"""


@click.command(epilog=EPILOG)
@stream_options
@click.option("--method", help="Whose settings to tune.  [default: full]")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting that all trials share.")
@click.option(
    "--space",
    multiple=True,
    required=True,
    metavar="KEY=...",
    help="Where to search: LOW:HIGH, LOW:HIGH:log, or A,B,...; again for another setting.",
)
@click.option("--tune-rows", required=True, metavar="A-B", help="Rows of the stream to tune on, counted from 1.")
@click.option("--report-rows", required=True, metavar="A-B", help="Rows to report on; none may be tuned on.")
@click.option(
    "--trials", default=16, show_default=True, type=click.IntRange(min=2), help="Settings to try, the defaults first."
)
@click.option("--halving", is_flag=True, help="Successive halving: start with few rows, go on with the better trials.")
@click.option(
    "--factor", default=2, show_default=True, type=click.IntRange(min=2), help="With --halving, one trial in N goes on."
)
@click.option(
    "--metric", default="ter", show_default=True, help="What decides; of several (ter,r1) the mean relative gain."
)
@click.option("--report-metrics", default=REPORTED, show_default=True, help="What the report measures.")
@click.option("--lang", "language", default="de", show_default=True, help="Target language, for content words.")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(min=1), help="Trials at the same time.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of what is drawn.")
@click.option("--snapshot", default=100, show_default=True, type=click.IntRange(min=1), help="Steps between snapshots.")
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
    snapshot: int,
    out: Path,
    pairs: tuple[str, ...],
    **options: Any,
) -> None:
    """Search for a method's best settings on one part of a stream, and report on a part it has not seen."""
    from mtloop.experiments.runners import locked
    from mtloop.experiments.tuning.objective import Objective
    from mtloop.experiments.tuning.parts import RowRange
    from mtloop.experiments.tuning.plan import SearchPlan
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
    objective = Objective.of(make_metrics(_names(metric), measures))
    reported = Objective.of(make_metrics(_names(report_metrics), measures)).metrics
    with locked(out, _say) as lock:
        plan.keep(out)
        search = Search(plan, objective, out, _runner(jobs, lock, snapshot, language), _say)
        winner = search.run()
        click.echo(leaderboard(search))
        click.echo(
            report(
                search.report(winner),
                list(reported),
                f"rows {plan.report} of {Path(plan.default.data).name}, seed {seed}",
            )
        )
    click.echo(f"The winner: {out / 'winner.toml'} ({winner})")


def leaderboard(search: Search) -> str:
    """Every trial, the best first, as it stood when it went no further."""
    from tabulate import tabulate

    names = [metric.name for metric in search.objective.metrics]
    several = ["gain %"] if len(names) > 1 else []
    rows = [_line(standing, names, bool(several)) for standing in search.leaderboard]
    title = f"Tuned on rows {search.plan.tune}: {search.objective.rule}."
    return f"{title}\n\n{tabulate(rows, ['trial', 'settings', 'segments', *names, *several], disable_numparse=True)}\n"


def _line(standing: TrialResult, names: Sequence[str], several: bool) -> list[str]:
    scores = [f"{standing.scores[name]:.2f}" if name in standing.scores else "-" for name in names]
    gain = [f"{standing.value:+.2f}"] if several else []
    return [standing.trial.name, standing.failed or str(standing.trial), str(standing.rows), *scores, *gain]


def report(systems: dict[str, list[Step]], metrics: list[Additive], where: str) -> str:
    """Scores and differences on the unseen part, each with its 95 % interval."""
    from mtloop.metrics.evaluation import Evaluation

    parts = [f"Reported on {where}; in brackets 95 % intervals (bootstrap, 1000 samples).\n"]
    parts.append(_table(Evaluation(systems, metrics), "system", list(systems)))
    for baseline in list(systems)[:-1]:
        evaluation = Evaluation(systems, metrics, baseline)
        names = list(systems)[list(systems).index(baseline) + 1 :]
        parts.append(_table(evaluation, f"less {baseline}", names))
    parts.append("* p < 0.05, ** p < 0.01, *** p < 0.001 (approximate randomisation, 1000 trials, seed 1)")
    return "\n".join(parts)


def _table(evaluation: Evaluation, title: str, systems: list[str]) -> str:
    from tabulate import tabulate

    from mtloop.metrics import titles

    rows = [[name, *(_cell(evaluation, name, metric) for metric in evaluation.additive)] for name in systems]
    headers = [title, *(titles.title(metric.name) for metric in evaluation.additive)]
    return tabulate(rows, headers, disable_numparse=True, stralign="right", colalign=("left",)) + "\n"


def _cell(evaluation: Evaluation, system: str, metric: Additive) -> str:
    """A score with its interval; against a baseline, the difference with its."""
    if (found := evaluation.comparison(system, metric)) is not None:
        return f"{found.difference:+.2f}{found.mark} [{found.interval[0]:+.2f}, {found.interval[1]:+.2f}]"
    low, high = evaluation.interval(system, metric)
    return f"{evaluation.score(system, metric)} [{low:.2f}, {high:.2f}]"


def _runner(jobs: int, lock: int, snapshot: int, language: str) -> Runner:
    from mtloop.experiments.runners import InProcess, Processes

    def here(work: Work) -> None:
        deque(run_experiment(work.experiment, work.trace, snapshot, language, work.rows), maxlen=0)

    return InProcess(here) if jobs == 1 else Processes(jobs, lock, snapshot)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _say(line: str) -> None:
    click.echo(line, err=True)
