"""What all policies of a comparison share: the recorded ratings, the gold ranking, and how they are replayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge

from mtloop.core.errors import InputError
from mtloop.report.selection_charts import plotted_iterations
from mtloop.selection.gold_comparison import Gold, evaluate_checkpoints, measure_effort
from mtloop.selection.policies.registry import make_policy
from mtloop.selection.policy_result import PolicyResult
from mtloop.selection.replay import Recording, Replay, segment_orders

Orders = Literal["each", "one"]


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """`orders`: shuffle the segments in each run ("each"), or once for all runs ("one"), as in the paper."""

    missing: str = "zero"
    decimals: Annotated[int, Ge(0)] = 2
    runs: Annotated[int, Ge(1)] = 10
    seed: Annotated[int, Ge(0)] = 1
    orders: Orders = "each"
    checkpoints: Sequence[int | str] = (10, 50, 100, 500, 1000, "end")

    def __post_init__(self) -> None:
        if isinstance(self.checkpoints, str) or not isinstance(self.checkpoints, Sequence):
            raise InputError(f"checkpoints is {self.checkpoints!r}; expected a list")
        self.iterations(1)  # raises InputError for a wrong checkpoint

    def iterations(self, size: int) -> list[int]:
        """The checkpoints as numbers. `end` is the last iteration; checkpoints after it are left out."""
        found = {size if checkpoint == "end" else _iteration(checkpoint) for checkpoint in self.checkpoints}
        return sorted(iteration for iteration in found if iteration <= size) or [size]


@dataclass(frozen=True, eq=False)
class ReplayPlan:
    """The settings that all policies of a comparison share. `source` is the name of the file with the ratings."""

    recording: Recording
    gold: Gold
    options: ReplayOptions
    source: str = ""

    def result(self, spec: str, *, trace: bool = False) -> PolicyResult:
        """Replay a policy, such as `exp3:variant=published`; `trace` stores the steps of the first run."""
        options, size = self.options, len(self.recording.segments)
        checkpoints = options.iterations(size)
        policy = make_policy(spec, self.recording.systems, horizon=size, runs=options.runs)
        replay = Replay(self.recording, options.missing, decimals=options.decimals, top=self.gold.top)
        order = segment_orders(size, options.runs, options.seed, each=options.orders == "each")
        keep = sorted({*checkpoints, *plotted_iterations(size)})
        history = replay.run(policy, order, seed=options.seed, keep=keep, trace=trace)
        found = evaluate_checkpoints(history, self.gold, checkpoints)
        effort = measure_effort(history, self.gold, self.recording.ratings)
        return PolicyResult(spec, options.missing, self.gold, history, found, effort)

    def header_config(self) -> dict[str, Any]:
        """The settings for the header of a trace."""
        options = self.options
        source = {"ratings": self.source} if self.source else {}
        return {
            "missing": options.missing,
            "decimals": options.decimals,
            "runs": options.runs,
            "orders": options.orders,
            "run": 1,
        } | source


def _iteration(checkpoint: int | str) -> int:
    if not (str(checkpoint).isdigit() and int(checkpoint)):
        raise InputError(f"checkpoint {checkpoint!r}; expected numbers from 1 and `end`, separated by commas")
    return int(checkpoint)
