"""Which metrics are computed, with which options: what `mtloop score`, `mtloop report` and `mtloop.score` share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.core.log import logger
from mtloop.core.protocols import Metric
from mtloop.core.ranges import check_at_least
from mtloop.core.types import Step
from mtloop.data.formats.glossary_files import read_glossary
from mtloop.experiments.learned_scores import Align, LearnedScores, Systems
from mtloop.experiments.systems import SystemFiles, read_steps
from mtloop.metrics.curves import has_source
from mtloop.metrics.effort import KSMR, WordPrediction
from mtloop.metrics.evaluation import Evaluation
from mtloop.metrics.registry import COLLATERAL, WITH_BASELINE, MetricOptions, make_metrics
from mtloop.metrics.slope import Slope
from mtloop.text.glossary import Glossary
from mtloop.text.tokenisers import FAIR_SHARE, MAJORITY, lacks_spaces

QUALITY = ("bleu", "chrf", "ter", "sbleu")
LEARNING = ("r0", "r1", "r01")
SLOPES = ("slope-u", "slope-ca")
SOURCE_METRICS = ("rr", "oov")  # computed on the source text
SOURCE_WORDS = (*SOURCE_METRICS, *WITH_BASELINE)  # these count or compare words of the source text
TERMS = "terms"  # finds the terms of the source text
_SPLIT_AT_SPACES = re.compile(r"tok:(13a|intl|none|moses-[a-z]+|tercom(?!.*asian:yes))(\||$)")
"""A signature with a tokeniser that finds no words in text without spaces."""


@dataclass(frozen=True, kw_only=True)
class Measures:
    """The metrics and their options; see `MetricOptions` for those that are not explained here.

    `names` are the metrics (None: a choice that fits the options); learned metrics are added to them. `slopes` adds the
    slopes of TER, unless `names` has a slope or they cannot be computed. `collateral` adds near-better, near-worse and
    flips where a system is compared with a baseline, with source text and references. Without `names`, recall is left
    out if there is no stop list for the language.
    """

    names: Sequence[str] | None = None
    language: str | None = None
    source_language: str | None = None
    tokenize: str | None = None
    stopwords: Path | None = None
    truecase: Path | None = None
    seen: Path | None = None
    spm: Path | None = None
    vocabulary: Path | None = None
    oracle: Path | None = None
    glossary: Path | None = None
    block_words: int = 1000
    resamples: int = 1000
    seed: int = 1
    learned: LearnedScores = field(default_factory=LearnedScores)
    slopes: bool = False
    collateral: bool = False

    def prepare(self, *, has_baseline: bool) -> None:
        """Raise an error for a wrong name or option, or a missing package; call it before the systems are read."""
        check_at_least(10, resamples=self.resamples)
        check_at_least(1, block_words=self.block_words)
        if self.spm and (self.stopwords or self.truecase):
            raise InputError("--spm uses neither a stop list nor a truecaser; leave out --stopwords and --truecase")
        names = [*self._names, *(SLOPES if self._adds_slopes else ())]
        if not names:
            raise InputError("no metric to compute; name at least one, for example bleu")
        make_metrics((name for name in names if not (has_baseline and name in WITH_BASELINE)), self.options)

    @cached_property
    def options(self) -> MetricOptions:
        return MetricOptions(
            language=self.language,
            source_language=self.source_language,
            tokenize=self.tokenize,
            stopwords=self.stopwords,
            truecase=self.truecase,
            seen=self.seen,
            spm=self.spm,
            vocabulary=self.vocabulary,
            oracle=read_steps(self.oracle) if self.oracle else None,
            glossary=self._glossary,
            block_words=self.block_words,
            resamples=self.resamples,
            seed=self.seed,
            given=self.learned.metrics(),
        )

    @property
    def _glossary(self) -> Glossary | None:
        if self.glossary is None:
            return None
        return read_glossary(self.glossary, self.source_language or "", self.language or "")

    def metrics(self, systems: Systems, baseline: str | None = None) -> list[Metric]:
        """Return the metrics to compute on these systems; raise InputError if one of them cannot be computed."""
        self.prepare(has_baseline=baseline is not None)
        options = self.options if baseline is None else self.options.with_baseline(systems[baseline])
        metrics = make_metrics([*self._names, *self._added_names(systems, baseline)], options)
        _check_source(metrics, systems)
        _check_blocks(metrics, systems, self.options)
        return metrics

    def evaluate(self, systems: Systems, baseline: str | None = None, align: Align | None = None) -> Evaluation:
        """Return the evaluation of the systems. The scores of learned metrics are read or computed now.

        `align` matches the scores of a file with the segments, if their numbers differ.
        """
        metrics = self.metrics(systems, baseline)
        counting, warnings = self.options.block_counting, list(self._warnings(metrics, systems))
        evaluation = Evaluation(  # checks the streams
            systems, metrics, baseline, self.resamples, self.seed, counting, warnings
        )
        for warning in warnings:
            logger.warning(warning)
        return replace(evaluation, systems=self.learned.add_to(systems, align))

    @property
    def _names(self) -> list[str]:
        """The names of the metrics; learned metrics, and terms with a glossary, are added where they are not named."""
        quality = QUALITY + LEARNING if self.options.can_count_words else QUALITY
        names = [name.strip().lower() for name in (quality if self.names is None else self.names)]
        added = [*self.options.given, *([TERMS] if self.glossary else [])]
        return names + [name for name in added if name not in names]

    @property
    def _adds_slopes(self) -> bool:
        return self.slopes and not any(name.strip().lower().startswith("slope-") for name in self.names or ())

    def _warnings(self, metrics: Sequence[Metric], systems: Systems) -> Iterator[str]:
        if self.names is None and self.options.lacks_stopwords:
            problem = f"there is no stop list for language {self.language!r}"
            yield f"{', '.join(LEARNING)} are left out: {problem}; give one with --stopwords FILE"
        splitting = [metric.name for metric in metrics if _splits_at_spaces(metric)]
        share = MAJORITY if self.language else FAIR_SHARE
        if splitting and lacks_spaces(_references(next(iter(systems.values()))), share):
            problem = "the references have text without spaces between words"
            yield f"{problem}, so these scores mean little: {', '.join(splitting)}; {self._advice_on_spaces}"

    @property
    def _advice_on_spaces(self) -> str:
        """What makes the scores meaningful; only a tokeniser that splits at spaces must be left out."""
        remove = f"leave out --tokenize {self.tokenize}" if _SPLIT_AT_SPACES.match(f"tok:{self.tokenize}") else ""
        if self.language:
            return f"check --target-lang {self.language}" if self.options.has_spaces else remove
        return ", and ".join(filter(None, ["give the language, such as --target-lang ja", remove]))

    def _added_names(self, systems: Systems, baseline: str | None) -> Iterator[str]:
        """Yield the names of added metrics that can be computed on these systems."""
        if not (self._adds_slopes or self.collateral):
            return
        problem = _block_problem(systems, self.options)
        if problem and self._adds_slopes:
            logger.warning(f"the slopes are left out: {problem}")
        if problem or not all(step.references for steps in systems.values() for step in steps):
            return
        yield from SLOPES if self._adds_slopes else ()
        if self.collateral and baseline is not None and len(systems) > 1 and any(map(has_source, systems.values())):
            yield from (name for name in COLLATERAL if name not in self._names)


def evaluate_files(files: SystemFiles, measures: Measures) -> Evaluation:
    """Read the systems and return their evaluation. Wrong metrics are found before the systems are read.

    The languages that the data declares count where none is given.
    """
    source, target = files.declared_languages
    source, target = measures.source_language or source, measures.language or target
    measures = replace(measures, source_language=source, language=target)
    measures.prepare(has_baseline=files.baseline is not None)
    return measures.evaluate(files.systems(), files.baseline_name, files.align if files.data else None)


def _check_source(metrics: Sequence[Metric], systems: Systems) -> None:
    on_source = [metric.name for metric in metrics if metric.name in (*SOURCE_WORDS, TERMS)]
    if on_source and not any(map(has_source, systems.values())):
        raise InputError(f"metric {on_source[0]} needs the source text; give it with --src FILE")


def _check_blocks(metrics: Sequence[Metric], systems: Systems, options: MetricOptions) -> None:
    """Raise InputError if a metric would count a sentence without spaces as one word."""
    counting = [metric.name for metric in metrics if isinstance(metric, Slope) or metric.name in SOURCE_WORDS]
    if counting and (problem := _block_problem(systems, options)):
        raise InputError(f"metric {counting[0]} counts words, but {problem}")


def _block_problem(systems: Systems, options: MetricOptions) -> str:
    """Return why the words of blocks cannot be counted; empty if they can."""
    steps = next(iter(systems.values()))
    if has_source(steps):
        texts: Iterable[str] = (step.proposal.segment.source for step in steps)
        side, option, language = "source text has", "--source-lang", options.source_language
        known = options.block_counting.source
    else:
        texts, side, option, language = _references(steps), "references have", "--target-lang", options.language
        known = options.block_counting.reference
    if known is not None or not lacks_spaces(texts, MAJORITY):
        return ""
    advice = f"check {option} {language}" if language else f"give the language with {option}, such as {option} ja"
    return f"the {side} no spaces between words; {advice}"


def _splits_at_spaces(metric: Metric) -> bool:
    """Whether a metric finds the words of the translation at its spaces."""
    if isinstance(metric, KSMR | WordPrediction):
        return metric.spaces
    signature = "" if metric.name in SOURCE_METRICS else getattr(metric, "signature", "")
    return _SPLIT_AT_SPACES.search(signature) is not None


def _references(steps: Sequence[Step]) -> Iterable[str]:
    return (step.references[0] for step in steps if step.references)
