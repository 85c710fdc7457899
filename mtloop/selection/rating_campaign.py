"""A rating campaign: outputs of several systems, several raters, and a race that selects the next item to rate.

A campaign holds no state in memory. It computes everything from the plan and the rating log. So it can be killed at any
moment, and several terminals can show the same campaign.
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
from mtloop.selection.raters import MIN_RATINGS, RaterStatistics, Rating, rater_statistics, standardise
from mtloop.selection.rating_log import RatingLog, check_rater

FORMAT = 2  # of the plan file


@dataclass(frozen=True)
class CampaignPlan:
    """The texts and settings of a campaign: sources, optional references, and one line per segment of every system."""

    sources: tuple[str, ...]
    outputs: Mapping[str, tuple[str, ...]]
    references: tuple[str, ...] = ()
    top: int = 3
    confidence: float = 0.95
    indifference: float = 0.01
    """On the scale 0 to 1: 0.01 is one point of 100."""
    min_ratings: int = MIN_RATINGS
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.sources:
            raise InputError("no segments to rate; expected at least one")
        if len(self.outputs) < 2:
            raise InputError(f"a campaign compares systems; expected at least 2, got {len(self.outputs)}")
        if len(self.outputs) <= self.top:
            raise InputError(f"top is {self.top}, but there are only {len(self.outputs)} systems; choose a smaller top")
        for name, lines in [*self.outputs.items(), *([("the reference", self.references)] if self.references else [])]:
            if len(lines) != len(self.sources):
                raise InputError(f"{name} has {len(lines)} lines, the source {len(self.sources)}; expected the same")
        self.race()  # raises InputError for settings out of range

    def race(self) -> Race:
        """A new race with the settings of the plan."""
        return Race(
            tuple(self.outputs),
            top=self.top,
            confidence=self.confidence,
            indifference=self.indifference,
            horizon=len(self.sources),
        )

    @property
    def fingerprint(self) -> str:
        """A hash that identifies the campaign in the traces of its raters."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> CampaignPlan:
        """Read what `to_json` wrote; raise InputError if it is not a plan, or a plan of another format."""
        try:
            table = json.loads(text)
            outputs = {name: tuple(lines) for name, lines in table.pop("outputs").items()}
            sources, references = tuple(table.pop("sources")), tuple(table.pop("references"))
            _check_format(table.pop("format", 1))
            return cls(sources, outputs, references, **table)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"this is not a campaign: {error}") from error


@dataclass(frozen=True)
class RatingItem:
    """A translation to rate. The rater must not see `systems`, the systems that produced it."""

    segment: str
    source: str
    text: str
    systems: tuple[str, ...] = field(repr=False)
    reference: str = ""


@dataclass(frozen=True)
class CampaignStatus:
    """The state of a campaign: means on [0, 1], ratings per system, undecided systems, raters, and the verdict."""

    means: Mapping[str, float]
    ratings: Mapping[str, int]
    undecided: tuple[str, ...]
    raters: Mapping[str, RaterStatistics]
    verdict: Stop | None
    left: int = 0
    """The number of translations of the systems in `undecided` that nobody has rated yet."""

    @property
    def total(self) -> int:
        """The number of all ratings."""
        return sum(rater.ratings for rater in self.raters.values())


