"""The 2012 paper's table and figures, with our systems in them: slopes, blocks, and what is remembered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mtloop.core.types import Score
from mtloop.metrics.base import Additive, Array
from mtloop.metrics.curves import block_sums, without_model
from mtloop.metrics.evaluation import Evaluation
from mtloop.metrics.quality import BLEU, TER
from mtloop.metrics.reliability import Reliability
from mtloop.metrics.significance import Comparison, randomisation
from mtloop.metrics.slope import Model, Slope
from mtloop.metrics.titles import title
from mtloop.report.chart import Axis, Chart, Series
from mtloop.report.evaluation_charts import looks
from mtloop.report.markup import Markup, element, join

# Table 2 of Bertoldi et al. (2012), English-Italian, TER, scrambled sentences
PAPER: Mapping[str, Mapping[Model, float]] = {
    "smt-baseline": {"u": 100.4, "ca": 100.3},
    "smt-adapting": {"u": 96.9, "ca": 97.7},
    "smt-foreground": {"u": 96.2, "ca": 96.5},
    "smt-foreground-unfair": {"u": 107.2, "ca": 107.4},
}
MODELS: tuple[Model, Model] = ("u", "ca")
STANDS = ("baseline", "ada", "final")


@dataclass(frozen=True)
class LearningCurves:
    """Everything the paper shows, of one evaluation and, where it was measured, of backward reliability."""

    evaluation: Evaluation
    words: int = 1000
    reliability: Mapping[str, Reliability] = field(default_factory=dict)  # by system

    @cached_property
    def metrics(self) -> list[Additive]:
        """TER and BLEU: those of the evaluation, whose rows are there already, else new ones."""
        known = {metric.name: metric for metric in self.evaluation.additive}
        return [known.get("ter") or TER(), known.get("bleu") or BLEU()]

    def slopes(self) -> Iterator[tuple[str, dict[Model, Score]]]:
        """The percentage slopes of TER, system by system."""
        ter, samples, seed = self.metrics[0], self.evaluation.samples, self.evaluation.seed
        fits = {model: Slope(ter, model, self.words, samples, seed) for model in MODELS}
        for system in self.evaluation.systems:
            yield system, {model: self.evaluation.score(system, slope) for model, slope in fits.items()}

    def table(self) -> list[list[str]]:
        """The paper's Table 2 beside ours, a system a line: S by both models, with 95 % intervals."""
        return [
            [system, *(cell for model in MODELS for cell in (_paper(system, model), *_ours(scores[model])))]
            for system, scores in self.slopes()
        ]

    def charts(self) -> Iterator[Chart]:
        """Figures 1 to 5, for TER and BLEU each."""
        pair = [system for system in self.evaluation.systems if not system.startswith("smt-foreground")][:2]
        for metric in self.metrics:
            blocks = {system: self._blocks(system, metric) for system in pair}
            yield self._along(1, f"{title(metric.name)} of each block", metric, blocks)
            yield from self._differences(metric, pair)
            so_far = {system: self._so_far(system, metric) for system in self.evaluation.systems}
            what = f"{title(metric.name)} of all blocks so far"
            yield self._along(3, what, metric, {system: so_far[system] for system in pair})
            yield self._along(4, f"{what}, every behaviour", metric, so_far)
            for system, reliability in self.reliability.items():
                yield _held_out(system, reliability, metric)

    def _differences(self, metric: Additive, pair: Sequence[str]) -> Iterator[Chart]:
        if len(pair) == 2:
            first, second = (self._blocks(system, metric) for system in pair)
            what = f"{title(metric.name)} of each block less that of {pair[0]}"
            yield self._along(2, what, metric, {pair[1]: second - first}, level=0.0)

    def _blocks(self, system: str, metric: Additive) -> Array:
        sums, first = self._sums(system, metric)
        return np.concatenate([np.full(first, np.nan), metric.aggregate(sums)])

    def _so_far(self, system: str, metric: Additive) -> Array:
        sums, first = self._sums(system, metric)
        return np.concatenate([np.full(first, np.nan), metric.aggregate(np.cumsum(sums, axis=0))])

    def _sums(self, system: str, metric: Additive) -> tuple[Array, int]:
        """The blocks from the first on that had a model, and how many came before."""
        ends = self.evaluation.ends(self.words)
        first = without_model(self.evaluation.systems[system], ends)
        return block_sums(self.evaluation.rows(system, metric), ends)[first:], first

    def _along(
        self, number: int, what: str, metric: Additive, curves: Mapping[str, Array], level: float | None = None
    ) -> Chart:
        numbers = looks(self.evaluation)
        length = len(self.evaluation.ends(self.words))
        x = np.arange(1, length + 1, dtype=float) * self.words
        return Chart(
            name=f"figure-{number}-{metric.name}",
            title=f"Figure {number}: {what}",
            x=Axis("source words so far", unit="words"),
            y=Axis(title(metric.name)),
            series=tuple(Series(system, x, values, numbers[system]) for system, values in curves.items()),
            level=level,
        )

    def remembered(self, system: str) -> list[list[str]]:
        """A line a document: TER and BLEU of its last third before learning, right after, and at the end."""
        columns = [self.reliability[system].scores(metric) for metric in self.metrics]
        return [
            [row[0].document, *(str(getattr(scores, stand)) for scores in row for stand in STANDS)]
            for row in zip(*columns, strict=True)
        ]

    def forgotten(self, system: str) -> dict[str, Comparison]:
        """`final` against `ada` on all last thirds together, by metric: is the difference more than noise?"""
        ada = [step for held in self.reliability[system].documents for step in held.ada]
        final = [step for held in self.reliability[system].documents for step in held.final]
        samples, seed = self.evaluation.samples, self.evaluation.seed
        return {m.name: randomisation(m, m.rows(final), m.rows(ada), samples, seed) for m in self.metrics}

    def verdict(self, system: str) -> str:
        """Backward reliability in one number: the mean of what `final` gains on `ada`, below zero if it forgot."""
        told, compared = [], self.forgotten(system)
        for metric in self.metrics:
            comparison, moved = compared[metric.name], self.reliability[system].backward_transfer(metric)
            low, high = comparison.interval
            low, high = (low, high) if metric.higher_is_better else (-high, -low)
            p = f"p = {comparison.p_value:.3f}"
            told.append(f"{title(metric.name)} {moved:+.2f} (all segments: {low:+.2f} to {high:+.2f}, {p})")
        return f"backward transfer, mean over documents, above zero is better: {'; '.join(told)}"

    def section(self) -> Markup:
        """The page's part: the tables as text, figures follow."""
        parts = [element("pre", element("code", self.text()))]
        return join([element("h3", "The 2012 paper's measures"), *parts])

    def text(self) -> str:
        """Tables as the terminal shows them."""
        from tabulate import tabulate

        headers = ["S of TER", *(f"{m.upper()} {what}" for m in MODELS for what in ("2012", "here", "95 %"))]
        told = ["Table 2: the published slopes (English-Italian) and ours", tabulate(self.table(), headers)]
        columns = [f"{title(metric.name)} {stand}" for metric in self.metrics for stand in STANDS]
        for system in self.reliability:
            told += ["", f"Figure 5: {system}, last thirds of documents, none of them learned from"]
            told += [tabulate(self.remembered(system), ["document", *columns]), self.verdict(system)]
        return "\n".join(told) + "\n"


def _held_out(system: str, reliability: Reliability, metric: Additive) -> Chart:
    scores = reliability.scores(metric)
    x = np.arange(1, len(scores) + 1, dtype=float)
    series = [
        Series(stand, x, np.array([getattr(score, stand).value for score in scores]), number, mode="points")
        for number, stand in enumerate(STANDS)
    ]
    return Chart(
        name=f"figure-5-{system}-{metric.name}",
        title=f"Figure 5: {system}, {title(metric.name)} of held-out thirds",
        x=Axis("document", unit="document", ticks=tuple(x.tolist())),
        y=Axis(title(metric.name)),
        series=tuple(series),
        caption="baseline: before learning; ada: right after the document; final: after all of them. "
        + "; ".join(f"{number}: {score.document}" for number, score in enumerate(scores, start=1)),
    )


def _paper(system: str, model: Model) -> str:
    return f"{PAPER[system][model]:.1f}" if system in PAPER else "-"


def _ours(score: Score) -> tuple[str, str]:
    if not score.defined or score.interval is None:
        return str(score.detail.get("verdict", "-")), "-"
    low, high = score.interval
    return f"{score.value:.1f}", f"{low:.1f} to {high:.1f}"
