"""Ways for a neural translator to try something, and what its reward then says about the weights.

ExpectedLoss(baseline)   draws a translation from the model              nmt-el, nmt-el-cv, nmt-el-ridge, nmt-reinforce
ZerothOrder(baseline)    the likeliest of a model shaken a little         nmt-szo           (in szo.py)
SecondTries(drawing)     draws, but what is known of a source first       nmt-el-recall     (in recall.py)
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch
from torch import Tensor

from mtloop.bandits.draws import seed_of
from mtloop.bandits.neural.baselines import Baseline, Heard, Nothing
from mtloop.bandits.neural.expected_loss import expected_loss
from mtloop.core.errors import InputError
from mtloop.core.types import JSON, Proposal
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import LengthLimits, sample
from mtloop.nmt.engine.truncation import WHOLE, Truncation
from mtloop.nmt.scopes.scope import NotFinite, Scope, base_of


@dataclass(frozen=True)
class Tried:
    """A translation, with what probability it was chosen, and what its reward will need to teach."""

    ids: tuple[int, ...]
    probability: float | None
    carried: Mapping[str, JSON]


@dataclass(frozen=True, eq=False)
class RewardedProposal:
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

    def tries(self, scope: Scope, source: Encoded, limits: LengthLimits, seed: int, temperature: float) -> Tried: ...

    def lesson(self, scope: Scope, limits: LengthLimits, rewarded: RewardedProposal) -> tuple[Lesson, Tensor]:
        """Which way to move, and what the reward weighed, maybe token by token.

        Raises NotFinite, having learned nothing, where the model is no number.
        """

    def hear(self, rewarded: RewardedProposal) -> None:
        """Take down what was earned, whether it moved the weights or not."""

    def tensors(self) -> dict[str, Tensor]: ...

    def restore(self, tensors: Mapping[str, Tensor]) -> None: ...


@dataclass
class ExpectedLoss:
    """Draws from the model, and makes what earned more than `baseline` expected likelier.

    Only a share `explore` of the translations is drawn; the others are the likeliest. Both teach: a reward is weighed
    by how much likelier its translation was among the draws alone than in this mixture, so that on average the lesson
    is that of draws. `dropout` leaves out a share of the network's numbers in the lesson, not in the translation.
    `blame` is how much a reward below the baseline weighs: 0 learns from what went well alone, which does not climb
    the expected reward any more, but never pushes the model away to where nobody has been. `kl` above 0 ties the model
    to its base, by the divergence of its odds at the tokens that were drawn.
    """

    baseline: Baseline = field(default_factory=Nothing)
    cut: Truncation = WHOLE
    explore: float = 1.0
    dropout: float = 0.0
    blame: float = 1.0
    kl: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.explore <= 1:
            raise InputError(f"explore = {self.explore:g}; expected the share of draws, above 0 and at most 1")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout = {self.dropout:g}; expected a share, from 0 to less than 1")
        if not 0 <= self.blame <= 1:
            raise InputError(f"blame = {self.blame:g}; expected from 0 (none) to 1 (as much as praise)")
        if not 0 <= self.kl < math.inf:
            raise InputError(f"kl = {self.kl:g}; expected 0 (free) or more")

    def tries(self, scope: Scope, source: Encoded, limits: LengthLimits, seed: int, temperature: float) -> Tried:
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

    def lesson(self, scope: Scope, limits: LengthLimits, rewarded: RewardedProposal) -> tuple[Lesson, Tensor]:
        model, source = scope.model, rewarded.read()
        if self.dropout:
            model = model.with_dropout(self.dropout, seed_of(rewarded.draw, "dropout"))
            source = model.encode(list(source.ids))
        lesson = self._study(model, source, limits, rewarded, scope.names, scope.extra_bias)
        if not math.isfinite(lesson.loss):
            raise NotFinite("the model is no number")
        weight = self._weight(rewarded, source, lesson)
        error = lesson.error * weight.float().reshape(-1, 1)
        return replace(lesson, error=error + self._pull(scope, lesson, limits, rewarded) if self.kl else error), weight

    def _weight(self, rewarded: RewardedProposal, source: Encoded, lesson: Lesson) -> Tensor:
        """What the reward weighs against the baseline, less blame, and as a draw and not as one of a mixture."""
        heard = Heard(rewarded.reward, rewarded.mean, source, lesson, rewarded.number("temperature"))
        weight = self.baseline.weigh(heard)
        weight = torch.where(weight < 0, self.blame * weight, weight)
        return weight * rewarded.number("share") if "share" in rewarded.proposal.memo else weight

    def _pull(self, scope: Scope, lesson: Lesson, limits: LengthLimits, rewarded: RewardedProposal) -> Tensor:
        """The gradient, by the logits, of kl * KL(base || model) summed over the tokens: (p - p of the base) / T."""
        base = base_of(scope)
        ids = base.source.encode(rewarded.proposal.segment.source)
        anchor = self._study(base, base.encode(ids), limits, rewarded, frozenset(), None)
        return self.kl * (lesson.error - anchor.error)

    def hear(self, rewarded: RewardedProposal) -> None:
        """The weights are all that remembers."""

    def _study(
        self, model: Marian, source: Encoded, limits: LengthLimits, rewarded: RewardedProposal, names: frozenset[str],
        bias: Tensor | None,
    ) -> Lesson:  # fmt: skip
        """The draw as a model sees it, with a weight of 1."""
        return expected_loss(
            model, source, tokens_of(rewarded.proposal), 1.0, temperature=rewarded.number("temperature"),
            limits=limits, scope=names, extra_bias=bias, cut=self.cut,
        )  # fmt: skip

    def tensors(self) -> dict[str, Tensor]:
        return self.baseline.tensors()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.baseline.restore(tensors)


def tokens_of(proposal: Proposal) -> list[int]:
    """What was said, as the ids that travel on the proposal."""
    tokens = proposal.memo["tokens"]
    assert isinstance(tokens, list)
    return [int(str(token)) for token in tokens]
