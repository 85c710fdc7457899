"""Finding log-linear weights: decode a dev set, search on the n-best lists, set the live weights, decode again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtloop.smt.engine import FEATURES, Candidate, Thot
from mtloop.smt.foreground import START

Array = NDArray[np.float64]
STEPS = np.concatenate([-np.geomspace(2.0, 0.01, 12), np.geomspace(0.01, 2.0, 12)])
POSITIVE = (
    "language_model",
    "phrase",
    "inverse_phrase",
)  # a model that is liked less the likelier it is makes no sense


def ngrams(tokens: Sequence[str]) -> list[Counter[tuple[str, ...]]]:
    return [Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)) for n in range(1, 5)]


def bleu_row(tokens: Sequence[str], wanted: list[Counter[tuple[str, ...]]], length: int) -> list[float]:
    """Matches and totals of 1- to 4-grams, and both lengths: they add up over segments."""
    said = ngrams(tokens)
    matches = [float((one & other).total()) for one, other in zip(said, wanted, strict=True)]
    totals = [float(max(len(tokens) - n, 0)) for n in range(4)]
    return [*matches, *totals, float(len(tokens)), float(length)]


def bleu(sums: Array) -> Array:
    """BLEU (0 to 100) of summed rows, with one added above unigrams so that small dev sets have a gradient."""
    matches, totals = sums[..., :4] + [0, 1, 1, 1], sums[..., 4:8] + [0, 1, 1, 1]
    precision = np.log(np.maximum(matches, 1e-9) / np.maximum(totals, 1e-9)).mean(axis=-1)
    brevity = np.minimum(0, 1 - sums[..., 9] / np.maximum(sums[..., 8], 1))
    return np.asarray(100 * np.exp(precision + brevity))


class Pool:
    """The candidates of every dev segment so far: features (segments, candidates, features) and BLEU rows."""

    def __init__(self, names: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        self.names = tuple(names)
        self._wanted = [(ngrams(tokens), len(tokens)) for tokens in references]
        self._seen: list[dict[tuple[str, ...], tuple[list[float], list[float]]]] = [{} for _ in references]

    def add(self, segment: int, words: tuple[str, ...], features: Mapping[str, float]) -> None:
        if words not in self._seen[segment]:
            row = bleu_row(words, *self._wanted[segment])
            self._seen[segment][words] = ([features[name] for name in self.names], row)

    def arrays(self) -> tuple[Array, Array]:
        """Padded with copies of each segment's first candidate, which change nothing."""
        width = max(len(seen) for seen in self._seen)
        padded = [(list(seen.values()) * width)[:width] if seen else [] for seen in self._seen]
        kept = [rows for rows in padded if rows]
        return np.array([[f for f, _ in rows] for rows in kept]), np.array([[r for _, r in rows] for rows in kept])

    def __len__(self) -> int:
        return sum(map(len, self._seen))


def search(
    features: Array, rows: Array, start: Array, positive: Sequence[int], rng: np.random.Generator, rounds: int = 4
) -> tuple[Array, float]:
    """Line searches along axes and random directions; returns the best weights and their BLEU on the lists."""
    best, score = start, _value(features, rows, start[None])[0]
    for _ in range(rounds):
        before = score
        for direction in [*np.eye(len(start)), *rng.normal(size=(2 * len(start), len(start)))]:
            scale = np.abs(best).mean()
            tried = best + scale * STEPS[:, None] * direction / np.abs(direction).max()
            tried = tried[(tried[:, positive] > 0).all(axis=1)]
            values = _value(features, rows, tried) if len(tried) else np.array([-1.0])
            if values.max() > score:
                best, score = tried[values.argmax()], values.max()
        if score - before < 0.01:
            break
    return best, float(score)


def _value(features: Array, rows: Array, weights: Array) -> Array:
    chosen = (features @ weights.T).argmax(axis=1)  # (segments, tries)
    sums = np.stack([rows[np.arange(len(rows)), chosen[:, k]].sum(axis=0) for k in range(len(weights))])
    return bleu(sums)


@dataclass(frozen=True)
class Tuned:
    """The weights found, and BLEU (on Thot's words) of the dev set as decoded before and after."""

    weights: Mapping[str, float]
    before: float
    after: float


def tune(
    engine: Thot,
    pairs: Sequence[tuple[str, str]],
    *,
    size: int = 50,
    rounds: int = 5,
    seed: int = 1,
    say: Callable[[str], None] = lambda text: None,
) -> Tuned:
    """Move the engine's weights to those that translate `pairs` best; `size` candidates a segment and round."""
    usable = [(engine.words.read(s), engine.words.read_target(t)) for s, t in pairs]
    usable = [(s, t) for s, t in usable if 0 < len(s) <= 60 and t]
    start = engine.weights
    if not usable:
        return Tuned(start, float("nan"), float("nan"))
    pool, rng = Pool(FEATURES, [t for _, t in usable]), np.random.default_rng(seed)
    tried: list[tuple[float, dict[str, float]]] = []
    for number in range(1, rounds + 1):
        tried.append((_decode(engine, usable, pool, size), engine.weights))
        say(f"tuning: round {number} of {rounds}, {len(pool):,} candidates, BLEU {tried[-1][0]:.2f}")
        if number < rounds:
            engine.weights = _next(pool, tried, rng)
    after, weights = max(tried, key=lambda one: one[0])
    engine.weights = weights
    return Tuned(weights, tried[0][0], after)


def _next(pool: Pool, tried: Sequence[tuple[float, dict[str, float]]], rng: np.random.Generator) -> dict[str, float]:
    """The best of searches from all weights tried so far; scaled, since only directions matter."""
    features, rows = pool.arrays()
    positive = [FEATURES.index(name) for name in POSITIVE]
    starts = [np.array(list(weights.values())) for _, weights in tried[-2:]]
    found = max((search(features, rows, start, positive, rng) for start in starts), key=lambda one: one[1])[0]
    return dict(zip(FEATURES, (found / np.abs(found).mean()).tolist(), strict=True))


def _decode(engine: Thot, pairs: Sequence[tuple[list[str], list[str]]], pool: Pool, size: int) -> float:
    """Fill the pool; returns BLEU of the best candidates."""
    sums = np.zeros(10)
    for number, (source, target) in enumerate(pairs):
        candidates = engine.decode(source, size)
        for candidate in candidates:
            pool.add(number, candidate.words, candidate.features)
        sums += bleu_row(candidates[0].words, ngrams(target), len(target))
    return float(bleu(sums))


def tune_rescoring(
    names: Sequence[str],
    lists: Sequence[tuple[Sequence[str], Sequence[tuple[Candidate, Mapping[str, float]]]]],
    seed: int = 1,
) -> dict[str, float]:
    """Weights of foreground features that are added to the decoder's score; `lists` pairs a target with candidates."""
    pool = Pool(("score", *names), [target for target, _ in lists])
    for number, (_, candidates) in enumerate(lists):
        for candidate, extra in candidates:
            pool.add(number, candidate.words, {"score": candidate.score, **extra})
    start = np.array([1.0, *(START for _ in names)])
    if not len(pool):
        return dict(zip(names, start[1:].tolist(), strict=True))
    positive = range(len(start))  # of two hypotheses alike, what was seen in corrections is never the worse one
    found, _ = search(*pool.arrays(), start, list(positive), np.random.default_rng(seed))
    return dict(zip(names, (found[1:] / found[0]).tolist(), strict=True))
