"""Rate limits. The counters are in the database, so they hold across workers.

A worker takes a portion of the allowance at a time and serves requests from it, so most requests need no query. The
workers together never serve more than the allowance. A worker with few requests may leave part of its portion unused.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass

from mtloop.service.accounts.store import AccountStore
from mtloop.service.problems import ProblemError, too_many

PORTIONS = 20  # portions that a period's allowance is divided into
MINUTE, DAY = 60, 86_400


@dataclass
class _Portion:
    """What a worker may still serve in a period. `last`: the allowance has nothing left after this portion."""

    period: int = -1
    left: int = 0
    last: bool = False


class RateLimits:
    """At most `rate` requests a minute and `quota` requests a day for each participant. 0 means no limit."""

    def __init__(self, store: AccountStore, rate: int, quota: int) -> None:
        self._store = store
        self._limits = [(seconds, limit) for seconds, limit in ((MINUTE, rate), (DAY, quota)) if limit]
        self._portions: dict[tuple[int, int], _Portion] = defaultdict(_Portion)
        self._locks: dict[tuple[int, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def charge(self, participant_id: int) -> None:
        """Count one request. Raise the problem 429, with the time to wait, if the allowance is used up."""
        for seconds, limit in self._limits:
            now = time.time()
            period = int(now // seconds)
            if not await self._take_one(participant_id, seconds, period, limit):
                raise ProblemError(too_many(max(1, int((period + 1) * seconds - now + 0.999))))

    async def _take_one(self, participant_id: int, seconds: int, period: int, limit: int) -> bool:
        portion = self._portions[participant_id, seconds]
        if _is_used_up(portion, period):
            async with self._locks[participant_id, seconds]:
                if _is_used_up(portion, period):
                    wanted = max(1, limit // PORTIONS)
                    portion.left = await self._store.take_requests(participant_id, seconds, period, wanted, limit)
                    portion.period, portion.last = period, portion.left < wanted
        if portion.left <= 0:
            return False
        portion.left -= 1
        return True


def _is_used_up(portion: _Portion, period: int) -> bool:
    """Whether to take another portion: the period is new, or the portion is empty and was not the last one."""
    return portion.period != period or (portion.left <= 0 and not portion.last)
