"""The result of one policy in a replay."""

from __future__ import annotations

from dataclasses import dataclass

from mtloop.core.protocols import Stop
from mtloop.core.types import JSON
from mtloop.selection.gold_comparison import Checkpoint, Effort, Gold, early_stops
from mtloop.selection.replay import History


@dataclass(frozen=True, eq=False)
class PolicyResult:
    """How one policy did on one recording; `policy` is its name and settings, `missing` how ratings were replaced."""

    policy: str
    missing: str
    gold: Gold
    history: History
    checkpoints: list[Checkpoint]
    effort: Effort

    @property
    def runs(self) -> int:
        return len(self.history.stops)

    @property
    def distinct_runs(self) -> int:
        """The number of runs that differ (see `History`). Equal runs are one piece of evidence."""
        return self.history.distinct_runs

    @property
    def stops(self) -> list[tuple[int, Stop] | None]:
        """For every run the iteration and the `Stop`; None if the run did not stop before all ratings were read."""
        return early_stops(self.history, self.effort.total)

    def to_json(self) -> dict[str, JSON]:
        """The result as plain JSON."""
        history = self.history
        weights = history.mean_weights(history.iterations).tolist()
        return {
            "policy": self.policy,
            "missing": self.missing,
            "runs": self.runs,
            "distinct_runs": self.distinct_runs,
            "gold": list(self.gold.best),
            "gold_equal": list(self.gold.equal),
            "checkpoints": [checkpoint.to_json() for checkpoint in self.checkpoints],
            "top3_last_changed": history.last_change,
            "effort": self.effort.to_json(),
            "stops": [self._stop_json(stop) for stop in self.stops],
            "weights": dict(zip(history.systems, weights, strict=True)),
        }

    def _stop_json(self, stop: tuple[int, Stop] | None) -> JSON:
        if stop is None:
            return None
        best = stop[1].best
        right: dict[str, JSON] = {
            "exactly_right": self.gold.is_exactly_right(best),
            "right_within_tie": self.gold.is_right_within_tie(best),
        }
        return {"iteration": stop[0], "best": list(best), **right}
