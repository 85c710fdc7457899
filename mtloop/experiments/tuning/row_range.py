"""Ranges of rows: one part of a stream to tune on, another to report on."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from mtloop.core.errors import InputError
from mtloop.experiments.experiment import Experiment


@dataclass(frozen=True)
class RowRange:
    """Rows of a stream, counted from 1, both ends included."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> RowRange:
        """
        >>> RowRange.parse("1-4000")
        RowRange(first=1, last=4000)
        """
        match = re.fullmatch(r"\s*(\d+)\s*-\s*(\d+)\s*", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError(f"rows {text!r}: expected FIRST-LAST, counted from 1, for example 1-4000")
        return cls(int(match[1]), int(match[2]))

    def overlaps(self, other: RowRange) -> bool:
        return self.first <= other.last and other.first <= self.last

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"

    def restrict(self, experiment: Experiment) -> Experiment:
        """The experiment on these rows only. Later rows do not replace the rows that --distinct leaves out."""
        whole = replace(experiment, skip=0, limit=0, distinct=False).stream()
        if self.last > len(whole):
            raise InputError(f"rows {self}: the stream has only {len(whole)}", path=experiment.data)
        rows = whole[self.first - 1 : self.last]
        limit = len({segment.source for segment, _ in rows}) if experiment.distinct else len(rows)
        return replace(experiment, skip=self.first - 1, limit=limit)


def check_disjoint(tune: RowRange, report: RowRange) -> None:
    """Raise InputError if the ranges overlap: scores on rows used for tuning do not predict scores on new rows."""
    if tune.overlaps(report):
        raise InputError(f"rows {tune} to tune on and rows {report} to report on overlap; report on other rows")
