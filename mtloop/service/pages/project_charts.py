"""The charts of a project: its scores and those of the frozen base model, over its corrections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mtloop.metrics.base import Array
from mtloop.report.chart import Axis, Chart, Series
from mtloop.service.pages.page_texts import Messages

SHOWN = {"ter": "chart_effort", "r1": "chart_r1", "rer": "chart_repeated"}  # metrics and the keys of their titles


def project_charts(metrics: Sequence[dict[str, Any]], say: Messages) -> Iterator[Chart]:
    """Yield a chart for each metric that has points. `metrics` are those of the statistics of a project."""
    for metric in metrics:
        if (name := metric["name"].lower()) in SHOWN and metric["points"]:
            axes = Axis(say("chart_corrections"), say("chart_correction")), Axis(metric["name"].upper())
            yield Chart(name, say(SHOWN[name]), *axes, tuple(_lines(metric["points"], say)))


def _lines(points: Sequence[dict[str, Any]], say: Messages) -> Iterator[Series]:
    x = _column(points, "corrections")
    yield Series(say("chart_project"), x, _column(points, "value"), 1, mode="line and points")
    yield Series(say("chart_base"), x, _column(points, "base"), 2, mode="line and points")


def _column(points: Sequence[dict[str, Any]], name: str) -> Array:
    return np.array([np.nan if point[name] is None else point[name] for point in points], dtype=float)
