"""A rating campaign: several systems' outputs, several raters, and a race that picks what to show next.

The engine holds no state of its own: everything follows from the plan and the ledger, so it can be killed at any
moment, and a service and a terminal show the same campaign.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.protocols import Choice, Stop
from mtloop.core.trace import Retract, Trace
from mtloop.core.types import Proposal, Scores, Segment, Step
from mtloop.selection.policies.race import Race
from mtloop.selection.raters import ENOUGH, Habit, Rating, habits, standardised
from mtloop.selection.rating_log import RatingLog, check_rater


@dataclass(frozen=True)
class CampaignPlan:
    """What is rated and what is asked: sources, references if any, and a line a segment of every system."""

    sources: tuple[str, ...]
    outputs: Mapping[str, tuple[str, ...]]
    references: tuple[str, ...] = ()
    top: int = 3
    confidence: float = 0.95
    indifference: float = 0.01
    enough: int = ENOUGH
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.sources:
            raise InputError("no segments to rate; expected at least one")
        if len(self.outputs) <= self.top:
            raise InputError(f"the best {self.top} of {len(self.outputs)} systems; expected more systems than that")
        for name, lines in [*self.outputs.items(), *([("the reference", self.references)] if self.references else [])]:
            if len(lines) != len(self.sources):
                raise InputError(f"{name} has {len(lines)} lines, the source {len(self.sources)}; expected as many")
        self.race()  # refuses settings that make no sense

    def race(self) -> Race:
        return Race(
            tuple(self.outputs),
            top=self.top,
            confidence=self.confidence,
            indifference=self.indifference,
            horizon=len(self.sources),
        )

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> CampaignPlan:
        try:
            table = json.loads(text)
            outputs = {name: tuple(lines) for name, lines in table.pop("outputs").items()}
            sources, references = tuple(table.pop("sources")), tuple(table.pop("references"))
            return cls(sources, outputs, references, **table)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"this is no campaign: {error}") from error


@dataclass(frozen=True)
class RatingItem:
    """A translation to rate. Which systems it is of is not for the rater's eyes."""

    segment: str
    source: str
    text: str
    systems: tuple[str, ...] = field(repr=False)
    reference: str = ""


@dataclass(frozen=True)
class CampaignStatus:
    """Where a campaign is: means on [0, 1], ratings a system, who is still asked about, the raters, the verdict."""

    means: Mapping[str, float]
    ratings: Mapping[str, int]
    asked: tuple[str, ...]
    raters: Mapping[str, Habit]
    verdict: Stop | None
    left: int = 0
    """Translations that nobody rated yet, of the systems in question."""

    @property
    def total(self) -> int:
        return sum(habit.ratings for habit in self.raters.values())


