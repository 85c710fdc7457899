"""Results of a bandit task in the form of the 2017 paper: Table 3, Figure 1 and Figure 3."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.types import JSON, Step
from mtloop.judges.rewards import corpus_bleu
from mtloop.metrics.base import Additive, Array, references
from mtloop.metrics.curves import cumulative
from mtloop.metrics.regret import MeanReward
from mtloop.metrics.significance import Comparison, paired_bootstrap
from mtloop.report.chart import Axis, Chart, Series
from mtloop.report.result_file import ExperimentResult, Origin
from mtloop.report.table import Table

if TYPE_CHECKING:
    from mtloop.report.notebook import Plot

PAPER_REWARDS = {
    "copy-source": 64_481.8,
    "baseline": 222_066.0,
    "nmt-oracle": 780_580.4,
    "nmt-el": 237_663.0,
    "nmt-el-cv": 212_703.2,
    "smt-baseline": 229_621.7,
    "smt-oracle": 499_578.0,
    "smt-el-cv-adadelta": 214_398.8,
    "smt-el-cv-adam": 225_535.3,
    "smt-szo-cv-adam": 208_464.7,
    "wnmt-el": 115_098.0,
}  # cumulative rewards over 1,297,974 sentences; the baseline is the subword system BNMT-static
STATIC_SYSTEMS = {"smt": "smt-baseline", "limsi": "smt-baseline", "wnmt": "wnmt-baseline"}
UNTRAINED = ("copy-source", "lexical")  # methods that start without a trained system


@dataclass(frozen=True, repr=False)
class BanditResults(ExperimentResult):
    """The steps of each method over one stream; `checkpoints` are the index ranges of the held-out block.

    The reward of a translation is `true_reward(text, reference)`, without the noise of a simulated rater; if
    `true_reward` is None, it is the reward in the feedback. Regret is computed against `oracle`, the steps of a system
    trained on the references; without an oracle, against the references themselves, whose reward is 1. `language`, the
    target language, selects the tokeniser of BLEU. `origin` is what `save` writes about the task and the runs.
    """

    systems: Mapping[str, Sequence[Step]]
    checkpoints: Sequence[range] = ()
    oracle: Sequence[Step] = ()
    true_reward: Callable[[str, str], float] | None = None
    language: str | None = None
    resamples: int = 1000
    seed: int = 1
    origin: Origin | None = None

    @property
    def _length(self) -> int:
        return len(next(iter(self.systems.values())))

    @cached_property
    def rewards(self) -> dict[str, Array]:
        return {name: self._reward_rows(steps) for name, steps in self.systems.items()}

    def _reward_rows(self, steps: Sequence[Step]) -> Array:
        reward = self.true_reward
        if reward is None:
            return MeanReward().rows(steps)
        targets = zip(steps, references(steps), strict=True)
        return np.array([(max(reward(step.proposal.text, one) for one in refs), 1.0) for step, refs in targets])

    def static(self, method: str) -> str | None:
        """Return the static system that the method starts from; None if it did not take part."""
        name = STATIC_SYSTEMS.get(method.split("-")[0], "baseline")
        return name if name in self.systems and method not in (name, *UNTRAINED) else None

    def comparison(self, method: str) -> Comparison | None:
        """Compare the method's mean reward with that of its static system, on the same sentences."""
        static = self.static(method)
        if static is None:
            return None
        return paired_bootstrap(MeanReward(), self.rewards[method], self.rewards[static], self.resamples, self.seed)

    def text(self) -> str:
        return f"{self.table}\n"

    @cached_property
    def table(self) -> Table:
        """The cumulative rewards, as in Table 3 of the 2017 paper, with columns for what it shows in figures only."""
        rows = [self._row(name) for name in self.systems]
        headers = ["method", "cumulative reward", "mean", "against static", "95 % interval", "paper", "regret"]
        headers += ["held-out first", "last", "worst"] if self.checkpoints else []
        return Table(headers, [row.cells() for row in rows], [row.record() for row in rows], notes=self._notes())

    def _row(self, name: str) -> _Row:
        rewards = self.rewards[name][:, 0]
        total = float(rewards.sum())
        regret = float(self.regret(name)[-1])
        relative = self._relative(name)
        return _Row(name, total, total / len(rewards), *relative, _published(name), regret, self._held_out_range(name))

    def _relative(self, name: str) -> tuple[float, float, float]:
        """Return the difference and its interval, in per cent of the static system's reward; NaN if there is none."""
        comparison, static = self.comparison(name), self.static(name)
        start = self.rewards[static][:, 0].mean() if static else 0.0
        if comparison is None or not start:
            return math.nan, math.nan, math.nan
        low, high = comparison.interval
        return 100 * comparison.difference / start, 100 * low / start, 100 * high / start

    def _held_out_range(self, name: str) -> dict[str, float]:
        """Return the mean reward of the held-out block at the first, the last and the worst checkpoint."""
        if not self.checkpoints:
            return {}
        scores = self.held_out(MeanReward(), self.rewards[name])
        return {
            "held_out_first": float(scores[0]),
            "held_out_last": float(scores[-1]),
            "held_out_worst": float(scores.min()),
        }

    def _notes(self) -> list[str]:
        against = "the oracle's translations" if self.oracle else "the references, whose reward is 1"
        return [
            f"{self._length:,} sentences; intervals: paired bootstrap, {self.resamples} resamples, seed {self.seed};",
            f"paper: against its own static system over 1,297,974 sentences; regret: against {against}.",
        ]

    def regret(self, name: str) -> Array:
        """Return the average regret of every prefix of the stream."""
        best = cumulative(MeanReward(), self._oracle_rewards) if self.oracle else 1.0
        return np.asarray(best - cumulative(MeanReward(), self.rewards[name]))

    @cached_property
    def _oracle_rewards(self) -> Array:
        self._check_stream("the oracle", self.oracle[: self._length])
        return self._reward_rows(self.oracle[: self._length])

    def held_out(self, metric: Additive, rows: Array) -> Array:
        """Return the score of the held-out block at each checkpoint, from a system's rows."""
        return metric.aggregate(np.stack([rows[list(checkpoint)].sum(axis=0) for checkpoint in self.checkpoints]))

    def plot(self) -> Plot:
        """Return the figures for a notebook."""
        from mtloop.report.notebook import plot

        return plot(self.charts())

    def charts(self) -> list[Chart]:
        """Return Figure 1 of the 2017 paper and, if there are checkpoints, Figures 3a and 3b."""
        charts = [self._regret_chart()]
        if self.checkpoints:
            bleu = corpus_bleu(self.language)
            rows = {name: bleu.rows(steps) for name, steps in self.systems.items()}
            charts.append(self._held_out_chart(bleu, rows, "held-out-bleu", "Corpus BLEU"))
            charts.append(self._held_out_chart(MeanReward(), self.rewards, "held-out-sentence", "Mean reward"))
        return charts

    def saved_tables(self) -> dict[str, Table]:
        """The table that `save` writes."""
        return {"rewards": self.table}

    def saved_charts(self) -> list[Chart]:
        """The charts that `save` writes."""
        return self.charts()

    def _regret_chart(self) -> Chart:
        series = [self._regret_series(name, number) for number, name in enumerate(self.systems)]
        return Chart(
            name="regret",
            title="Average regret so far",
            x=Axis("sentences (logarithmic)", unit="sentence", log=True, ticks=_decades(self._length)),
            y=Axis("average regret (lower is better)"),
            series=tuple(series),
        )

    def _regret_series(self, name: str, number: int) -> Series:
        curve = self.regret(name)
        shown = np.unique(np.geomspace(1, len(curve), min(len(curve), 400)).round().astype(np.intp)) - 1
        return Series(name, (shown + 1).astype(float), curve[shown], number)

    def _held_out_chart(self, metric: Additive, rows: Mapping[str, Array], slug: str, heading: str) -> Chart:
        x = np.array([checkpoint.start for checkpoint in self.checkpoints], dtype=float)
        series = [Series(name, x, self.held_out(metric, rows[name]), number) for number, name in enumerate(rows)]
        return Chart(
            name=slug,
            title=f"{heading} on the held-out block",
            x=Axis("sentences before the checkpoint", unit="sentence"),
            y=Axis(f"{heading} (higher is better)"),
            series=tuple(series),
        )

    def __post_init__(self) -> None:
        for name, steps in self.systems.items():
            self._check_stream(name, steps)

    def _check_stream(self, name: str, steps: Sequence[Step]) -> None:
        """Raise InputError if the sources differ; ids may differ, because a service gives each participant new ids."""
        first, expected = next(iter(self.systems.items()))
        if [step.proposal.segment.source for step in steps] != [step.proposal.segment.source for step in expected]:
            raise InputError(f"{first} and {name} saw different streams: {len(expected)} and {len(steps)} sentences")


