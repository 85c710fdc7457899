"""Whether a learner can learn from the feedback of a run or a task."""

from __future__ import annotations

from mtloop.bandits.oracle import RequiresReferences
from mtloop.core.errors import InputError
from mtloop.core.protocols import DeclaresFeedback, Learner
from mtloop.core.types import Feedback, PostEdit, Reward, feedback_words

FEEDBACK_SOURCES: dict[type[Feedback], str] = {
    PostEdit: "a run gives only post-edits; use mtloop bandit",
    Reward: "a task gives only rewards; "
    "take a method that does not learn (baseline, copy-source) or one that learns from rewards",
}


def check_without_references(learner: Learner, method: str) -> None:
    """Raise InputError if the learner must be trained on the references of a task first."""
    if isinstance(learner, RequiresReferences):
        raise InputError(
            f"method {method} is trained on the references of a task first, so the task must be a local file: "
            "mtloop bandit --task FILE"
        )


def check_feedback(learner: Learner, method: str, feedback: type[Feedback]) -> None:
    """Raise InputError if the learner learns, but not from this kind of feedback."""
    kinds = learner.learns_from if isinstance(learner, DeclaresFeedback) else ()
    if kinds and feedback not in kinds:
        needed = " or ".join(map(feedback_words, kinds))
        raise InputError(f"method {method} learns from {needed}, but {FEEDBACK_SOURCES[feedback]}")
