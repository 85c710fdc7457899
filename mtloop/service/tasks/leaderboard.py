"""Leaderboards and learning curves, from the sums that every submission keeps up to date."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mtloop.judges.rewards import corpus_bleu
from mtloop.service.tasks.models import CheckpointSums, Entry, RunProgress, SharedTask

POINTS_PER_DECADE = 20


@dataclass(frozen=True)
class BlockScore:
    """Scores on one occurrence of the held-out block: corpus BLEU on 0-100, the mean sentence score on 0-1.

    Occurrences are numbered. Participants do not learn where in the stream they are.
    """

    block: int
    bleu: float
    sentence_score: float


@dataclass(frozen=True)
class LeaderboardRow:
    """One run. `rank` is None until it has the required samples. `relative_*` is last block minus first block."""

    rank: int | None
    participant: str
    run: str
    name: str
    pass_number: int
    position: int
    reward: float
    mean_reward: float
    regret: float | None
    bleu: float | None
    sentence_score: float | None
    relative_bleu: float | None
    relative_sentence_score: float | None


def leaderboard(task: SharedTask, entries: Iterable[Entry]) -> list[LeaderboardRow]:
    """Ranked runs by cumulative reward, then unranked runs by the number of samples."""
    ordered = sorted(entries, key=lambda one: _order(task, one))
    return [_row(task, entry, rank) for rank, entry in enumerate(ordered, start=1)]


def block_scores(task: SharedTask, checkpoints: Sequence[CheckpointSums]) -> list[BlockScore]:
    """The scores on every occurrence of the held-out block that is complete."""
    complete = [one for one in checkpoints if one.count == task.held_out]
    return [BlockScore(one.block, bleu_of(one.statistics), one.score / one.count) for one in complete]


def bleu_of(statistics: Sequence[int]) -> float:
    """Corpus BLEU from summed statistics."""
    return float(corpus_bleu().aggregate(np.array([statistics], dtype=float))[0])


def running_averages(task: SharedTask, points: Iterable[RunProgress]) -> list[dict[str, float | None]]:
    """Mean reward, and mean regret if the task has an oracle, at the points of a curve."""
    return [
        {"position": one.position, "reward": one.mean_reward, "regret": one.mean_regret if task.has_oracle else None}
        for one in points
        if one.position
    ]


def is_curve_point(position: int) -> bool:
    """Whether curves store this position: about twenty for every power of ten, evenly spaced on a logarithmic axis.

    >>> [position for position in range(1, 40) if is_curve_point(position)][-8:]
    [16, 18, 20, 23, 26, 29, 32, 36]
    """
    if position < POINTS_PER_DECADE // 2:
        return position > 0
    step = math.floor(math.log10(position) * POINTS_PER_DECADE)
    return math.floor(math.log10(position - 1) * POINTS_PER_DECADE) < step


def _order(task: SharedTask, entry: Entry) -> tuple[bool, float, int]:
    ranked = entry.progress.position >= task.required_samples
    value = entry.progress.reward if ranked else float(entry.progress.position)
    return not ranked, -value, entry.run.id


def _row(task: SharedTask, entry: Entry, rank: int) -> LeaderboardRow:
    progress, found = entry.progress, block_scores(task, entry.checkpoints)
    first, last = (found[0], found[-1]) if found and found[0].block == 0 else (None, None)
    both = first is not None and last is not None and len(found) > 1
    return LeaderboardRow(
        rank if progress.position >= task.required_samples else None,
        entry.participant,
        entry.run.token,
        entry.run.name,
        progress.pass_number,
        progress.position,
        progress.reward,
        progress.mean_reward,
        progress.mean_regret if task.has_oracle and progress.position else None,
        last.bleu if last else None,
        last.sentence_score if last else None,
        last.bleu - first.bleu if both and first and last else None,
        last.sentence_score - first.sentence_score if both and first and last else None,
    )
