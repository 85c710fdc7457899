"""What a translation is worth: a sentence metric in [0, 1], and what a simulated person makes of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.types import Proposal, Segment, Step, Truth
from mtloop.judges.noise import Noise
from mtloop.metrics.quality import BLEU, MeanSentence, SacreMetric
from mtloop.metrics.registry import METRICS, MetricOptions, make_metric, plugins

SentenceReward: TypeAlias = Callable[[str, str], float]


@lru_cache(maxsize=16)
def sentence_reward(name: str) -> SentenceReward:
    """A metric by name as a reward: (translation, reference) to a number from 0 to 1.

    Sentence metrics are taken as they are; corpus metrics are computed on the one sentence, divided by a hundred,
    and turned round where less is better.

    >>> sentence_reward("wmt17")("Save the file.", "save the file.")
    1.0
    >>> round(sentence_reward("ter")("Save file.", "Save the file."), 3)
    0.667
    """
    if name not in sentence_metrics() and name not in plugins():
        raise UnknownName("reward", name, [*sentence_metrics(), *plugins()])
    metric = make_metric(name, MetricOptions())
    if isinstance(metric, MeanSentence):
        return metric.sentence
    if isinstance(metric, SacreMetric):
        return lambda text, reference: _on_one(metric, text, reference)
    if callable(own := getattr(metric, "sentence", None)):
        return lambda text, reference: _clipped(float(own(text, reference)))
    raise UnknownName("reward", name, sentence_metrics())


def sentence_metrics() -> list[str]:
    """The names that can be a reward."""
    return [name for name in METRICS if name in ("wmt17", "sbleu", "chrf", "ter", "bleu")]


def noise_of(settings: Mapping[str, float]) -> Noise:
    """The noise that a task's settings describe."""
    unknown = settings.keys() - Noise.__dataclass_fields__.keys()
    if unknown:
        raise UnknownName("noise", sorted(unknown)[0], Noise.__dataclass_fields__)
    try:
        return Noise(**settings)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise InputError(f"noise is made of numbers, not {dict(settings)}") from error


def perceived(score: float, noise: Noise, seed: str) -> float:
    """The reward given for a score; the same seed gives the same reward."""
    return noise(score, random.Random(seed)) if noise else score


@lru_cache(maxsize=1)
def corpus_bleu() -> BLEU:
    """Corpus BLEU for the checkpoints, without regard to case, as the rewards are."""
    return BLEU(lowercase=True)


def statistics(text: str, reference: str) -> tuple[int, ...]:
    """What corpus BLEU adds up, for one sentence."""
    return tuple(int(value) for value in corpus_bleu().rows([_step(text, reference)])[0])


def _on_one(metric: SacreMetric, text: str, reference: str) -> float:
    share = metric.score([_step(text, reference)]).value / 100
    return _clipped(share if metric.higher_is_better else 1 - share)


def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))


def _step(text: str, reference: str) -> Step:
    return Step(0, Proposal(Segment("", ""), text), truth=Truth((reference,)))
