"""Does a system that learns also remember? Held-out thirds (2012), backward transfer, and errors that come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.loop import Schedule, run
from mtloop.core.protocols import Judge, Learner, Stream
from mtloop.core.types import Score, Segment, Step, Truth
from mtloop.metrics.base import Additive, Array, Ratio, hypotheses, references
from mtloop.text.units import Units


@dataclass(frozen=True)
class HeldOutThird:
    """The last third of one document as three systems translate it; none of them learned from it."""

    document: str
    baseline: list[Step]
    ada: list[Step]
    final: list[Step]


@dataclass(frozen=True)
class HeldOutScores:
    """One document's three scores."""

    document: str
    baseline: Score
    ada: Score
    final: Score


@dataclass(frozen=True)
class Reliability:
    """What `reliability` found, document by document; any metric can be asked about it."""

    documents: tuple[HeldOutThird, ...]

    def scores(self, metric: Additive) -> list[HeldOutScores]:
        """The three scores of every document (Figure 5 of the 2012 paper)."""
        return [
            HeldOutScores(held.document, *(metric.score(steps) for steps in (held.baseline, held.ada, held.final)))
            for held in self.documents
        ]

    def gain(self, metric: Additive) -> float:
        """How much better `ada` is than the baseline, on average over documents: what was learned."""
        return _mean_change(metric, [(s.baseline, s.ada) for s in self.scores(metric)])

    def backward_transfer(self, metric: Additive) -> float:
        """How much better `final` is than `ada`, on average over documents; below zero something was forgotten.

        Positive is better for every metric: where lower is better, the sign is turned. A document on which the
        metric is 0/0 does not enter the mean.
        """
        return _mean_change(metric, [(s.ada, s.final) for s in self.scores(metric)])


def reliability(
    documents: Iterable[Stream],
    make_learner: Callable[[], Learner],
    judge: Judge,
    *,
    schedule: Schedule | None = None,
) -> Reliability:
    """Teach a fresh learner the first two thirds of each document in turn, and look back at the last thirds.

    A last third is translated by an untouched learner (`baseline`), by the learner as it stands after the two
    thirds before it (`ada`), and by the learner after all documents (`final`).
    """
    cut = [_split(list(document), number) for number, document in enumerate(documents, start=1)]
    baseline, learner = make_learner(), make_learner()
    ada = []
    for lessons, rest in cut:
        for _ in run(lessons, learner, judge, schedule=schedule):
            pass
        ada.append(_translated(rest, learner))
    held = (
        HeldOutThird(_name(rest, number), _translated(rest, baseline), before, _translated(rest, learner))
        for number, ((_, rest), before) in enumerate(zip(cut, ada, strict=True), start=1)
    )
    return Reliability(tuple(held))


class RepeatedErrors(Ratio):
    """Of the words once corrected, how many came out wrong again when they were wanted again?

    A word of the reference that the hypothesis lacks is corrected there. Every later reference with that word
    is a chance to show that it was learned; it is wrong again if the hypothesis lacks it again. Words are types
    and of several references the first counts, as in `Recall`. Columns: wrong again, chances.
    """

    name = "rer"
    higher_is_better = False

    def __init__(self, units: Units) -> None:
        self.units = units

    @property
    def signature(self) -> str:
        return f"corrected:once|{self.units.signature}"

    def rows(self, steps: Sequence[Step]) -> Array:
        corrected: set[str] = set()
        counts = []
        for hypothesis, (target, *_) in zip(hypotheses(steps), references(steps), strict=True):
            wanted = self.units(target)
            missing = wanted - self.units(hypothesis)
            counts.append((len(missing & corrected), len(wanted & corrected)))
            corrected |= missing
        return np.array(counts, dtype=float).reshape(-1, 2)


def _split(document: list[tuple[Segment, Truth | None]], number: int) -> tuple[Stream, Stream]:
    """Two thirds, rounded down, and the rest: whatever the document, something is held out."""
    if not document:
        raise InputError(f"document {number} is empty: there is nothing to hold out")
    lessons = len(document) * 2 // 3
    return document[:lessons], document[lessons:]


def _name(held_out: Stream, number: int) -> str:
    """What the data calls the document, else its number."""
    segment, _ = next(iter(held_out))
    return segment.document or str(number)


def _translated(held_out: Stream, learner: Learner) -> list[Step]:
    """Proposed and not judged, so nothing can be learned from it."""
    return [Step(i, learner.propose(segment), truth=truth) for i, (segment, truth) in enumerate(held_out)]


def _mean_change(metric: Additive, pairs: Iterable[tuple[Score, Score]]) -> float:
    changes = [after.value - before.value for before, after in pairs if before.defined and after.defined]
    mean = float(np.mean(changes)) if changes else float("nan")
    return mean if metric.higher_is_better else 0.0 - mean  # no change is 0, not -0
