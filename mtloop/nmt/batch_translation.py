"""Translate many texts at once with one state of a learner: batches of texts of similar length, on several threads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from mtloop.nmt.engine.batch_search import greedy_batch
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import LengthLimits, LogitsProcessor

MAX_BATCH_SOURCES = 96  # products of larger matrices are not faster
MAX_BATCH_TOKENS = 3072  # limits the memory of a batch of long sources
Source: TypeAlias = tuple[int, ...]
Processors: TypeAlias = Callable[[Sequence[int]], Sequence[LogitsProcessor]]
"""Returns the logits processors of a source, given as ids."""


def no_processors(source: Sequence[int]) -> Sequence[LogitsProcessor]:
    return ()


@dataclass(frozen=True, eq=False)
class BatchTranslation:
    """Translates texts with one model, most probable token by token (`greedy`), many at once."""

    model: Marian
    limits: LengthLimits
    extra_bias: Tensor | None = None
    processors: Processors = no_processors
    max_batch_sources: int = MAX_BATCH_SOURCES
    max_batch_tokens: int = MAX_BATCH_TOKENS

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Return the translation of every text; equal texts are translated once.

        The batches do not depend on the number of threads, so the translations do not depend on it either.
        """
        sources = [tuple(self.model.source.encode(text)) for text in texts]
        found = dict[Source, Source]()
        batches = list(make_batches(set(sources), self.max_batch_sources, self.max_batch_tokens))
        for batch, translations in zip(batches, self._run(batches), strict=True):
            found |= zip(batch, translations, strict=True)
        return [self.model.target.decode(found[source]) for source in sources]

    def translate_batch(self, batch: Sequence[Source]) -> list[Source]:
        processors = [self.processors(source) for source in batch]
        return greedy_batch(self.model, batch, self.limits, self.extra_bias, processors)

    def _run(self, batches: Sequence[Sequence[Source]]) -> Iterator[list[Source]]:
        """Translate the batches with as many threads as the engine has; each batch is computed by one thread.

        A matrix product on several threads would leave all other work of a step, such as the votes of the memory, on
        one.
        """
        threads = torch.get_num_threads()
        workers = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
        try:
            yield from workers.map(self.translate_batch, batches)
        finally:
            workers.shutdown(cancel_futures=True)
            torch.set_num_threads(threads)  # the number in a worker is also that of threads started later


def make_batches(sources: Collection[Source], max_sources: int, max_tokens: int) -> Iterator[list[Source]]:
    """Divide sources into batches of similar length, longest first, so that little is padded.

    A batch has at most `max_sources` sources. Padded to its longest source, it has at most `max_tokens` tokens, unless
    it is a single source.

    >>> list(make_batches([(1,), (2, 2), (3, 3, 3)], max_sources=9, max_tokens=4))
    [[(3, 3, 3)], [(2, 2), (1,)]]
    """
    batch: list[Source] = []
    for source in sorted(sources, key=lambda source: (-len(source), source)):
        if batch and (len(batch) == max_sources or len(batch[0]) * (len(batch) + 1) > max_tokens):
            yield batch
            batch = []
        batch.append(source)
    if batch:
        yield batch
