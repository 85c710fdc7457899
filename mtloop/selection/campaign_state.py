"""The state of a rating campaign. It follows from the plan and from what every rater was shown and answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from statistics import fmean
from typing import Protocol, runtime_checkable

from mtloop.core.protocols import Choice, Stop
from mtloop.selection.agreement import krippendorff_alpha
from mtloop.selection.campaign_plan import CampaignPlan, asks_several
from mtloop.selection.policies.batch_policy import BatchPolicy
from mtloop.selection.raters import RaterStatistics, Rating, rater_statistics, standardise
from mtloop.selection.rating_item import RatingTurn
from mtloop.selection.rating_kinds import NOMINAL, STANDARDISED


@dataclass(frozen=True)
class UndecidedSystem:
    """A system whose further ratings can change the answer.

    `lead` is its distance to the border of the top: to the best system outside if it is `in_top`, else to the worst
    inside (then it is negative). `left` is the number of its translations that need further ratings.
    """

    system: str
    in_top: bool
    lead: float
    left: int


@dataclass(frozen=True)
class CampaignStatus:
    """The state of a campaign: means on [0, 1], ratings per system, undecided systems, raters, and the verdict."""

    means: Mapping[str, float]
    ratings: Mapping[str, int]
    undecided: tuple[str, ...]
    raters: Mapping[str, RaterStatistics]
    verdict: Stop | None
    left: int = 0
    """The number of translations of the systems in `undecided` that fewer raters have rated than the plan asks for."""
    stops: bool = True
    """Whether the policy has a stopping rule."""

    @property
    def total(self) -> int:
        """The number of all ratings."""
        return sum(rater.ratings for rater in self.raters.values())


@runtime_checkable
class EvaluatedLater(Protocol):
    """A policy that computes its verdict after some updates, or when `evaluate` is called."""

    evaluation_interval: int

    def evaluate(self) -> None: ...


class CampaignState:
    """What follows from the turns of all raters, in their order."""

    def __init__(self, plan: CampaignPlan, turns: Sequence[RatingTurn]) -> None:
        self.plan, self.turns = plan, turns

    @cached_property
    def counted(self) -> list[RatingTurn]:
        """The turns that count for systems: all but attention checks."""
        return [turn for turn in self.turns if turn.item.choice is not None]

    @cached_property
    def ratings(self) -> list[Rating]:
        """All ratings of systems, not standardised."""
        return [rating for turn in self.counted for rating in turn_ratings(turn)]

    @cached_property
    def policy(self) -> BatchPolicy:
        """The policy after all ratings so far; several ratings of a translation are averaged."""
        policy, rounds = self.plan.make_policy(), self._rounds()
        if isinstance(policy, EvaluatedLater):
            policy.evaluation_interval = len(rounds) + 1
        for choice, scores in rounds:
            policy.update(choice, scores)
        if isinstance(policy, EvaluatedLater) and rounds:
            policy.evaluate()
        return policy

    @cached_property
    def verdict(self) -> Stop | None:
        """The stopping decision of the policy; None while it goes on."""
        return self.policy.verdict()

    @cached_property
    def asks_several(self) -> bool:
        """Whether the policy asks for ratings of several systems on one segment."""
        return asks_several(self.plan.make_policy(), self.plan.segment(0))

    @cached_property
    def cell_values(self) -> dict[tuple[str, str], float]:
        """The mean value of every rated cell (segment, system), standardised by rater."""
        return {cell: fmean(values) for cell, values in self._cell_lists().items()}

    @cached_property
    def undecided(self) -> tuple[str, ...]:
        """The systems that the policy may still ask about; empty when it has stopped."""
        if self.verdict is not None:
            return ()
        if not self.asks_several:
            return tuple(self.plan.outputs)
        return self.policy.choose(self.plan.segment(0), Random(0)).asked

    def means(self) -> dict[str, float]:
        """The mean of every system; 0 if nobody has rated it. A race estimates it from a mixed model."""
        if isinstance(self.policy, EvaluatedLater):
            return self.policy.weights()
        found: dict[str, list[float]] = {system: [] for system in self.plan.outputs}
        for (_, system), value in self.cell_values.items():
            found[system].append(value)
        return {system: fmean(values) if values else 0.0 for system, values in found.items()}

    @cached_property
    def best(self) -> str:
        """The system that the ratings so far show to be the best, whatever the policy would like to try next.

        It is the first of the verdict, else the rated system with the highest mean. Without ratings it is the first by
        name.
        """
        if self.verdict is not None:
            return self.verdict.best[0]
        means, rated = self.means(), {system for _, system in self.cell_values}
        return min(rated or means, key=lambda system: (-means[system], system))

    def status(self) -> CampaignStatus:
        """The current state of the campaign."""
        counts = dict.fromkeys(self.plan.outputs, 0)
        for rating in self.ratings:
            for system in rating.systems:
                counts[system] += 1
        left = sum(self.open_cells(system) for system in self.undecided)
        raters = rater_statistics(self.ratings)
        return CampaignStatus(self.means(), counts, self.undecided, raters, self.verdict, left, self.plan.stops)

    def open_cells(self, system: str) -> int:
        """The number of a system's translations that fewer raters have rated than the plan asks for."""
        full = (len(raters) >= self.plan.overlap for (_, of), raters in self._raters_of_cells.items() if of == system)
        return len(self.plan.sources) - sum(full)

    def could_change(self) -> list[UndecidedSystem]:
        """The undecided systems, the closest to the border of the top first."""
        means = self.means()
        order = sorted(means, key=lambda system: (-means[system], system))
        inside, outside = order[: self.plan.top], order[self.plan.top :]
        borders = dict.fromkeys(inside, means[outside[0]]) | dict.fromkeys(outside, means[inside[-1]])
        found = [
            UndecidedSystem(system, system in inside, means[system] - borders[system], self.open_cells(system))
            for system in self.undecided
        ]
        return sorted(found, key=lambda one: (abs(one.lead), one.system))

    def units(self) -> dict[tuple[str, ...], dict[str, float]]:
        """What raters may agree about: the value of each rater, by segment and translation, or by pair of them."""
        found: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
        for turn in self.counted:
            for unit, value in _unit_values(turn, self.plan.kind == "pair"):
                found[unit][turn.rater] = value
        return dict(found)

    def alpha(self) -> float | None:
        """Krippendorff's alpha of all raters; None if nothing was rated twice, or nothing differs."""
        return krippendorff_alpha(
            [list(values.values()) for values in self.units().values()], self.plan.kind in NOMINAL
        )

    @cached_property
    def _raters_of_cells(self) -> dict[tuple[str, str], set[str]]:
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        for rating in self.ratings:
            for system in rating.systems:
                found[rating.segment, system].add(rating.rater)
        return found

    def _rounds(self) -> list[tuple[Choice, dict[str, float]]]:
        """The choices of the policy with the scores that came of them, in order.

        For a policy that asks about several systems, a segment is one round. For others, a request without an answer
        is a round without scores.
        """
        choices: dict[tuple[str, ...], Choice] = {}
        scores: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
        for turn in self.counted:
            assert turn.item.choice is not None
            key = self.round_key(turn.item.choice)
            if turn.values is not None or not self.asks_several:
                choices.setdefault(key, turn.item.choice)
            for rating in turn_ratings(turn):
                scores[key] |= {of: self.cell_values[rating.segment, of] for of in rating.systems}
        return [(_asked(choice, scores[key]), scores[key]) for key, choice in choices.items()]

    def round_key(self, choice: Choice) -> tuple[str, ...]:
        """What identifies the round of a choice."""
        return (choice.segment,) if self.asks_several else (choice.segment, choice.system)

    def _cell_lists(self) -> dict[tuple[str, str], list[float]]:
        least = self.plan.min_ratings if self.plan.kind in STANDARDISED else len(self.ratings) + 1
        found: dict[tuple[str, str], list[float]] = defaultdict(list)
        for rating, value in zip(self.ratings, standardise(self.ratings, least), strict=True):
            for system in rating.systems:
                found[rating.segment, system].append(value)
        return found


def turn_ratings(turn: RatingTurn) -> list[Rating]:
    """The ratings of a turn, one for each translation with a system that counts."""
    asked = turn.item.choice.asked if turn.item.choice else ()
    shown = zip(turn.item.translations, turn.values or (), strict=turn.values is not None)
    counted = [(tuple(of for of in one.systems if of in asked), value) for one, value in shown]
    return [Rating(turn.rater, turn.item.segment, systems, value) for systems, value in counted if systems]


def _asked(choice: Choice, scores: Mapping[str, float]) -> Choice:
    return replace(choice, asked=tuple(scores)) if scores else choice


def _unit_values(turn: RatingTurn, pair: bool) -> list[tuple[tuple[str, ...], float]]:
    if turn.values is None:
        return []
    segment, texts = turn.item.segment, turn.item.texts
    if pair:
        first = texts.index(min(texts))
        return [((segment, *sorted(texts)), turn.values[first])]
    return [((segment, text), value) for text, value in zip(texts, turn.values, strict=True)]
