"""What a replay found, held against the gold ranking: overlaps at checkpoints, and the human effort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.types import JSON
from mtloop.metrics.ranking import rank, settled, top_n_overlap, within_tie
from mtloop.selection.policies.batch_policy import Array
from mtloop.selection.replay import History


@dataclass(frozen=True)
class Gold:
    """The ranking to find: scores it is made by, and the raw scores (0-100) in which ties are told.

    A system is right if it is in the gold top, or if its raw score is at most `tie` below the lowest there.
    """

    scores: dict[str, float]
    raw: dict[str, float]
    tie: float = 1.0
    top: int = 3

    def __post_init__(self) -> None:
        if not self.scores:
            raise InputError("the gold ranking knows none of the rated systems")

    @property
    def ranking(self) -> list[str]:
        return rank(self.scores)

    @property
    def best(self) -> list[str]:
        return self.ranking[: self.top]

    def right(self, chosen: Sequence[str], tie: float | None = None) -> bool:
        return within_tie(chosen, self.best, self.raw, self.tie if tie is None else tie)

    def overlap(self, ranking: Sequence[str], n: int) -> float:
        return top_n_overlap(ranking, self.ranking, min(n, len(self.scores)))


@dataclass(frozen=True)
class Checkpoint:
    """Where the mean standing was after so many iterations; `ratings` is the mean over runs."""

    iteration: int
    top1: float
    top3: float
    ratings: float

    def to_json(self) -> dict[str, JSON]:
        return {"iteration": self.iteration, "top1": self.top1, "top3": self.top3, "ratings": self.ratings}


@dataclass(frozen=True)
class Effort:
    """What single runs cost. `settled` are the ratings after which the top was right to the end (ties count); a run
    that never settled counts as all ratings. `exact` is the same without ties."""

    ratings: tuple[int, ...]
    settled: tuple[int, ...]
    exact: tuple[int, ...]
    stopped: tuple[int, ...]
    right: tuple[bool, ...]
    right_exact: tuple[bool, ...]
    total: int

    def to_json(self) -> dict[str, JSON]:
        return {
            "all_ratings": self.total,
            "ratings": float(np.median(self.ratings)),
            "settled": float(np.median(self.settled)),
            "settled_exactly": float(np.median(self.exact)),
            "never_settled": sum(count >= self.total for count in self.settled),
            "runs": len(self.ratings),
            "stopped": len(self.stopped),
            "right_when_stopped": sum(self.right),
            "exactly_right_when_stopped": sum(self.right_exact),
            "ratings_at_stop": float(np.median(self.stopped)) if self.stopped else None,
        }


def checkpoints(history: History, gold: Gold, at: Sequence[int]) -> list[Checkpoint]:
    """The paper's tables: overlap of the systems with the greatest mean weights and the official ones."""
    return [_checkpoint(history, gold, iteration) for iteration in at]


def _checkpoint(history: History, gold: Gold, iteration: int) -> Checkpoint:
    mean = history.mean_standing(iteration)
    ranking = rank(dict(zip(history.systems, mean.tolist(), strict=True)))
    ratings = float(history.spent[iteration - 1].mean())
    return Checkpoint(iteration, gold.overlap(ranking, 1), gold.overlap(ranking, 3), ratings)


def effort(history: History, gold: Gold, total: int) -> Effort:
    """How many ratings each run needed."""
    spent = history.spent
    stops = [(int(spent[stop[0] - 1, run]), stop[1]) for run, stop in enumerate(history.stops) if stop is not None]
    early = [(count, stop) for count, stop in stops if count < total]
    return Effort(
        tuple(map(int, spent[-1])),
        tuple(_settled(history, gold, run, total, gold.tie) for run in range(spent.shape[1])),
        tuple(_settled(history, gold, run, total, None) for run in range(spent.shape[1])),
        tuple(count for count, _ in early),
        tuple(gold.right(stop.best) for _, stop in early),
        tuple(set(stop.best) == set(gold.best) for _, stop in early),
        total,
    )


def overlap_curve(history: History, gold: Gold, points: Sequence[int], *, ties: bool = False) -> Array:
    """The mean top overlap over runs after so many ratings; a run that has spent no more stays where it is.

    With `ties`, a system that is a tie with the gold top counts as found.
    """
    good = np.array([gold.right([name]) if ties else name in gold.best for name in history.systems])
    hits = good[history.tops].mean(axis=2)
    at = [np.maximum(np.searchsorted(spent, points, side="right") - 1, 0) for spent in history.spent.T]
    curve: Array = np.mean([hits[places, run] for run, places in enumerate(at)], axis=0)
    return curve


def _settled(history: History, gold: Gold, run: int, total: int, tie: float | None) -> int:
    good: dict[tuple[int, ...], bool] = {}
    right = []
    for places in map(tuple, np.sort(history.tops[:, run], axis=1).tolist()):
        if places not in good:
            chosen = [history.systems[place] for place in places]
            good[places] = set(chosen) == set(gold.best) if tie is None else gold.right(chosen, tie)
        right.append(good[places])
    since = settled(right)
    return total if since is None else int(history.spent[since, run])
