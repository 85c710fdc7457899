"""Whether a learner understands the answers it will get."""

from __future__ import annotations

from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner, Particular
from mtloop.core.types import Feedback, PostEdit, Reward

ANSWERS: dict[type[Feedback], str] = {
    PostEdit: "a run answers with a PostEdit only; run it with mtloop bandit",
    Reward: "a task answers with a Reward only; "
    "take one that does not learn (baseline, copy-source) or one that learns from rewards",
}


def refuse_deaf(learner: Learner, method: str, answer: type[Feedback]) -> None:
    """A learner that learns, but not from this kind of answer, would sit through it all and learn nothing."""
    kinds = learner.learns_from if isinstance(learner, Particular) else ()
    if kinds and answer not in kinds:
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"method {method} learns from {wanted}, and {ANSWERS[answer]}")