@dataclass(frozen=True)
class _Row:
    """The numbers of one method; differences are in per cent of the static system's reward, NaN if there is none."""

    method: str
    cumulative_reward: float
    mean: float
    against_static: float
    low: float
    high: float
    paper: float
    regret: float
    held_out: Mapping[str, float]

    def record(self) -> dict[str, JSON]:
        return {**{name: value for name, value in vars(self).items() if name != "held_out"}, **self.held_out}

    def cells(self) -> list[str]:
        interval = "-" if math.isnan(self.low) else f"{self.low:+.1f} to {self.high:+.1f} %"
        reward = [f"{self.cumulative_reward:,.1f}", f"{self.mean:.4f}"]
        relative = [_per_cent(self.against_static), interval, _per_cent(self.paper)]
        return [self.method, *reward, *relative, *(f"{value:.4f}" for value in (self.regret, *self.held_out.values()))]


def _per_cent(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:+.1f} %"


def _published(name: str) -> float:
    """Return the difference in the paper, in per cent of the static system's reward; NaN if it is not in the paper."""
    static = STATIC_SYSTEMS.get(name.split("-")[0], "baseline")
    if name not in PAPER_REWARDS or static not in PAPER_REWARDS or name in (static, *UNTRAINED):
        return math.nan
    return 100 * (PAPER_REWARDS[name] / PAPER_REWARDS[static] - 1)


def _decades(length: int) -> tuple[float, ...]:
    """Return 1, 10, 100, ... up to the length of the stream.

    >>> _decades(2500)
    (1.0, 10.0, 100.0, 1000.0)
    """
    return tuple(10.0**power for power in range(len(str(length))))
