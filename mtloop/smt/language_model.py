"""An n-gram language model in Thot's form: counts, and interpolation weights found by expectation-maximisation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

Ngram: TypeAlias = tuple[str, ...]
BUCKETS = 3
BUCKET = 10  # counts a bucket: contexts of 0-9, 10-19 and more occurrences each have weights of their own
BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"


@dataclass(frozen=True)
class NgramCounts:
    """How often every sequence of up to `order` words was seen.

    A word's first occurrence counts as unknown, unless all are `kept`: in little text most words come once, and a model
    that forgot them could not tell one order of them from another.
    """

    order: int = 3
    kept: bool = False
    counts: Counter[Ngram] = field(default_factory=Counter)
    vocabulary: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], order: int, kept: bool = False) -> NgramCounts:
        counts = cls(order, kept)
        if kept:
            counts.counts[(UNKNOWN,)] = 1  # so that what is never seen has a probability too
        for tokens in sentences:
            counts.add(tokens)
        return counts

    def add(self, tokens: Sequence[str]) -> None:
        known = [token if self.kept or token in self.vocabulary else UNKNOWN for token in tokens]
        self.vocabulary.update(tokens)
        words = [BEGIN, *known, END]
        self.counts.update(tuple(words[i : i + n]) for n in range(1, self.order + 1) for i in range(len(words) - n + 1))

    @property
    def total(self) -> int:
        return sum(count for ngram, count in self.counts.items() if len(ngram) == 1)

    def context(self, words: Ngram, total: int) -> int:
        return self.counts[words] if words else total

    def write(self, prefix: Path, weights: Sequence[float], sample: Iterable[Sequence[str]]) -> None:
        """The three files Thot reads: n-grams, weights, and sentences for its word predictor."""
        total = self.total
        with prefix.open("w", encoding="utf-8", newline="\n") as file:
            for ngram, count in sorted(self.counts.items(), key=lambda item: (len(item[0]), item[0])):
                file.write(f"{' '.join(ngram)} {self.context(ngram[:-1], total)} {count}\n")
        told = " ".join(f"{weight:.6f}" for weight in weights)
        prefix.with_name(prefix.name + ".weights").write_text(f"{self.order} {BUCKETS} {BUCKET} {told}\n")
        lines = "".join(" ".join(tokens) + "\n" for tokens in sample)
        prefix.with_name(prefix.name + ".wp").write_text(lines, encoding="utf-8")

    def witten_bell(self) -> list[float]:
        """Of all that followed contexts of an order and bucket, the share that was seen before: N / (N + types)."""
        seen, types = [0.0] * (self.order * BUCKETS), [0.0] * (self.order * BUCKETS)
        total = self.total
        for ngram, count in self.counts.items():
            place = self._place(ngram[:-1], total)
            seen[place] += count
            types[place] += 1
        return [n / (n + t) if n else 0.5 for n, t in zip(seen, types, strict=True)]

    def fit(self, sentences: Iterable[Sequence[str]], rounds: int = 12) -> list[float]:
        """Weights of orders and buckets that make held-out sentences likeliest."""
        mixtures = list(self._mixtures(sentences))
        weights = [0.5] * (self.order * BUCKETS)
        for _ in range(rounds if mixtures else 0):
            used, seen = [1.0] * len(weights), [2.0] * len(weights)
            for mixture in mixtures:
                _share(mixture, weights, used, seen)
            weights = [min(max(u / s, 0.01), 0.99) for u, s in zip(used, seen, strict=True)]
        return weights

    def _mixtures(self, sentences: Iterable[Sequence[str]]) -> Iterator[list[tuple[int, float]]]:
        """For every word: (weight's place, relative frequency) from the longest context to none, then 1/vocabulary."""
        total, size = self.total, len(self.vocabulary) + 3
        for tokens in sentences:
            words = [BEGIN, *(token if token in self.vocabulary else UNKNOWN for token in tokens), END]
            for i in range(1, len(words)):
                contexts = [tuple(words[max(i - n, 0) : i]) for n in range(min(self.order - 1, i), 0, -1)]
                parts = [self._part(context, words[i], total) for context in [*contexts, ()]]
                yield [*parts, (-1, 1 / size)]

    def _part(self, context: Ngram, word: str, total: int) -> tuple[int, float]:
        seen = self.context(context, total)
        return self._place(context, total), self.counts[(*context, word)] / seen if seen else 0.0

    def _place(self, context: Ngram, total: int) -> int:
        """Which weight a context has: by its length and how often it was seen."""
        return len(context) * BUCKETS + min(self.context(context, total) // BUCKET, BUCKETS - 1)


def _share(mixture: list[tuple[int, float]], weights: list[float], used: list[float], seen: list[float]) -> None:
    """Add to each weight the probability that it was its own level that chose the word, given that it was asked."""
    below = mixture[-1][1]
    levels: list[tuple[int, float, float]] = []
    for place, frequency in reversed(mixture[:-1]):
        own = weights[place] * frequency
        below = own + (1 - weights[place]) * below
        levels.append((place, own, below))
    reached = 1.0
    for place, own, likelihood in reversed(levels):
        share = own / likelihood if likelihood else 0.0
        used[place] += reached * share
        seen[place] += reached
        reached *= 1 - share
