"""The draws of a bandit learner, those already rewarded, and the rewards so far; shared by all bandit learners."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtloop.bandits.draws import DRAW_BY_ID, draw_key, seed_from
from mtloop.bandits.reward_mean import RewardMean
from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.json_files import json_errors, parse_json
from mtloop.core.types import JSON, Feedback, Fields, Proposal, Reward, Segment, feedback_words

STATE = "bandit.json"


@dataclass
class DrawLog:
    """Signs proposals, and recognises them when their rewards arrive.

    The seed of a draw follows from the seed of the run, the number of rewards so far and the source. So only a learner
    of the same run with at least as many rewards knows the proposal as its own.

    A server keeps proposals itself, and may learn their rewards again without some earlier ones. It gives each segment
    an id of its own, and `DRAW_BY_ID` in its context. Then the seed follows from the id, and the signature alone tells
    whether the proposal is unchanged: its rewards are learned whatever was learned before.

    `needs` are the names in a memo without which the learner cannot learn from a reward.
    """

    method: str
    seed: int = 1
    rewards_: RewardMean = field(default_factory=RewardMean)
    rewarded_: set[int] = field(default_factory=set)
    needs: Set[str] = frozenset()

    def next_seed(self, segment: Segment) -> int:
        """Return the seed of the next draw.

        It depends on the source, not the id, so it is the same over a service; except with `DRAW_BY_ID`.
        """
        if segment.context.get(DRAW_BY_ID):
            return seed_from(self.seed, segment.id)
        return seed_from(self.seed, self.rewards_.count_, segment.source)

    def signed_memo(self, segment: Segment, text: str, memo: Mapping[str, JSON]) -> Fields:
        """Return the memo of a proposal, with its seed and signature."""
        seed = self.next_seed(segment)
        signature = _signature(seed, segment, text, memo)
        return {"draw": seed, "rewards": self.rewards_.count_, **memo, "signature": signature}

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
        if signature is None or signature != _signature(seed, proposal.segment, proposal.text, memo):
            return False
        if not self.needs <= memo.keys():  # another method drew it
            return False
        return bool(proposal.segment.context.get(DRAW_BY_ID)) or self._drew(seed, count, proposal.segment)

    def _drew(self, seed: JSON, count: JSON, segment: Segment) -> bool:
        """Whether this run drew with this seed, after so many rewards."""
        if not isinstance(count, int) or count > self.rewards_.count_:
            return False
        return seed == seed_from(self.seed, count, segment.source)

    def write(self, folder: Path, model: str, learned: Mapping[str, Any]) -> None:
        """Write a snapshot: the rewards so far, and the state `learned` of the learner."""
        state = {"method": self.method, "model": model, "rewards": self.rewards_.count_, "total": self.rewards_.total_}
        write_text(folder / STATE, json.dumps(state | {"rewarded": sorted(self.rewarded_), "learned": dict(learned)}))

    def read(self, folder: Path, model: str) -> dict[str, Any]:
        """Restore a snapshot of this method on this model; return the state of the learner."""
        with json_errors(folder / STATE, "a snapshot of a bandit learner"):
            state = parse_json((folder / STATE).read_bytes())
            owner = state["method"], state["model"]
            count, total = int(state["rewards"]), float(state["total"])
            rewarded, learned = set(state["rewarded"]), dict(state["learned"])
        if owner != (self.method, model):
            raise InputError(f"belongs to method {owner[0]} on model {owner[1]}", path=folder / STATE)
        self.rewards_.count_, self.rewards_.total_, self.rewarded_ = count, total, rewarded
        return learned


def _signature(seed: JSON, segment: Segment, text: str, memo: Mapping[str, JSON]) -> int:
    parts = (seed, text, json.dumps(dict(memo), sort_keys=True))
    return seed_from(*parts, segment.id, segment.source) if segment.context.get(DRAW_BY_ID) else seed_from(*parts)
