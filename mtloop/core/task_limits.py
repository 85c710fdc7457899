"""How often a participant may try the sentences of a shared task, by its kind, unless its organiser says otherwise.

Passes times runs is how often a participant may try one sentence; one of the held-out block, which is inserted several
times, passes times runs times blocks. With some hundred tries, rewards give it away.
"""

from __future__ import annotations

from collections.abc import Mapping

DEFAULT_PASSES = {"mock": 10, "dev": 5, "training": 1}
DEFAULT_RUNS = {"mock": 10, "dev": 10, "training": 1}  # with the passes: at most 100 tries, times the blocks


def described(defaults: Mapping[str, int]) -> str:
    """The defaults in words.

    >>> described({"mock": 10, "dev": 5, "training": 1})
    'mock 10, dev 5, training 1'
    """
    return ", ".join(f"{kind} {number}" for kind, number in defaults.items())
