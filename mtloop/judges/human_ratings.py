"""Recorded human scores as a judge: people answer what they are asked about, as far as they did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.types import Preference, Proposal, Scores, Step, Truth
from mtloop.judges.missing_ratings import Missing
from mtloop.judges.scales import Array, find_scale

Rated = Literal["asked", "all", "shown"]


class HumanRatings:
    """Answers with the scores in the truth, on [0, 1].

    `rated`: "asked" are the systems that the proposal asks about (`memo["asked"]`, else the shown one), "all" is full
    information, "shown" only the proposal itself. `metric` holds automatic scores in [0, 1] by segment and system.
    Where nobody rated, `missing` decides (see `Missing`); values that stand in are named in `Scores.filled`. With
    "skip" and nothing rated, the answer is empty: the policy was heard, and learns nothing.
    """

    def __init__(
        self,
        systems: Sequence[str],
        *,
        missing: str = "skip",
        scale: str = "da",
        rated: Rated = "asked",
        decimals: int | None = 2,
        metric: Mapping[str, Mapping[str, float]] | None = None,
        rater: str | None = None,
    ) -> None:
        self.systems, self.missing, self.scale, self.rated = tuple(systems), missing, scale, rated
        self.decimals, self.metric, self.rater = decimals, metric, rater
        self._to_unit = find_scale(scale)
        self.fallback_ = Missing(missing, (1, len(self.systems)), decimals=decimals)

    def __call__(self, proposal: Proposal, truth: Truth | None) -> Scores | None:
        if truth is None:
            return None
        asked = np.array([[name in self._asked(proposal) for name in self.systems]])
        human = self._to_unit(self._row(truth.scores).T).T
        filled = self.fallback_.filled(human, asked, self._metric(proposal.segment.id))[0]
        values = {name: float(v) for name, v in zip(self.systems, filled, strict=True) if not np.isnan(v)}
        return Scores(values, self.rater, tuple(name for name in values if name not in truth.scores))

    def observe(self, step: Step) -> None:
        """Averages are of what was shown before; a resumed run rebuilds them from its trace."""
        if isinstance(step.feedback, Scores):
            filled = set(step.feedback.filled)
            self.fallback_.remember(self._row({n: v for n, v in step.feedback.values.items() if n not in filled}))

    def _asked(self, proposal: Proposal) -> set[str]:
        asked = proposal.memo.get("asked")
        if self.rated == "all":
            return set(self.systems)
        return (
            set(map(str, asked)) if self.rated == "asked" and isinstance(asked, list) and asked else {proposal.system}
        )

    def _metric(self, segment: str) -> Array | None:
        return None if self.metric is None else self._row(self.metric.get(segment, {}))

    def _row(self, scores: Mapping[str, float]) -> Array:
        return np.array([[scores.get(name, np.nan) for name in self.systems]])


class Preferences:
    """Answers which of two translations was preferred: the shown one, or another that was asked about and rated.

    Which other depends on the segment's id alone; a tie says nothing.
    """

    def __init__(self, rater: str | None = None) -> None:
        self.rater = rater

    def __call__(self, proposal: Proposal, truth: Truth | None) -> Preference | None:
        if truth is None or proposal.system not in truth.scores:
            return None
        asked = proposal.memo.get("asked")
        known = [str(name) for name in asked] if isinstance(asked, list) and len(asked) > 1 else sorted(truth.scores)
        others = [name for name in known if name in truth.scores and name != proposal.system]
        if not others:
            return None
        other = others[sum(proposal.segment.id.encode()) % len(others)]
        ours, theirs = truth.scores[proposal.system], truth.scores[other]
        if np.isnan(ours) or np.isnan(theirs):
            raise InputError(f"segment {proposal.segment.id!r} has an undefined score; leave it out instead")
        if ours == theirs:
            return None
        better, worse = (proposal.system, other) if ours > theirs else (other, proposal.system)
        return Preference(better, worse, self.rater)
