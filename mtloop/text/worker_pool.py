"""A function applied to many texts, in several processes if that is faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

R = TypeVar("R")
CHUNK_SIZE = 10_000
MIN_CHUNKS = 4  # fewer chunks finish sooner than worker processes start


def map_chunks(function: Callable[[Sequence[str]], R], texts: Sequence[str], workers: int) -> Iterator[R]:
    """Yield the result of `function` for every chunk of CHUNK_SIZE texts, in order.

    >>> list(map_chunks(len, ["a"] * 25_000, workers=1))
    [10000, 10000, 5000]
    """
    chunks = [texts[start : start + CHUNK_SIZE] for start in range(0, len(texts), CHUNK_SIZE)]
    if workers < 2 or len(chunks) < MIN_CHUNKS:
        yield from map(function, chunks)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, chunks)
