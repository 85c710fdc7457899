"""Limits for addresses, before a key is known to be valid. The counters are in the memory of each worker.

They are not in the database, so that an attack with wrong keys costs no query for each of its requests.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from mtloop.service.cache import LRUCache

MINUTE = 60
MAX_ADDRESSES = 20_000  # in memory; the address that was counted longest ago is forgotten first


@dataclass
class _Count:
    ends: float
    count: int = 0


class AddressLimits:
    """At most `limit` requests of one sort a minute from one address. 0 means no limit."""

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit, clock
        self._counts: LRUCache[str, _Count] = LRUCache(MAX_ADDRESSES)

    def wait(self, address: str) -> int:
        """Seconds until the address may send such requests again. 0: now."""
        found = self._current(address)
        if not self._limit or found is None or found.count < self._limit:
            return 0
        return max(1, math.ceil(found.ends - self._clock()))

    def count(self, address: str, cost: int = 1) -> None:
        """Count a request, or what it costs. The minute begins with the first one."""
        found = self._current(address)
        if found is None:
            found = _Count(self._clock() + MINUTE)
            self._counts.update({address: found})
        found.count += cost

    def _current(self, address: str) -> _Count | None:
        found = self._counts.get(address)
        return found if found is not None and self._clock() < found.ends else None


def client_address(client: tuple[str, int] | None) -> str:
    """The address that requests are counted for. One customer gets a whole /64 of IPv6, so it counts as one address.

    >>> client_address(("192.0.2.7", 5000)), client_address(("2001:db8::a:1", 5000))
    ('192.0.2.7', '2001:db8::/64')
    """
    text = client[0][:64] if client else ""
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return text
    if not isinstance(found, IPv6Address):
        return str(found)
    return str(found.ipv4_mapped or ip_network((found, 64), strict=False))
