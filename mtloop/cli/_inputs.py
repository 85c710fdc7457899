"""The systems and metrics that `score` and `report` evaluate, from command-line options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mtloop.cli._options import split_names
from mtloop.core.errors import InputError
from mtloop.experiments.systems import SystemFiles, read_steps

if TYPE_CHECKING:
    from mtloop.core.protocols import Metric
    from mtloop.metrics.evaluation import Evaluation
    from mtloop.metrics.registry import MetricOptions

QUALITY = ("bleu", "chrf", "ter", "sbleu")
LEARNING = ("r0", "r1", "r01")
SOURCE_METRICS = ("rr", "oov")  # computed on the source text


@dataclass(frozen=True)
class Inputs:
    """The values of `input_options`."""

    traces: tuple[Path, ...] = ()
    refs: tuple[Path, ...] = ()
    hyps: tuple[Path, ...] = ()
    src: Path | None = None
    data: Path | None = None
    columns: str = ""
    baseline: Path | None = None
    language: str | None = None
    names: str | None = None
    stopwords: Path | None = None
    truecase: Path | None = None
    seen: Path | None = None
    spm: Path | None = None
    vocabulary: Path | None = None
    oracle: Path | None = None
    block_words: int = 1000
    resamples: int = 1000
    seed: int = 1

    def evaluation(self) -> Evaluation:
        """Read the files and build the evaluation. Scores are computed later."""
        from mtloop.metrics.evaluation import Evaluation

        metrics = self.metrics()
        files = SystemFiles(self.traces, self.refs, self.hyps, self.src, self.data, self.columns, self.baseline)
        systems = files.systems()
        on_source = [metric.name for metric in metrics if metric.name in SOURCE_METRICS]
        if on_source and not any(step.proposal.segment.source for steps in systems.values() for step in steps):
            raise InputError(f"metric {on_source[0]} needs the source text; give it with --src FILE")
        if files.skipped:
            click.echo(f"mtloop: {files.skipped}", err=True)
        return Evaluation(systems, metrics, files.baseline_name, self.resamples, self.seed)

    def metrics(self) -> list[Metric]:
        """The metrics to compute."""
        from mtloop.metrics.registry import make_metrics

        if self.spm and (self.stopwords or self.truecase):
            raise InputError("--spm uses neither a stop list nor a truecaser; leave out --stopwords and --truecase")
        options = self.options()
        return make_metrics(self.metric_names(options), options)

    def options(self) -> MetricOptions:
        from mtloop.metrics.registry import MetricOptions

        return MetricOptions(
            language=self.language,
            stopwords=self.stopwords,
            truecase=self.truecase,
            seen=self.seen,
            spm=self.spm,
            vocabulary=self.vocabulary,
            oracle=read_steps(self.oracle) if self.oracle else None,
            block_words=self.block_words,
            resamples=self.resamples,
            seed=self.seed,
        )

    def metric_names(self, options: MetricOptions) -> Sequence[str]:
        if self.names is None:
            return QUALITY + LEARNING if options.can_count_words else QUALITY
        return split_names(self.names, "--metrics", "metric", "bleu,ter,r1")
