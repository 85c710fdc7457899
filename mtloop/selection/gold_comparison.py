"""Comparison of a replay with the gold ranking: top-n overlap at checkpoints, and the human effort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.types import JSON
from mtloop.metrics.ranking import converged_at, rank, top_n_overlap, within_tie
from mtloop.selection.policies.batch_policy import Array
from mtloop.selection.replay import History


@dataclass(frozen=True)
class Gold:
    """The ranking to find: `scores` define it, and the `raw` scores (0-100) define ties.

    A system is correct if it is in the gold top, or if its raw score is at most `tie` below the lowest in the top.
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

    def is_correct(self, chosen: Sequence[str], tie: float | None = None) -> bool:
        """Whether every chosen system is correct, with ties counted."""
        return within_tie(chosen, self.best, self.raw, self.tie if tie is None else tie)

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
    """The ratings that single runs needed, out of `total`.

    `settled` is the number of ratings after which the top stayed correct (ties count); it is `total` for a run that
    never settled. `settled_exact` is the same without ties. `stopped` holds the ratings at the stop, for the runs that
    stopped early; `correct` and `correct_exact` tell whether their top was correct.
    """

    ratings: tuple[int, ...]
    settled: tuple[int, ...]
    settled_exact: tuple[int, ...]
    stopped: tuple[int, ...]
    correct: tuple[bool, ...]
    correct_exact: tuple[bool, ...]
    total: int

    def to_json(self) -> dict[str, JSON]:
        return {
            "all_ratings": self.total,
            "median_ratings": float(np.median(self.ratings)),
            "settled": float(np.median(self.settled)),
            "settled_exactly": float(np.median(self.settled_exact)),
            "never_settled": sum(count >= self.total for count in self.settled),
            "runs": len(self.ratings),
            "stopped": len(self.stopped),
            "correct": sum(self.correct),
            "exactly_correct": sum(self.correct_exact),
            "ratings_at_stop": float(np.median(self.stopped)) if self.stopped else None,
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
    """The number of ratings that each run needed."""
    spent = history.spent
    stops = [(int(spent[stop[0] - 1, run]), stop[1]) for run, stop in enumerate(history.stops) if stop is not None]
    early = [(count, stop) for count, stop in stops if count < total]
    return Effort(
        tuple(map(int, spent[-1])),
        tuple(_settled(history, gold, run, total, gold.tie) for run in range(spent.shape[1])),
        tuple(_settled(history, gold, run, total, None) for run in range(spent.shape[1])),
        tuple(count for count, _ in early),
        tuple(gold.is_correct(stop.best) for _, stop in early),
        tuple(set(stop.best) == set(gold.best) for _, stop in early),
        total,
    )


def overlap_curve(history: History, gold: Gold, points: Sequence[int], *, ties: bool = False) -> Array:
    """The mean top overlap of the runs after each number of ratings in `points`.

    A run that spent fewer ratings counts with its last overlap. With `ties`, a system that ties with the gold top
    counts as found.
    """
    correct = np.array([gold.is_correct([name]) if ties else name in gold.best for name in history.systems])
    hits = correct[history.tops].mean(axis=2)
    at = [np.maximum(np.searchsorted(spent, points, side="right") - 1, 0) for spent in history.spent.T]
    curve: Array = np.mean([hits[iterations, run] for run, iterations in enumerate(at)], axis=0)
    return curve


def _settled(history: History, gold: Gold, run: int, total: int, tie: float | None) -> int:
    """The number of ratings after which the top of a run stayed correct; `total` if it never did."""
    known: dict[tuple[int, ...], bool] = {}
    correct = []
    for top in map(tuple, np.sort(history.tops[:, run], axis=1).tolist()):
        if top not in known:
            chosen = [history.systems[index] for index in top]
            known[top] = set(chosen) == set(gold.best) if tie is None else gold.is_correct(chosen, tie)
        correct.append(known[top])
    since = converged_at(correct)
    return total if since is None else int(history.spent[since, run])
