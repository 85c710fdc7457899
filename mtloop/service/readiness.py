"""Readiness: whether the database can be written. A check is shared by all who ask, so that asking costs little."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from mtloop.service.database import Database, outage_reason
from mtloop.service.telemetry import LOGGER

VALID_SECONDS = 1.0  # how long a check counts
WAIT_SECONDS = 2.0  # a check that takes longer means: not ready


class Readiness:
    """Writes to the database at most once in `VALID_SECONDS`, however often it is asked."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock = database, clock
        self._check: asyncio.Task[str] | None = None
        self._finished = 0.0
        self._logged = ""  # the reason in the log; empty: ready

    async def ready(self) -> bool:
        """Whether the database can be written. If not, the reason is in the log, once until it changes."""
        check = self._check
        if check is None or (check.done() and self._clock() - self._finished >= VALID_SECONDS):
            check = self._check = asyncio.create_task(self._find_reason())
        done, _ = await asyncio.wait([check], timeout=WAIT_SECONDS)
        reason = check.result() if done else f"no answer within {WAIT_SECONDS:g} seconds"
        self._log(reason)
        return not reason

    async def close(self) -> None:
        """Wait for the check that is under way."""
        if self._check is not None:
            await asyncio.wait([self._check])

    def _log(self, reason: str) -> None:
        """Log a change. Anybody may ask all the time, so a line for each answer would fill the log."""
        if reason and reason != self._logged:
            LOGGER.warning("not ready", extra={"fields": {"reason": reason}})
        elif self._logged and not reason:
            LOGGER.info("ready again")
        self._logged = reason

    async def _find_reason(self) -> str:
        """Why the service is not ready. Empty: it is."""
        try:
            return "" if await self._database.ready() else "the database has the schema of another version"
        except Exception as error:  # whatever it is, the database was not written
            return outage_reason(error)
        finally:
            self._finished = self._clock()
