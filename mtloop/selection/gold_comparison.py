"""Comparison of a replay with the gold ranking: top-n overlap at checkpoints, and the human effort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.protocols import Stop
from mtloop.core.types import JSON
from mtloop.metrics.ranking import converged_at, rank, top_n_overlap, within_tie
from mtloop.selection.policies.batch_policy import Array, Indices, Mask
from mtloop.selection.replay import History


@dataclass(frozen=True)
class Gold:
    """The ranking to find: `scores` define it, and the `raw` scores (0-100) define ties.

    n chosen systems are exactly right if no other system has a higher gold score than one of them: the first n of the
    gold ranking, in any order, and any of several systems with the same score as the n-th. They are right within the
    tie if each of the others among them has a raw score at most `tie` below the lowest raw score of these systems.
    """

    scores: dict[str, float]
    raw: dict[str, float]
    tie: float = 1.0
    top: int = 3

    def __post_init__(self) -> None:
        if not self.scores:
            raise InputError("the gold ranking contains none of the rated systems")

    @property
    def ranking(self) -> list[str]:
        return rank(self.scores)

    @property
    def best(self) -> list[str]:
        return self.ranking[: self.top]

    @property
    def equal(self) -> list[str]:
        """The systems that are not in `best` only because of their names: their score is that of its last system."""
        return self.first(self.top)[self.top :]

    def first(self, n: int) -> list[str]:
        """The first n systems of the gold ranking, and all others with the same score as the n-th."""
        lowest = self.scores[self.ranking[:n][-1]]
        return [name for name in self.ranking if self.scores[name] >= lowest]

    def is_exactly_right(self, chosen: Sequence[str]) -> bool:
        """Whether no other system has a higher gold score than a chosen one."""
        return self.found(chosen) == min(len(chosen), len(self.scores))

    def is_right_within_tie(self, chosen: Sequence[str]) -> bool:
        """Whether every chosen system is among the first of the gold ranking, or ties with them."""
        return self.is_exactly_right(chosen) or within_tie(chosen, self.first(len(chosen)), self.raw, self.tie)

    def is_in_top_within_tie(self, system: str) -> bool:
        """Whether a system is in the gold top, or ties with it."""
        return within_tie([system], self.first(self.top), self.raw, self.tie)

    def found(self, chosen: Sequence[str]) -> int:
        """How many of n chosen systems are among the first n of the gold ranking."""
        return len(set(chosen) & set(self._ranking_for(chosen)[: len(chosen)]))

    def overlap(self, ranking: Sequence[str], n: int) -> float:
        n = min(n, len(self.scores))
        return top_n_overlap(ranking, self._ranking_for(ranking[:n]), n)

    def _ranking_for(self, chosen: Sequence[str]) -> list[str]:
        """The gold ranking; of systems with equal scores, the chosen ones come first."""
        return sorted(self.ranking, key=lambda name: (-self.scores[name], name not in chosen))


@dataclass(frozen=True)
class Checkpoint:
    """Overlap of the systems with the highest mean weights and the gold top; `ratings` spent, mean over runs."""

    iteration: int
    top1: float
    top3: float
    ratings: float

    def to_json(self) -> dict[str, JSON]:
        return {"iteration": self.iteration, "top1": self.top1, "top3": self.top3, "mean_ratings": self.ratings}


@dataclass(frozen=True)
class Effort:
    """The ratings that single runs needed, out of `total`, and whether their answers were right.

    `settled_exactly` is the number of ratings after which the top stayed exactly right; it is `total` for a run that
    never settled. `stopped` holds the ratings at the stop, for the runs that stopped before all ratings were read;
    `stops_exactly_right` tells whether their answers were right. `final_exactly_right` is about the top of every run
    after its last rating. The fields that end in `within_tie` count ties as right.
    """

    ratings: tuple[int, ...]
    settled_exactly: tuple[int, ...]
    settled_within_tie: tuple[int, ...]
    final_exactly_right: tuple[bool, ...]
    final_right_within_tie: tuple[bool, ...]
    stopped: tuple[int, ...]
    stops_exactly_right: tuple[bool, ...]
    stops_right_within_tie: tuple[bool, ...]
    total: int

    def to_json(self) -> dict[str, JSON]:
        return {
            "all_ratings": self.total,
            "median_ratings": float(np.median(self.ratings)),
            "settled_within_tie": float(np.median(self.settled_within_tie)),
            "settled_exactly": float(np.median(self.settled_exactly)),
            "never_settled": sum(count >= self.total for count in self.settled_within_tie),
            "runs": len(self.ratings),
            "stopped": len(self.stopped),
            "stops_right_within_tie": sum(self.stops_right_within_tie),
            "stops_exactly_right": sum(self.stops_exactly_right),
            "ratings_at_stop": float(np.median(self.stopped)) if self.stopped else None,
            "final_right_within_tie": sum(self.final_right_within_tie),
            "final_exactly_right": sum(self.final_exactly_right),
        }


def evaluate_checkpoints(history: History, gold: Gold, at: Sequence[int]) -> list[Checkpoint]:
    """The paper's tables: overlap of the systems with the highest mean weights and the gold top, at iterations `at`."""
    return [_checkpoint(history, gold, iteration) for iteration in at]


