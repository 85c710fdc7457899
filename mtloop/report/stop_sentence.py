"""The stopping decision of a policy as a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from mtloop.core.plural import pluralise
from mtloop.core.protocols import Stop


def describe_stop(stop: Stop, best: Sequence[str]) -> str:
    """Return the decision as a sentence; `best` are its systems, in the order in which to print them.

    >>> describe_stop(Stop(("ours",), 0.95, 0.01), ["ours"])
    'with 95 % confidence the best system is ours (not worse than another system by more than 1 point)'
    """
    points = pluralise(100 * stop.within, "point")
    confidence = f"with {100 * stop.confidence:g} % confidence"
    if len(best) == 1:
        return f"{confidence} the best system is {best[0]} (not worse than another system by more than {points})"
    top = f"the top {len(best)} are {', '.join(best)}"
    return f"{confidence} {top} (none of them worse than another system by more than {points})"
