"""The registry of metrics: metrics by name, and the options of the command line that they use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import entry_points
from pathlib import Path

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.protocols import Metric
from mtloop.core.types import Step
from mtloop.metrics.adaptation import Recall, WordSet, parse_recall
from mtloop.metrics.base import Additive
from mtloop.metrics.effort import HTER, KSMR, WordPrediction
from mtloop.metrics.quality import BLEU, SBLEU, TER, ChrF, RewardBLEU
from mtloop.metrics.regret import MeanReward, Regret
from mtloop.metrics.reliability import RepeatedErrors
from mtloop.metrics.repetition import OutOfVocabulary, RepetitionRate
from mtloop.metrics.slope import Model, Slope
from mtloop.text.files import read_lines
from mtloop.text.moses import Truecaser
from mtloop.text.seen_words import SeenWords
from mtloop.text.stopwords import StopWords
from mtloop.text.units import ContentWords, Subwords, Units

GROUP = "mtloop.metrics"  # the entry-point group through which plugins add metrics


@dataclass(frozen=True)
class MetricOptions:
    """Options of metrics; files are read when a metric first uses them.

    `language` is the target language. Recall uses `stopwords`, `truecase` (training text of the truecaser), `seen`
    (text whose words are not counted) and `spm` (subword model). The OOV rate uses `vocabulary` (training text),
    regret uses `oracle`, and slopes use `block_words`, `resamples` and `seed`.
    """

    language: str | None = None
    stopwords: Path | None = None
    truecase: Path | None = None
    seen: Path | None = None
    spm: Path | None = None
    vocabulary: Path | None = None
    oracle: Sequence[Step] | None = None
    block_words: int = 1000
    resamples: int = 1000
    seed: int = 1
    _cache: dict[str, Metric] = field(default_factory=dict, repr=False)

    @cached_property
    def units(self) -> Units:
        """The units that recall counts: subwords with `spm`, else content words."""
        if self.spm is not None:
            return Subwords(self.spm)
        return ContentWords(self._language, self._stopwords, self._truecaser)

    @cached_property
    def seen_words(self) -> WordSet | None:
        """Words that recall does not count: the units of a text, or a model's hashed training words (.npy)."""
        if self.seen is None:
            return None
        if self.seen.suffix == ".npy":
            return SeenWords.load(self.seen)
        return frozenset().union(*map(self.units, read_lines(self.seen)))

    @cached_property
    def vocabulary_words(self) -> frozenset[str]:
        if self.vocabulary is None:
            raise InputError("the out-of-vocabulary rate needs --vocabulary FILE, the training text")
        return frozenset(word for line in read_lines(self.vocabulary) for word in line.split())

    @property
    def can_count_words(self) -> bool:
        """Whether the options are sufficient to find content words or subwords."""
        return self.spm is not None or self.language is not None or self.stopwords is not None

    @property
    def _language(self) -> str:
        return self.language or "en"

    @property
    def _stopwords(self) -> StopWords:
        if self.stopwords is not None:
            return StopWords.of_words(read_lines(self.stopwords), self.stopwords.name)
        if self.language is None:
            raise InputError("recall of content words needs --lang (for example --lang de) or --stopwords FILE")
        return StopWords.of_language(self.language)

    @property
    def _truecaser(self) -> Truecaser | None:
        return None if self.truecase is None else Truecaser(read_lines(self.truecase), self._language)


METRICS: dict[str, Callable[[MetricOptions], Metric]] = {
    "bleu": lambda o: BLEU(),
    "chrf": lambda o: ChrF(),
    "ter": lambda o: TER(),
    "sbleu": lambda o: SBLEU(),
    "wmt17": lambda o: RewardBLEU(),
    "hter": lambda o: HTER(),
    "ksmr": lambda o: KSMR(),
    "wpa": lambda o: WordPrediction(),
    "rer": lambda o: RepeatedErrors(o.units),
    "rr": lambda o: RepetitionRate(),
    "oov": lambda o: OutOfVocabulary(o.vocabulary_words),
    "reward": lambda o: MeanReward(RewardBLEU()),
    "regret": lambda o: Regret(_oracle(o), RewardBLEU()),
}
PATTERNS = ("r0", "r1", "r01", "r2", "r3", "slope-u", "slope-ca", "slope-u-bleu", "slope-ca-chrf")
"""Examples of further names: any recall (r0, r1, ..., r1+2), and the slopes of any additive metric."""


def make_metrics(names: Iterable[str], options: MetricOptions) -> list[Metric]:
    """Return the metrics in the given order; an unknown name raises UnknownName, which lists the valid names."""
    return [make_metric(name.strip().lower(), options) for name in names]


def make_metric(name: str, options: MetricOptions) -> Metric:
    """Return one metric by name; the same options return the same object again, so nothing is scored twice."""
    if name not in options._cache:
        options._cache[name] = _make(name, options)
    return options._cache[name]


def _make(name: str, options: MetricOptions) -> Metric:
    if (ks := parse_recall(name)) is not None:
        return Recall(options.units, ks, options.seen_words)
    if slope := re.fullmatch(r"slope-(u|ca)(?:-(.+))?", name):
        return _slope(slope[1], slope[2] or "ter", options)
    factory = METRICS.get(name) or plugins().get(name)
    if factory is None:
        raise UnknownName("metric", name, [*METRICS, *plugins(), *PATTERNS])
    return factory(options)


def _slope(model: str, metric_name: str, options: MetricOptions) -> Slope:
    metric = make_metric(metric_name, options)
    if isinstance(metric, Regret):
        raise InputError("a slope is fitted to errors above zero, but regret can be negative; use slope-ca-reward")
    if not isinstance(metric, Additive):
        raise InputError(f"a slope is fitted to an additive metric; {metric_name!r} is not additive")
    slope_model: Model = "u" if model == "u" else "ca"
    return Slope(metric, slope_model, options.block_words, options.resamples, options.seed)


def _oracle(options: MetricOptions) -> Sequence[Step]:
    if options.oracle is None:
        raise InputError("regret needs --oracle TRACE, the run of a system trained on the references")
    return options.oracle


@cache
def plugins() -> dict[str, Callable[[MetricOptions], Metric]]:
    """Return the metrics that other packages register, by name."""
    return {point.name: point.load() for point in entry_points(group=GROUP)}