def _checkpoint(history: History, gold: Gold, iteration: int) -> Checkpoint:
    mean = history.mean_weights(iteration)
    ranking = rank(dict(zip(history.systems, mean.tolist(), strict=True)))
    ratings = float(history.spent[iteration - 1].mean())
    return Checkpoint(iteration, gold.overlap(ranking, 1), gold.overlap(ranking, 3), ratings)


def measure_effort(history: History, gold: Gold, total: int) -> Effort:
    """The number of ratings that each run needed, and whether its answers were right."""
    spent = history.spent
    stops = enumerate(early_stops(history, total))
    early = [(int(spent[stop[0] - 1, run]), stop[1].best) for run, stop in stops if stop is not None]
    exactly, within_tie = _for_tops(history, gold.is_exactly_right), _for_tops(history, gold.is_right_within_tie)
    return Effort(
        tuple(map(int, spent[-1])),
        _settled(exactly, spent, total),
        _settled(within_tie, spent, total),
        tuple(exactly[-1].tolist()),
        tuple(within_tie[-1].tolist()),
        tuple(count for count, _ in early),
        tuple(gold.is_exactly_right(best) for _, best in early),
        tuple(gold.is_right_within_tie(best) for _, best in early),
        total,
    )


def early_stops(history: History, total: int) -> list[tuple[int, Stop] | None]:
    """For every run the iteration and the `Stop`; None if the run did not stop before all ratings were read."""
    return [
        stop if stop is not None and history.spent[stop[0] - 1, run] < total else None
        for run, stop in enumerate(history.stops)
    ]


def overlap_curve(history: History, gold: Gold, points: Sequence[int], *, ties: bool = False) -> Array:
    """The mean top overlap of the runs after each number of ratings in `points`.

    A run that spent fewer ratings counts with its last overlap. With `ties`, a system that ties with the gold top
    counts as found.
    """

    def share(top: Sequence[str]) -> float:
        return (sum(map(gold.is_in_top_within_tie, top)) if ties else gold.found(top)) / len(top)

    hits = _for_tops(history, share)
    at = [np.maximum(np.searchsorted(spent, points, side="right") - 1, 0) for spent in history.spent.T]
    curve: Array = np.mean([hits[iterations, run] for run, iterations in enumerate(at)], axis=0)
    return curve


def _for_tops(history: History, judge: Callable[[Sequence[str]], float]) -> Any:
    """What `judge` returns for the top systems (an array: iterations x runs)."""
    iterations, runs, size = history.tops.shape
    tops = list(map(tuple, np.sort(history.tops, axis=2).reshape(-1, size).tolist()))
    judged = {top: judge([history.systems[index] for index in top]) for top in set(tops)}
    return np.array([judged[top] for top in tops]).reshape(iterations, runs)


def _settled(right: Mask, spent: Indices, total: int) -> tuple[int, ...]:
    """The number of ratings after which the top of each run stayed right; `total` if it never did."""
    since = [converged_at(run) for run in right.T.tolist()]
    return tuple(total if time is None else int(spent[time, run]) for run, time in enumerate(since))
