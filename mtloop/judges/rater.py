"""Simulated people who say how good a translation is, and nothing else: one number, or a thumb up or down."""

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
    """Answers with what `worth(translation, reference)` says, from 0 to 1; the best of several references counts.

    `noise` is what this person makes of it, `thumbs` a mark to reach: up (1) or down (0). What is random depends on
    `seed`, the segment and the translation alone, so a run taken up again hears the same. Silent without a reference.

    >>> from mtloop.core import Segment
    >>> same = lambda text, reference: float(text == reference)
    >>> Rater(same)(Proposal(Segment("1", "Save"), "Sichern"), Truth(("Speichern", "Sichern")))
    Reward(value=1.0, rater=None)
    """

    worth: Callable[[str, str], float]
    noise: Noise = field(default_factory=Noise)
    thumbs: float | None = None
    seed: int = 1
    rater: str | None = None

    def __post_init__(self) -> None:
        if self.thumbs is not None and not 0 < self.thumbs <= 1:
            raise InputError(
                f"thumbs {self.thumbs:g}: expected the reward that earns a thumb up, above 0 and at most 1"
            )

    def __call__(self, proposal: Proposal, truth: Truth | None) -> Reward | None:
        if truth is None or not truth.references:
            return None
        score = max(self.worth(proposal.text, reference) for reference in truth.references)
        perceived = self.noise(score, random.Random(f"{self.seed}/{proposal.segment.id}/{proposal.text}"))
        value = perceived if self.thumbs is None else float(perceived >= self.thumbs)
        return Reward(value, self.rater)


@dataclass(frozen=True)
class RatedEdits:
    """An editor's corrections read as rewards: what the proposal is worth, held against what was made of it."""

    editor: Judge
    rater: Rater

    def __call__(self, proposal: Proposal, truth: Truth | None) -> Reward | None:
        edit = self.editor(proposal, truth)
        return self.rater(proposal, Truth((edit.text,))) if isinstance(edit, PostEdit) else None
