"""Standings as people read them: leaderboards and curves. All of it comes from sums that each step kept up to date."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mtloop.judges.rewards import corpus_bleu
from mtloop.service.tasks.models import CheckpointSums, Entry, RunProgress, SharedTask

POINTS_A_DECADE = 20


@dataclass(frozen=True)
class BlockScore:
    """What a run did on one appearance of the held-out block: corpus BLEU on 0-100, the mean sentence score on 0-1.

    Appearances are numbered: where in the stream they lie is not for participants to know.
    """

    block: int
    bleu: float
    sentence: float


@dataclass(frozen=True)
class Line:
    """A line of a leaderboard; `rank` is None for a run that has not had the required samples."""

    rank: int | None
    participant: str
    run: str
    name: str
    lap: int
    position: int
    reward: float
    mean_reward: float
    regret: float | None
    bleu: float | None
    sentence: float | None
    relative_bleu: float | None
    relative_sentence: float | None


def leaderboard(task: SharedTask, entries: Iterable[Entry]) -> list[Line]:
    """Ranked by cumulative reward, then those that are not ranked yet, the furthest first."""
    ordered = sorted(entries, key=lambda one: _order(task, one))
    return [_line(task, entry, rank) for rank, entry in enumerate(ordered, start=1)]


def held_out(task: SharedTask, checkpoints: Sequence[CheckpointSums]) -> list[BlockScore]:
    """The scores at each checkpoint that has been gone through to its end."""
    whole = [one for one in checkpoints if one.count == task.held_out]
    return [BlockScore(one.block, bleu_of(one.statistics), one.score / one.count) for one in whole]


def bleu_of(statistics: Sequence[int]) -> float:
    """Corpus BLEU out of added-up statistics."""
    return float(corpus_bleu().aggregate(np.array([statistics], dtype=float))[0])


def running(task: SharedTask, points: Iterable[RunProgress]) -> list[dict[str, float | None]]:
    """The running averages at the points of a curve: reward, and regret where there is an oracle."""
    return [
        {"position": one.position, "reward": one.mean_reward, "regret": one.mean_regret if task.oracle else None}
        for one in points
        if one.position
    ]


def is_milestone(position: int) -> bool:
    """Whether a curve keeps this position: about twenty for every power of ten, spread as on a logarithmic axis.

    >>> [position for position in range(1, 40) if is_milestone(position)][-8:]
    [16, 18, 20, 23, 26, 29, 32, 36]
    """
    if position < POINTS_A_DECADE // 2:
        return position > 0
    step = math.floor(math.log10(position) * POINTS_A_DECADE)
    return math.floor(math.log10(position - 1) * POINTS_A_DECADE) < step


def _order(task: SharedTask, entry: Entry) -> tuple[bool, float, int]:
    ranked = entry.standing.position >= task.required
    worth = entry.standing.reward if ranked else float(entry.standing.position)
    return not ranked, -worth, entry.run.id


def _line(task: SharedTask, entry: Entry, rank: int) -> Line:
    standing, found = entry.standing, held_out(task, entry.checkpoints)
    first, last = (found[0], found[-1]) if found and found[0].block == 0 else (None, None)
    both = first is not None and last is not None and len(found) > 1
    return Line(
        rank if standing.position >= task.required else None,
        entry.participant,
        entry.run.token,
        entry.run.name,
        standing.lap,
        standing.position,
        standing.reward,
        standing.mean_reward,
        standing.mean_regret if task.oracle and standing.position else None,
        last.bleu if last else None,
        last.sentence if last else None,
        last.bleu - first.bleu if both and first and last else None,
        last.sentence - first.sentence if both and first and last else None,
    )
