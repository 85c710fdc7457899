"""Tables of replayed policies: effort and right answers, the paper's overlap at checkpoints, and the stops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from mtloop.core.plural import pluralise
from mtloop.core.protocols import Stop
from mtloop.core.types import JSON
from mtloop.report.stop_sentence import describe_stop
from mtloop.report.table import Table
from mtloop.report.wording import median_text
from mtloop.selection.gold_comparison import Gold
from mtloop.selection.policy_result import PolicyResult


def effort_table(results: Sequence[PolicyResult]) -> Table:
    """The ratings that the runs needed, and how many answers were exactly right and right within the tie."""
    gold, total = results[0].gold, results[0].effort.total
    return Table(
        _effort_headers(gold.top),
        [_effort_cells(result) for result in results],
        [_effort_record(result) for result in results],
        title=f"gold: {_gold_top(gold)}; {total:,} ratings",
        notes=[*_table_notes(results[0]), *(note for result in results for note in _notes(result))],
    )


def checkpoint_table(results: Sequence[PolicyResult]) -> Table:
    """The paper's table: the overlap of the top 1 and the top 3 with the gold ranking at each checkpoint."""
    iterations = [checkpoint.iteration for checkpoint in results[0].checkpoints]
    heads = (f"{iteration} top 1/3" for iteration in iterations)
    return Table(
        ("policy", "missing", *heads, "ratings (mean)", "top 3 since"),
        [_checkpoint_cells(result) for result in results],
        [_checkpoint_record(result) for result in results],
        title="Overlap with the gold ranking, by the mean weights of the runs",
        text_columns=2,
    )


def _effort_headers(top: int) -> tuple[str, ...]:
    settle = ("to settle\nexactly", "to settle\nwithin\ntie")
    final, stops = ([f"{kind}\nexactly\nright", f"{kind}\nwithin\ntie"] for kind in (f"final top {top}", "stops"))
    return ("policy", "runs", "distinct", "ratings\n(median)", *settle, *final, "stopped\nearly", *stops)


def _effort_cells(result: PolicyResult) -> list[str]:
    effort, measured = result.effort.to_json(), result.effort
    needed = (measured.ratings, measured.settled_exactly, measured.settled_within_tie)
    medians = (median_text(float(np.median(ratings))) for ratings in needed)
    counts = (f"{effort[name]}/{result.runs}" for name in ("final_exactly_right", "final_right_within_tie", "stopped"))
    stops = (effort[name] for name in ("stops_exactly_right", "stops_right_within_tie"))
    right = (f"{count}/{effort['stopped']}" if effort["stopped"] else "-" for count in stops)
    return [result.policy, str(result.runs), str(result.distinct_runs), *medians, *counts, *right]


def _effort_record(result: PolicyResult) -> dict[str, JSON]:
    about: dict[str, JSON] = {"policy": result.policy, "missing": result.missing, "runs": result.runs}
    numbers = {name: math.nan if value is None else value for name, value in result.effort.to_json().items()}
    return about | {"distinct_runs": result.distinct_runs} | numbers


def _checkpoint_cells(result: PolicyResult) -> list[str]:
    cells = [f"{point.top1:.2f} {point.top3:.2f}" for point in result.checkpoints]
    ratings = f"{result.checkpoints[-1].ratings:.0f}"
    return [result.policy, result.missing, *cells, ratings, str(result.history.last_change)]


def _checkpoint_record(result: PolicyResult) -> dict[str, JSON]:
    record: dict[str, JSON] = {"policy": result.policy, "missing": result.missing}
    for point in result.checkpoints:
        record |= {f"top1_at_{point.iteration}": point.top1, f"top3_at_{point.iteration}": point.top3}
    return record | {
        "mean_ratings": result.checkpoints[-1].ratings,
        "top3_last_changed": result.history.last_change,
    }


def _gold_top(gold: Gold) -> str:
    return ", ".join(gold.best) + (f" (equal: {', '.join(gold.equal)})" if gold.equal else "")


def _table_notes(result: PolicyResult) -> Iterator[str]:
    gold, systems = result.gold, result.history.systems
    if gold.equal:
        yield f"equal: same gold score as {gold.best[-1]}; any of these systems is exactly right in its place"
    lowest = f"{pluralise(gold.tie, 'point')} below the lowest of the gold top {gold.top}"
    yield f"within tie: a system also counts as right if its raw score is at most {lowest}"
    if len(systems) <= gold.top:
        yield f"nothing to find: the top {gold.top} has a place for every system ({len(systems)})"


def _notes(result: PolicyResult) -> Iterator[str]:
    if result.distinct_runs < result.runs:
        runs = f"{pluralise(result.runs, 'run')}, {result.distinct_runs} distinct"
        yield f"{result.policy}: {runs}; equal runs are one piece of evidence"
    stops = [stop[1] for stop in result.stops if stop is not None]
    if stops:
        yield f"{result.policy}: {_early_stops(result, stops)}"
    if late := sum(stop is not None for stop in result.history.stops) - len(stops):
        runs = f"{late} of {pluralise(result.runs, 'run')}"
        yield f"{result.policy}: {runs} had an answer only after all ratings were read; this is not an early stop"


def _early_stops(result: PolicyResult, stops: Sequence[Stop]) -> str:
    """How many runs stopped early, and their most frequent answer, as one sentence."""
    answers = [tuple(sorted(stop.best)) for stop in stops]
    common = max(set(answers), key=lambda answer: (answers.count(answer), answer))
    first = next(stop for stop in stops if tuple(sorted(stop.best)) == common)
    if len(common) == len(result.history.systems):
        return f"needs no ratings: its top has a place for every system ({len(common)})"
    runs = f"{len(stops)} of {pluralise(result.runs, 'run')} stopped before all ratings were read"
    often = f"{answers.count(common)} of {pluralise(len(stops), 'stop')}"
    best = [name for name in dict.fromkeys([*result.gold.ranking, *common]) if name in common]
    answer = f"most frequent answer ({often}): {describe_stop(first, best)}"
    return f"{runs}, after {median_text(float(np.median(result.effort.stopped)))} ratings (median); {answer}"
