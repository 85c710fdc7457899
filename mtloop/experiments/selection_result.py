"""The result of `select`: one result per policy, with tables, charts, traces and a data frame."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from mtloop import __version__
from mtloop.core.errors import UnknownName
from mtloop.core.trace import Header, TraceWriter
from mtloop.core.types import JSON
from mtloop.experiments.replay_plan import ReplayPlan
from mtloop.report.chart import Chart
from mtloop.report.picture import Picture
from mtloop.report.result_file import ExperimentResult, Origin
from mtloop.report.selection_charts import effort_chart, weights_chart
from mtloop.report.selection_intervals import interval_table
from mtloop.report.selection_tables import checkpoint_table, effort_table
from mtloop.report.table import Table
from mtloop.selection.policy_result import PolicyResult


@dataclass(frozen=True, eq=False, repr=False)
class SelectionResult(ExperimentResult):
    """How soon policies found the best systems, one entry of `results` per policy. `notes` are messages to the user.

    `origin` is what `save` writes about the ratings and the replay.
    """

    plan: ReplayPlan
    results: tuple[PolicyResult, ...]
    notes: tuple[str, ...] = ()
    origin: Origin | None = None

    @property
    def table(self) -> Table:
        """The ratings that each policy needed, and how many of its answers were right."""
        return effort_table(self.results)

    @property
    def checkpoints(self) -> Table:
        """The overlap with the gold ranking at each checkpoint, as in the tables of the 2021 paper."""
        return checkpoint_table(self.results)

    @property
    def intervals(self) -> Table:
        """The ratings that each policy needed, with 95 % intervals over the runs."""
        return interval_table(self.results)

    def saved_tables(self) -> dict[str, Table]:
        """The tables that `save` writes."""
        return {"intervals": self.intervals, "effort": self.table, "checkpoints": self.checkpoints}

    def saved_charts(self) -> list[Chart]:
        """The charts that `save` writes."""
        return [replace(chart, name=name) for name, chart in self.charts().items()]

    def to_json(self) -> list[JSON]:
        """Return the results as plain JSON, one object per policy."""
        return [{**result.to_json(), "orders": self.plan.options.orders} for result in self.results]

    def plot(self, policy: str | None = None) -> Picture:
        """Return the chart of ratings against systems found, or the chart of the weights of one policy."""
        if policy is None:
            return Picture(effort_chart(self.results))
        named = {result.policy: result for result in self.results}
        if policy not in named:
            raise UnknownName("policy", policy, named, owner="this result")
        return Picture(weights_chart(named[policy]))

    def charts(self) -> dict[str, Chart]:
        """Return all charts by file name, without suffix."""
        return {_file_name(result): weights_chart(result) for result in self.results} | {
            "effort": effort_chart(self.results)
        }

    def write(self, folder: str | Path) -> Path:
        """Write all charts, and the trace of the first run of each policy. An existing trace is replaced."""
        folder = Path(folder)
        for result in self.results:
            self._write_trace(result, folder / f"{_file_name(result)}.jsonl")
        for name, chart in self.charts().items():
            Picture(chart).save(folder / f"{name}.png")
        return folder

    def _write_trace(self, result: PolicyResult, path: Path) -> None:
        steps = result.history.steps or self.plan.result(result.policy, trace=True).history.steps
        path.unlink(missing_ok=True)
        config = self.plan.header_config() | {"policy": result.policy}
        header = Header(config, self.plan.options.seed, {"mtloop": __version__})
        with TraceWriter(path, header) as writer:
            for step in steps:
                writer.write(step)


def _file_name(result: PolicyResult) -> str:
    return re.sub(r"[^\w.=-]+", "-", f"{result.policy}-{result.missing}")
