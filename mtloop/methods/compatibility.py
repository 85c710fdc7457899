"""Whether a learner understands the answers it will get."""

from __future__ import annotations

from mtloop.bandits.oracle import Informed
from mtloop.core.errors import InputError
from mtloop.core.protocols import DeclaresFeedback, Learner
from mtloop.core.types import Feedback, PostEdit, Reward

ANSWERS: dict[type[Feedback], str] = {
    PostEdit: "a run answers with a PostEdit only; run it with mtloop bandit",
    Reward: "a task answers with a Reward only; "
    "take one that does not learn (baseline, copy-source) or one that learns from rewards",
}


def refuse_informed(learner: Learner, method: str) -> None:
    """A system that must know the references first has no place where there are none, or where it should learn them."""
    if isinstance(learner, Informed):
        raise InputError(
            f"method {method} is trained on a task's references beforehand, which only a task at home can tell it: "
            "mtloop bandit --task FILE"
        )


def refuse_deaf(learner: Learner, method: str, answer: type[Feedback]) -> None:
    """A learner that learns, but not from this kind of answer, would sit through it all and learn nothing."""
    kinds = learner.learns_from if isinstance(learner, DeclaresFeedback) else ()
    if kinds and answer not in kinds:
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"method {method} learns from {wanted}, and {ANSWERS[answer]}")
