"""The draws of a bandit learner, those already rewarded, and the rewards so far; shared by all bandit learners."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtloop.bandits.draws import draw_key, seed_from
from mtloop.bandits.reward_mean import RewardMean
from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.types import JSON, Feedback, Fields, Proposal, Reward, Segment, feedback_words

STATE = "bandit.json"


@dataclass
class DrawLog:
    """Signs proposals, and recognises them when their rewards arrive."""

    method: str
    seed: int = 1
    rewards_: RewardMean = field(default_factory=RewardMean)
    rewarded_: set[int] = field(default_factory=set)

    def next_seed(self, segment: Segment) -> int:
        """Return the seed of the next draw; it depends on the source, not the id, so it is the same over a service."""
        return seed_from(self.seed, self.rewards_.count_, segment.source)

    def signed_memo(self, segment: Segment, text: str, memo: Mapping[str, JSON]) -> Fields:
        """Return the memo of a proposal, with its seed and signature."""
        seed = self.next_seed(segment)
        return {"draw": seed, "rewards": self.rewards_.count_, **memo, "signature": _signature(seed, text, memo)}

    def rejection(self, proposal: Proposal, feedback: Feedback) -> str | None:
        """Return the reason why feedback is not learned from (see `BanditNMT`), or None."""
        if not isinstance(feedback, Reward):
            return f"learns from rewards, not from {feedback_words(type(feedback))}"
        if not 0 <= feedback.value <= 1:  # also NaN
            return "reward out of range"
        if proposal.system == self.method and "draw" not in proposal.memo:
            return "not drawn"
        if not self._is_own(proposal):
            return "unknown proposal"
        return "rewarded before" if draw_key(proposal) in self.rewarded_ else None

    def record_reward(self, proposal: Proposal, reward: float) -> float:
        """Record a reward; return its advantage."""
        self.rewarded_.add(draw_key(proposal))
        return self.rewards_.advantage(reward)

    def _is_own(self, proposal: Proposal) -> bool:
        memo = dict(proposal.memo)
        seed, count, signature = (memo.pop(name, None) for name in ("draw", "rewards", "signature"))
        if not isinstance(count, int) or count > self.rewards_.count_:
            return False
        drawn_here = seed == seed_from(self.seed, count, proposal.segment.source)
        return drawn_here and signature == _signature(seed, proposal.text, memo)

    def write(self, folder: Path, model: str, learned: Mapping[str, Any]) -> None:
        """Write a snapshot: the rewards so far, and the state `learned` of the learner."""
        state = {"method": self.method, "model": model, "rewards": self.rewards_.count_, "total": self.rewards_.total_}
        write_text(folder / STATE, json.dumps(state | {"rewarded": sorted(self.rewarded_), "learned": dict(learned)}))

    def read(self, folder: Path, model: str) -> dict[str, Any]:
        """Restore a snapshot of this method on this model; return the state of the learner."""
        try:
            state = json.loads((folder / STATE).read_text(encoding="utf-8"))
            owner = state["method"], state["model"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"not a snapshot of a bandit learner: {error}", path=folder / STATE) from error
        if owner != (self.method, model):
            raise InputError(f"belongs to method {owner[0]} on model {owner[1]}", path=folder / STATE)
        self.rewards_.count_, self.rewards_.total_ = state["rewards"], state["total"]
        self.rewarded_ = set(state["rewarded"])
        return dict(state["learned"])


def _signature(seed: JSON, text: str, memo: Mapping[str, JSON]) -> int:
    return seed_from(seed, text, json.dumps(dict(memo), sort_keys=True))
