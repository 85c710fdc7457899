"""Charts of replayed policies: the evolution of the weights, and ratings against systems found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtloop.report.chart import Axis, Band, Chart, Series
from mtloop.selection.gold_comparison import overlap_curve
from mtloop.selection.policy_result import PolicyResult

POINTS = 200  # the number of points of a curve


def weights_chart(result: PolicyResult) -> Chart:
    """The paper's figures: how the weights evolve, with the 10th to 90th percentile of the runs as a band."""
    history = result.history
    x = np.array(history.kept, dtype=float)
    mean = history.weights.mean(axis=1)
    low, high = np.percentile(history.weights, [10, 90], axis=1)
    best = result.gold.first(result.gold.top)
    series = tuple(
        Series(name, x, mean[:, i], i + 1, band=Band(low[:, i], high[:, i]), note="gold" if name in best else "")
        for i, name in enumerate(history.systems)
    )
    title = f"{result.policy}, missing {result.missing}: weights, mean of {result.runs} runs (band: 10-90 %)"
    return Chart("weights", title, Axis("iteration"), Axis("weight"), series)


def effort_chart(results: Sequence[PolicyResult]) -> Chart:
    """Ratings spent against the top-3 overlap."""
    total = results[0].effort.total
    points = np.unique(np.geomspace(1, max(total, 2), POINTS).astype(int))
    ticks = tuple(float(10**power) for power in range(len(str(total))))
    series = tuple(
        Series(result.policy, points.astype(float), overlap_curve(result.history, result.gold, points.tolist()), i + 1)
        for i, result in enumerate(results)
    )
    x = Axis("ratings spent", log=True, ticks=ticks)
    y = Axis(f"top-{results[0].gold.top} overlap, mean of runs", range=(0.0, 1.05))
    return Chart("effort", "Ratings needed to find the best systems", x, y, series)


def plotted_iterations(size: int) -> list[int]:
    """The iterations at which `weights_chart` shows the weights."""
    return [int(iteration) for iteration in np.linspace(1, size, min(size, POINTS)).astype(int)]
