"""`Select`: a learner that consists of several systems and a policy."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.json_files import json_errors, parse_json
from mtloop.core.protocols import Choice, Learner, Policy, Stop
from mtloop.core.types import JSON, Feedback, Learned, Preference, Proposal, Reward, Scores, Segment


@runtime_checkable
class SavablePolicy(Protocol):
    """A policy whose learned state can be saved."""

    def state(self) -> dict[str, JSON]: ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


class Select:
    """Proposes the translation of the system that the policy chooses. The policy learns from the feedback.

    The proposal holds everything that the policy needs to know about its choice. So feedback may arrive late, out of
    order, in parts, or never. `memo["asked"]` lists the systems to rate. The systems themselves do not learn.
    """

    def __init__(self, policy: Policy, systems: Mapping[str, Learner], *, seed: int = 0) -> None:
        if unknown := policy.weights().keys() ^ systems.keys():
            raise InputError(f"policy and systems have different names; {min(unknown)!r} is in only one of them")
        self.policy, self.systems, self.seed = policy, systems, seed
        self.lessons_ = 0

    def propose(self, segment: Segment) -> Proposal:
        choice = self.policy.choose(segment, random.Random(f"{self.seed}/{self.lessons_}/{segment.id}"))
        chosen = self.systems[choice.system].propose(segment)
        return Proposal(
            segment,
            chosen.text,
            system=choice.system,
            probability=choice.probability,
            weights=dict(choice.weights),
            memo={"asked": list(choice.asked), "context": list(choice.context)},
        )

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        if not isinstance(feedback, Scores | Reward | Preference):
            return Learned(
                rejected="a policy learns only from scores, rewards and preferences; use a judge that gives one"
            )
        scores = scores_by_system(proposal, feedback)
        self.policy.update(choice_from(proposal), scores)
        self.lessons_ += 1
        return Learned(updates=len(scores))

    def verdict(self) -> Stop | None:
        """The stopping decision of the policy; None while it goes on."""
        return self.policy.verdict()

    def save(self, folder: Path) -> None:
        if not isinstance(self.policy, SavablePolicy):
            raise InputError(f"policy {type(self.policy).__name__} cannot be saved; it has no state and restore")
        write_text(folder / "policy.json", json.dumps({"lessons": self.lessons_, "policy": self.policy.state()}))

    def load(self, folder: Path) -> None:
        if not isinstance(self.policy, SavablePolicy):
            raise InputError(f"policy {type(self.policy).__name__} cannot be loaded; it has no state and restore")
        with json_errors(folder / "policy.json", "a state of this policy"):
            saved = parse_json((folder / "policy.json").read_bytes())
            self.policy.restore(saved["policy"])
            self.lessons_ = int(saved["lessons"])


def scores_by_system(proposal: Proposal, feedback: Scores | Reward | Preference) -> dict[str, float]:
    """Feedback as one score per system. A preference gives 1 to the better system and 0 to the worse."""
    match feedback:
        case Scores():
            return dict(feedback.values)
        case Reward():
            return {proposal.system: feedback.value}
        case Preference():
            return {feedback.better: 1.0, feedback.worse: 0.0}


def choice_from(proposal: Proposal) -> Choice:
    """The choice of the policy that led to a proposal."""
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
