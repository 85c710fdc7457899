"""What a rater is shown at a time, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from mtloop.core.protocols import Choice


@dataclass(frozen=True)
class ShownTranslation:
    """A translation, and the systems that produced it; none if it is an attention check."""

    text: str
    systems: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class RatingItem:
    """One or several translations of a segment, in the order in which they are shown.

    The rater must not see the systems. `choice` is what the policy chose: its `asked` are the systems whose scores
    count. An attention check has none. `damaged` is the position of its damaged translation, and `own_value` what the
    rater gave to the undamaged one, if that is not shown beside it.
    """

    segment: str
    source: str
    translations: tuple[ShownTranslation, ...]
    reference: str = ""
    choice: Choice | None = field(default=None, repr=False)
    damaged: int | None = field(default=None, repr=False)
    own_value: float | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The first translation."""
        return self.translations[0].text

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems that produced the first translation."""
        return self.translations[0].systems

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(one.text for one in self.translations)

    @property
    def cells(self) -> set[tuple[str, str]]:
        """The pairs of segment and system that the item shows."""
        return {(self.segment, system) for one in self.translations for system in one.systems}

    def passed(self, values: tuple[float, ...]) -> bool:
        """Whether an attention check was passed: the damaged translation got less than the undamaged one."""
        assert self.damaged is not None
        others = [value for at, value in enumerate(values) if at != self.damaged]
        undamaged = others[0] if others else self.own_value
        return undamaged is not None and values[self.damaged] < undamaged


@dataclass(frozen=True)
class RatingTurn:
    """An item that a rater was given. `values` are from 0 to 1, one for each translation; None: not rated.

    `skipped`: the rater did not want to rate it. `waiting`: the rater is about to rate it, so nobody else should.
    """

    rater: str
    item: RatingItem
    values: tuple[float, ...] | None = None
    skipped: bool = False
    waiting: bool = False
