"""Simulated raters: they answer with one reward in [0, 1], or with a thumb up (1) or down (0)."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from mtloop.core.errors import InputError
from mtloop.core.protocols import Judge
from mtloop.core.types import PostEdit, Proposal, Reward, Truth
from mtloop.judges.noise import Noise


@dataclass(frozen=True)
class Rater:
    """Answers with `sentence_reward(translation, reference)` in [0, 1], the maximum over several references.

    `noise` perturbs the reward. `thumbs` replaces the reward by 1 if it reaches this threshold, else by 0 (None: off).
    The noise depends only on `seed`, the segment id and the translation, so a resumed run gets the same rewards.
    Returns None for a segment without a reference.

    >>> from mtloop.core import Segment
    >>> same = lambda text, reference: float(text == reference)
    >>> Rater(same)(Proposal(Segment("1", "Save"), "Sichern"), Truth(("Speichern", "Sichern")))
    Reward(value=1.0, rater=None)
    """

    sentence_reward: Callable[[str, str], float]
    noise: Noise = field(default_factory=Noise)
    thumbs: float | None = None
    seed: int = 1
    rater: str | None = None

    def __post_init__(self) -> None:
        if self.thumbs is not None and not 0 < self.thumbs <= 1:
            raise InputError(
                f"thumbs is {self.thumbs:g}; expected the lowest reward for a thumb up, above 0 and at most 1"
            )

    def __call__(self, proposal: Proposal, truth: Truth | None) -> Reward | None:
        if truth is None or not truth.references:
            return None
        reward = max(self.sentence_reward(proposal.text, reference) for reference in truth.references)
        noisy = self.noise(reward, random.Random(f"{self.seed}/{proposal.segment.id}/{proposal.text}"))
        value = noisy if self.thumbs is None else float(noisy >= self.thumbs)
        return Reward(value, self.rater)


@dataclass(frozen=True)
class RatedEdits:
    """Turns the post-edits of `editor` into rewards: `rater` compares the proposal with its post-edit."""

    editor: Judge
    rater: Rater

    def __call__(self, proposal: Proposal, truth: Truth | None) -> Reward | None:
        edit = self.editor(proposal, truth)
        return self.rater(proposal, Truth((edit.text,))) if isinstance(edit, PostEdit) else None
