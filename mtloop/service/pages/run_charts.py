"""The charts of a run: running averages over the samples, and scores on the held-out block at each checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from mtloop.metrics.base import Array
from mtloop.report.chart import Axis, Chart, Series
from mtloop.service.tasks.models import SharedTask

Pass: TypeAlias = dict[str, Any]  # as `result_routes.curves` returns it


def run_charts(passes: Sequence[Pass], task: SharedTask) -> Iterator[Chart]:
    """Yield the charts that the task has values for; each pass is one series."""
    yield _running(passes, "reward", "Mean reward so far")
    if task.has_oracle:
        yield _running(passes, "regret", "Mean regret so far")
    if task.held_out:
        yield _held_out(passes, "bleu", "Corpus BLEU on the held-out block", "BLEU")
        yield _held_out(passes, "sentence_score", "Mean sentence reward on the held-out block", "mean reward")


def _running(passes: Sequence[Pass], name: str, title: str) -> Chart:
    lines = [
        Series(_name(one), _column(points, "position"), _column(points, name), number)
        for number, one in enumerate(passes, start=1)
        if (points := [point for point in one["running"] if point[name] is not None])
    ]
    return Chart(name, title, Axis("samples (logarithmic)", "sample", log=True), Axis(f"mean {name}"), tuple(lines))


def _held_out(passes: Sequence[Pass], name: str, title: str, axis: str) -> Chart:
    lines = [
        Series(_name(one), x, _column(one["held_out"], name), number, mode="line and points")
        for number, one in enumerate(passes, start=1)
        if (x := _column(one["held_out"], "block") + 1).size
    ]
    return Chart(name, title, Axis("checkpoint", "checkpoint"), Axis(axis), tuple(lines))


def _name(one: Pass) -> str:
    return f"pass {one['pass']}"


def _column(points: Sequence[dict[str, Any]], name: str) -> Array:
    return np.array([np.nan if point[name] is None else point[name] for point in points], dtype=float)