class Campaign:
    """Selects the next item to rate, stores ratings, and decides when to stop."""

    def __init__(self, plan: CampaignPlan, log: RatingLog) -> None:
        self.plan, self.log = plan, log

    def next(self, rater: str, busy: Collection[tuple[str, str]] = ()) -> RatingItem | None:
        """The next item for this rater; None if the campaign has stopped or no item is left.

        A rater stays on a segment until all undecided systems are rated on it, so that the same person compares them.
        `busy` holds the cells (segment, system) that other raters are rating now.
        """
        check_rater(rater)
        traces = self.log.events()
        race = self._race(traces)
        if race.verdict() is not None:
            return None
        done = {cell for trace in traces.values() for cell in _cells(_valid_ratings(trace))} | set(busy)
        seen = set(_cells(_valid_steps(traces.get(rater))))
        return self._next_item(race, done, seen, _segments(traces.get(rater)))

    def rate(self, rater: str, item: RatingItem, score: float) -> None:
        """Store a rating from 0 to 100."""
        if not 0 <= score <= 100:
            raise InputError(f"score {score:g}; expected a number from 0 to 100")
        value = score / 100
        self._append(rater, item, Scores(dict.fromkeys(item.systems, value), check_rater(rater)))

    def skip(self, rater: str, item: RatingItem) -> None:
        """Do not show the item to this rater again. Other raters can still rate it."""
        self._append(rater, item, None)

    def undo(self, rater: str) -> Step | None:
        """Retract the last rating of the rater and return it; None if there is none. The item will be shown again."""
        trace = self.log.events().get(rater)
        if trace is None:
            return None
        given = _valid_ratings(trace)
        if not given:
            return None
        self.log.append(rater, Retract(given[-1].index))
        return given[-1]

    def status(self) -> CampaignStatus:
        """The current state of the campaign."""
        traces = self.log.events()
        race, ratings = self._race(traces), self._ratings(traces)
        counts = dict.fromkeys(self.plan.outputs, 0)
        for rating in ratings:
            for system in rating.systems:
                counts[system] += 1
        undecided = tuple(np.array(race.systems)[race.to_rate_[0]].tolist()) if race.verdict() is None else ()
        done = {cell for trace in traces.values() for cell in _cells(_valid_ratings(trace))}
        left = sum((segment, system) not in done for segment in self._order for system in undecided)
        return CampaignStatus(race.weights(), counts, undecided, rater_statistics(ratings), race.verdict(), left)

    def ratings(self) -> list[Rating]:
        """All ratings that were not retracted, not standardised."""
        return self._ratings(self.log.events())

    def _append(self, rater: str, item: RatingItem, feedback: Scores | None) -> None:
        trace = self.log.events().get(check_rater(rater))
        index = len(trace.steps) if trace else 0
        segment, asked = Segment(item.segment, item.source), [*item.systems]
        proposal = Proposal(segment, item.text, system=item.systems[0], memo={"asked": [*asked]})
        self.log.append(rater, Step(index, proposal, feedback))

    def _ratings(self, traces: Mapping[str, Trace]) -> list[Rating]:
        return [
            Rating(
                rater, step.proposal.segment.id, tuple(step.feedback.values), next(iter(step.feedback.values.values()))
            )
            for rater, trace in traces.items()
            for step in _valid_ratings(trace)
            if isinstance(step.feedback, Scores)
        ]

    def _race(self, traces: Mapping[str, Trace]) -> Race:
        """The race after all ratings so far, standardised by rater; several ratings of a cell are averaged."""
        ratings = self._ratings(traces)
        cells: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for rating, value in zip(ratings, standardise(ratings, self.plan.min_ratings), strict=True):
            for system in rating.systems:
                cells[rating.segment][system].append(value)
        race = self.plan.race()
        race.evaluation_interval = len(cells) + 1
        for segment, row in cells.items():
            scores = {system: sum(values) / len(values) for system, values in row.items()}
            race.update(Choice(next(iter(scores)), asked=tuple(scores), segment=segment), scores)
        if cells:
            race.evaluate()
        return race

    def _next_item(
        self, race: Race, done: set[tuple[str, str]], seen: set[tuple[str, str]], started: Sequence[str]
    ) -> RatingItem | None:
        """The first open item, on the last segment of the rater if possible."""
        to_rate = [name for name, asked in zip(race.systems, race.to_rate_[0], strict=True) if asked]
        for segment in [*started[-1:], *self._order]:
            for system in self._blind_order(to_rate, segment):
                if (segment, system) not in done and (segment, system) not in seen:
                    return self._item(segment, system)
        return None

    def _item(self, segment: str, system: str) -> RatingItem:
        index = int(segment) - 1
        text = self.plan.outputs[system][index]
        same = tuple(name for name, lines in self.plan.outputs.items() if lines[index] == text)
        reference = self.plan.references[index] if self.plan.references else ""
        return RatingItem(segment, self.plan.sources[index], text, same, reference)

    @cached_property
    def _order(self) -> list[str]:
        """The ids of the segments in the order of rating."""
        order = np.random.default_rng(self.plan.seed).permutation(len(self.plan.sources))
        return [str(index + 1) for index in order.tolist()]

    def _blind_order(self, systems: Sequence[str], segment: str) -> list[str]:
        """The systems in a pseudo-random order, so that the order does not identify them."""
        key = f"{self.plan.seed}/{segment}/"
        return sorted(systems, key=lambda name: hashlib.sha256((key + name).encode()).digest())


def _check_format(number: object) -> None:
    if number != FORMAT:
        export = "export its ratings with the version that made it, or create it again"
        newer = isinstance(number, int) and number > FORMAT
        age, advice = ("a newer", "upgrade mtloop") if newer else ("an older", export)
        raise InputError(f"this campaign was made by {age} mtloop (format {number}); {advice}")


def _valid_ratings(trace: Trace) -> list[Step]:
    """Ratings that were not retracted."""
    return [step for step in trace.lessons() if isinstance(step.feedback, Scores)]


def _valid_steps(trace: Trace | None) -> list[Step]:
    """Ratings that were not retracted, and skipped items."""
    if trace is None:
        return []
    retracted = {event.step for event in trace.events if isinstance(event, Retract)}
    return [step for step in trace.steps if step.index not in retracted]


def _segments(trace: Trace | None) -> list[str]:
    return [step.proposal.segment.id for step in trace.steps] if trace else []


def _cells(steps: Sequence[Step]) -> Iterator[tuple[str, str]]:
    for step in steps:
        asked = step.proposal.memo.get("asked")
        for system in asked if isinstance(asked, list) else [step.proposal.system]:
            yield step.proposal.segment.id, str(system)
