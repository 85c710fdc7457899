"""Metrics whose segment scores come from another program: COMET and other learned metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.plural import pluralise
from mtloop.core.types import JSON, Step
from mtloop.metrics.base import Additive, Array, divide

MEMO = "scores"  # where a proposal keeps its scores by metric name


class GivenScores(Additive):
    """The mean of given segment scores, on their own scale. Columns: score, one.

    The scores are in `memo["scores"]` of the proposals, by metric name; `with_scores` puts them there. `origin` names
    the file or command that they come from.
    """

    digits = 4  # most learned metrics are on a scale from 0 to 1

    def __init__(self, name: str, origin: str, higher_is_better: bool = True) -> None:
        self.name, self.origin, self.higher_is_better = name, origin, higher_is_better

    @property
    def signature(self) -> str:
        return f"{self.origin}|better:{'higher' if self.higher_is_better else 'lower'}|aggregate:mean"

    def rows(self, steps: Sequence[Step]) -> Array:
        return np.array([(self._score(step), 1.0) for step in steps], dtype=float).reshape(-1, 2)

    def aggregate(self, sums: Array) -> Array:
        return divide(sums[:, 0], sums[:, 1])

    def _score(self, step: Step) -> float:
        scores = step.proposal.memo.get(MEMO)
        if not isinstance(scores, Mapping) or self.name not in scores:
            raise InputError(f"segment {step.proposal.segment.id!r} has no {self.name} score")
        return as_score(scores[self.name])


def with_scores(steps: Sequence[Step], name: str, scores: Sequence[float]) -> list[Step]:
    """Return the steps with a score of the metric `name` in each proposal."""
    if len(scores) != len(steps):
        found = f"{pluralise(len(scores), f'{name} score')} for {pluralise(len(steps), 'segment')}"
        raise InputError(f"{found}; expected one score per segment")
    return [_with_score(step, name, score) for step, score in zip(steps, scores, strict=True)]


def _with_score(step: Step, name: str, score: float) -> Step:
    known = step.proposal.memo.get(MEMO)
    scores: dict[str, JSON] = {**(known if isinstance(known, Mapping) else {}), name: score}
    return replace(step, proposal=replace(step.proposal, memo={**step.proposal.memo, MEMO: scores}))


def as_score(value: JSON) -> float:
    """Return a finite number; raise InputError for anything else.

    >>> as_score(1), as_score(0.25)
    (1.0, 0.25)
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise InputError(f"{value!r} is not a score; expected a number")
    return float(value)


def check_name(name: str) -> str:
    """Return the name of a metric in lower case; raise InputError if it cannot be one.

    >>> check_name("COMET-22")
    'comet-22'
    """
    if not re.fullmatch(r"[a-z][a-z0-9_.-]*", name.lower()):
        raise InputError(f"{name!r} is not a name for a metric; expected letters, digits, '-', '_' or '.'")
    return name.lower()
