"""Comparison of a replay with the gold ranking: top-n overlap at checkpoints, and the human effort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.types import JSON
from mtloop.metrics.ranking import converged_at, rank, top_n_overlap, within_tie
from mtloop.selection.policies.batch_policy import Array, Indices, Mask
from mtloop.selection.replay import History


@dataclass(frozen=True)
class Gold:
    """The ranking to find: `scores` define it, and the `raw` scores (0-100) define ties.

    n chosen systems are exactly right if they are the first n of the gold ranking, in any order. They are right within
    the tie if each of the others among them has a raw score at most `tie` below the lowest raw score of the first n.
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

    def is_exactly_right(self, chosen: Sequence[str]) -> bool:
        """Whether the chosen systems are the first of the gold ranking, in any order."""
        return set(chosen) >= set(self.ranking[: len(chosen)])  # more than these only if the ranking is shorter

    def is_right_within_tie(self, chosen: Sequence[str]) -> bool:
        """Whether every chosen system is among the first of the gold ranking, or ties with them."""
        first = self.ranking[: len(chosen)]
        return self.is_exactly_right(chosen) or within_tie(chosen, first, self.raw, self.tie)

    def is_in_top(self, system: str, *, ties: bool = False) -> bool:
        """Whether a system is in the gold top, or ties with it (`ties`)."""
        return within_tie([system], self.best, self.raw, self.tie) if ties else system in self.best

    def overlap(self, ranking: Sequence[str], n: int) -> float:
        return top_n_overlap(ranking, self.ranking, min(n, len(self.scores)))


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
    never settled. `stopped` holds the ratings at the stop, for the runs that stopped early; `stops_exactly_right` tells
    whether their answers were right. `final_exactly_right` is about the top of every run after its last rating. The
    fields that end in `within_tie` count ties as right.
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
    stops = [(int(spent[stop[0] - 1, run]), stop[1]) for run, stop in enumerate(history.stops) if stop is not None]
    early = [(count, stop.best) for count, stop in stops if count < total]
    exactly, within_tie = _right_tops(history, gold.is_exactly_right), _right_tops(history, gold.is_right_within_tie)
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


def overlap_curve(history: History, gold: Gold, points: Sequence[int], *, ties: bool = False) -> Array:
    """The mean top overlap of the runs after each number of ratings in `points`.

    A run that spent fewer ratings counts with its last overlap. With `ties`, a system that ties with the gold top
    counts as found.
    """
    correct = np.array([gold.is_in_top(name, ties=ties) for name in history.systems])
    hits = correct[history.tops].mean(axis=2)
    at = [np.maximum(np.searchsorted(spent, points, side="right") - 1, 0) for spent in history.spent.T]
    curve: Array = np.mean([hits[iterations, run] for run, iterations in enumerate(at)], axis=0)
    return curve


def _right_tops(history: History, is_right: Callable[[Sequence[str]], bool]) -> Mask:
    """Whether the top systems are right (iterations x runs)."""
    iterations, runs, size = history.tops.shape
    tops = list(map(tuple, np.sort(history.tops, axis=2).reshape(-1, size).tolist()))
    right = {top: is_right([history.systems[index] for index in top]) for top in set(tops)}
    return np.array([right[top] for top in tops]).reshape(iterations, runs)


def _settled(right: Mask, spent: Indices, total: int) -> tuple[int, ...]:
    """The number of ratings after which the top of each run stayed right; `total` if it never did."""
    since = [converged_at(run) for run in right.T.tolist()]
    return tuple(total if time is None else int(spent[time, run]) for run, time in enumerate(since))
