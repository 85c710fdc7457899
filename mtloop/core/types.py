"""The nouns of the loop. Frozen, plain, and all of them can be written as JSON (see `wire`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
Fields: TypeAlias = Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Segment:
    """All that a learner may see. References never travel in it."""

    id: str
    source: str
    context: Fields = field(default_factory=dict)

    @property
    def document(self) -> str:
        """The document the segment belongs to; empty when the data names none."""
        return str(self.context.get("document", ""))


@dataclass(frozen=True, slots=True)
class Truth:
    """What only judges and metrics see, so that a reference cannot leak to a learner."""

    references: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """One translation and how it came to be chosen.

    Whatever `learn` needs later (the probability of a draw, a sampling seed) rides here and never on
    the learner, so feedback that is late, out of order or after a restart still teaches correctly.
    """

    segment: Segment
    text: str
    system: str = ""
    probability: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()
    prefix: str = ""
    memo: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PostEdit:
    """What the translator made of the proposal: the most informative feedback."""

    text: str
    rater: str | None = None


@dataclass(frozen=True, slots=True)
class Scores:
    """A score for each of several systems; a system nobody rated is absent, or among `filled` if a value stands in."""

    values: Mapping[str, float]
    rater: str | None = None
    filled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preference:
    """One translation was preferred to another."""

    better: str
    worse: str
    rater: str | None = None


@dataclass(frozen=True, slots=True)
class Reward:
    """One number in [0, 1]: the least informative feedback."""

    value: float
    rater: str | None = None


Feedback: TypeAlias = PostEdit | Scores | Preference | Reward


@dataclass(frozen=True, slots=True)
class Learned:
    """What `learn` did: how many updates, why it refused if it did, and anything worth keeping."""

    updates: int = 0
    rejected: str | None = None
    info: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One turn of the loop: proposed, judged, learned."""

    index: int
    proposal: Proposal
    feedback: Feedback | None = None
    learned: Learned | None = None
    truth: Truth | None = None

    @property
    def references(self) -> tuple[str, ...]:
        """The true translations, else the post-edit, else nothing."""
        if self.truth is not None and self.truth.references:
            return self.truth.references
        return (self.feedback.text,) if isinstance(self.feedback, PostEdit) else ()

    def public(self) -> Step:
        """The step as it may leave the house: without the truth."""
        return replace(self, truth=None)


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
