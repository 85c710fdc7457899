"""Which keys, sessions and links are valid, in the memory of a worker, for requests from an address above its limit.

All hashes are read with one query per store, at most once a second. So a valid key always gets in, and any number of
wrong keys costs no more.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

REFRESH_SECONDS = 1


class HashStore(Protocol):
    """Keeps hashes of what callers prove with who they are."""

    async def valid_hashes(self) -> set[str]: ...


class ValidCredentials:
    """The hashes of the keys, sessions and links that were valid at most `REFRESH_SECONDS` ago."""

    def __init__(self, *stores: HashStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._stores, self._clock = stores, clock
        self._hashes: set[str] = set()
        self._read = -float("inf")
        self._lock = asyncio.Lock()

    async def hold(self, credential: str) -> bool:
        """Whether a key, session or link is valid. It reads the database if the hashes are too old."""
        if not credential:
            return False
        async with self._lock:
            if self._clock() >= self._read + REFRESH_SECONDS:
                self._read = self._clock()  # before the query: one that fails is not repeated at once either
                self._hashes = {one for store in self._stores for one in await store.valid_hashes()}
        return credential in self._hashes
