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


class LengthRatio(Ratio):
    """Fulfils the contract: hypothesis characters per 100 reference characters."""

    name = "length-ratio"
    signature = "unit:character"

    def rows(self, steps: Sequence[Step]) -> Array:
        pairs = ((len(step.proposal.text), len(step.references[0])) for step in steps)
        return np.array(list(pairs), dtype=float)


class Plain:
    """The minimal metric: only a name and a score."""

    name = "plain"

    def score(self, steps: Sequence[Step]) -> Score:
        return Score(self.name, float(len(steps)), "count:steps")


class Nameless(LengthRatio):
    name = ""


class InvalidName(LengthRatio):
    name = "Length, ratio"


class Unsigned(LengthRatio):
    signature = " "


class InfiniteScore(LengthRatio):
    def aggregate(self, sums: Array) -> Array:
        return np.full(len(sums), math.inf)


class Unrepeatable(LengthRatio):
    calls = 0

    def rows(self, steps: Sequence[Step]) -> Array:
        self.calls += 1
        return super().rows(steps) * [self.calls, 1]


class ChangingSignature(LengthRatio):
    calls = 0

    @property
    def signature(self) -> str:  # type: ignore[override]
        self.calls += 1
        return f"call:{self.calls}"


class ChangesSteps(LengthRatio):
    def rows(self, steps: Sequence[Step]) -> Array:
        for step in steps:
            step.proposal.memo["seen"] = True  # type: ignore[index]
        return super().rows(steps)


class FailsOnEmpty(LengthRatio):
    def rows(self, steps: Sequence[Step]) -> Array:
        if not all(step.proposal.text for step in steps[:1]):
            raise ValueError("empty translation")
        return super().rows(steps)


class OrderDependent(LengthRatio):
    def rows(self, steps: Sequence[Step]) -> Array:
        return super().rows(steps) / np.arange(1, len(steps) + 1)[:, None] ** [2, 1]


class NoJson(LengthRatio):
    def score_rows(self, rows: Array) -> Score:
        return replace(super().score_rows(rows), detail={"sums": rows.sum(axis=0)})  # type: ignore[dict-item]


class MissingRows(LengthRatio):
    def rows(self, steps: Sequence[Step]) -> Array:
        return super().rows([step for step in steps if step.proposal.text])


class NanRows(LengthRatio):
    def rows(self, steps: Sequence[Step]) -> Array:
        return np.where(super().rows(steps) == 0, math.nan, super().rows(steps))

    def aggregate(self, sums: Array) -> Array:
        return super().aggregate(np.nan_to_num(sums))


class DependsOnLength(LengthRatio):
    def rows(self, steps: Sequence[Step]) -> Array:
        return super().rows(steps) * [len(steps), 1]


class ConstantScore(LengthRatio):
    def score(self, steps: Sequence[Step]) -> Score:
        return Score(self.name, 100.0, self.signature)


@pytest.mark.parametrize("metric", [LengthRatio(), Plain()], ids=lambda metric: metric.name)
def test_a_metric_that_fulfils_the_contract_passes(metric: LengthRatio | Plain) -> None:
    check_metric(metric, STEPS)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (Nameless(), "needs a name"),
        (InvalidName(), "expected lower case"),
        (Unsigned(), "signature is empty"),
        (InfiniteScore(), "infinite"),
        (Unrepeatable(), "scored twice"),
        (NoJson(), "written as JSON"),
        (ChangingSignature(), "signature changes"),
        (ChangesSteps(), "changed the steps"),
        (OrderDependent(), "another order"),
        (MissingRows(), "3 rows for 4 steps"),
        (NanRows(), "not finite"),
        (DependsOnLength(), "the score of a prefix differs"),
        (ConstantScore(), "not the aggregate of the summed rows"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, LengthRatio) else "",
)
def test_a_violation_is_described(metric: LengthRatio, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_metric(metric, make_steps(["a b", "", "c d e", "a"], ["a b", "b", "c d", "b"]))


def test_empty_translations_must_not_raise() -> None:
    with pytest.raises(ValueError, match="empty translation"):
        check_metric(FailsOnEmpty(), STEPS, ordered=True)


def test_order_may_matter_with_ordered() -> None:
    check_metric(OrderDependent(), STEPS, ordered=True)
