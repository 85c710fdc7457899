"""Tuning of log-linear weights: decode a dev set, search weights on the n-best lists, decode again with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtloop.smt.engine import FEATURES, Candidate, Thot
from mtloop.smt.foreground import INITIAL_WEIGHT
from mtloop.text.ngrams import Ngram, clipped_matches, count_ngrams

Array = NDArray[np.float64]
STEP_SIZES = np.concatenate([-np.geomspace(2.0, 0.01, 12), np.geomspace(0.01, 2.0, 12)])
POSITIVE_FEATURES = (
    "language_model",
    "phrase",
    "inverse_phrase",
)  # a negative weight would prefer what the model finds unlikely


def ngrams(tokens: Sequence[str]) -> list[dict[Ngram, int]]:
    """Return the counts of 1- to 4-grams."""
    return [count_ngrams(tokens, n) for n in range(1, 5)]


def bleu_statistics(
    tokens: Sequence[str], reference_ngrams: list[dict[Ngram, int]], reference_length: int
) -> list[float]:
    """Return matches and totals of 1- to 4-grams, and both lengths; the statistics add up over segments."""
    matches = [float(clipped_matches(tokens, counts, n)) for n, counts in enumerate(reference_ngrams, start=1)]
    totals = [float(max(len(tokens) - n, 0)) for n in range(4)]
    return [*matches, *totals, float(len(tokens)), float(reference_length)]


def bleu(sums: Array) -> Array:
    """Return BLEU (0 to 100) of summed statistics; orders above 1 get add-one smoothing, for small dev sets.

    sacreBLEU computes one score at a time. The search needs those of many weights at once, so this works on arrays.
    """
    matches, totals = sums[..., :4] + [0, 1, 1, 1], sums[..., 4:8] + [0, 1, 1, 1]
    precision = np.log(np.maximum(matches, 1e-9) / np.maximum(totals, 1e-9)).mean(axis=-1)
    brevity = np.minimum(0, 1 - sums[..., 9] / np.maximum(sums[..., 8], 1))
    return np.asarray(100 * np.exp(precision + brevity))


class CandidatePool:
    """All different candidates of the dev segments so far, with their features and BLEU statistics."""

    def __init__(self, names: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        self.names = tuple(names)
        self._references = [(ngrams(tokens), len(tokens)) for tokens in references]
        self._candidates: list[dict[tuple[str, ...], tuple[list[float], list[float]]]] = [{} for _ in references]

    def add(self, segment: int, words: tuple[str, ...], features: Mapping[str, float]) -> None:
        if words not in self._candidates[segment]:
            statistics = bleu_statistics(words, *self._references[segment])
            self._candidates[segment][words] = ([features[name] for name in self.names], statistics)

    def arrays(self) -> tuple[Array, Array]:
        """Return features and BLEU statistics, each (segments, candidates, values).

        Short lists are padded by repeating their candidates, which changes no result.
        """
        width = max(len(candidates) for candidates in self._candidates)
        padded = [(list(found.values()) * width)[:width] if found else [] for found in self._candidates]
        kept = [rows for rows in padded if rows]
        return np.array([[f for f, _ in rows] for rows in kept]), np.array([[r for _, r in rows] for rows in kept])

    def __len__(self) -> int:
        return sum(map(len, self._candidates))


def search_weights(
    features: Array, statistics: Array, start: Array, positive: Sequence[int], rng: np.random.Generator, rounds: int = 4
) -> tuple[Array, float]:
    """Search along axes and random directions; return the best weights and their BLEU on the n-best lists.

    Weights with an index in `positive` stay above 0.
    """
    best, score = start, _bleu_of_weights(features, statistics, start[None])[0]
    for _ in range(rounds):
        before = score
        for direction in [*np.eye(len(start)), *rng.normal(size=(2 * len(start), len(start)))]:
            scale = np.abs(best).mean()
            tried = best + scale * STEP_SIZES[:, None] * direction / np.abs(direction).max()
            tried = tried[(tried[:, positive] > 0).all(axis=1)]
            scores = _bleu_of_weights(features, statistics, tried) if len(tried) else np.array([-1.0])
            if scores.max() > score:
                best, score = tried[scores.argmax()], scores.max()
        if score - before < 0.01:
            break
    return best, float(score)


def _bleu_of_weights(features: Array, statistics: Array, weights: Array) -> Array:
    """Return BLEU of the 1-best candidates under each row of `weights`."""
    chosen = (features @ weights.T).argmax(axis=1)  # (segments, rows of weights)
    segments = np.arange(len(statistics))
    sums = np.stack([statistics[segments, chosen[:, k]].sum(axis=0) for k in range(len(weights))])
    return bleu(sums)


@dataclass(frozen=True)
class TuningResult:
    """The best weights, and BLEU (on Thot's tokens) of the decoded dev set before and after tuning."""

    weights: Mapping[str, float]
    before: float
    after: float


def tune(
    engine: Thot,
    pairs: Sequence[tuple[str, str]],
    *,
    nbest_size: int = 50,
    rounds: int = 5,
    seed: int = 1,
    log: Callable[[str], None] = lambda text: None,
) -> TuningResult:
    """Set the engine's weights to those with the best BLEU on `pairs`; each round decodes `nbest_size` candidates."""
    tokeniser = engine.tokeniser
    usable = [(tokeniser.tokenise_source(s), tokeniser.tokenise_target(t)) for s, t in pairs]
    usable = [(s, t) for s, t in usable if 0 < len(s) <= 60 and t]
    start = engine.weights
    if not usable:
        return TuningResult(start, float("nan"), float("nan"))
    pool, rng = CandidatePool(FEATURES, [t for _, t in usable]), np.random.default_rng(seed)
    tried: list[tuple[float, dict[str, float]]] = []
    for number in range(1, rounds + 1):
        tried.append((_decode_into(pool, engine, usable, nbest_size), engine.weights))
        log(f"tuning: round {number} of {rounds}, {len(pool):,} candidates, BLEU {tried[-1][0]:.2f}")
        if number < rounds:
            engine.weights = _next_weights(pool, tried, rng)
    after, weights = max(tried, key=lambda trial: trial[0])
    engine.weights = weights
    return TuningResult(weights, tried[0][0], after)


def _next_weights(
    pool: CandidatePool, tried: Sequence[tuple[float, dict[str, float]]], rng: np.random.Generator
) -> dict[str, float]:
    """Return the best result of searches from the last two weights.

    It is scaled to mean absolute value 1, because the length of the vector changes no ranking.
    """
    features, statistics = pool.arrays()
    positive = [FEATURES.index(name) for name in POSITIVE_FEATURES]
    starts = [np.array(list(weights.values())) for _, weights in tried[-2:]]
    results = (search_weights(features, statistics, start, positive, rng) for start in starts)
    found = max(results, key=lambda result: result[1])[0]
    return dict(zip(FEATURES, (found / np.abs(found).mean()).tolist(), strict=True))


def _decode_into(
    pool: CandidatePool, engine: Thot, pairs: Sequence[tuple[list[str], list[str]]], nbest_size: int
) -> float:
    """Add the n-best lists of all pairs to the pool; return BLEU of the best candidates."""
    sums = np.zeros(10)
    for number, (source, target) in enumerate(pairs):
        candidates = engine.decode(source, nbest_size)
        for candidate in candidates:
            pool.add(number, candidate.words, candidate.features)
        sums += bleu_statistics(candidates[0].words, ngrams(target), len(target))
    return float(bleu(sums))


def tune_rescoring(
    names: Sequence[str],
    lists: Sequence[tuple[Sequence[str], Sequence[tuple[Candidate, Mapping[str, float]]]]],
    seed: int = 1,
) -> dict[str, float]:
    """Return weights of features that are added to the decoder's score.

    `lists` holds, for each segment, the reference and its candidates with their extra features.
    """
    pool = CandidatePool(("score", *names), [target for target, _ in lists])
    for number, (_, candidates) in enumerate(lists):
        for candidate, extra in candidates:
            pool.add(number, candidate.words, {"score": candidate.score, **extra})
    start = np.array([1.0, *(INITIAL_WEIGHT for _ in names)])
    if not len(pool):
        return dict(zip(names, start[1:].tolist(), strict=True))
    positive = range(len(start))  # evidence from corrections never lowers a score
    found, _ = search_weights(*pool.arrays(), start, list(positive), np.random.default_rng(seed))
    return dict(zip(names, (found[1:] / found[0]).tolist(), strict=True))
