"""Replays of policies on recorded ratings, and their results as JSON, tables and charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtloop.core.plural import pluralise
from mtloop.core.types import JSON
from mtloop.report.chart import Axis, Band, Chart, Series
from mtloop.selection.gold_comparison import (
    Checkpoint,
    Effort,
    Gold,
    evaluate_checkpoints,
    measure_effort,
    overlap_curve,
)
from mtloop.selection.policies.registry import make_policy
from mtloop.selection.replay import History, Recording, Replay, segment_orders

POINTS = 200  # the number of points of a plotted curve


@dataclass(frozen=True, eq=False)
class ReplayResult:
    """The results of one policy on one recording."""

    policy: str
    missing: str
    gold: Gold
    history: History
    checkpoints: list[Checkpoint]
    effort: Effort


@dataclass(frozen=True, eq=False)
class ReplayPlan:
    """The settings that all policies of a comparison share. `each`: shuffle the segments again in each run."""

    recording: Recording
    gold: Gold
    missing: str
    decimals: int
    runs: int
    seed: int
    each: bool
    checkpoints: Sequence[int]

    def result(self, spec: str, *, trace: bool = False) -> ReplayResult:
        """Replay a policy, such as `exp3:variant=published`; `trace` stores the steps of the first run."""
        size = len(self.recording.segments)
        policy = make_policy(spec, self.recording.systems, horizon=size, runs=self.runs)
        replay = Replay(self.recording, self.missing, decimals=self.decimals, top=self.gold.top)
        keep = {*self.checkpoints, *(np.linspace(1, size, min(size, POINTS)).astype(int).tolist() if trace else ())}
        order = segment_orders(size, self.runs, self.seed, each=self.each)
        history = replay.run(policy, order, seed=self.seed, keep=sorted(keep), trace=trace)
        found = evaluate_checkpoints(history, self.gold, self.checkpoints)
        return ReplayResult(
            spec, self.missing, self.gold, history, found, measure_effort(history, self.gold, self.recording.ratings)
        )

    def header_config(self) -> dict[str, Any]:
        """The settings for the header of a trace."""
        return {
            "missing": self.missing,
            "decimals": self.decimals,
            "runs": self.runs,
            "orders": "each" if self.each else "one",
            "run": 1,
        }


def as_json(result: ReplayResult) -> dict[str, JSON]:
    """The result as plain JSON."""
    history = result.history
    weights = history.mean_weights(history.iterations).tolist()
    return {
        "policy": result.policy,
        "missing": result.missing,
        "runs": len(history.stops),
        "gold": list(result.gold.best),
        "checkpoints": [checkpoint.to_json() for checkpoint in result.checkpoints],
        "top3_last_changed": history.last_change,
        "effort": result.effort.to_json(),
        "stops": [
            None if stop is None else {"iteration": stop[0], "best": list(stop[1].best)} for stop in history.stops
        ],
        "weights": dict(zip(history.systems, weights, strict=True)),
    }


def as_table(results: Sequence[ReplayResult]) -> str:
    """The paper's table of top 1 and top 3 overlap at each checkpoint, then the effort, then one line per stop."""
    from tabulate import tabulate

    iterations = [checkpoint.iteration for checkpoint in results[0].checkpoints]
    rows = [_row(result) for result in results]
    headers = [
        "policy",
        "missing",
        *(f"{iteration} top 1/3" for iteration in iterations),
        "ratings (mean)",
        "top 3 since",
    ]
    alignment = ("left", "left", *["right"] * (len(iterations) + 2))
    paper = tabulate(rows, headers, disable_numparse=True, colalign=alignment)
    effort = tabulate([_effort_row(result) for result in results], _EFFORT, disable_numparse=True)
    gold = f"gold: {', '.join(results[0].gold.best)}"
    return "\n".join([gold, "", paper, "", effort, *(line for result in results for line in _stops(result))])


_EFFORT = ("policy", "all ratings", "ratings (median)", "to settle (median)", "never settled", "stopped", "correct")


def _row(result: ReplayResult) -> list[str]:
    cells = [f"{point.top1:.2f} {point.top3:.2f}" for point in result.checkpoints]
    ratings = f"{result.checkpoints[-1].ratings:.0f}"
    return [result.policy, result.missing, *cells, ratings, str(result.history.last_change)]


def _effort_row(result: ReplayResult) -> list[str]:
    effort = result.effort.to_json()
    names = ("all_ratings", "median_ratings", "settled")
    of = f"/{effort['runs']}"
    counts = [f"{effort['never_settled']}{of}", f"{effort['stopped']}{of}"]
    correct = f"{effort['correct']}/{effort['stopped']}" if effort["stopped"] else "-"
    return [result.policy, *(f"{effort[name]:.0f}" for name in names), *counts, correct]


def _stops(result: ReplayResult) -> Iterator[str]:
    """The most frequent stopping decision of the runs."""
    stops = [stop[1] for stop in result.history.stops if stop is not None]
    if not stops:
        return
    answers = [tuple(sorted(stop.best)) for stop in stops]
    common = max(set(answers), key=lambda answer: (answers.count(answer), answer))
    first = next(stop for stop in stops if tuple(sorted(stop.best)) == common)
    ratings = np.median(result.effort.stopped) if result.effort.stopped else result.effort.total
    sure = f"with {100 * first.confidence:g} % confidence the top {len(common)} are {', '.join(first.best)}"
    within = f"none of them worse than another system by more than {pluralise(100 * first.within, 'point')}"
    often = f"{answers.count(common)} of {len(stops)} stops"
    yield f"\n{result.policy}: stop after {ratings:.0f} ratings: {sure} ({within}; {often})"


def weights_chart(result: ReplayResult) -> Chart:
    """The paper's figures: how the weights evolve, with the 10th to 90th percentile of the runs as a band."""
    history = result.history
    x = np.array(history.kept, dtype=float)
    mean = history.weights.mean(axis=1)
    low, high = np.percentile(history.weights, [10, 90], axis=1)
    best = result.gold.best
    series = tuple(
        Series(name, x, mean[:, i], i + 1, band=Band(low[:, i], high[:, i]), note="gold" if name in best else "")
        for i, name in enumerate(history.systems)
    )
    title = f"{result.policy}, missing {result.missing}: weights, mean of {len(history.stops)} runs (band: 10-90 %)"
    return Chart("weights", title, Axis("iteration"), Axis("weight"), series)


def effort_chart(results: Sequence[ReplayResult]) -> Chart:
    """Ratings spent against the top-3 overlap."""
    total = results[0].effort.total
    points = np.unique(np.geomspace(1, max(total, 2), POINTS).astype(int))
    ticks = tuple(float(10**power) for power in range(len(str(total))))
    series = tuple(
        Series(result.policy, points.astype(float), overlap_curve(result.history, result.gold, points.tolist()), i + 1)
        for i, result in enumerate(results)
    )
    y = Axis(f"top-{results[0].gold.top} overlap, mean of runs", range=(0.0, 1.05))
    return Chart(
        "effort", "Ratings needed to find the best systems", Axis("ratings spent", log=True, ticks=ticks), y, series
    )
