"""Slopes that a stream is too short for: a report leaves them out and says so in one line."""

from __future__ import annotations

from collections.abc import Sequence

from mtloop.core.protocols import Metric
from mtloop.core.types import Score
from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.metrics.slope import Slope

NEEDED_BLOCKS = 8  # three doublings of the text; a slope is the change of the errors at one doubling


def shown_metrics(evaluation: Evaluation, results: Sequence[SystemResult]) -> list[Metric]:
    """Return the metrics of the evaluation without the slopes that the stream is too short for."""
    longest = _longest(evaluation, results)
    return [metric for metric in evaluation.metrics if longest.get(metric.name, NEEDED_BLOCKS) >= NEEDED_BLOCKS]


def shown_results(evaluation: Evaluation, results: Sequence[SystemResult]) -> list[SystemResult]:
    """Return the results without the slopes that the stream is too short for."""
    names = {metric.name for metric in shown_metrics(evaluation, results)}
    return [result for result in results if result.score.name in names]


def short_stream_note(evaluation: Evaluation, results: Sequence[SystemResult]) -> str:
    """Return one line on the slopes that are left out; empty if all are shown."""
    short = [blocks for blocks in _longest(evaluation, results).values() if blocks < NEEDED_BLOCKS]
    return too_few_blocks(max(short)) if short else ""


def too_few_blocks(blocks: int) -> str:
    """Return the line for this number of blocks.

    >>> too_few_blocks(1)
    'the stream is too short for slopes (1 block; 8 are needed)'
    """
    count = f"{blocks} block{'' if blocks == 1 else 's'}"
    return f"the stream is too short for slopes ({count}; {NEEDED_BLOCKS} are needed)"


def block_count(score: Score) -> int:
    """Return the number of blocks that a slope was fitted to."""
    blocks = score.detail["blocks"]
    assert isinstance(blocks, int)
    return blocks


def _longest(evaluation: Evaluation, results: Sequence[SystemResult]) -> dict[str, int]:
    """Return the number of blocks of each slope, for the system with most blocks."""
    slopes = {metric.name for metric in evaluation.metrics if isinstance(metric, Slope)}
    scores = [result.score for result in results if result.score.name in slopes]
    return {name: max(block_count(score) for score in scores if score.name == name) for name in slopes}
