"""Work on many texts, shared among processes where that pays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

R = TypeVar("R")
CHUNK = 10_000
FEW = 4  # chunks that are done sooner than processes start


def in_chunks(work: Callable[[Sequence[str]], R], texts: Sequence[str], workers: int) -> Iterator[R]:
    """What `work` makes of every ten thousand texts, in order.

    >>> list(in_chunks(len, ["a"] * 25_000, workers=1))
    [10000, 10000, 5000]
    """
    chunks = [texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK)]
    if workers < 2 or len(chunks) < FEW:
        yield from map(work, chunks)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, chunks)
