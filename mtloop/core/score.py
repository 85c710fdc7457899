"""A number and all that makes it reproducible."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from mtloop.core.types import JSON, Fields


@dataclass(frozen=True, slots=True)
class Score:
    """A value on 0-100 unless its metric says otherwise; NaN is "nothing to measure" (0/0), never a zero.

    `numerator` and `denominator` are there for ratios, `interval` where a metric knows its own uncertainty,
    `detail` for what else it has to say.
    """

    name: str
    value: float
    signature: str
    numerator: float | None = None
    denominator: float | None = None
    interval: tuple[float, float] | None = None
    detail: Fields = field(default_factory=dict)

    @property
    def defined(self) -> bool:
        return not math.isnan(self.value)

    def __str__(self) -> str:
        """The value as tables show it: two decimals, or 0/0.

        >>> print(Score("r1", math.nan, "", 0, 0))
        0/0
        """
        return f"{self.value:.2f}" if self.defined else "0/0"

    def to_json(self) -> dict[str, JSON]:
        """Plain JSON: an undefined value is null, whole counts are integers, absent parts stay absent."""
        row: dict[str, JSON] = {
            "name": self.name,
            "value": self.value if self.defined else None,
            "numerator": _whole(self.numerator),
            "denominator": _whole(self.denominator),
            "signature": self.signature,
        }
        if self.interval is not None:
            row["interval"] = list(self.interval)
        return row | dict(self.detail)


def _whole(count: float | None) -> JSON:
    return int(count) if count is not None and float(count).is_integer() else count
