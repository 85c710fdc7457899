"""Random post-editing streams: a small vocabulary with a Zipf-like distribution and a noisy system."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from helpers.steps import make_steps

from mtloop.core import Step, Truth
from mtloop.metrics.adaptation import Recall
from mtloop.metrics.base import Additive
from mtloop.metrics.collateral import Flips, NearTER
from mtloop.metrics.effort import HTER, KSMR, WordPrediction
from mtloop.metrics.quality import BLEU, SBLEU, TER, ChrF, RewardBLEU
from mtloop.metrics.regret import MeanReward, Regret
from mtloop.metrics.reliability import RepeatedErrors
from mtloop.metrics.repetition import OutOfVocabulary

TEXT = "the a file menu Open close, save window dialog «Zurück» 3.5 don't e-mail print page. option key Über tab x"
WORDS = TEXT.split()


@dataclass(frozen=True)
class SplitWords:
    """Units without a tokeniser: all lower-cased words between spaces."""

    signature: str = "tok:split"

    def __call__(self, text: str) -> frozenset[str]:
        return frozenset(text.lower().split())


def noisy_steps(n: int, *, references: int = 1, noise: float = 0.3, seed: int = 1) -> list[Step]:
    """Return n steps; every tenth hypothesis is empty. References after the first are noisy too."""
    rng = random.Random(seed)
    targets = [_sentence(rng) for _ in range(n)]
    others = [[_distorted(target, 0.2, rng) for _ in range(references - 1)] for target in targets]
    hypotheses = ["" if i % 10 == 9 else _distorted(target, noise, rng) for i, target in enumerate(targets)]
    sources = [target.swapcase() for target in targets]
    steps = make_steps(hypotheses, targets, sources)
    return [
        Step(step.index, step.proposal, step.feedback, truth=Truth((target, *more)))
        for step, target, more in zip(steps, targets, others, strict=True)
    ]


def additive_metrics(steps: list[Step]) -> list[Additive]:
    """Return one metric of each additive class; `steps` are also the oracle's, and half of each text the baseline's."""
    units, baseline = SplitWords(), _halved(steps)
    return [
        BLEU(),
        ChrF(),
        TER(),
        SBLEU(),
        RewardBLEU(),
        Recall(units, {0}),
        Recall(units, {1}),
        Recall(units, {0, 1}),
        RepeatedErrors(units),
        KSMR(),
        WordPrediction(),
        HTER(),
        MeanReward(RewardBLEU()),
        Regret(steps, SBLEU()),
        OutOfVocabulary({"THE", "A", "FILE"}),
        NearTER(baseline, TER(), worse=False),
        NearTER(baseline, TER(), worse=True),
        Flips(baseline),
    ]


ORDERED = ("r", "near", "flips")  # name prefixes of the metrics that depend on the order of segments


def _halved(steps: list[Step]) -> list[Step]:
    """Return the steps with the first half of the words of each hypothesis."""
    words = [step.proposal.text.split() for step in steps]
    texts = [" ".join(some[: len(some) // 2]) for some in words]
    return [replace(step, proposal=replace(step.proposal, text=text)) for step, text in zip(steps, texts, strict=True)]


def _sentence(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, [1 / (i + 1) for i in range(len(WORDS))], k=rng.randint(1, 14)))


def _distorted(text: str, noise: float, rng: random.Random) -> str:
    words = []
    for word in text.split():
        draw = rng.random() / noise
        words += [word] if draw > 1 else [] if draw < 0.3 else [rng.choice(WORDS)] if draw < 0.8 else [word, word]
    return " ".join(words)
