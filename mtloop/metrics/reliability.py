"""Forgetting: held-out thirds of documents (2012), backward transfer, and repeated errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.loop import Schedule, run
from mtloop.core.protocols import Judge, Learner, Stream
from mtloop.core.types import Score, Segment, Step, Truth
from mtloop.metrics.base import Additive, Array, Ratio, first_reference, has_several_references, hypotheses, references
from mtloop.metrics.significance import Comparison, mean_difference
from mtloop.text.units import Units


@dataclass(frozen=True)
class HeldOutThird:
    """Three translations of the last third of one document, which no system learned from.

    `baseline` comes from the unadapted system, `final` from the system after all documents. `ada` is the 2012 paper's
    name for the adapted system just after its document: it has learned the document's first two thirds.
    """

    document: str
    baseline: list[Step]
    ada: list[Step]
    final: list[Step]


@dataclass(frozen=True)
class HeldOutScores:
    """The scores of the three translations in a `HeldOutThird`."""

    document: str
    baseline: Score
    ada: Score
    final: Score


@dataclass(frozen=True)
class Reliability:
    """The held-out translations of all documents; they can be scored with any metric."""

    documents: tuple[HeldOutThird, ...]

    def scores(self, metric: Additive) -> list[HeldOutScores]:
        """Return the three scores of every document (Figure 5 of the 2012 paper)."""
        return [
            HeldOutScores(held.document, *(metric.score(steps) for steps in (held.baseline, held.ada, held.final)))
            for held in self.documents
        ]

    def gain(self, metric: Additive) -> float:
        """Return how much better `ada` is than `baseline`, averaged over documents: the effect of learning."""
        return _mean_change(metric, [(s.baseline, s.ada) for s in self.scores(metric)])

    def backward_transfer(self, metric: Additive) -> float:
        """Return how much better `final` is than `ada`, averaged over documents; below 0, the system forgot.

        Positive is better for every metric: the sign is inverted where lower is better. Documents on which the
        metric is 0/0 are left out of the mean.
        """
        return _mean_change(metric, [(s.ada, s.final) for s in self.scores(metric)])

    def compare_final_with_ada(self, metric: Additive, resamples: int = 1000, seed: int = 1) -> Comparison:
        """Return the backward transfer with its 95 % interval and p-value: documents are resampled, or swapped."""
        changes = _changes(metric, [(s.ada, s.final) for s in self.scores(metric)])
        return mean_difference(np.array(changes), resamples, seed)


def reliability(
    documents: Iterable[Stream],
    make_learner: Callable[[], Learner],
    judge: Judge,
    *,
    schedule: Schedule | None = None,
) -> Reliability:
    """Train a new learner on the first two thirds of each document, in order, and translate the last thirds.

    Each last third is translated by an untrained learner (`baseline`), by the learner right after the first two
    thirds of that document (`ada`), and by the learner after all documents (`final`).
    """
    splits = [_split(list(document), number) for number, document in enumerate(documents, start=1)]
    baseline, learner = make_learner(), make_learner()
    ada = []
    for training, held_out in splits:
        for _ in run(training, learner, judge, schedule=schedule):
            pass
        ada.append(_translate(held_out, learner))
    thirds = (
        HeldOutThird(
            _document_name(held_out, number), _translate(held_out, baseline), adapted, _translate(held_out, learner)
        )
        for number, ((_, held_out), adapted) in enumerate(zip(splits, ada, strict=True), start=1)
    )
    return Reliability(tuple(thirds))


class RepeatedErrors(Ratio):
    """Repeated-error rate: the share of corrected words that are wrong again when a later reference contains them.

    A reference word that the hypothesis lacks is a corrected word. Each later reference with that word counts once;
    the word is wrong again if that hypothesis lacks it too. A word that occurs twice in a segment counts once. Only
    the first reference counts, as in `Recall`. Columns: wrong again, counted.
    """

    name = "rer"
    higher_is_better = False

    def __init__(self, units: Units) -> None:
        self.units = units
        self._first_of_several = False

    @property
    def signature(self) -> str:
        return f"{first_reference(self._first_of_several)}corrected:once|{self.units.signature}"

    def rows(self, steps: Sequence[Step]) -> Array:
        self._first_of_several = has_several_references(steps)
        corrected: set[str] = set()
        counts = []
        for hypothesis, (target, *_) in zip(hypotheses(steps), references(steps), strict=True):
            words = self.units(target)
            missing = words - self.units(hypothesis)
            counts.append((len(missing & corrected), len(words & corrected)))
            corrected |= missing
        return np.array(counts, dtype=float).reshape(-1, 2)


def _split(document: list[tuple[Segment, Truth | None]], number: int) -> tuple[Stream, Stream]:
    """Return the first two thirds, rounded down, and the rest, which has at least one segment."""
    if not document:
        raise InputError(f"document {number} is empty: there is nothing to hold out")
    training = len(document) * 2 // 3
    return document[:training], document[training:]


def _document_name(held_out: Stream, number: int) -> str:
    """Return the document's name in the data, or its number if it has none."""
    segment, _ = next(iter(held_out))
    return segment.document or str(number)


def _translate(held_out: Stream, learner: Learner) -> list[Step]:
    """Return proposals without feedback, so that nothing is learned from them."""
    return [Step(i, learner.propose(segment), truth=truth) for i, (segment, truth) in enumerate(held_out)]


def _mean_change(metric: Additive, pairs: Iterable[tuple[Score, Score]]) -> float:
    changes = _changes(metric, pairs)
    return float(np.mean(changes)) if changes else float("nan")


def _changes(metric: Additive, pairs: Iterable[tuple[Score, Score]]) -> list[float]:
    """Return how much better the second of each pair is; pairs with a score of 0/0 are left out."""
    sign = 1 if metric.higher_is_better else -1
    return [
        0.0 + sign * (after.value - before.value)  # no change is 0, not -0
        for before, after in pairs
        if before.defined and after.defined
    ]
