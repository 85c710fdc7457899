"""A neural translator that learns from rewards alone: try a translation, hear what it was worth, move a little."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from mtloop.bandits.neural.annealing import Annealing
from mtloop.bandits.neural.expected_loss import weighed
from mtloop.bandits.neural.explorers import ExpectedLoss, Explorer, RewardedProposal
from mtloop.bandits.statistical.draw_log import DrawLog
from mtloop.core.errors import InputError
from mtloop.core.types import Feedback, Learned, Proposal, Reward, Segment
from mtloop.nmt.adaptive import PIECE, AdaptiveNMT
from mtloop.nmt.delta import Delta
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import LengthLimits
from mtloop.nmt.scopes.scope import NotFinite, Scope

OWN = "bandit/"  # the names under which a delta keeps what is not of the scope
EXPLORER = f"{OWN}explorer/"
Clipping = Literal["gradient", "score"]


class BanditNMT:
    """A model, the part of it that learns, and how it tries things out (see `exploring`).

    A proposal carries what its reward needs: tokens, temperature, and the seed of the draw, which follows from the
    run's seed, the number of rewards heard and the source; so a reward that comes a hundred steps later teaches what
    it is about. It is taken against the weights as they are then. `Learned.rejected` says which rewards taught nothing:

        reward out of range   NaN, or outside 0 to 1
        unknown proposal      this learner did not draw it, or its text was changed
        rewarded before       the first reward counted
        not drawn             the source was empty, or cut between sentences and translated piece by piece
        not finite            the gradient was no number

    None of these is heard: running mean, annealing and weights stay as they were (but for the last, which is heard).
    """

    learns_from: tuple[type[Feedback], ...] = (Reward,)

    def __init__(
        self,
        scope: Scope,
        explorer: Explorer | None = None,
        *,
        method: str = "nmt-el",
        annealing: Annealing | None = None,
        clip: float = 1.0,
        clipping: Clipping = "gradient",
        seed: int = 1,
        piece: int = PIECE,
    ) -> None:
        """`clip`: the longest gradient; 0 for any. `clipping`: that of the loss, or that of the log-probability.

        The latter is weighed after it was clipped, so that a reward that says little moves little.
        """
        self.scope, self.explorer, self.method = scope, explorer or ExpectedLoss(), method
        self.clip, self.clipping = clip, clipping
        self.annealing = annealing or Annealing()
        self.ledger_ = DrawLog(method, seed)
        self.updates_ = 0
        self.limits, self.piece = LengthLimits(), piece
        self._encoded: Encoded | None = None  # the source read last: who draws from it is likely to learn from it next

    @property
    def model(self) -> Marian:
        return self.scope.model

    def propose(self, segment: Segment) -> Proposal:
        steady = self._steady()
        if len(list(steady.pieces(segment.source))) != 1:
            return steady.propose(segment)
        temperature = self.annealing.at(self.ledger_.rewards_.heard_)
        seed = self.ledger_.draw(segment)
        tried = self.explorer.tries(self.scope, self._read(segment), self.limits, seed, temperature)
        text = self.model.target.decode(tried.ids)
        memo = self.ledger_.signed(segment, text, tried.carried)
        return Proposal(segment, text, self.method, tried.probability, memo=memo)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        if (reason := self.ledger_.refusal(proposal, feedback)) is not None:
            return Learned(rejected=reason)
        assert isinstance(feedback, Reward)
        rewards = self.ledger_.rewards_
        pace = self.annealing.pace(rewards.heard_)
        self.ledger_.hear(proposal, feedback.value)
        mean = rewards.total_ / rewards.heard_
        rewarded = RewardedProposal(proposal, feedback.value, mean, cache(lambda: self._read(proposal.segment)))
        learned = self._move(rewarded, pace) if pace else Learned()
        self.explorer.hear(rewarded)
        return learned

    def _move(self, rewarded: RewardedProposal, pace: float) -> Learned:
        try:
            lesson, weight = self.explorer.lesson(self.scope, self.limits, rewarded)
            if not weight.any():
                return Learned()
            self.scope.update(weighed(lesson, self._longest(weight), pace, self.scope.extra_bias is not None))
        except NotFinite:
            self.scope.rollback()
            return Learned(rejected="not finite")
        self._encoded = None
        self.scope.settle()
        self.updates_ += 1
        return Learned(1, info={"weight": float(f"{weight.mean():.4g}")})

    def _longest(self, weight: Tensor) -> float:
        return self.clip * float(weight.pow(2).mean().sqrt()) if self.clipping == "score" else self.clip

    def _read(self, segment: Segment) -> Encoded:
        ids = self.model.source.encode(segment.source)
        if self._encoded is None or self._encoded.ids != tuple(ids):
            self._encoded = self.model.encode(ids)
        return self._encoded

    def save(self, folder: Path) -> None:
        self.delta().write(folder / "delta.safetensors")

    def load(self, folder: Path) -> None:
        self.become(Delta.read(folder / "delta.safetensors"))

    def delta(self) -> Delta:
        """What was learned, over the base, and what was heard."""
        rewards = self.ledger_.rewards_
        heard = {
            f"{OWN}total": torch.tensor(rewards.total_, dtype=torch.float64),
            f"{OWN}rewarded": torch.tensor(sorted(self.ledger_.rewarded_), dtype=torch.int64),
        }
        heard |= {f"{EXPLORER}{name}": tensor for name, tensor in self.explorer.tensors().items()}
        counters = {"heard": rewards.heard_, "updates": self.updates_}
        return Delta(self._name(), self._base(), self.scope.tensors() | heard, counters)

    def become(self, delta: Delta) -> None:
        """Take up what was learned before; it must have been learned on this base with this method."""
        delta.check(self._name(), self._base())
        own = {name: tensor for name, tensor in delta.tensors.items() if name.startswith(OWN)}
        self.scope.restore({name: tensor for name, tensor in delta.tensors.items() if name not in own})
        explorer = {name: tensor for name, tensor in own.items() if name.startswith(EXPLORER)}
        try:
            self.explorer.restore({name.removeprefix(EXPLORER): tensor for name, tensor in explorer.items()})
        except KeyError as error:
            raise InputError(
                f"this delta lacks {error} of {self.method}; was it learned with other settings?"
            ) from error
        rewards = self.ledger_.rewards_
        rewards.total_, self.ledger_.rewarded_ = float(own[f"{OWN}total"]), set(own[f"{OWN}rewarded"].tolist())
        rewards.heard_, self.updates_ = delta.counters["heard"], delta.counters["updates"]
        self._encoded = None

    def _name(self) -> str:
        parts = [type(part).__name__ for part in (self.scope, getattr(self.scope, "scope", None)) if part is not None]
        return f"{self.method} on {' of '.join(parts)}"

    def _base(self) -> str:
        return self._steady().base.weights.fingerprint

    def _steady(self) -> AdaptiveNMT:
        """The model as it stands, without draws."""
        return AdaptiveNMT(self.scope, method=self.method, updates=0, limits=self.limits, piece=self.piece)
