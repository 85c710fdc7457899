"""Explorers of a neural model: how a translation is chosen, and how its reward becomes a gradient.

ExpectedLoss(baseline)      samples from the model               nmt-el, nmt-el-cv, nmt-el-ridge, nmt-reinforce
ZerothOrder(baseline)       decodes with perturbed weights       nmt-szo           (in zeroth_order.py)
RepeatedSources(sampling)   samples, or uses earlier rewards     nmt-el-recall     (in repeated_sources.py)
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from mtloop.bandits.draws import seed_from
from mtloop.bandits.neural.baselines import Baseline, NoBaseline, RewardObservation
from mtloop.bandits.neural.expected_loss import expected_loss
from mtloop.core.errors import InputError
from mtloop.core.ranges import check_share
from mtloop.core.types import JSON, Proposal
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import LengthLimits, sample
from mtloop.nmt.engine.truncation import NO_TRUNCATION, Truncation
from mtloop.nmt.scopes.scope import NotFinite, Scope, base_of


@dataclass(frozen=True)
class ExploredTranslation:
    """A translation, the probability of choosing it (None: unknown), and the memo that learning from it needs."""

    ids: tuple[int, ...]
    probability: float | None
    memo: Mapping[str, JSON]


@dataclass(frozen=True, eq=False)
class RewardedProposal:
    """A proposal, its reward, and the mean of all rewards so far, this one included.

    `sentence` is the sentence whose translation was drawn, if the segment has several ("": the whole segment).
    """

    proposal: Proposal
    reward: float
    mean: float
    encode_source: Callable[[], Encoded]
    sentence: str = ""

    @property
    def source(self) -> str:
        return self.sentence or self.proposal.segment.source

    @property
    def draw_seed(self) -> int:
        return int(str(self.proposal.memo["draw"]))

    def memo_number(self, name: str) -> float:
        return float(str(self.proposal.memo[name]))


class Explorer(Protocol):
    """Chooses translations, and turns their rewards into lessons. Its tensors are its whole state.

    `memo_names` are the names in the memo of a proposal that `lesson` needs.
    """

    memo_names: ClassVar[Set[str]]

    def explore(
        self, scope: Scope, source: Encoded, limits: LengthLimits, seed: int, temperature: float
    ) -> ExploredTranslation: ...

    def lesson(self, scope: Scope, limits: LengthLimits, rewarded: RewardedProposal) -> tuple[Lesson, Tensor]:
        """Return the lesson and the weight of the reward: one number, or one for each token.

        Raise NotFinite, without learning, if the loss is NaN or infinite.
        """

    def observe_reward(self, rewarded: RewardedProposal) -> None:
        """Record a reward, whether it updated the weights or not."""

    def tensors(self) -> dict[str, Tensor]: ...

    def restore(self, tensors: Mapping[str, Tensor]) -> None: ...


@dataclass
class ExpectedLoss:
    """Sample from the model, and make translations with a reward above `baseline` more likely.

    A share `exploration` of the translations is sampled; the others are greedy. Both are learned from: a reward is
    weighted by the probability of its translation under sampling, divided by its probability under the mixture of
    sampling and greedy (importance weighting). So the expected gradient is that of sampling.
    `dropout` is the dropout rate of the lesson; the translation is made without dropout.
    `negative_weight` is the weight of advantages below 0. With 0 only rewards above the baseline are learned from:
    this no longer follows the gradient of the expected reward, but never pushes the model into unexplored regions.
    `kl_weight` is the weight of the KL divergence from the base model at the sampled tokens (0: off).
    """

    memo_names: ClassVar[Set[str]] = frozenset({"tokens", "temperature"})
    baseline: Baseline = field(default_factory=NoBaseline)
    truncation: Truncation = NO_TRUNCATION
    exploration: float = 1.0
    dropout: float = 0.0
    negative_weight: float = 1.0
    kl_weight: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.exploration <= 1:
            raise InputError(f"exploration is {self.exploration:g}; expected a number above 0 and at most 1")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout is {self.dropout:g}; expected a number from 0 to less than 1")
        check_share(negative_weight=self.negative_weight)
        if not 0 <= self.kl_weight < math.inf:
            raise InputError(f"kl_weight is {self.kl_weight:g}; expected 0 (off) or more")

    def explore(
        self, scope: Scope, source: Encoded, limits: LengthLimits, seed: int, temperature: float
    ) -> ExploredTranslation:
        exploits = self.exploration < 1 and random.Random(seed_from(seed, "explore")).random() >= self.exploration
        found = sample(scope.model, source, limits, seed, temperature, scope.extra_bias, self.truncation, exploits)
        mixed = self._mixed(found.log_probability, found.is_greedy)
        memo: dict[str, JSON] = {"temperature": temperature, "log_probability": mixed, "tokens": list(found.ids)}
        if self.exploration < 1:
            memo["share"] = math.exp(found.log_probability - mixed)
        return ExploredTranslation(found.ids, math.exp(mixed), memo)

    def _mixed(self, sampled: float, most_likely: bool) -> float:
        """Return the log-probability in the mixture of a translation whose log-probability in sampling is `sampled`."""
        if self.exploration == 1:
            return sampled
        explored = math.log(self.exploration) + sampled
        return math.log(math.exp(explored) + 1 - self.exploration) if most_likely else explored

    def lesson(self, scope: Scope, limits: LengthLimits, rewarded: RewardedProposal) -> tuple[Lesson, Tensor]:
        model, source = scope.model, rewarded.encode_source()
        if self.dropout:
            model = model.with_dropout(self.dropout, seed_from(rewarded.draw_seed, "dropout"))
            source = model.encode(list(source.ids))
        lesson = self._unweighted_lesson(model, source, limits, rewarded, scope.names, scope.extra_bias)
        if not math.isfinite(lesson.loss):
            raise NotFinite("the loss is NaN or infinite")
        weight = self._weight(rewarded, source, lesson)
        error = lesson.error * weight.float().reshape(-1, 1)
        if self.kl_weight:
            error = error + self._kl_gradient(scope, lesson, limits, rewarded)
        return replace(lesson, error=error), weight

    def _weight(self, rewarded: RewardedProposal, source: Encoded, lesson: Lesson) -> Tensor:
        """Return the advantage, with negative values scaled, and importance-weighted in a mixture."""
        temperature = rewarded.memo_number("temperature")
        observation = RewardObservation(rewarded.reward, rewarded.mean, source, lesson, temperature)
        weight = self.baseline.advantage(observation)
        weight = torch.where(weight < 0, self.negative_weight * weight, weight)
        return weight * rewarded.memo_number("share") if "share" in rewarded.proposal.memo else weight

    def _kl_gradient(self, scope: Scope, lesson: Lesson, limits: LengthLimits, rewarded: RewardedProposal) -> Tensor:
        """Return the gradient of kl_weight * KL(base || model), summed over tokens, with respect to the logits.

        It is kl_weight * (p - p of the base) / T.
        """
        base = base_of(scope)
        ids = base.source.encode(rewarded.source)
        base_lesson = self._unweighted_lesson(base, base.encode(ids), limits, rewarded, frozenset(), None)
        return self.kl_weight * (lesson.error - base_lesson.error)

    def observe_reward(self, rewarded: RewardedProposal) -> None:
        """Do nothing: this explorer stores no rewards (`lesson` updates the baseline)."""

    def _unweighted_lesson(
        self, model: Marian, source: Encoded, limits: LengthLimits, rewarded: RewardedProposal, names: frozenset[str],
        bias: Tensor | None,
    ) -> Lesson:  # fmt: skip
        """Return the lesson of `model` on the proposed translation, before it is weighted by the reward."""
        return expected_loss(
            model, source, tokens_of(rewarded.proposal), 1.0, temperature=rewarded.memo_number("temperature"),
            limits=limits, scope=names, extra_bias=bias, truncation=self.truncation,
        )  # fmt: skip

    def tensors(self) -> dict[str, Tensor]:
        return self.baseline.tensors()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.baseline.restore(tensors)


def tokens_of(proposal: Proposal) -> list[int]:
    """Return the token ids of the translation, from the memo of the proposal."""
    tokens = proposal.memo["tokens"]
    assert isinstance(tokens, list)
    return [int(str(token)) for token in tokens]
