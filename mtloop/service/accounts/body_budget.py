"""How many bytes of bodies a worker reads at the same time before it knows a valid key.

A key in a header is looked at before the body. Some clients send the key in the body: without a budget, many of them at
once would fill the memory.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from mtloop.service.problems import ProblemError, too_many

OF_ADDRESS, IN_ALL = 2, 8  # bodies of the largest size
TOO_MANY_BODIES = replace(
    too_many(1), detail="Too many large requests with no key in a header arrive at the same time. Try again."
)


class BodyBudget:
    """At most `IN_ALL` times `largest` bytes, and `OF_ADDRESS` times `largest` from one address."""

    def __init__(self, largest: int) -> None:
        self._most, self._most_of_address = IN_ALL * largest, OF_ADDRESS * largest
        self._taken: Counter[str] = Counter()

    def take(self, address: str, size: int) -> None:
        """Count bytes that arrived. Raise the problem 429 if there are too many."""
        if self._taken[address] + size > self._most_of_address or self._taken.total() + size > self._most:
            raise ProblemError(TOO_MANY_BODIES)
        self._taken[address] += size

    def give_back(self, address: str, size: int) -> None:
        """The bytes are not in memory any more, or their key is valid."""
        self._taken[address] -= size
        if not self._taken[address]:
            del self._taken[address]
