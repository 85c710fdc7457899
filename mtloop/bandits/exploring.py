"""Ways for a neural translator to try something, and what its reward then says about the weights.

ExpectedLoss(baseline)   draws a translation from the model              nmt-el, nmt-el-cv, nmt-el-ridge, nmt-reinforce
ZerothOrder(baseline)    the likeliest of a model shaken a little         nmt-szo     (in szo.py)
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch
from torch import Tensor

from mtloop.bandits.baselines import Baseline, Heard, Nothing
from mtloop.bandits.draws import seed_of
from mtloop.bandits.objectives import expected_loss
from mtloop.core.errors import InputError
from mtloop.core.types import JSON, Proposal
from mtloop.translators.marian.lesson import Lesson
from mtloop.translators.marian.model import Encoded
from mtloop.translators.marian.odds import WHOLE, Cut
from mtloop.translators.marian.search import Limits, sample
from mtloop.translators.scopes import NotFinite, Scope


@dataclass(frozen=True)
class Tried:
    """A translation, with what probability it was chosen, and what its reward will need to teach."""

    ids: tuple[int, ...]
    probability: float | None
    carried: Mapping[str, JSON]


@dataclass(frozen=True, eq=False)
class Rewarded:
    """A proposal and its reward, with the mean of all rewards so far, this one included; `read` reads its source."""

    proposal: Proposal
    reward: float
    mean: float
    read: Callable[[], Encoded]

    @property
    def draw(self) -> int:
        return int(str(self.proposal.memo["draw"]))

    def number(self, name: str) -> float:
        return float(str(self.proposal.memo[name]))


class Explorer(Protocol):
    """Tries something, and makes a lesson of its reward. Its tensors are all it remembers."""

    def tries(self, scope: Scope, source: Encoded, limits: Limits, seed: int, temperature: float) -> Tried: ...

    def lesson(self, scope: Scope, limits: Limits, rewarded: Rewarded) -> tuple[Lesson, Tensor]:
        """Which way to move, and what the reward weighed, maybe token by token.

        Raises NotFinite, having learned nothing, where the model is no number.
        """

    def tensors(self) -> dict[str, Tensor]: ...

    def restore(self, tensors: Mapping[str, Tensor]) -> None: ...


@dataclass
class ExpectedLoss:
    """Draws from the model, and makes what earned more than `baseline` expected likelier.

    Only a share `explore` of the translations is drawn; the others are the likeliest. Both teach: a reward is weighed
    by how much likelier its translation was among the draws alone than in this mixture, so that on average the lesson
    is that of draws. `dropout` leaves out a share of the network's numbers in the lesson, not in the translation.
    `blame` is how much a reward below the baseline weighs: 0 learns from what went well alone, which does not climb
    the expected reward any more, but never pushes the model away to where nobody has been.
    """

    baseline: Baseline = field(default_factory=Nothing)
    cut: Cut = WHOLE
    explore: float = 1.0
    dropout: float = 0.0
    blame: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.explore <= 1:
            raise InputError(f"explore = {self.explore:g}; expected the share of draws, above 0 and at most 1")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout = {self.dropout:g}; expected a share, from 0 to less than 1")
        if not 0 <= self.blame <= 1:
            raise InputError(f"blame = {self.blame:g}; expected from 0 (none) to 1 (as much as praise)")

    def tries(self, scope: Scope, source: Encoded, limits: Limits, seed: int, temperature: float) -> Tried:
        timid = self.explore < 1 and random.Random(seed_of(seed, "explore")).random() >= self.explore
        found = sample(scope.model, source, limits, seed, temperature, scope.extra_bias, self.cut, timid)
        said = self._said(found.log_probability, found.likeliest)
        carried: dict[str, JSON] = {"temperature": temperature, "log_probability": said, "tokens": list(found.ids)}
        if self.explore < 1:
            carried["share"] = math.exp(found.log_probability - said)
        return Tried(found.ids, math.exp(said), carried)

    def _said(self, drawn: float, likeliest: bool) -> float:
        """The log-probability of saying what would be drawn with a log-probability of `drawn`."""
        if self.explore == 1:
            return drawn
        explored = math.log(self.explore) + drawn
        return math.log(math.exp(explored) + 1 - self.explore) if likeliest else explored

    def lesson(self, scope: Scope, limits: Limits, rewarded: Rewarded) -> tuple[Lesson, Tensor]:
        model, source, temperature = scope.model, rewarded.read(), rewarded.number("temperature")
        if self.dropout:
            model = model.with_dropout(self.dropout, seed_of(rewarded.draw, "dropout"))
            source = model.encode(list(source.ids))
        lesson = expected_loss(
            model, source, _tokens(rewarded.proposal), 1.0, temperature=temperature,
            limits=limits, scope=scope.names, extra_bias=scope.extra_bias, cut=self.cut,
        )  # fmt: skip
        if not math.isfinite(lesson.loss):
            raise NotFinite("the model is no number")
        weight = self.baseline.weigh(Heard(rewarded.reward, rewarded.mean, source, lesson, temperature))
        weight = torch.where(weight < 0, self.blame * weight, weight)
        if "share" in rewarded.proposal.memo:
            weight = weight * rewarded.number("share")
        return replace(lesson, error=lesson.error * weight.float().reshape(-1, 1)), weight

    def tensors(self) -> dict[str, Tensor]:
        return self.baseline.tensors()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.baseline.restore(tensors)


def _tokens(proposal: Proposal) -> list[int]:
    tokens = proposal.memo["tokens"]
    assert isinstance(tokens, list)
    return [int(str(token)) for token in tokens]
