from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from helpers.steps import make_steps

from mtloop.checks.metric_contract import check_metric
from mtloop.core import Score, Step
from mtloop.metrics.base import Array, Ratio

STEPS = make_steps(["a b", "", "c d e", "a"], ["a b", "b", "c d", "b"])


class Longer(Ratio):
    """Keeps every promise: hypothesis characters for 100 of the reference."""

    name = "longer"
    signature = "unit:character"

    def rows(self, steps: Sequence[Step]) -> Array:
        pairs = ((len(step.proposal.text), len(step.references[0])) for step in steps)
        return np.array(list(pairs), dtype=float)


class Plain:
    """The smallest metric there is: only a name and a score."""

    name = "plain"

    def score(self, steps: Sequence[Step]) -> Score:
        return Score(self.name, float(len(steps)), "count:steps")


class Nameless(Longer):
    name = ""


class Loud(Longer):
    name = "Longer, louder"


class Unsigned(Longer):
    signature = " "


class Infinite(Longer):
    def aggregate(self, sums: Array) -> Array:
        return np.full(len(sums), math.inf)


class Fickle(Longer):
    calls = 0

    def rows(self, steps: Sequence[Step]) -> Array:
        self.calls += 1
        return super().rows(steps) * [self.calls, 1]


class Counting(Longer):
    calls = 0

    @property
    def signature(self) -> str:  # type: ignore[override]
        self.calls += 1
        return f"call:{self.calls}"


class Meddling(Longer):
    def rows(self, steps: Sequence[Step]) -> Array:
        for step in steps:
            step.proposal.memo["seen"] = True  # type: ignore[index]
        return super().rows(steps)


class Proud(Longer):
    def rows(self, steps: Sequence[Step]) -> Array:
        if not all(step.proposal.text for step in steps[:1]):
            raise ValueError("nothing to say?")
        return super().rows(steps)


class Impatient(Longer):
    def rows(self, steps: Sequence[Step]) -> Array:
        return super().rows(steps) / np.arange(1, len(steps) + 1)[:, None] ** [2, 1]


class Unwritable(Longer):
    def score_rows(self, rows: Array) -> Score:
        return replace(super().score_rows(rows), detail={"sums": rows.sum(axis=0)})  # type: ignore[dict-item]


class Skipping(Longer):
    def rows(self, steps: Sequence[Step]) -> Array:
        return super().rows([step for step in steps if step.proposal.text])


class Gappy(Longer):
    def rows(self, steps: Sequence[Step]) -> Array:
        return np.where(super().rows(steps) == 0, math.nan, super().rows(steps))

    def aggregate(self, sums: Array) -> Array:
        return super().aggregate(np.nan_to_num(sums))


class Foresighted(Longer):
    def rows(self, steps: Sequence[Step]) -> Array:
        return super().rows(steps) * [len(steps), 1]


class Boastful(Longer):
    def score(self, steps: Sequence[Step]) -> Score:
        return Score(self.name, 100.0, self.signature)


@pytest.mark.parametrize("metric", [Longer(), Plain()], ids=lambda metric: metric.name)
def test_a_metric_that_keeps_its_promises_passes(metric: Longer | Plain) -> None:
    check_metric(metric, STEPS)


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (Nameless(), "needs a name"),
        (Loud(), "expected lower case"),
        (Unsigned(), "signature is empty"),
        (Infinite(), "infinite"),
        (Fickle(), "scored twice"),
        (Unwritable(), "written as JSON"),
        (Counting(), "signature changes"),
        (Meddling(), "changed the steps"),
        (Impatient(), "another order"),
        (Skipping(), "3 rows for 4 steps"),
        (Gappy(), "not finite"),
        (Foresighted(), "a prefix scores otherwise"),
        (Boastful(), "not that of the summed rows"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Longer) else "",
)
def test_a_broken_promise_is_named(metric: Longer, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_metric(metric, make_steps(["a b", "", "c d e", "a"], ["a b", "b", "c d", "b"]))


def test_silence_is_no_error() -> None:
    with pytest.raises(ValueError, match="nothing to say"):
        check_metric(Proud(), STEPS, ordered=True)


def test_order_may_matter_if_the_caller_says_so() -> None:
    check_metric(Impatient(), STEPS, ordered=True)
