"""What `score` and `report` have in common: which systems, and how to measure them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mtloop.core.errors import InputError
from mtloop.experiments.systems import Files, read_steps

if TYPE_CHECKING:
    from mtloop.core.protocols import Metric
    from mtloop.metrics.evaluation import Evaluation
    from mtloop.metrics.registry import MetricOptions

F = TypeVar("F", bound=Callable[..., Any])
QUALITY = ("bleu", "chrf", "ter", "sbleu")
LEARNING = ("r0", "r1", "r01")
ABOUT_SOURCES = ("rr", "oov")
PATH = click.Path(path_type=Path)

_FILES = (
    click.argument("traces", nargs=-1, type=PATH),
    click.option(
        "--ref", "refs", multiple=True, type=PATH, help="References, a line a segment; again for a further reference."
    ),
    click.option("--hyp", "hyps", multiple=True, type=PATH, help="What a system said; again for a further system."),
    click.option("--src", type=PATH, help="The source text, a line a segment; slopes cut blocks by its words."),
    click.option(
        "--data",
        type=PATH,
        help="Source and reference in one file (.tsv .csv .tmx .xlf .xliff .po .mo, also .gz .xz .zst), "
        "in place of --src and --ref; without --hyp, its column `mt` is the system.",
    ),
    click.option("--columns", default="", metavar="source=A,target=B", help="Names of the columns in --data."),
    click.option("--baseline", type=PATH, help="A trace or hypothesis file to compare the others with."),
)
_MEASURES = (
    click.option("--lang", "language", metavar="CODE", help="Target language; decides what a content word is."),
    click.option("--metrics", "names", metavar="A,B,...", help="Default: bleu,chrf,ter,sbleu; with --lang r0,r1,r01."),
    click.option("--stopwords", type=PATH, help="A stop list of your own, a word a line."),
    click.option("--truecase", type=PATH, help="A text to train the truecaser on; without one, case is kept."),
    click.option(
        "--seen",
        type=PATH,
        help="Training text, or a model's seen-words.npy: recall counts only words that are not in it.",
    ),
    click.option("--spm", type=PATH, help="A SentencePiece model: recall of subwords, without a stop list."),
    click.option("--vocabulary", type=PATH, help="Training text for the out-of-vocabulary rate (metric oov)."),
    click.option("--oracle", type=PATH, help="Trace of an oracle system, for metric regret."),
    click.option(
        "--block-words", default=1000, show_default=True, type=click.IntRange(min=1), help="Words a block, for slopes."
    ),
    click.option(
        "--samples", default=1000, show_default=True, type=click.IntRange(min=10), help="Resamples for intervals."
    ),
    click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of the resampling."),
)


def input_options(command: F) -> F:
    """Give a command the options above; it passes them on to `Inputs`."""
    for option in reversed(_FILES + _MEASURES):
        command = option(command)
    return command


@dataclass(frozen=True)
class Inputs:
    """The command line, as given."""

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
    samples: int = 1000
    seed: int = 1

    def evaluation(self) -> Evaluation:
        """Read everything and put it together; no score is computed yet."""
        from mtloop.metrics.evaluation import Evaluation

        metrics = self.metrics()
        files = Files(self.traces, self.refs, self.hyps, self.src, self.data, self.columns, self.baseline)
        systems = files.systems()
        needy = [metric.name for metric in metrics if metric.name in ABOUT_SOURCES]
        if needy and not any(step.proposal.segment.source for steps in systems.values() for step in steps):
            raise InputError(f"metric {needy[0]} is about the source, and none is there; give it with --src FILE")
        if files.left_out:
            click.echo(f"mtloop: {files.left_out}", err=True)
        return Evaluation(systems, metrics, files.baseline_name, self.samples, self.seed)

    def metrics(self) -> list[Metric]:
        """What is measured."""
        from mtloop.metrics.registry import make_metrics

        if self.spm and (self.stopwords or self.truecase):
            raise InputError("--spm counts all subwords as they are; leave out --stopwords and --truecase")
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
            samples=self.samples,
            seed=self.seed,
        )

    def metric_names(self, options: MetricOptions) -> Sequence[str]:
        if self.names is None:
            return QUALITY + LEARNING if options.has_words else QUALITY
        names = [name.strip() for name in self.names.split(",") if name.strip()]
        if not names:
            raise InputError("--metrics names no metric; say, --metrics bleu,ter,r1")
        return names
