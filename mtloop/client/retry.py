"""When to ask again: soon, then later, never in step with everybody else, and not before the service says so."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


@dataclass(frozen=True)
class Retry:
    """`patience`: seconds after which a request is given up; waits double from `first` to at most `longest`.

    A wait is drawn from between nothing and that (full jitter), so that participants whom one restart cut off do
    not all come back at once. What the service asks for in `Retry-After` is waited out in full. `notice` hears why
    and how long, before every wait.
    """

    patience: float = 120.0
    first: float = 0.2
    longest: float = 20.0
    notice: Callable[[str, float], None] = lambda why, wait: None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    dice: random.Random = field(default_factory=random.Random, repr=False)

    def wait(self, attempt: int, asked: float | None = None) -> float:
        """Seconds to wait after failure number `attempt` (from 0)."""
        if asked is not None:
            return asked + self.dice.uniform(0, self.first)
        return self.dice.uniform(0, min(self.longest, self.first * 2 ** min(attempt, 30)))


def seconds_asked(header: str | None, now: datetime | None = None) -> float | None:
    """What `Retry-After` asks for, in seconds or as a date; None when it says nothing that can be read.

    >>> seconds_asked("3"), seconds_asked(None), seconds_asked("soon")
    (3.0, None, None)
    >>> seconds_asked("Wed, 01 Jan 2025 00:00:10 GMT", datetime(2025, 1, 1, tzinfo=UTC))
    10.0
    """
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())
