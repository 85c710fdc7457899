"""One choice of settings, and how it stands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from mtloop.core.types import JSON


@dataclass(frozen=True)
class Trial:
    """Settings to try. Number 0 are the defaults."""

    number: int
    settings: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.number:03d}"

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.settings.items()) or "the defaults"


@dataclass(frozen=True)
class TrialResult:
    """A trial after so many rows: its scores, and the value it is ranked by (more is better)."""

    trial: Trial
    rows: int
    value: float
    scores: Mapping[str, float] = field(default_factory=dict)
    failed: str = ""

    @property
    def order(self) -> tuple[float, ...]:
        """Sorts the best first: who came further, then who is better, then who was drawn earlier."""
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


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
