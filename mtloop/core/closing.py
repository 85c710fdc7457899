"""Release what a learner uses, such as a running program, when its work ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from mtloop.core.protocols import Closable, Learner
from mtloop.core.types import Step


@contextmanager
def closing(learner: Learner) -> Iterator[None]:
    """Close a `Closable` learner at the end of the block, also after an error."""
    try:
        yield
    finally:
        if isinstance(learner, Closable):
            learner.close()


def closed_after(steps: Iterable[Step], learner: Learner) -> Iterator[Step]:
    """Yield the steps, then close the learner."""
    with closing(learner):
        yield from steps
