"""Which results are shown, when, and how exactly.

Regret and held-out scores are computed from scores before noise. If they were exact and always current, their
differences from one step to the next would give the score of one sentence without its noise, and would show where the
held-out blocks are. So held-out scores come when the pass is over, regret comes at intervals, and both are rounded.
Rewards as given are no secret of the service: the participant has got each of them.
"""

from __future__ import annotations

import math

from mtloop.judges.rewards import make_noise
from mtloop.service.tasks.models import RunProgress, SharedTask

POINTS_PER_DECADE = 20
FIRST_REGRET, REGRET_GAP = 500, 50  # in tasks with noise: the first position with a regret, the least distance of two
DECIMALS = 4


def is_curve_point(position: int) -> bool:
    """Whether curves store this position: about twenty for every power of ten, evenly spaced on a logarithmic axis.

    >>> [position for position in range(1, 40) if is_curve_point(position)][-8:]
    [16, 18, 20, 23, 26, 29, 32, 36]
    """
    if position < POINTS_PER_DECADE // 2:
        return position > 0
    step = math.floor(math.log10(position) * POINTS_PER_DECADE)
    return math.floor(math.log10(position - 1) * POINTS_PER_DECADE) < step


def is_over(task: SharedTask, progress: RunProgress) -> bool:
    """Whether a pass gets no more rewards. A pass of a mock task that was left early is not over."""
    return progress.position >= task.samples or task.stopped


def mean_decimals(count: int) -> int:
    """The decimals of a mean over `count` sentences: one sentence alone hardly ever changes the last of them.

    >>> mean_decimals(20), mean_decimals(200), mean_decimals(2000)
    (1, 2, 3)
    """
    return 1 if count < 50 else 2 if count < 500 else 3


def exact_mean(task: SharedTask, value: float, count: int) -> float:
    """A mean of scores before noise, rounded more where the task has noise."""
    return round(value, mean_decimals(count) if has_noise(task) else DECIMALS)


def shows_regret(task: SharedTask, position: int) -> bool:
    """Whether the curve shows the regret at one of its points."""
    if not task.has_oracle:
        return False
    if not has_noise(task) or position == task.samples:
        return True
    return position >= FIRST_REGRET and task.samples - position >= REGRET_GAP


def has_noise(task: SharedTask) -> bool:
    return bool(make_noise(task.noise))
