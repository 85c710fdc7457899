"""Corrections that would teach nonsense, told apart by the texts alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PairFilter:
    """Why a pair is no lesson: "empty", "copied" or "length"; None for one that is.

    A copy is legitimate for names and short labels; a sentence of `copied_words` lower-case words or more that comes
    back as it was is in the wrong language. Lengths are compared in characters, once the longer has `short` of them.
    """

    copied_words: int = 4
    ratio: float = 6.0
    short: int = 30

    def __call__(self, source: str, target: str) -> str | None:
        """
        >>> PairFilter()("Save the file as a new copy.", "Save the file as a new copy."), Guard()("Photoshop", "Photoshop")
        ('copied', None)
        """
        if not source.strip() or not target.strip():
            return "empty"
        if source.split() == target.split() and sum(map(str.islower, source.split())) >= self.copied_words:
            return "copied"
        shorter, longer = sorted((len(source.strip()), len(target.strip())))
        return "length" if longer > self.short and longer > self.ratio * shorter else None
