"""Rate limits for each participant. The counters are in the database, so they hold across workers.

A worker takes a portion of the allowance at a time and serves requests from it, so most requests need no query. The
workers together never serve more than the allowance. A worker that is shut down gives the rest of its portions back.
One that is killed cannot: then at most `MAX_PORTION` requests of each allowance are lost.

A refused request counts as `REFUSED_COST` requests of the minute, so that who guesses or sends nonsense is stopped long
before who works.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter

from mtloop.service.accounts.store import AccountStore
from mtloop.service.problems import ProblemError, too_many

PORTIONS = 20  # portions that a small allowance is divided into
MAX_PORTION = 100
REFUSED_COST = 10  # requests of the minute that a refused request (4xx) counts as
MINUTE, DAY = 60, 86_400
_STARTED = time.time() - time.monotonic()


def steady_time() -> float:
    """Seconds since 1970 by the clock at the start of this process. Setting the clock later does not change it."""
    return _STARTED + time.monotonic()


@dataclass
class _Portion:
    """What a worker may still serve in a period. `last`: the allowance has nothing left after this portion.

    `left` is negative after refused requests: the next portion pays for them.
    """

    period: int = -1
    left: int = 0
    last: bool = False


class RateLimits:
    """At most `rate` requests a minute and `quota` requests a day for each participant. 0 means no limit."""

    def __init__(self, store: AccountStore, rate: int, quota: int, clock: Callable[[], float] = steady_time) -> None:
        self._store, self._clock = store, clock
        self._limits = [(seconds, limit) for seconds, limit in ((MINUTE, rate), (DAY, quota)) if limit]
        self._portions: dict[tuple[int, int], _Portion] = defaultdict(_Portion)
        self._locks: dict[tuple[int, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def charge(self, participant_id: int) -> None:
        """Count one request. Raise the problem 429, with the time to wait, if an allowance is used up."""
        now = self._clock()
        while True:
            portions = [await self._portion(participant_id, seconds, limit, now) for seconds, limit in self._limits]
            if all(portion.left > 0 for portion in portions):
                break
            self._check(portions, now)  # if this passes, other requests have used a portion up meanwhile
        for portion in portions:
            portion.left -= 1

    def charge_refused(self, participant_id: int) -> None:
        """Count a request that was charged already as a refused one. The day counts it once."""
        portion = self._portions.get((participant_id, MINUTE))
        if portion is not None:
            portion.left -= REFUSED_COST - 1

    async def give_back(self) -> None:
        """Return what is left of all portions, at the end of this worker."""
        portions, self._portions = sorted(self._portions.items(), key=itemgetter(0)), defaultdict(_Portion)
        unused = [(*of, portion.period, portion.left) for of, portion in portions if portion.left > 0]
        if unused:
            await self._store.return_requests(unused)

    def _check(self, portions: list[_Portion], now: float) -> None:
        """Raise the problem if an allowance is used up, with the longest wait: after it all of them are renewed."""
        found = zip(portions, self._limits, strict=True)
        waits = [(one.period + 1) * seconds - now for one, (seconds, _) in found if one.left <= 0 and one.last]
        if waits:
            raise ProblemError(too_many(max(1, math.ceil(max(waits)))))

    async def _portion(self, participant_id: int, seconds: int, limit: int, now: float) -> _Portion:
        """The portion to take a request from. It is empty if the allowance is used up."""
        portion, period = self._portions[participant_id, seconds], int(now // seconds)
        if _is_used_up(portion, period):
            async with self._locks[participant_id, seconds]:
                if _is_used_up(portion, period):
                    await self._take(portion, participant_id, seconds, limit, period)
        return portion

    async def _take(self, portion: _Portion, participant_id: int, seconds: int, limit: int, period: int) -> None:
        """Take another portion, after what the refused requests of the same period cost."""
        before, owed = portion.left, max(0, -portion.left) if portion.period >= period else 0
        wanted = owed + min(MAX_PORTION, max(1, limit // PORTIONS))
        taken, current = await self._store.take_requests(participant_id, seconds, period, wanted, limit)
        charged = before - portion.left  # during the query
        portion.left, portion.period, portion.last = taken - owed - charged, current, taken < wanted


def _is_used_up(portion: _Portion, period: int) -> bool:
    """Whether to take another portion: the period is new, or the portion is empty and was not the last one."""
    return portion.period < period or (portion.left <= 0 and not portion.last)