class Campaign:
    """Picks what to show, takes ratings, and says when there is nothing left to find out."""

    def __init__(self, plan: CampaignPlan, ledger: RatingLog) -> None:
        self.plan, self.ledger = plan, ledger

    def next(self, rater: str, busy: Collection[tuple[str, str]] = ()) -> RatingItem | None:
        """What this rater should see next; None when the campaign has its answer or nothing is left.

        A rater stays on a segment until all systems still in question are rated on it, so that they are compared by the
        same eyes. `busy` are cells (segment, system) that other raters have before them right now.
        """
        check_rater(rater)
        traces = self.ledger.events()
        race = self._race(traces)
        if race.verdict() is not None:
            return None
        done = {cell for trace in traces.values() for cell in _cells(_valid(trace))} | set(busy)
        seen = set(_cells(_shown(traces.get(rater))))
        return self._pick(race, done, seen, _segments(traces.get(rater)))

    def rate(self, rater: str, task: RatingItem, score: float) -> None:
        """Take a rating from 0 to 100."""
        if not 0 <= score <= 100:
            raise InputError(f"score {score:g}; expected a number from 0 to 100")
        value = score / 100
        self._append(rater, task, Scores(dict.fromkeys(task.systems, value), check_rater(rater)))

    def skip(self, rater: str, task: RatingItem) -> None:
        """This rater does not want to rate this; nobody else is kept from it."""
        self._append(rater, task, None)

    def undo(self, rater: str) -> Step | None:
        """Take the rater's last rating back; it will be asked for again. None when there is none."""
        trace = self.ledger.events().get(rater)
        if trace is None:
            return None
        given = _valid(trace)
        if not given:
            return None
        self.ledger.append(rater, Retract(given[-1].index))
        return given[-1]

    def standing(self) -> CampaignStatus:
        """Where the campaign is now."""
        traces = self.ledger.events()
        race, ratings = self._race(traces), self._ratings(traces)
        counts = dict.fromkeys(self.plan.outputs, 0)
        for rating in ratings:
            for system in rating.systems:
                counts[system] += 1
        asked = tuple(np.array(race.systems)[race.asking_[0]].tolist()) if race.verdict() is None else ()
        done = {cell for trace in traces.values() for cell in _cells(_valid(trace))}
        left = sum((segment, system) not in done for segment in self._order for system in asked)
        return CampaignStatus(race.weights(), counts, asked, habits(ratings), race.verdict(), left)

    def ratings(self) -> list[Rating]:
        """Everything that was rated and not taken back, as given."""
        return self._ratings(self.ledger.events())

    def _append(self, rater: str, task: RatingItem, feedback: Scores | None) -> None:
        trace = self.ledger.events().get(check_rater(rater))
        index = len(trace.steps) if trace else 0
        segment, asked = Segment(task.segment, task.source), [*task.systems]
        proposal = Proposal(segment, task.text, system=task.systems[0], memo={"asked": [*asked]})
        self.ledger.append(rater, Step(index, proposal, feedback))

    def _ratings(self, traces: Mapping[str, Trace]) -> list[Rating]:
        return [
            Rating(
                rater, step.proposal.segment.id, tuple(step.feedback.values), next(iter(step.feedback.values.values()))
            )
            for rater, trace in traces.items()
            for step in _valid(trace)
            if isinstance(step.feedback, Scores)
        ]

    def _race(self, traces: Mapping[str, Trace]) -> Race:
        """The race as the ratings so far make it: standardised by rater, the mean where several rated a cell."""
        ratings = self._ratings(traces)
        cells: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for rating, value in zip(ratings, standardised(ratings, self.plan.enough), strict=True):
            for system in rating.systems:
                cells[rating.segment][system].append(value)
        race = self.plan.race()
        race.every = len(cells) + 1
        for segment, row in cells.items():
            scores = {system: sum(values) / len(values) for system, values in row.items()}
            race.update(Choice(next(iter(scores)), asked=tuple(scores), segment=segment), scores)
        if cells:
            race.look()
        return race

    def _pick(
        self, race: Race, done: set[tuple[str, str]], seen: set[tuple[str, str]], begun: Sequence[str]
    ) -> RatingItem | None:
        asking = [name for name, asked in zip(race.systems, race.asking_[0], strict=True) if asked]
        for segment in [*begun[-1:], *self._order]:
            for system in self._blind(asking, segment):
                if (segment, system) not in done and (segment, system) not in seen:
                    return self._task(segment, system)
        return None

    def _task(self, segment: str, system: str) -> RatingItem:
        place = int(segment) - 1
        text = self.plan.outputs[system][place]
        same = tuple(name for name, lines in self.plan.outputs.items() if lines[place] == text)
        reference = self.plan.references[place] if self.plan.references else ""
        return RatingItem(segment, self.plan.sources[place], text, same, reference)

    @cached_property
    def _order(self) -> list[str]:
        order = np.random.default_rng(self.plan.seed).permutation(len(self.plan.sources))
        return [str(place + 1) for place in order.tolist()]

    def _blind(self, systems: Sequence[str], segment: str) -> list[str]:
        """An order of the systems that says nothing about them."""
        key = f"{self.plan.seed}/{segment}/"
        return sorted(systems, key=lambda name: hashlib.sha256((key + name).encode()).digest())


def _valid(trace: Trace) -> list[Step]:
    """Ratings that stand."""
    return [step for step in trace.lessons() if isinstance(step.feedback, Scores)]


def _shown(trace: Trace | None) -> list[Step]:
    """What a rater rated and did not take back, or skipped."""
    if trace is None:
        return []
    back = {event.step for event in trace.events if isinstance(event, Retract)}
    return [step for step in trace.steps if step.index not in back]


def _segments(trace: Trace | None) -> list[str]:
    return [step.proposal.segment.id for step in trace.steps] if trace else []


def _cells(steps: Sequence[Step]) -> Iterator[tuple[str, str]]:
    for step in steps:
        asked = step.proposal.memo.get("asked")
        for system in asked if isinstance(asked, list) else [step.proposal.system]:
            yield step.proposal.segment.id, str(system)
