"""Judges that answer with recorded human scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.types import Preference, Proposal, Scores, Step, Truth
from mtloop.judges.missing_ratings import MissingRatings
from mtloop.judges.scales import Array, find_scale

RatedSystems = Literal["asked", "all", "shown"]


class HumanRatings:
    """Answers with the scores in the truth, mapped to [0, 1].

    `rated`: the systems to score. "asked": those in `memo["asked"]` of the proposal, else the proposed system; "all":
    every system (full information); "shown": only the proposed system. `metric`: automatic scores in [0, 1] by segment
    id and system. `missing`: the strategy for missing ratings (see `MissingRatings`); `Scores.filled` lists the systems
    whose value was imputed. With "skip" and no rating at all, the answer is an empty `Scores`, from which a policy
    learns nothing.
    """

    def __init__(
        self,
        systems: Sequence[str],
        *,
        missing: str = "skip",
        scale: str = "da",
        rated: RatedSystems = "asked",
        decimals: int | None = 2,
        metric: Mapping[str, Mapping[str, float]] | None = None,
        rater: str | None = None,
    ) -> None:
        self.systems, self.missing, self.scale, self.rated = tuple(systems), missing, scale, rated
        self.decimals, self.metric, self.rater = decimals, metric, rater
        self._to_unit = find_scale(scale)
        self.fallback_ = MissingRatings(missing, (1, len(self.systems)), decimals=decimals)

    def __call__(self, proposal: Proposal, truth: Truth | None) -> Scores | None:
        if truth is None:
            return None
        asked = np.array([[name in self._asked(proposal) for name in self.systems]])
        human = self._to_unit(self._row(truth.scores).T).T
        filled = self.fallback_.fill(human, asked, self._metric(proposal.segment.id))[0]
        values = {name: float(v) for name, v in zip(self.systems, filled, strict=True) if not np.isnan(v)}
        return Scores(values, self.rater, tuple(name for name in values if name not in truth.scores))

    def observe(self, step: Step) -> None:
        """Add the human scores of a step to the running means; a resumed run does this for its recorded steps."""
        if isinstance(step.feedback, Scores):
            filled = set(step.feedback.filled)
            self.fallback_.observe(self._row({n: v for n, v in step.feedback.values.items() if n not in filled}))

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
    """Answers which of two systems was preferred: the proposed one, or another system that was asked about and rated.

    The segment id alone determines the other system. Returns None for a tie.
    """

    def __init__(self, rater: str | None = None) -> None:
        self.rater = rater

    def __call__(self, proposal: Proposal, truth: Truth | None) -> Preference | None:
        if truth is None or proposal.system not in truth.scores:
            return None
        asked = proposal.memo.get("asked")
        rivals = [str(name) for name in asked] if isinstance(asked, list) and len(asked) > 1 else sorted(truth.scores)
        others = [name for name in rivals if name in truth.scores and name != proposal.system]
        if not others:
            return None
        other = others[sum(proposal.segment.id.encode()) % len(others)]
        ours, theirs = truth.scores[proposal.system], truth.scores[other]
        if np.isnan(ours) or np.isnan(theirs):
            raise InputError(f"segment {proposal.segment.id!r} has an undefined score (NaN); leave it out instead")
        if ours == theirs:
            return None
        better, worse = (proposal.system, other) if ours > theirs else (other, proposal.system)
        return Preference(better, worse, self.rater)
