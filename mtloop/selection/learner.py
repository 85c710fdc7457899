"""`Select`: several systems and a policy are one learner."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.protocols import Choice, Learner, Policy, Stop
from mtloop.core.types import JSON, Feedback, Learned, Preference, Proposal, Reward, Scores, Segment


@runtime_checkable
class Keepable(Protocol):
    """A policy whose learning can be put on disk."""

    def state(self) -> dict[str, JSON]: ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


class Select:
    """Proposes the translation of the system that the policy chooses, and lets the policy learn from what is heard.

    All that the policy needs of its choice rides on the proposal, so feedback may be late, out of order, in pieces, or
    never come. `memo["asked"]` names the systems that should be rated. The systems themselves are not taught.
    """

    def __init__(self, policy: Policy, systems: Mapping[str, Learner], *, seed: int = 0) -> None:
        if unknown := policy.weights().keys() ^ systems.keys():
            raise InputError(f"policy and systems do not name the same ones; only one of them knows {min(unknown)!r}")
        self.policy, self.systems, self.seed = policy, systems, seed
        self.lessons_ = 0

    def propose(self, segment: Segment) -> Proposal:
        choice = self.policy.choose(segment, random.Random(f"{self.seed}/{self.lessons_}/{segment.id}"))
        said = self.systems[choice.system].propose(segment)
        return Proposal(
            segment,
            said.text,
            system=choice.system,
            probability=choice.probability,
            weights=dict(choice.weights),
            memo={"asked": list(choice.asked), "context": list(choice.context)},
        )

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        if not isinstance(feedback, Scores | Reward | Preference):
            return Learned(rejected="a policy learns from scores, rewards and preferences; let a judge make it one")
        scores = scores_in(proposal, feedback)
        self.policy.update(choice_in(proposal), scores)
        self.lessons_ += 1
        return Learned(updates=len(scores))

    def verdict(self) -> Stop | None:
        """The policy's word that it has seen enough."""
        return self.policy.verdict()

    def save(self, folder: Path) -> None:
        if not isinstance(self.policy, Keepable):
            raise InputError(f"policy {type(self.policy).__name__} cannot be saved; it has no state and restore")
        write_text(folder / "policy.json", json.dumps({"lessons": self.lessons_, "policy": self.policy.state()}))

    def load(self, folder: Path) -> None:
        kept = json.loads((folder / "policy.json").read_text(encoding="utf-8"))
        if not isinstance(self.policy, Keepable):
            raise InputError(f"policy {type(self.policy).__name__} cannot be loaded; it has no state and restore")
        self.policy.restore(kept["policy"])
        self.lessons_ = kept["lessons"]


def scores_in(proposal: Proposal, feedback: Scores | Reward | Preference) -> dict[str, float]:
    """Feedback as a score a system; of a preference, the better one won."""
    match feedback:
        case Scores():
            return dict(feedback.values)
        case Reward():
            return {proposal.system: feedback.value}
        case Preference():
            return {feedback.better: 1.0, feedback.worse: 0.0}


def choice_in(proposal: Proposal) -> Choice:
    """The choice that a proposal was made by."""
    return Choice(
        proposal.system,
        proposal.probability,
        proposal.weights,
        _names(proposal.memo.get("asked")),
        proposal.segment.id,
        tuple(float(value) for value in _items(proposal.memo.get("context")) if isinstance(value, int | float)),
    )


def _names(value: JSON) -> tuple[str, ...]:
    return tuple(map(str, _items(value)))


def _items(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []
