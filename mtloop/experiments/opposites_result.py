"""What lessons did to their opposites: counts by method and by kind, the flipped pairs, and a chart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

import numpy as np

from mtloop.core.atomic import write_text
from mtloop.core.plural import pluralise
from mtloop.core.types import JSON
from mtloop.experiments.opposite_pairs import OppositePair
from mtloop.metrics.collateral import takes_over, words_of
from mtloop.metrics.significance import wilson_interval
from mtloop.report.chart import Axis, Chart, Series
from mtloop.report.picture import Picture
from mtloop.report.result_file import ExperimentResult, Origin
from mtloop.report.table import Table

FILE = "opposites.jsonl"
BASELINE = "baseline"  # drawn in the colour of baselines
COUNTED = {  # properties of an answer, and their names in tables
    "known_at_once": "known at once",
    "flipped": "flips",
    "lost": "lost",
    "right_before": "right before",
    "right_after": "right after",
    "spoiled": "spoiled",
    "changed": "changed",
}
INTERVAL = "in brackets: the 95 % interval of the share (Wilson)"
EXPLANATIONS = (
    "known at once: the lesson gets the translation that was taught",
    "flips: the opposite takes over a word that only the lesson has, or all of it, and did not before",
    "lost: the words that only its reference has are all missing after the lesson, and one was there before",
    "right before, right after: the opposite is equal to its reference",
    "spoiled: it was right before and is not after; changed: it is not as before",
)


@dataclass(frozen=True)
class OppositeAnswer:
    """The translations of one learner.

    Attributes:
        pair: The lesson and its opposite.
        before: The opposite before the lesson.
        after: The opposite after the lesson.
        lesson_before: The lesson's source before the lesson.
        lesson_after: The lesson's source after the lesson.
        rejected: Why the learner did not learn the lesson (None: it did, or it never learns).
    """

    pair: OppositePair
    before: str
    after: str
    lesson_before: str
    lesson_after: str
    rejected: str | None = None

    @property
    def known_at_once(self) -> bool:
        """Whether the lesson's source gets the translation that was taught."""
        return self.lesson_after == self.pair.lesson_target

    @property
    def flipped(self) -> bool:
        """Whether the opposite takes over a word of the lesson's translation, or all of it, which it did not before.

        If both references have the same words, there is nothing to take over.
        """
        whole, own = words_of(self.pair.lesson_target), words_of(self.pair.opposite_target)
        if whole != own and words_of(self.after) == whole != words_of(self.before):
            return True
        return self._takes_over(self.after) and not self._takes_over(self.before)

    @property
    def lost(self) -> bool:
        """Whether what only the opposite says was in its translation before the lesson, and is not after it."""
        own = set(words_of(self.pair.opposite_target)) - set(words_of(self.pair.lesson_target))
        return own.isdisjoint(words_of(self.after)) and not own.isdisjoint(words_of(self.before))

    @property
    def right_before(self) -> bool:
        """Whether the opposite was equal to its reference before the lesson."""
        return self.before == self.pair.opposite_target

    @property
    def right_after(self) -> bool:
        """Whether the opposite is equal to its reference after the lesson."""
        return self.after == self.pair.opposite_target

    @property
    def spoiled(self) -> bool:
        """Whether the opposite was right before the lesson and is not after it."""
        return self.right_before and not self.right_after

    @property
    def changed(self) -> bool:
        """Whether the opposite got another translation than before."""
        return self.after != self.before

    def _takes_over(self, text: str) -> bool:
        return takes_over(text, self.pair.lesson_target, self.pair.opposite_target)

    def to_json(self) -> dict[str, JSON]:
        """Return the pair, the translations and what was found, as plain JSON."""
        own = asdict(self)
        return {**own.pop("pair"), **own, **{name: getattr(self, name) for name in COUNTED}}

    def text(self) -> str:
        """Return the pair and both translations of the opposite, to read."""
        pair = self.pair
        kind = f" ({pair.kind})" if pair.kind else ""
        taught = f"  {pair.lesson_source} -> {pair.lesson_target}{kind}"
        lines = {"opposite": pair.opposite_source, "before": self.before, "after": self.after}
        return "\n".join([taught, *(f"    {name:8}  {text}" for name, text in lines.items())])


@dataclass(frozen=True, repr=False, eq=False)
class OppositesResult(ExperimentResult):
    """The answers of each method to the same pairs of opposites.

    `origin` is what `save` writes about the pairs and the methods.
    """

    answers: Mapping[str, Sequence[OppositeAnswer]]
    origin: Origin | None = None

    @property
    def table(self) -> Table:
        """Lessons known at once, flips, and opposites that were right or changed, with 95 % intervals."""
        pairs = len(next(iter(self.answers.values())))
        return Table(
            headers=["method", *COUNTED.values()],
            cells=[[method, *_cells(answers)] for method, answers in self.answers.items()],
            records=[{"method": method, **_record(answers)} for method, answers in self.answers.items()],
            notes=[f"of {pluralise(pairs, 'pair')}; {INTERVAL}", *EXPLANATIONS],
        )

    @property
    def kinds(self) -> Table:
        """The same numbers for each kind of pair."""
        rows = [
            (method, kind, [one for one in answers if one.pair.kind == kind])
            for method, answers in self.answers.items()
            for kind in self._kinds()
        ]
        return Table(
            headers=["method", "kind", "pairs", *COUNTED.values()],
            cells=[[method, kind, str(len(answers)), *_cells(answers)] for method, kind, answers in rows],
            records=[{"method": method, "kind": kind, **_record(answers)} for method, kind, answers in rows],
            notes=[INTERVAL],
            text_columns=2,
        )

    @property
    def flips(self) -> dict[str, list[OppositeAnswer]]:
        """The flipped pairs of each method."""
        return {method: [one for one in answers if one.flipped] for method, answers in self.answers.items()}

    def _kinds(self) -> list[str]:
        answers = next(iter(self.answers.values()))
        return list(dict.fromkeys(one.pair.kind for one in answers))

    def text(self) -> Iterator[str]:
        """Yield the tables and the flipped pairs as text."""
        yield f"{self.table}\n"
        if len(self._kinds()) > 1:
            yield f"{self.kinds}\n"
        for method, flipped in self.flips.items():
            if flipped:
                yield "\n".join([f"Flipped by {method}:", *(one.text() for one in flipped)]) + "\n"

    def saved_tables(self) -> dict[str, Table]:
        """The tables that `save` writes."""
        return {"methods": self.table, "kinds": self.kinds}

    def saved_charts(self) -> list[Chart]:
        """The charts that `save` writes."""
        return [
            self._chart("flips", "flipped", "Opposites that took over the lesson", "flips so far (lower is better)"),
            self._chart("right", "right_after", "Opposites that are right after the lesson", "right so far"),
        ]

    def plot(self) -> Picture:
        """Return the number of flips so far, for every method, as a figure for a notebook."""
        return Picture(self.saved_charts()[0])

    def _chart(self, name: str, counted: str, title: str, axis: str) -> Chart:
        kinds = self._kinds()
        by_kind = {
            method: sorted(answers, key=lambda one: kinds.index(one.pair.kind))  # stable: the order in a kind stays
            for method, answers in self.answers.items()
        }
        order = [one.pair.kind for one in next(iter(by_kind.values()))]
        starts = tuple(order.index(kind) + 1.0 for kind in kinds[1:])
        numbers = dict(zip((one for one in by_kind if one != BASELINE), count(1), strict=False))
        series = tuple(_curve(method, answers, counted, numbers.get(method, 0)) for method, answers in by_kind.items())
        caption = f"A line stands where a kind begins. The kinds: {', '.join(kinds)}." if starts else ""
        highest = max(1.0, *(float(one.y[-1]) for one in series))
        x, y = Axis("pairs so far", unit="pair"), Axis(axis, range=(-highest / 20, highest * 1.05))
        return Chart(name, title, x, y, series, starts, caption=caption)

    def write(self, folder: str | Path) -> Path:
        """Write `opposites.jsonl` with a line for each method and pair into a folder; return its path."""
        lines = (
            json.dumps({"method": method, **one.to_json()}, ensure_ascii=False) + "\n"
            for method, answers in self.answers.items()
            for one in answers
        )
        path = Path(folder) / FILE
        write_text(path, "".join(lines))
        return path


def _counts(answers: Sequence[OppositeAnswer]) -> dict[str, int]:
    return {name: sum(getattr(one, name) for one in answers) for name in COUNTED}


def _cells(answers: Sequence[OppositeAnswer]) -> list[str]:
    return [_cell(number, len(answers)) for number in _counts(answers).values()]


def _cell(number: int, pairs: int) -> str:
    low, high = wilson_interval(number, pairs)
    return f"{number} ({100 * low:.0f}-{100 * high:.0f} %)"


def _record(answers: Sequence[OppositeAnswer]) -> dict[str, JSON]:
    record: dict[str, JSON] = {"pairs": len(answers)}
    for name, number in _counts(answers).items():
        low, high = wilson_interval(number, len(answers))
        record |= {name: number, f"{name}_low": low, f"{name}_high": high}
    return record


def _curve(method: str, answers: Sequence[OppositeAnswer], counted: str, number: int) -> Series:
    so_far = np.cumsum([getattr(one, counted) for one in answers]).astype(float)
    x = np.arange(1, len(so_far) + 1, dtype=float)
    return Series(method, x, so_far, number, note=f"{int(so_far[-1])} of {len(so_far)}")
