"""What a translator answers: a translation with its reason, and the effect of a correction."""

from __future__ import annotations

from dataclasses import dataclass

from mtloop.core.plural import pluralise
from mtloop.core.types import Learned, Proposal, SimilarCorrection

REJECTIONS = {
    "empty": "the source or the translation is empty",
    "copied": "the translation is a copy of the source",
    "length": "one side is much longer than the other",
    "improbable": "the pair is too improbable to be a translation",
    "harmful": "the update made the model worse, so it was undone",
    "not finite": "the update gave values that are not finite, so it was undone",
    "too long": "the pair is too long",
    "error": "the learner failed; the error is in the log of the service",
    "placeholders": "the source and the translation have different placeholders",
}


@dataclass(frozen=True, repr=False)
class Translation:
    """A translation. `str()` is its text.

    Attributes:
        text: The translation.
        source: The text that was translated.
        because: Which corrections the translation is based on, in words.
        proposal: What the learner proposed; `Translator.correct` learns from it.
        similar: The corrections most similar to the source, the most similar first.
    """

    text: str
    source: str
    because: str
    proposal: Proposal
    similar: tuple[SimilarCorrection, ...] = ()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Translation({self.text!r})"


@dataclass(frozen=True, repr=False)
class Correction:
    """The effect of a correction. It is true if the translator learned from it; `str()` says what happened.

    Attributes:
        source: The text that was translated.
        text: The corrected translation.
        learned: The number of updates, or the reason why nothing was learned.
    """

    source: str
    text: str
    learned: Learned

    def __bool__(self) -> bool:
        return self.learned.rejected is None

    def __str__(self) -> str:
        if self.learned.rejected is not None:
            return f"not learned: {REJECTIONS.get(self.learned.rejected, self.learned.rejected)}"
        perplexity = self.learned.info.get("perplexity")
        before = f"; the perplexity of the correction was {perplexity:g}" if isinstance(perplexity, float) else ""
        return f"learned with {pluralise(self.learned.updates, 'update')}{before}"

    def __repr__(self) -> str:
        return f"Correction({self})"


def explain(
    proposal: Proposal, similar: tuple[SimilarCorrection, ...] | None, corrections: int, *, counted: bool = True
) -> str:
    """Say why a translation was chosen.

    `similar`: None if the learner does not look for similar corrections. `counted`: false if the learner was loaded and
    does not know how many corrections it learned before.
    """
    if proposal.memo.get("memory") == "exact":
        return "this source was corrected before; this is the newest correction"
    if not counted:
        since = f"; {pluralise(corrections, 'correction')} learned since" if corrections else ""
        return f"what was learned before was loaded; the number of those corrections is unknown{since}"
    if not corrections:
        return "nothing was corrected yet; this is the translation of the base model"
    learned = f"the model has learned from {pluralise(corrections, 'correction')}"
    if similar is None:
        return learned
    if not similar:
        return f"{learned}; none of them is similar to this source"
    nearest = similar[0]
    return f"{learned}; the most similar one is {nearest.source!r} -> {nearest.target!r} ({nearest.similarity:.0%})"


def explain_shared(proposal: Proposal, similar: tuple[SimilarCorrection, ...] | None) -> str:
    """Say why a project of a server chose a translation. Others may correct it too, so corrections are not counted."""
    if proposal.memo.get("memory") == "exact":
        return "this source was corrected before; this is the newest correction"
    if not similar:
        return "no correction in the project is similar to this source"
    nearest = similar[0]
    shown = f"{nearest.source!r} -> {nearest.target!r} ({nearest.similarity:.0%})"
    return f"the most similar correction in the project is {shown}"
