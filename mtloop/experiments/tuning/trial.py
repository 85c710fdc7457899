"""One choice of settings, and its result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from mtloop.core.types import JSON


@dataclass(frozen=True)
class Trial:
    """Settings to try. Trial 0 has the defaults."""

    number: int
    settings: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.number:03d}"

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.settings.items()) or "the defaults"


@dataclass(frozen=True)
class TrialResult:
    """The scores of a trial after `rows` rows, and the value of the objective (higher is better).

    `failed` is the error message of a trial whose settings the method refused.
    """

    trial: Trial
    rows: int
    value: float
    scores: Mapping[str, float] = field(default_factory=dict)
    failed: str = ""

    @property
    def sort_key(self) -> tuple[float, ...]:
        """Sorts the best first: by rows, then by value, then by trial number."""
        return -self.rows, -self.value, self.trial.number

    def to_json(self) -> dict[str, JSON]:
        row: dict[str, JSON] = {
            "trial": self.trial.number,
            "settings": dict(self.trial.settings),
            "rows": self.rows,
            "value": _finite(self.value),
            "scores": {name: _finite(score) for name, score in self.scores.items()},
        }
        return row | ({"failed": self.failed} if self.failed else {})


def format_score(value: float) -> str:
    """Return the score with two decimals, or 0/0 if it is undefined (NaN).

    >>> format_score(12.3456), format_score(math.nan)
    ('12.35', '0/0')
    """
    return "0/0" if math.isnan(value) else f"{value:.2f}"


def _finite(value: float) -> float | None:
    """The value; None if it is NaN or infinite, because JSON has no such numbers."""
    return value if math.isfinite(value) else None
