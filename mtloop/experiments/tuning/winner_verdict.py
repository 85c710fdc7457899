"""The verdict of a search: whether the winner is better than the defaults on rows that the search has not used."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mtloop.metrics.significance import Comparison
from mtloop.report.wording import p_value_text

BETTER, SAME, WORSE = "better", "not distinguishable", "worse"


@dataclass(frozen=True)
class WinnerVerdict:
    """The winner compared with the defaults on the report rows.

    `comparison` is None if the defaults won. `score` is the name of the compared score, for example TER.

    >>> verdict = WinnerVerdict("rows 9-12", "TER", False, Comparison(-0.31, (-2.0, 1.1), 0.6, "ar"))
    >>> print(verdict)  # doctest: +NORMALIZE_WHITESPACE
    Keep the defaults. On rows 9-12 the winner does not differ significantly from them: TER -0.31 (95 % interval -2.00
    to +1.10, p = 0.600).
    """

    where: str
    score: str
    higher_is_better: bool
    comparison: Comparison | None

    @property
    def outcome(self) -> str:
        """`better`, `not distinguishable` or `worse` than the defaults; better and worse mean p < 0.05."""
        found = self.comparison
        if found is None or not found.mark:
            return SAME
        return BETTER if (found.difference > 0) == self.higher_is_better else WORSE

    @property
    def keep_defaults(self) -> bool:
        return self.outcome != BETTER

    def __str__(self) -> str:
        if self.comparison is None:
            return "Keep the defaults. No other settings were better on the rows to tune on."
        if math.isnan(self.comparison.difference):
            return f"Keep the defaults. On {self.where} the difference of the winner to them is undefined (0/0)."
        sentence = {
            BETTER: f"Use the winner. On {self.where} it is better than the defaults",
            SAME: f"Keep the defaults. On {self.where} the winner does not differ significantly from them",
            WORSE: f"Keep the defaults. On {self.where} the winner is worse",
        }
        return f"{sentence[self.outcome]}: {self._difference(self.comparison)}."

    def _difference(self, found: Comparison) -> str:
        low, high = found.interval
        numbers = f"95 % interval {low:+.2f} to {high:+.2f}, {p_value_text(found.p_value)}"
        return f"{self.score} {found.difference:+.2f} ({numbers})"
