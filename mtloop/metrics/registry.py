"""The registry of metrics: metrics by name, and the options of the command line that they use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import entry_points
from pathlib import Path

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.protocols import Metric
from mtloop.core.types import Step
from mtloop.metrics.adaptation import Recall, WordSet, parse_recall
from mtloop.metrics.base import Additive
from mtloop.metrics.collateral import Flips, LostChanges, NearTER
from mtloop.metrics.curves import BlockWords
from mtloop.metrics.effort import HTER, KSMR, WordPrediction
from mtloop.metrics.given_scores import GivenScores
from mtloop.metrics.glossary_hits import GlossaryHits
from mtloop.metrics.quality import BLEU, SBLEU, TER, ChrF, RewardBLEU
from mtloop.metrics.regret import MeanReward, Regret
from mtloop.metrics.reliability import RepeatedErrors
from mtloop.metrics.repetition import OutOfVocabulary, RepetitionRate, RunningWords
from mtloop.metrics.slope import Model, Slope
from mtloop.text.files import read_lines
from mtloop.text.glossary import Glossary
from mtloop.text.moses import Truecaser
from mtloop.text.seen_words import SeenWords
from mtloop.text.stopwords import StopWords, has_stopwords
from mtloop.text.tokenisers import DEFAULT, Tokeniser, load_tokeniser, tokeniser_name, word_tokeniser_name
from mtloop.text.units import ContentWords, Subwords, Units

GROUP = "mtloop.metrics"  # the entry-point group through which plugins add metrics


@dataclass(frozen=True)
class MetricOptions:
    """Options of metrics; files are read when a metric first uses them.

    `language` is the target language; `tokenize` names a tokeniser of sacreBLEU to use instead of the language's.
    `source_language` is needed to count the words of a source text without spaces. Recall uses `stopwords`, `truecase`
    (training text of the truecaser), `seen` (text whose words are not counted) and `spm` (subword model). The OOV rate
    uses `vocabulary` (training text), regret uses `oracle`, and slopes use `block_words`, `resamples` and `seed`.
    Metric terms uses `glossary`. The metrics of collateral use `baseline`, the steps of a system that does not learn.
    `given` holds the metrics whose scores come from another program, by name.
    """

    language: str | None = None
    source_language: str | None = None
    tokenize: str | None = None
    stopwords: Path | None = None
    truecase: Path | None = None
    seen: Path | None = None
    spm: Path | None = None
    vocabulary: Path | None = None
    oracle: Sequence[Step] | None = None
    baseline: Sequence[Step] | None = None
    glossary: Glossary | None = None
    block_words: int = 1000
    resamples: int = 1000
    seed: int = 1
    given: Mapping[str, GivenScores] = field(default_factory=dict)
    _cache: dict[str, Metric] = field(default_factory=dict, repr=False)

    def with_baseline(self, steps: Sequence[Step]) -> MetricOptions:
        """Return these options with a baseline. Metrics that were made, and need no baseline, are not made again."""
        kept = {name: metric for name, metric in self._cache.items() if name not in WITH_BASELINE}
        return replace(self, baseline=steps, _cache=kept)

    @cached_property
    def tokeniser(self) -> str:
        """The name of the tokeniser of BLEU and its relatives. Raise an error if it is unknown or not installed."""
        return _checked(tokeniser_name(self.language, self.tokenize))

    @cached_property
    def word_tokeniser(self) -> str:
        """The name of the tokeniser that finds the words of a target text without spaces; else "13a"."""
        return _checked(word_tokeniser_name(self.language, self.tokenize))

    @property
    def has_spaces(self) -> bool:
        """Whether the target language separates words by spaces, as far as the options tell."""
        return word_tokeniser_name(self.language, self.tokenize) == DEFAULT

    @cached_property
    def block_counting(self) -> BlockWords:
        """How the words of blocks are counted: between spaces, or by the tokenisers of languages without spaces."""
        names = word_tokeniser_name(self.source_language), word_tokeniser_name(self.language, self.tokenize)
        source, reference = (None if name == DEFAULT else Tokeniser(name) for name in names)
        return BlockWords(source, reference)

    @cached_property
    def source_words(self) -> RunningWords:
        """The running words of the source text."""
        tokeniser = self.block_counting.source
        return RunningWords() if tokeniser is None else RunningWords(tokeniser, tokeniser.signature)

    @cached_property
    def units(self) -> Units:
        """The units that recall counts: subwords with `spm`, else content words."""
        if self.spm is not None:
            return Subwords(self.spm)
        if not self.has_spaces:
            problem = "this language has no spaces between words, so recall (r0, r1, ...) and rer count subwords"
            raise InputError(f"{problem}; give a SentencePiece model with --spm FILE, or leave them out")
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
        return frozenset(word for line in read_lines(self.vocabulary) for word in self.source_words.tokenise(line))

    @property
    def can_count_words(self) -> bool:
        """Whether the options are sufficient to find subwords or content words, which need spaces and a stop list."""
        if self.spm is not None:
            return True
        return self.has_spaces and (self.stopwords is not None or bool(self.language and has_stopwords(self.language)))

    @property
    def lacks_stopwords(self) -> bool:
        """Whether content words cannot be found only because there is no stop list for the language."""
        return self.language is not None and self.has_spaces and not self.can_count_words

    @property
    def _language(self) -> str:
        return self.language or "en"

    @property
    def _stopwords(self) -> StopWords:
        if self.stopwords is not None:
            return StopWords.of_words(read_lines(self.stopwords), self.stopwords.name)
        if self.language is None:
            raise InputError("recall of content words needs --target-lang CODE, such as de, or --stopwords FILE")
        return StopWords.of_language(self.language)

    @property
    def _truecaser(self) -> Truecaser | None:
        return None if self.truecase is None else Truecaser(read_lines(self.truecase), self._language)


METRICS: dict[str, Callable[[MetricOptions], Metric]] = {
    "bleu": lambda o: BLEU(tokenize=o.tokeniser),
    "chrf": lambda o: ChrF(),
    "ter": lambda o: TER(o.word_tokeniser),
    "sbleu": lambda o: SBLEU(o.tokeniser),
    "wmt17": lambda o: RewardBLEU(tokenize=o.tokeniser),
    "hter": lambda o: HTER(o.word_tokeniser),
    "ksmr": lambda o: KSMR(o.has_spaces),
    "wpa": lambda o: WordPrediction(o.has_spaces),
    "rer": lambda o: RepeatedErrors(o.units),
    "rr": lambda o: RepetitionRate(o.source_words),
    "oov": lambda o: OutOfVocabulary(o.vocabulary_words, o.source_words),
    "reward": lambda o: MeanReward(RewardBLEU(tokenize=o.tokeniser)),
    "terms": lambda o: GlossaryHits(_glossary(o)),
    "regret": lambda o: Regret(_oracle(o), RewardBLEU(tokenize=o.tokeniser)),
    "near-better": lambda o: _near_ter(o, worse=False),
    "near-worse": lambda o: _near_ter(o, worse=True),
    "flips": lambda o: Flips(_baseline(o, "flips"), o.block_counting.source),
    "lost-changes": lambda o: LostChanges(_baseline(o, "lost-changes"), o.block_counting.source),
}
COLLATERAL = ("near-better", "near-worse", "flips")  # computed by default where there is a baseline
WITH_BASELINE = (*COLLATERAL, "lost-changes")
PATTERNS = ("r0", "r1", "r01", "r2", "r3", "slope-u", "slope-ca", "slope-u-bleu", "slope-ca-chrf")
"""Examples of further names: any recall (r0, r1, ..., r1+2), and the slopes of any additive metric."""


def is_metric_name(name: str) -> bool:
    """Return whether a metric of mtloop or of a plugin has this name."""
    return name in METRICS or name in plugins() or parse_recall(name) is not None or name.startswith("slope-")


def make_metrics(names: Iterable[str], options: MetricOptions) -> list[Metric]:
    """Return the metrics in the given order; an unknown name raises UnknownName, which lists the valid names."""
    return [make_metric(name.strip().lower(), options) for name in names]


def make_metric(name: str, options: MetricOptions) -> Metric:
    """Return one metric by name; the same options return the same object again, so nothing is scored twice."""
    if name not in options._cache:
        options._cache[name] = _make(name, options)
    return options._cache[name]


def _make(name: str, options: MetricOptions) -> Metric:
    if name in options.given:
        return options.given[name]
    if (ks := parse_recall(name)) is not None:
        return Recall(options.units, ks, options.seen_words)
    if slope := re.fullmatch(r"slope-(u|ca)(?:-(.+))?", name):
        return _slope(slope[1], slope[2] or "ter", options)
    factory = METRICS.get(name) or plugins().get(name)
    if factory is None:
        hint = "give the scores of a learned metric, such as COMET, with --scores or --scorer"
        raise UnknownName("metric", name, [*METRICS, *plugins(), *options.given, *PATTERNS], hint=hint)
    return factory(options)


def _slope(model: str, metric_name: str, options: MetricOptions) -> Slope:
    if metric_name in WITH_BASELINE:
        raise InputError(f"a slope is fitted to errors; {metric_name} compares with a baseline; use slope-ca")
    metric = make_metric(metric_name, options)
    if isinstance(metric, Regret):
        raise InputError("a slope is fitted to errors above zero, but regret can be negative; use slope-ca-reward")
    if isinstance(metric, GivenScores):
        raise InputError(f"a slope is fitted to errors, but the errors of {metric_name} are unknown; use slope-ca")
    if not isinstance(metric, Additive):
        raise InputError(f"a slope is fitted to an additive metric; {metric_name!r} is not additive")
    _ = options.block_counting.signature  # loads the tokenisers now, so that a missing package is found at once
    slope_model: Model = "u" if model == "u" else "ca"
    return Slope(metric, slope_model, options.block_words, options.resamples, options.seed, options.block_counting)


def _checked(tokeniser: str) -> str:
    """Return the name of a tokeniser that can be loaded; the default one always can."""
    if tokeniser != DEFAULT:
        load_tokeniser(tokeniser)
    return tokeniser


def _oracle(options: MetricOptions) -> Sequence[Step]:
    if options.oracle is None:
        raise InputError("regret needs --oracle TRACE, the run of a system trained on the references")
    return options.oracle


def _baseline(options: MetricOptions, name: str) -> Sequence[Step]:
    if options.baseline is None:
        raise InputError(f"metric {name} needs --baseline FILE, the output of a system that does not learn")
    return options.baseline


def _near_ter(options: MetricOptions, *, worse: bool) -> NearTER:
    baseline = _baseline(options, "near-worse" if worse else "near-better")
    return NearTER(baseline, TER(options.word_tokeniser), worse=worse, tokeniser=options.block_counting.source)


def _glossary(options: MetricOptions) -> Glossary:
    if options.glossary is None:
        raise InputError("metric terms needs --glossary FILE, the terms and their translations")
    return options.glossary


@cache
def plugins() -> dict[str, Callable[[MetricOptions], Metric]]:
    """Return the metrics that other packages register, by name."""
    return {point.name: point.load() for point in entry_points(group=GROUP)}
