"""The result of a search: leaderboard, scores on the report rows, and the verdict on the winner."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mtloop.core.types import JSON, Step
from mtloop.experiments.tuning.objective import Objective
from mtloop.experiments.tuning.plan import SearchPlan
from mtloop.experiments.tuning.trial import Trial, TrialResult, format_score
from mtloop.experiments.tuning.winner_verdict import WinnerVerdict
from mtloop.metrics.base import Additive
from mtloop.metrics.evaluation import Evaluation
from mtloop.metrics.titles import title
from mtloop.report.result import Result
from mtloop.report.table import Table

STARS = "* p < 0.05, ** p < 0.01, *** p < 0.001 (approximate randomisation, 1000 resamples, seed 1)"


@dataclass(frozen=True, repr=False)
class TuneResult(Result):
    """The result of `tune`. `leaderboard`: the trials, the best first. `systems`: their steps on the report rows.

    `report_metrics` are the metrics of the report tables. The winner can be used by `mtloop run --config winner.toml`.
    """

    plan: SearchPlan
    objective: Objective
    leaderboard: Sequence[TrialResult]
    systems: Mapping[str, Sequence[Step]]
    report_metrics: Sequence[Additive]
    folder: Path

    @property
    def winner(self) -> Trial:
        return self.leaderboard[0].trial

    @property
    def settings(self) -> dict[str, JSON]:
        """The settings of the winner, with those that all trials share; use them only if the verdict says so."""
        return {**self.plan.default.settings, **self.winner.settings}

    @property
    def winner_file(self) -> Path:
        return self.folder / "winner.toml"

    @cached_property
    def verdict(self) -> WinnerVerdict:
        """Whether the winner is better than the defaults on the report rows. It prints as one or two sentences."""
        objective, systems = self.objective, self.systems
        found = None
        if "winner" in systems:
            found = objective.compare(systems["winner"], systems["default"], systems["baseline"])
        return WinnerVerdict(f"rows {self.plan.report}", objective.title, objective.higher_is_better, found)

    @property
    def table(self) -> Table:
        """All trials, the best first, with the scores on their last rows."""
        names = [metric.name for metric in self.objective.metrics]
        gain = ["gain %"] if len(names) > 1 else []
        return Table(
            headers=("trial", "settings", "segments", *names, *gain),
            cells=[_trial_cells(result, names) for result in self.leaderboard],
            records=[_trial_record(result) for result in self.leaderboard],
            title=f"Tuned on rows {self.plan.tune}: {self.objective.description}.",
            text_columns=2,
        )

    @cached_property
    def report_tables(self) -> list[Table]:
        """Scores on the report rows, and differences to the baseline and to the defaults, with 95 % intervals."""
        where = f"rows {self.plan.report} of {Path(self.plan.default.data).name}, seed {self.plan.seed}"
        return report_tables(self.systems, self.report_metrics, where)

    def __str__(self) -> str:
        return "\n\n".join([*map(str, (self.table, *self.report_tables)), self._conclusion])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        tables = "".join(table._repr_html_() for table in (self.table, *self.report_tables))
        return f"{tables}<p>{html.escape(self._conclusion)}</p>"

    @property
    def _conclusion(self) -> str:
        return f"Winner: {self.winner_file} ({self.winner})\n{self.verdict}"


def report_tables(systems: Mapping[str, Sequence[Step]], metrics: Sequence[Additive], where: str) -> list[Table]:
    """Tables of the scores of the systems, and of the differences of each to every system before it."""
    intro = f"Reported on {where}; in brackets 95 % intervals (bootstrap, 1000 resamples)."
    names = list(systems)
    tables = [_score_table(Evaluation(systems, metrics), "system", names, title=intro)]
    for number, baseline in enumerate(names[:-1], start=1):
        notes = [STARS] if number == len(names) - 1 else []
        evaluation = Evaluation(systems, metrics, baseline)
        tables.append(_score_table(evaluation, f"minus {baseline}", names[number:], notes=notes))
    return tables


def _score_table(
    evaluation: Evaluation, corner: str, names: Sequence[str], title: str = "", notes: Sequence[str] = ()
) -> Table:
    headers = [corner, *(_heading(metric) for metric in evaluation.additive)]
    cells = [[name, *(_cell(evaluation, name, metric) for metric in evaluation.additive)] for name in names]
    records = [record for name in names for record in _score_records(evaluation, name)]
    return Table(headers, cells, records, title, notes)


def _heading(metric: Additive) -> str:
    return title(metric.name)


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


def _score_records(evaluation: Evaluation, system: str) -> Iterator[dict[str, JSON]]:
    """One record per metric: the score or, with a baseline, the difference, with interval and p-value."""
    for metric in evaluation.additive:
        record: dict[str, JSON] = {"system": system, "metric": metric.name}
        if (found := evaluation.comparison(system, metric)) is not None:
            low, high = found.interval
            difference: dict[str, JSON] = {"minus": evaluation.baseline, "difference": found.difference}
            yield record | difference | {"low": low, "high": high, "p": found.p_value}
        else:
            low, high = evaluation.interval(system, metric)
            yield record | {"score": evaluation.score(system, metric).value, "low": low, "high": high}


def _trial_cells(result: TrialResult, names: Sequence[str]) -> list[str]:
    scores = [format_score(result.scores[name]) if name in result.scores else "-" for name in names]
    gain = [f"{result.value:+.2f}" if math.isfinite(result.value) else "-"] if len(names) > 1 else []
    return [result.trial.name, result.failed or str(result.trial), str(result.rows), *scores, *gain]


def _trial_record(result: TrialResult) -> dict[str, JSON]:
    trial = result.trial
    value = result.value if math.isfinite(result.value) else math.nan
    return {
        "trial": trial.number,
        **trial.settings,
        "rows": result.rows,
        **result.scores,
        "value": value,
        "failed": result.failed,
    }
