"""Which draws are a learner's own, which were rewarded, and what it heard: what all statistical bandits share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtloop.bandits.draws import key_of, seed_of
from mtloop.bandits.statistical.control_variate import Rewards
from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.types import JSON, Feedback, Fields, Proposal, Reward, Segment

STATE = "bandit.json"


@dataclass
class DrawLog:
    """Signs proposals, and knows its own again when their rewards come."""

    method: str
    seed: int = 1
    rewards_: Rewards = field(default_factory=Rewards)
    rewarded_: set[int] = field(default_factory=set)

    def draw(self, segment: Segment) -> int:
        """The seed of the next draw: by source and not by id, so that the same comes through a service."""
        return seed_of(self.seed, self.rewards_.heard_, segment.source)

    def signed(self, segment: Segment, text: str, carried: Mapping[str, JSON]) -> Fields:
        """What travels on the proposal."""
        draw = self.draw(segment)
        return {"draw": draw, "heard": self.rewards_.heard_, **carried, "signature": _check(draw, text, carried)}

    def refusal(self, proposal: Proposal, feedback: Feedback) -> str | None:
        """Why an answer teaches nothing (see `BanditNMT` for the reasons)."""
        if not isinstance(feedback, Reward):
            return f"learns from rewards, not from {type(feedback).__name__}"
        if not 0 <= feedback.value <= 1:  # also when it is no number
            return "reward out of range"
        if proposal.system == self.method and "draw" not in proposal.memo:
            return "not drawn"
        if not self._is_own(proposal):
            return "unknown proposal"
        return "rewarded before" if key_of(proposal) in self.rewarded_ else None

    def hear(self, proposal: Proposal, reward: float) -> float:
        """Take down a reward; what it weighs."""
        self.rewarded_.add(key_of(proposal))
        return self.rewards_.weigh(reward)

    def _is_own(self, proposal: Proposal) -> bool:
        carried = dict(proposal.memo)
        draw, heard, signature = (carried.pop(name, None) for name in ("draw", "heard", "signature"))
        if not isinstance(heard, int) or heard > self.rewards_.heard_:
            return False
        made = draw == seed_of(self.seed, heard, proposal.segment.source)
        return made and signature == _check(draw, proposal.text, carried)

    def write(self, folder: Path, model: str, learned: Mapping[str, Any]) -> None:
        """A snapshot: what was heard, and what the learner made of it."""
        state = {"method": self.method, "model": model, "heard": self.rewards_.heard_, "total": self.rewards_.total_}
        write_text(folder / STATE, json.dumps(state | {"rewarded": sorted(self.rewarded_), "learned": dict(learned)}))

    def read(self, folder: Path, model: str) -> dict[str, Any]:
        """Take up a snapshot of this method on this model; what the learner had made of it."""
        try:
            state = json.loads((folder / STATE).read_text(encoding="utf-8"))
            of = state["method"], state["model"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"not a snapshot of a statistical bandit: {error}", path=folder / STATE) from error
        if of != (self.method, model):
            raise InputError(f"is of method {of[0]} on model {of[1]}", path=folder / STATE)
        self.rewards_.heard_, self.rewards_.total_ = state["heard"], state["total"]
        self.rewarded_ = set(state["rewarded"])
        return dict(state["learned"])


def _check(draw: JSON, text: str, carried: Mapping[str, JSON]) -> int:
    return seed_of(draw, text, json.dumps(dict(carried), sort_keys=True))
