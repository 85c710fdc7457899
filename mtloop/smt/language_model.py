"""An n-gram language model in Thot's file format: counts, and interpolation weights found by EM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

Ngram: TypeAlias = tuple[str, ...]
BUCKETS = 3
BUCKET_SIZE = 10  # contexts seen 0-9, 10-19 and more times use different interpolation weights
BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"


@dataclass(frozen=True)
class NgramCounts:
    """Counts of all n-grams of up to `order` words.

    The first occurrence of a word counts as unknown, unless `keep_first` is set. It is set for small texts: there most
    words occur once, and without them the model could not prefer one word order to another.
    """

    order: int = 3
    keep_first: bool = False
    counts: Counter[Ngram] = field(default_factory=Counter)
    vocabulary: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], order: int, keep_first: bool = False) -> NgramCounts:
        counts = cls(order, keep_first)
        if keep_first:
            counts.counts[(UNKNOWN,)] = 1  # gives unseen words a probability
        for tokens in sentences:
            counts.add(tokens)
        return counts

    def add(self, tokens: Sequence[str]) -> None:
        known = [token if self.keep_first or token in self.vocabulary else UNKNOWN for token in tokens]
        self.vocabulary.update(tokens)
        words = [BEGIN, *known, END]
        self.counts.update(tuple(words[i : i + n]) for n in range(1, self.order + 1) for i in range(len(words) - n + 1))

    @property
    def total(self) -> int:
        """The number of words, sentence boundaries included."""
        return sum(count for ngram, count in self.counts.items() if len(ngram) == 1)

    def context_count(self, context: Ngram, total: int) -> int:
        return self.counts[context] if context else total

    def write(self, prefix: Path, weights: Sequence[float], sample: Iterable[Sequence[str]]) -> None:
        """Write the three files that Thot reads: n-grams, weights, and a sample of sentences for its word predictor."""
        total = self.total
        with prefix.open("w", encoding="utf-8", newline="\n") as file:
            for ngram, count in sorted(self.counts.items(), key=lambda item: (len(item[0]), item[0])):
                file.write(f"{' '.join(ngram)} {self.context_count(ngram[:-1], total)} {count}\n")
        numbers = " ".join(f"{weight:.6f}" for weight in weights)
        prefix.with_name(prefix.name + ".weights").write_text(f"{self.order} {BUCKETS} {BUCKET_SIZE} {numbers}\n")
        lines = "".join(" ".join(tokens) + "\n" for tokens in sample)
        prefix.with_name(prefix.name + ".wp").write_text(lines, encoding="utf-8")

    def witten_bell(self) -> list[float]:
        """Return Witten-Bell weights for each order and bucket: N / (N + types)."""
        seen, types = [0.0] * (self.order * BUCKETS), [0.0] * (self.order * BUCKETS)
        total = self.total
        for ngram, count in self.counts.items():
            index = self._weight_index(ngram[:-1], total)
            seen[index] += count
            types[index] += 1
        return [n / (n + t) if n else 0.5 for n, t in zip(seen, types, strict=True)]

    def fit(self, sentences: Iterable[Sequence[str]], iterations: int = 12) -> list[float]:
        """Return the weights of orders and buckets that maximise the likelihood of held-out sentences (EM)."""
        mixtures = list(self._mixtures(sentences))
        weights = [0.5] * (self.order * BUCKETS)
        for _ in range(iterations if mixtures else 0):
            used, reached = [1.0] * len(weights), [2.0] * len(weights)
            for mixture in mixtures:
                _add_expectations(mixture, weights, used, reached)
            weights = [min(max(u / r, 0.01), 0.99) for u, r in zip(used, reached, strict=True)]
        return weights

    def _mixtures(self, sentences: Iterable[Sequence[str]]) -> Iterator[list[tuple[int, float]]]:
        """Yield for every word (weight index, relative frequency), longest context first, 1/vocabulary last."""
        total, size = self.total, len(self.vocabulary) + 3
        for tokens in sentences:
            words = [BEGIN, *(token if token in self.vocabulary else UNKNOWN for token in tokens), END]
            for i in range(1, len(words)):
                contexts = [tuple(words[max(i - n, 0) : i]) for n in range(min(self.order - 1, i), 0, -1)]
                components = [self._component(context, words[i], total) for context in [*contexts, ()]]
                yield [*components, (-1, 1 / size)]

    def _component(self, context: Ngram, word: str, total: int) -> tuple[int, float]:
        seen = self.context_count(context, total)
        return self._weight_index(context, total), self.counts[(*context, word)] / seen if seen else 0.0

    def _weight_index(self, context: Ngram, total: int) -> int:
        """Return the index of a context's weight, which depends on its length and its count."""
        return len(context) * BUCKETS + min(self.context_count(context, total) // BUCKET_SIZE, BUCKETS - 1)


def _add_expectations(
    mixture: list[tuple[int, float]], weights: list[float], used: list[float], reached: list[float]
) -> None:
    """Add one word's expected counts: how often each level was reached, and how often it generated the word."""
    below = mixture[-1][1]
    levels: list[tuple[int, float, float]] = []
    for index, frequency in reversed(mixture[:-1]):
        own = weights[index] * frequency
        below = own + (1 - weights[index]) * below
        levels.append((index, own, below))
    probability = 1.0
    for index, own, likelihood in reversed(levels):
        posterior = own / likelihood if likelihood else 0.0
        used[index] += probability * posterior
        reached[index] += probability
        probability *= 1 - posterior
