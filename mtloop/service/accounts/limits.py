"""How much a participant may ask for. The counters are in the database, so they hold across workers.

A worker draws a portion of the allowance at a time and hands it out itself: most requests cost no query. Portions only
ever come off the allowance, so all workers together never give out more than it; one that sits idle may keep back what
is left of its portion until the span ends.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass

from mtloop.service.problems import ProblemError, too_many
from mtloop.service.tasks.store import Store

PORTIONS = 20
MINUTE, DAY = 60, 86_400


@dataclass
class _Portion:
    """What a worker may still give out in a span; once the allowance gave less than was asked for, it is empty."""

    number: int = -1
    left: int = 0
    last: bool = False


class RateLimits:
    """`rate` requests a minute and `quota` requests a day for each participant; 0 is no limit."""

    def __init__(self, store: Store, rate: int, quota: int) -> None:
        self._store = store
        self._limits = [(span, limit) for span, limit in ((MINUTE, rate), (DAY, quota)) if limit]
        self._portions: dict[tuple[int, int], _Portion] = defaultdict(_Portion)
        self._drawing: dict[tuple[int, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def charge(self, participant_id: int) -> None:
        """Let one request pass, or raise the problem that says when to come back."""
        for span, limit in self._limits:
            now = time.time()
            number = int(now // span)
            if not await self._take(participant_id, span, number, limit):
                raise ProblemError(too_many(max(1, int((number + 1) * span - now + 0.999))))

    async def _take(self, participant_id: int, span: int, number: int, limit: int) -> bool:
        portion = self._portions[participant_id, span]
        if _is_spent(portion, number):
            async with self._drawing[participant_id, span]:
                if _is_spent(portion, number):
                    wanted = max(1, limit // PORTIONS)
                    portion.left = await self._store.draw(participant_id, span, number, wanted, limit)
                    portion.number, portion.last = number, portion.left < wanted
        if portion.left <= 0:
            return False
        portion.left -= 1
        return True


def _is_spent(portion: _Portion, number: int) -> bool:
    """Whether another portion has to be drawn; not where there is none to be had before the span ends."""
    return portion.number != number or (portion.left <= 0 and not portion.last)
