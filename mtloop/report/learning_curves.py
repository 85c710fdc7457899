"""The 2012 paper's table and figures for our systems: slopes, scores of blocks, and backward reliability."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mtloop.core.types import JSON, Score
from mtloop.metrics.base import Additive, Array
from mtloop.metrics.curves import block_sums, count_blocks_without_model
from mtloop.metrics.evaluation import Evaluation
from mtloop.metrics.quality import BLEU, TER
from mtloop.metrics.reliability import HeldOutScores, Reliability
from mtloop.metrics.significance import Comparison
from mtloop.metrics.slope import Model, Slope
from mtloop.metrics.titles import title
from mtloop.report.chart import Axis, Chart, Series
from mtloop.report.evaluation_charts import style_numbers
from mtloop.report.result import Result
from mtloop.report.short_streams import NEEDED_BLOCKS, block_count, too_few_blocks
from mtloop.report.table import Table

if TYPE_CHECKING:
    from mtloop.report.notebook import Plot

# Table 2 of Bertoldi et al. (2012), English-Italian, TER, scrambled sentences
PAPER_SLOPES: Mapping[str, Mapping[Model, float]] = {
    "smt-baseline": {"u": 100.4, "ca": 100.3},
    "smt-adapting": {"u": 96.9, "ca": 97.7},
    "smt-foreground": {"u": 96.2, "ca": 96.5},
    "smt-foreground-unfair": {"u": 107.2, "ca": 107.4},
}
MODELS: tuple[Model, Model] = ("u", "ca")
SNAPSHOTS = ("baseline", "ada", "final")


@dataclass(frozen=True, repr=False)
class LearningCurves(Result):
    """The paper's table and figures for one evaluation and, if it was measured, for backward reliability."""

    evaluation: Evaluation
    words: int = 1000
    reliability: Mapping[str, Reliability] = field(default_factory=dict)  # by system

    @cached_property
    def metrics(self) -> list[Additive]:
        """TER and BLEU: those of the evaluation, whose rows are already computed, else new ones."""
        known = {metric.name: metric for metric in self.evaluation.additive}
        return [known.get("ter") or TER(), known.get("bleu") or BLEU()]

    def slopes(self) -> Iterator[tuple[str, dict[Model, Score]]]:
        """Yield the percentage slopes of TER for each system."""
        ter, resamples, seed = self.metrics[0], self.evaluation.resamples, self.evaluation.seed
        fits = {model: Slope(ter, model, self.words, resamples, seed) for model in MODELS}
        for system in self.evaluation.systems:
            yield system, {model: self.evaluation.score(system, slope) for model, slope in fits.items()}

    @cached_property
    def table(self) -> Table:
        """The paper's Table 2 beside our values, one line per system: S of both models, with 95 % intervals."""
        slopes = list(self.slopes())
        return Table(
            headers=["S of TER", *(f"{m.upper()} {column}" for m in MODELS for column in ("2012", "here", "95 %"))],
            cells=[[system, *(cell for m in MODELS for cell in _cells(system, m, s[m]))] for system, s in slopes],
            records=[_record(system, scores) for system, scores in slopes],
            title="Table 2: the published slopes (English-Italian) and ours",
            notes=_short_stream_notes([score for _, scores in slopes for score in scores.values()]),
        )

    def plot(self) -> Plot:
        """Return the figures for a notebook."""
        from mtloop.report.notebook import plot

        return plot(self.charts())

    def charts(self) -> Iterator[Chart]:
        """Yield Figures 1 to 5, for both TER and BLEU."""
        pair = [system for system in self.evaluation.systems if not system.startswith("smt-foreground")][:2]
        for metric in self.metrics:
            blocks = {system: self._block_scores(system, metric) for system in pair}
            yield self._block_chart(1, f"{title(metric.name)} of each block", metric, blocks)
            yield from self._difference_charts(metric, pair)
            cumulative = {system: self._cumulative_scores(system, metric) for system in self.evaluation.systems}
            heading = f"{title(metric.name)} of all blocks so far"
            yield self._block_chart(3, heading, metric, {system: cumulative[system] for system in pair})
            yield self._block_chart(4, f"{heading}, all systems", metric, cumulative)
            for system, reliability in self.reliability.items():
                yield _held_out_chart(system, reliability, metric)

    def _difference_charts(self, metric: Additive, pair: Sequence[str]) -> Iterator[Chart]:
        if len(pair) == 2:
            first, second = (self._block_scores(system, metric) for system in pair)
            heading = f"{title(metric.name)} of each block minus that of {pair[0]}"
            yield self._block_chart(2, heading, metric, {pair[1]: second - first}, horizontal_line=0.0)

    def _block_scores(self, system: str, metric: Additive) -> Array:
        sums, skipped = self._block_sums(system, metric)
        return np.concatenate([np.full(skipped, np.nan), metric.aggregate(sums)])

    def _cumulative_scores(self, system: str, metric: Additive) -> Array:
        sums, skipped = self._block_sums(system, metric)
        return np.concatenate([np.full(skipped, np.nan), metric.aggregate(np.cumsum(sums, axis=0))])

    def _block_sums(self, system: str, metric: Additive) -> tuple[Array, int]:
        """Return the sums of the blocks for which the system had a model, and the number of blocks before them."""
        ends = self.evaluation.block_ends(self.words)
        skipped = count_blocks_without_model(self.evaluation.systems[system], ends)
        return block_sums(self.evaluation.rows(system, metric), ends)[skipped:], skipped

    def _block_chart(
        self,
        number: int,
        heading: str,
        metric: Additive,
        curves: Mapping[str, Array],
        horizontal_line: float | None = None,
    ) -> Chart:
        numbers = style_numbers(self.evaluation)
        length = len(self.evaluation.block_ends(self.words))
        x = np.arange(1, length + 1, dtype=float) * self.words
        return Chart(
            name=f"figure-{number}-{metric.name}",
            title=f"Figure {number}: {heading}",
            x=Axis("source words so far", unit="words"),
            y=Axis(title(metric.name)),
            series=tuple(Series(system, x, values, numbers[system]) for system, values in curves.items()),
            horizontal_line=horizontal_line,
        )

    def held_out_table(self, system: str) -> Table:
        """Return one line per document: TER and BLEU of its last third before learning, right after, and at the end."""
        columns = [f"{title(metric.name)} {snapshot}" for metric in self.metrics for snapshot in SNAPSHOTS]
        rows = [(scores[0].document, _snapshot_scores(scores)) for scores in self._held_out_scores(system)]
        return Table(
            headers=["document", *columns],
            cells=[[document, *map(str, scores)] for document, scores in rows],
            records=[_held_out_record(document, columns, scores) for document, scores in rows],
            title=f"Figure 5: {system}, last thirds of the documents, held out from learning",
            notes=[self.verdict(system)],
        )

    def _held_out_scores(self, system: str) -> Iterator[tuple[HeldOutScores, ...]]:
        """Yield the scores of each document, one element per metric."""
        yield from zip(*(self.reliability[system].scores(metric) for metric in self.metrics), strict=True)

    def compare_final_with_ada(self, system: str) -> dict[str, Comparison]:
        """Return the backward transfer for each metric, with interval and p-value over documents."""
        resamples, seed = self.evaluation.resamples, self.evaluation.seed
        reliability = self.reliability[system]
        return {m.name: reliability.compare_final_with_ada(m, resamples, seed) for m in self.metrics}

    @cached_property
    def forgetting(self) -> Table:
        """Mean scores of the last thirds before learning, right after and at the end, and the backward transfer."""
        rows = [row for system in self.reliability for row in self._forgetting_rows(system)]
        return Table(
            headers=["method", "metric", *SNAPSHOTS, "backward transfer", "95 %", "p"],
            cells=[list(map(_cell, row.values())) for row in rows],
            records=rows,
            notes=[
                "means over documents: baseline before learning, ada right after the document, final after all of them",
                "backward transfer: final minus ada; above 0 is better for each metric; interval and p: over documents",
            ],
            text_columns=2,
        )

    def _forgetting_rows(self, system: str) -> Iterator[dict[str, JSON]]:
        compared = self.compare_final_with_ada(system)
        for metric in self.metrics:
            scores = self.reliability[system].scores(metric)
            means = {one: float(np.nanmean([getattr(score, one).value for score in scores])) for one in SNAPSHOTS}
            row: dict[str, JSON] = {"method": system, "metric": title(metric.name), **means}
            comparison = compared[metric.name]
            row |= {"backward transfer": comparison.difference, "interval": list(comparison.interval)}
            yield row | {"p": comparison.p_value}

    def verdict(self, system: str) -> str:
        """Return the backward transfer: how much better `final` is than `ada` on average; below 0, it forgot."""
        parts, compared = [], self.compare_final_with_ada(system)
        for metric in self.metrics:
            comparison = compared[metric.name]
            low, high = comparison.interval
            found = f"{comparison.difference:+.2f} ({low:+.2f} to {high:+.2f}, p = {comparison.p_value:.3f})"
            parts.append(f"{title(metric.name)} {found}")
        return f"backward transfer, mean over documents with 95 % interval, above 0 is better: {'; '.join(parts)}"

    def text(self) -> str:
        """Return all tables as plain text."""
        return "\n\n".join(map(str, [self.table, *map(self.held_out_table, self.reliability)])) + "\n"


