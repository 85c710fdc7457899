"""Tuning on the most similar pairs before each sentence (Farajian and others, WMT 2017).

Before a sentence is translated, the most similar confirmed pairs are found, and the weights are updated on them. More
similar pairs get a higher learning rate and more epochs. After the sentence the updates are thrown away.

The rule for epochs and learning rate is that of ModernMT (github.com/modernmt/modernmt, `tuning.py`), which tunes in
this way, with its defaults: the most similar pair alone, at most four epochs. With the mean likeness s of the pairs:

    epochs = floor(max_epochs * s)        learning rate = learning_rate * sqrt(s)

ModernMT's learning rate, 1e-4, is for Adam. The scopes here take steps of SGD with clipped gradients, so the default is
our own. It is higher than that of `full`, whose updates add up. A batch is one pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from mtloop.core.ranges import check_at_least
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.decoding.knn.pair_store import PairStore
from mtloop.nmt.decoding.memory import StoredSegment
from mtloop.nmt.engine.lesson import forward_pass
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import Hypothesis
from mtloop.nmt.scopes.scope import Frozen, NotFinite, Scope


@dataclass(frozen=True)
class TuningSettings:
    """How many of the most similar pairs are learned, and for how many epochs at most."""

    similar_pairs: int = 1
    max_epochs: int = 4

    def __post_init__(self) -> None:
        check_at_least(1, similar_pairs=self.similar_pairs, max_epochs=self.max_epochs)

    def epochs(self, likeness: float) -> int:
        """Return the number of epochs for pairs of this mean likeness.

        >>> [TuningSettings().epochs(likeness) for likeness in (1.0, 0.7, 0.2)]
        [4, 2, 0]
        """
        return int(self.max_epochs * likeness)


class SimilarTuningNMT(AdaptiveNMT):
    """A base model that is tuned anew for each sentence.

    The updates are made in a new scope, which shares the base and copies what it changes. So the base is never written
    to, and `propose` does not change the learner.
    """

    def __init__(
        self, base: Marian, new_scope: Callable[[], Scope], tuning: TuningSettings, pairs: PairStore, **options: Any
    ) -> None:
        """`new_scope` returns a scope over the base that has learned nothing; `options` are those of AdaptiveNMT."""
        super().__init__(Frozen(base), memory=pairs, max_updates=0, **options)
        self.new_scope, self.tuning, self.pairs = new_scope, tuning, pairs

    def search(self, source: str, prefix: str = "") -> list[Hypothesis]:
        """Return the best translations of one piece, with weights that are tuned for it."""
        with self._translating_with(self.tuned(source)):
            return super().search(source, prefix)

    def tuned(self, source: str) -> Scope:
        """Return a scope that has learned the pairs most similar to a source; the unchanged one if there are none."""
        found = self.pairs.most_like(source, self.tuning.similar_pairs)
        likeness = sum(value for _, value in found) / max(len(found), 1)
        epochs = self.tuning.epochs(likeness)
        if not epochs:
            return self.scope
        scope = self.new_scope()
        try:
            for _ in range(epochs):
                for one, _ in found:
                    self._update(scope, one, math.sqrt(likeness))
        except NotFinite:
            return self.scope
        scope.commit()
        return scope

    def _update(self, scope: Scope, one: StoredSegment, rate: float) -> None:
        ids = scope.model.source.encode(one.source)
        lesson = forward_pass(scope.model, ids, one.tokens.tolist(), scope.names, scope.extra_bias)
        scope.update(replace(lesson, learning_rate_scale=rate))

    @contextmanager
    def _translating_with(self, scope: Scope) -> Iterator[None]:
        own, self.scope = self.scope, scope
        self._last.clear()
        try:
            yield
        finally:
            self.scope = own
            self._last.clear()

    def _translate_many(self, sentences: Sequence[str]) -> list[str]:
        """Translate one by one: each sentence has weights of its own."""
        return [self.translate_sentence(sentence) for sentence in sentences]
