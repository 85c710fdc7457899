"""Whether a method can learn from the feedback of a run or a task."""

from __future__ import annotations

from collections.abc import Sequence

from mtloop.core.errors import InputError
from mtloop.core.types import Feedback, PostEdit, Reward, feedback_words
from mtloop.methods.method import Method

FEEDBACK_SOURCES: dict[type[Feedback], str] = {
    PostEdit: "here it would get only post-edits; use mtloop bandit",
    Reward: "a task gives only rewards; "
    "take a method that does not learn (baseline, copy-source) or one that learns from rewards",
}


def check_without_references(method: Method) -> None:
    """Raise InputError if the method must be trained on the references of a task first."""
    if method.needs_references:
        raise InputError(
            f"method {method.name} is trained on the references of a task first, so the task must be a local file: "
            "mtloop bandit --task FILE"
        )


def check_feedback(method: str, kinds: Sequence[type[Feedback]], feedback: type[Feedback]) -> None:
    """Raise InputError if a method that learns from these `kinds` cannot learn from `feedback`. None: never learns."""
    if kinds and feedback not in kinds:
        needed = " or ".join(map(feedback_words, kinds))
        raise InputError(f"method {method} learns from {needed}, but {FEEDBACK_SOURCES[feedback]}")