def _cell(value: JSON) -> str:
    if isinstance(value, list):
        return " to ".join(f"{bound:+.2f}" for bound in value)
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _held_out_chart(system: str, reliability: Reliability, metric: Additive) -> Chart:
    scores = reliability.scores(metric)
    x = np.arange(1, len(scores) + 1, dtype=float)
    series = [
        Series(snapshot, x, np.array([getattr(score, snapshot).value for score in scores]), number, mode="points")
        for number, snapshot in enumerate(SNAPSHOTS)
    ]
    return Chart(
        name=f"figure-5-{system}-{metric.name}",
        title=f"Figure 5: {system}, {title(metric.name)} of held-out thirds",
        x=Axis("document", unit="document", ticks=tuple(x.tolist())),
        y=Axis(title(metric.name)),
        series=tuple(series),
        caption="baseline: before learning; ada: right after the document; final: after all documents. "
        + "; ".join(f"{number}: {score.document}" for number, score in enumerate(scores, start=1)),
    )


def _snapshot_scores(scores: Sequence[HeldOutScores]) -> list[Score]:
    return [getattr(held_out, snapshot) for held_out in scores for snapshot in SNAPSHOTS]


def _held_out_record(document: str, columns: Sequence[str], scores: Sequence[Score]) -> dict[str, JSON]:
    values = {column: score.value for column, score in zip(columns, scores, strict=True)}
    return {"document": document, **values}


def _short_stream_notes(scores: Sequence[Score]) -> list[str]:
    """Return a note if even the longest slope has too few blocks."""
    blocks = max(block_count(score) for score in scores)
    return [too_few_blocks(blocks)] if blocks < NEEDED_BLOCKS else []


def _cells(system: str, model: Model, score: Score) -> tuple[str, str, str]:
    """Return the published slope, ours, and the interval of ours."""
    published = f"{PAPER_SLOPES[system][model]:.1f}" if system in PAPER_SLOPES else "-"
    if block_count(score) < NEEDED_BLOCKS:
        return published, "-", "-"
    if not score.defined or score.interval is None:
        return published, str(score.detail.get("verdict", "-")), "-"
    low, high = score.interval
    return published, f"{score.value:.1f}", f"{low:.1f} to {high:.1f}"


def _record(system: str, scores: Mapping[Model, Score]) -> dict[str, JSON]:
    record: dict[str, JSON] = {"system": system}
    for model, score in scores.items():
        low, high = score.interval or (math.nan, math.nan)
        record[f"{model}_2012"] = PAPER_SLOPES.get(system, {}).get(model, math.nan)
        record |= {model: score.value, f"{model}_low": low, f"{model}_high": high}
    return record
