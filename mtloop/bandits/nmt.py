"""A neural translator that learns from rewards alone: draw a translation, hear what it was worth, move a little."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import torch

from mtloop.bandits.annealing import Annealing
from mtloop.bandits.draws import key_of, seed_of
from mtloop.bandits.objectives import expected_loss, weighed
from mtloop.bandits.rewards import Rewards
from mtloop.core.types import Feedback, Learned, Proposal, Reward, Segment
from mtloop.translators.adaptive import AdaptiveNMT
from mtloop.translators.delta import Delta
from mtloop.translators.marian.model import Encoded, Marian
from mtloop.translators.marian.search import Limits, sample
from mtloop.translators.scopes import NotFinite, Scope

OWN = "bandit/"  # the names under which a delta keeps what is not of the scope


class BanditNMT:
    """A model, the part of it that learns, and what a reward weighs (`nmt-el`, `nmt-el-cv`).

    A proposal is drawn from the model and carries its tokens, its temperature and its seed, which follows from the
    run's seed, the number of rewards heard and the source; so a reward that comes a hundred steps later teaches what
    it is about. It is taken against the weights as they are then. `Learned.rejected` says which rewards taught nothing:

        reward out of range   NaN, or outside 0 to 1
        unknown proposal      this learner did not draw it, or its text was changed
        rewarded before       the first reward counted
        not drawn             the source was empty, or too long to be drawn in one piece and translated as it came
        not finite            the gradient was no number

    None of these is heard: running mean, annealing and weights stay as they were (but for the last, which is heard).
    """

    learns_from: tuple[type[Feedback], ...] = (Reward,)

    def __init__(
        self,
        scope: Scope,
        *,
        method: str = "nmt-el",
        control: bool = False,
        annealing: Annealing | None = None,
        clip: float = 1.0,
        seed: int = 1,
    ) -> None:
        """`control`: weigh rewards against their running mean. `clip`: the longest gradient; 0 for any."""
        self.scope, self.method, self.clip, self.seed = scope, method, clip, seed
        self.annealing = annealing or Annealing()
        self.rewards_ = Rewards(control)
        self.rewarded_: set[int] = set()
        self.updates_ = 0
        self.limits = Limits()
        self._encoded: Encoded | None = None  # the source read last: who draws from it is likely to learn from it next

    @property
    def model(self) -> Marian:
        return self.scope.model

    def propose(self, segment: Segment) -> Proposal:
        steady = self._steady()
        if len(list(steady.pieces(segment.source))) != 1:
            return steady.propose(segment)
        heard = self.rewards_.heard_
        temperature, seed = self.annealing.at(heard), self._seed(segment, heard)
        found = sample(self.model, self._read(segment), self.limits, seed, temperature, self.scope.extra_bias)
        return Proposal(
            segment,
            self.model.target.decode(found.ids),
            system=self.method,
            probability=math.exp(found.log_probability),
            memo={
                "draw": seed,
                "heard": heard,
                "temperature": temperature,
                "log_probability": found.log_probability,
                "tokens": list(found.ids),
            },
        )

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        if not isinstance(feedback, Reward):
            return Learned(rejected=f"learns from rewards, not from {type(feedback).__name__}")
        if (reason := self._refusal(proposal, feedback)) is not None:
            return Learned(rejected=reason)
        self.rewarded_.add(key_of(proposal))
        pace = self.annealing.pace(self.rewards_.heard_)
        weight = self.rewards_.weigh(feedback.value)
        return self._move(proposal, weight, pace) if weight and pace else Learned()

    def _move(self, proposal: Proposal, weight: float, pace: float) -> Learned:
        lesson = expected_loss(
            self.model,
            self._read(proposal.segment),
            _tokens(proposal),
            weight,
            temperature=float(str(proposal.memo["temperature"])),
            limits=self.limits,
            scope=self.scope.names,
            extra_bias=self.scope.extra_bias,
        )
        self._encoded = None
        try:
            self.scope.update(weighed(lesson, self.clip, pace, self.scope.extra_bias is not None))
        except NotFinite:
            self.scope.rollback()
            return Learned(rejected="not finite")
        self.scope.settle()
        self.updates_ += 1
        return Learned(1, info={"weight": float(f"{weight:.4g}")})

    def _refusal(self, proposal: Proposal, reward: Reward) -> str | None:
        """Why a reward teaches nothing."""
        if not 0 <= reward.value <= 1:  # also when it is no number
            return "reward out of range"
        if proposal.system == self.method and "draw" not in proposal.memo:
            return "not drawn"
        if not self._drew(proposal):
            return "unknown proposal"
        return "rewarded before" if key_of(proposal) in self.rewarded_ else None

    def _drew(self, proposal: Proposal) -> bool:
        """Whether this learner made the proposal: seed and text must be what they would be."""
        heard, tokens, temperature = (proposal.memo.get(name) for name in ("heard", "tokens", "temperature"))
        if not isinstance(heard, int) or not isinstance(tokens, list) or not isinstance(temperature, int | float):
            return False
        size = len(self.model.target.pieces)
        if not tokens or not all(isinstance(token, int) and 0 <= token < size for token in tokens):
            return False
        known = proposal.memo.get("draw") == self._seed(proposal.segment, heard) and heard <= self.rewards_.heard_
        return known and temperature > 0 and proposal.text == self.model.target.decode(_tokens(proposal))

    def _seed(self, segment: Segment, heard: int) -> int:
        """By source and not by id: a service gives ids of its own, and the same draws should come through it."""
        return seed_of(self.seed, heard, segment.source)

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
        heard = {
            f"{OWN}total": torch.tensor(self.rewards_.total_, dtype=torch.float64),
            f"{OWN}rewarded": torch.tensor(sorted(self.rewarded_), dtype=torch.int64),
        }
        counters = {"heard": self.rewards_.heard_, "updates": self.updates_}
        return Delta(self._name(), self._base(), self.scope.tensors() | heard, counters)

    def become(self, delta: Delta) -> None:
        """Take up what was learned before; it must have been learned on this base with this method."""
        delta.check(self._name(), self._base())
        tensors = dict(delta.tensors)
        self.rewards_.total_ = float(tensors.pop(f"{OWN}total"))
        self.rewarded_ = set(tensors.pop(f"{OWN}rewarded").tolist())
        self.scope.restore(tensors)
        self.rewards_.heard_, self.updates_ = delta.counters["heard"], delta.counters["updates"]
        self._encoded = None

    def _name(self) -> str:
        return f"{self.method} on {type(self.scope).__name__}"

    def _base(self) -> str:
        return self._steady().base.weights.fingerprint

    def _steady(self) -> AdaptiveNMT:
        """The model as it stands, without draws."""
        return AdaptiveNMT(self.scope, method=self.method, updates=0, limits=self.limits)


def _tokens(proposal: Proposal) -> Sequence[int]:
    tokens = proposal.memo["tokens"]
    assert isinstance(tokens, list)
    return [int(str(token)) for token in tokens]
