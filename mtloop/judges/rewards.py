"""Rewards of translations: a sentence metric in [0, 1], with optional noise."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.types import Proposal, Segment, Step, Truth
from mtloop.judges.noise import Noise
from mtloop.metrics.quality import BLEU, SacreMetric, SentenceAverage
from mtloop.metrics.registry import METRICS, MetricOptions, make_metric, plugins

SentenceReward: TypeAlias = Callable[[str, str], float]


@lru_cache(maxsize=16)
def sentence_reward(name: str, language: str | None = None) -> SentenceReward:
    """Return the reward function of a metric name: (translation, reference) to a number in [0, 1].

    `language`, the target language, selects the tokeniser. Sentence metrics are used unchanged. Corpus metrics are
    computed on the single sentence and divided by 100; if lower is better, the reward is 1 minus this value.

    >>> sentence_reward("wmt17")("Save the file.", "save the file.")
    1.0
    >>> round(sentence_reward("ter")("Save file.", "Save the file."), 3)
    0.667
    """
    if name not in reward_names() and name not in plugins():
        raise UnknownName("reward", name, [*reward_names(), *plugins()])
    metric = make_metric(name, MetricOptions(language=language))
    if isinstance(metric, SentenceAverage):
        return metric.sentence
    if isinstance(metric, SacreMetric):
        return lambda text, reference: _single_sentence_score(metric, text, reference)
    if callable(sentence := getattr(metric, "sentence", None)):
        return lambda text, reference: _clip(float(sentence(text, reference)))
    raise UnknownName("reward", name, reward_names())


def reward_names() -> list[str]:
    """Return the names of the built-in metrics that can be a reward."""
    return [name for name in METRICS if name in ("wmt17", "sbleu", "chrf", "ter", "bleu")]


def make_noise(settings: Mapping[str, float]) -> Noise:
    """Return the noise with these settings; raise InputError if they are invalid."""
    unknown = settings.keys() - Noise.__dataclass_fields__.keys()
    if unknown:
        raise UnknownName("noise setting", sorted(unknown)[0], Noise.__dataclass_fields__)
    try:
        return Noise(**settings)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise InputError(f"noise settings must be numbers, found {dict(settings)}") from error


def add_noise(score: float, noise: Noise, seed: str) -> float:
    """Return the noisy reward of a score; the same seed gives the same reward."""
    return noise(score, random.Random(seed)) if noise else score


@lru_cache(maxsize=16)
def corpus_bleu(language: str | None = None) -> BLEU:
    """Return the case-insensitive corpus BLEU of the checkpoints; the rewards ignore case as well."""
    return BLEU(lowercase=True, tokenize=MetricOptions(language=language).tokeniser)


def corpus_bleu_statistics(text: str, reference: str, language: str | None = None) -> tuple[int, ...]:
    """Return the statistics of one sentence that corpus BLEU sums up."""
    return tuple(int(value) for value in corpus_bleu(language).rows([_step(text, reference)])[0])


def _single_sentence_score(metric: SacreMetric, text: str, reference: str) -> float:
    score = metric.score([_step(text, reference)]).value / 100
    return _clip(score if metric.higher_is_better else 1 - score)


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


def _step(text: str, reference: str) -> Step:
    return Step(0, Proposal(Segment("", ""), text), truth=Truth((reference,)))
