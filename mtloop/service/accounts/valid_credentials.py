"""Which keys and sessions are valid, in the memory of a worker, for requests from an address that is above its limit.

All hashes are read with one query, at most once a second. So a valid key always gets in, and any number of wrong keys
costs one query a second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from mtloop.service.accounts.store import AccountStore

REFRESH_SECONDS = 1


class ValidCredentials:
    """The hashes of the keys and sessions that were valid at most `REFRESH_SECONDS` ago."""

    def __init__(self, store: AccountStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._hashes: set[str] = set()
        self._read = -float("inf")
        self._lock = asyncio.Lock()

    async def hold(self, credential: str) -> bool:
        """Whether a key or session is valid. It reads the database if the hashes are too old."""
        if not credential:
            return False
        async with self._lock:
            if self._clock() >= self._read + REFRESH_SECONDS:
                self._read = self._clock()  # before the query: one that fails is not repeated at once either
                self._hashes = await self._store.valid_hashes()
        return credential in self._hashes
