"""Leaderboards and learning curves, from the sums that every submission keeps up to date."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mtloop.judges.rewards import corpus_bleu
from mtloop.service.tasks.models import CheckpointSums, Entry, RunProgress, SharedTask
from mtloop.service.tasks.publication import DECIMALS, exact_mean, is_over, mean_decimals, shows_regret

BLEU_DECIMALS = 1


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


def leaderboard(task: SharedTask, entries: Iterable[Entry], skipped: int = 0) -> list[LeaderboardRow]:
    """The rows of runs that are in the order of the leaderboard, after the first `skipped`."""
    return [_row(task, entry, rank) for rank, entry in enumerate(entries, start=skipped + 1)]


def block_scores(task: SharedTask, progress: RunProgress, checkpoints: Sequence[CheckpointSums]) -> list[BlockScore]:
    """The scores on every complete occurrence of the held-out block, once the pass is over."""
    complete = [one for one in checkpoints if one.count == task.held_out] if is_over(task, progress) else []
    return [
        BlockScore(
            one.block,
            round(bleu_of(one.statistics), BLEU_DECIMALS),
            exact_mean(task, one.score / one.count, one.count),
        )
        for one in complete
    ]


def bleu_of(statistics: Sequence[int]) -> float:
    """Corpus BLEU from summed statistics."""
    return float(corpus_bleu().aggregate(np.array([statistics], dtype=float))[0])


def running_averages(task: SharedTask, points: Iterable[RunProgress]) -> list[dict[str, float | None]]:
    """Mean reward at the points of a curve, and mean regret where it is shown."""
    return [
        {"position": one.position, "reward": round(one.mean_reward, DECIMALS), "regret": _regret_at(task, one)}
        for one in points
    ]


def _regret_at(task: SharedTask, point: RunProgress) -> float | None:
    return exact_mean(task, point.mean_regret, point.position) if shows_regret(task, point.position) else None


def _row(task: SharedTask, entry: Entry, rank: int) -> LeaderboardRow:
    progress, found = entry.progress, block_scores(task, entry.progress, entry.checkpoints)
    first, last = (found[0], found[-1]) if found and found[0].block == 0 else (None, None)
    both = first is not None and last is not None and len(found) > 1
    return LeaderboardRow(
        rank if progress.position >= task.required_samples else None,
        entry.participant,
        entry.run.token,
        entry.run.name,
        progress.pass_number,
        progress.position,
        *_shown_rewards(task, progress),
        _shown_regret(task, progress),
        last.bleu if last else None,
        last.sentence_score if last else None,
        round(last.bleu - first.bleu, BLEU_DECIMALS) if both and first and last else None,
        round(last.sentence_score - first.sentence_score, DECIMALS) if both and first and last else None,
    )


def _shown_rewards(task: SharedTask, progress: RunProgress) -> tuple[float, float]:
    """Cumulative and mean reward. During a pass they are rounded so that nobody can follow another's single rewards."""
    if is_over(task, progress):
        return round(progress.reward, DECIMALS), round(progress.mean_reward, DECIMALS)
    return float(round(progress.reward)), round(progress.mean_reward, mean_decimals(progress.position))


def _shown_regret(task: SharedTask, progress: RunProgress) -> float | None:
    if not task.has_oracle or not progress.position or not is_over(task, progress):
        return None
    return exact_mean(task, progress.mean_regret, progress.position)
