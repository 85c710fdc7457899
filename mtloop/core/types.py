"""The data types of the loop: frozen dataclasses, each with a JSON form (see `mtloop.core.serialisation`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
Fields: TypeAlias = Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Segment:
    """One source sentence: everything that a learner may see. It never contains a reference.

    Attributes:
        id: Unique in the stream.
        source: The text to translate.
        context: Further fields, such as `document`.
    """

    id: str
    source: str
    context: Fields = field(default_factory=dict)

    @property
    def document(self) -> str:
        """The document that the segment belongs to; empty if the data does not name one."""
        return str(self.context.get("document", ""))


@dataclass(frozen=True, slots=True)
class Truth:
    """References and human scores by system, for judges and metrics only: a learner never receives them."""

    references: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """One translation, and how the learner chose it.

    The proposal carries everything that `learn` needs later (the probability of a draw, a sampling seed) in `memo`
    and its other fields. The learner keeps none of it, so feedback may arrive late, out of order or after a restart.

    Attributes:
        segment: The segment that was given to `propose`.
        text: The translation.
        system: The name of the system that a policy chose.
        probability: The probability of that choice (None: it was not random).
        weights: The values by which the policy ranked the systems.
        candidates: Other translations.
        prefix: The beginning of the translation that the translator typed.
        memo: JSON fields of the learner's own.
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
    """The translation after correction by a translator: the most informative feedback."""

    text: str
    rater: str | None = None


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores by system. A system without a rating is absent, or listed in `filled` if its value was imputed."""

    values: Mapping[str, float]
    rater: str | None = None
    filled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preference:
    """The system `better` was preferred to the system `worse`."""

    better: str
    worse: str
    rater: str | None = None


@dataclass(frozen=True, slots=True)
class Reward:
    """One number in [0, 1]: the least informative feedback."""

    value: float
    rater: str | None = None


Feedback: TypeAlias = PostEdit | Scores | Preference | Reward
_FEEDBACK_WORDS = {PostEdit: "post-edits", Scores: "scores", Preference: "preferences", Reward: "rewards"}


def feedback_words(kind: type[Feedback]) -> str:
    """Return the plural of a kind of feedback, for messages.

    >>> feedback_words(PostEdit)
    'post-edits'
    """
    return _FEEDBACK_WORDS.get(kind, kind.__name__)


@dataclass(frozen=True, slots=True)
class Learned:
    """The result of `learn`.

    Attributes:
        updates: Number of updates.
        rejected: Why nothing was learned (None: something was).
        info: Further JSON fields, such as `perplexity`.
    """

    updates: int = 0
    rejected: str | None = None
    info: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SimilarCorrection:
    """An earlier correction, and its similarity to a source from 0 to 1.

    `lesson` counts the lessons of the learner from 0; -1: the learner does not say.
    """

    source: str
    target: str
    similarity: float
    lesson: int = -1


@dataclass(frozen=True, slots=True)
class Step:
    """One turn of the loop: a proposal, its feedback and the result of learning."""

    index: int
    proposal: Proposal
    feedback: Feedback | None = None
    learned: Learned | None = None
    truth: Truth | None = None

    @property
    def references(self) -> tuple[str, ...]:
        """The references of the truth, else the post-edit, else an empty tuple."""
        if self.truth is not None and self.truth.references:
            return self.truth.references
        return (self.feedback.text,) if isinstance(self.feedback, PostEdit) else ()

    def public(self) -> Step:
        """Return the step without the truth, safe to publish."""
        return replace(self, truth=None)


@dataclass(frozen=True, slots=True)
class Score:
    """The value of a metric, on 0-100 unless the metric defines another range; NaN means undefined (0/0).

    `numerator` and `denominator`: the parts of a ratio. `interval`: a confidence interval, if the metric has one.
    `detail`: further JSON fields. `digits`: the number of decimals in tables. `float(score)` is the value, and a format
    such as `f"{score:.1f}"` formats it.
    """

    name: str
    value: float
    signature: str
    numerator: float | None = None
    denominator: float | None = None
    interval: tuple[float, float] | None = None
    detail: Fields = field(default_factory=dict)
    digits: int = field(default=2, repr=False)

    @property
    def defined(self) -> bool:
        """Whether the value is a number and not 0/0."""
        return not math.isnan(self.value)

    def __str__(self) -> str:
        """Return the value with `digits` decimals, or 0/0 if it is undefined.

        >>> print(Score("r1", math.nan, "", 0, 0))
        0/0
        """
        return f"{self.value:.{self.digits}f}" if self.defined else "0/0"

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        """Return the value in this format; without a format, or if it is undefined, the same as `str`.

        >>> f"{Score('ter', 12.345, ''):.1f} {Score('ter', 12.345, '')}"
        '12.3 12.35'
        """
        return format(self.value, spec) if spec and self.defined else str(self)

    def to_json(self) -> dict[str, JSON]:
        """Return plain JSON: an undefined value is null, whole counts are integers, an absent interval is left out."""
        row: dict[str, JSON] = {
            "name": self.name,
            "value": self.value if self.defined else None,
            "numerator": _integer_if_whole(self.numerator),
            "denominator": _integer_if_whole(self.denominator),
            "signature": self.signature,
        }
        if self.interval is not None:
            row["interval"] = list(self.interval)
        return row | dict(self.detail)


def _integer_if_whole(count: float | None) -> JSON:
    return int(count) if count is not None and float(count).is_integer() else count
