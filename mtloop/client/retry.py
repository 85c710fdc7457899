"""When to retry a request: exponential backoff with full jitter; `Retry-After` is respected."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from mtloop.core.log import logger


@dataclass(frozen=True)
class Retry:
    """A request is retried for at most `give_up_after` seconds, with all its attempts and waits.

    The maximum wait doubles from `first_wait` to `max_wait`. Each wait is drawn uniformly between 0 and that maximum
    (full jitter), so that participants do not all come back at once after a restart of the service. A `Retry-After` of
    the service is never shortened. `on_wait` is called before every wait with the reason and the seconds.
    """

    give_up_after: float = 120.0
    first_wait: float = 0.2
    max_wait: float = 20.0
    on_wait: Callable[[str, float], None] = lambda reason, seconds: None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    rng: random.Random = field(default_factory=random.Random, repr=False)

    def wait(self, attempt: int, retry_after: float | None = None) -> float:
        """Return the seconds to wait after failure number `attempt` (from 0)."""
        if retry_after is not None:
            return retry_after + self.rng.uniform(0, self.first_wait)
        return self.rng.uniform(0, min(self.max_wait, self.first_wait * 2 ** min(attempt, 30)))


def report_wait(reason: str, seconds: float) -> None:
    """Report a wait of at least one second."""
    if seconds >= 1:
        logger.warning("%s; retrying in %.0f s", reason, seconds)


def parse_retry_after(header: str | None, now: datetime | None = None) -> float | None:
    """Return the seconds of a `Retry-After` header, which is a number or a date; None if it is missing or invalid.

    >>> parse_retry_after("3"), parse_retry_after(None), parse_retry_after("soon")
    (3.0, None, None)
    >>> parse_retry_after("Wed, 01 Jan 2025 00:00:10 GMT", datetime(2025, 1, 1, tzinfo=UTC))
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
