"""Translation quality: BLEU, chrF and TER as in sacreBLEU, and two sentence-level BLEUs.

The sentence-level BLEUs are computed here, because sacreBLEU has neither their smoothing nor their orders.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.types import Step
from mtloop.metrics.base import Additive, Array, divide, hypotheses, references
from mtloop.metrics.ter import edit_counts
from mtloop.text.ngrams import clipped_matches, count_ngrams
from mtloop.text.tokenisers import CHINESE, DEFAULT, WITHOUT_SPACES, Tokeniser

ORDER = 4


class SacreMetric(Additive):
    """A sacreBLEU metric, computed from sacreBLEU's statistics per segment: the scores are exactly equal.

    The statistics methods are private, so pyproject.toml bounds the version and the tests compare the scores.
    `options` are the keyword arguments of sacreBLEU's class.
    """

    def __init__(self, **options: Any) -> None:
        self.options = options

    @abstractmethod
    def _create(self) -> Any: ...

    @cached_property
    def _metric(self) -> Any:
        metric = self._create()
        metric.num_refs = 1
        return metric

    @property
    def signature(self) -> str:
        return str(self._metric.get_signature())

    def rows(self, steps: Sequence[Step]) -> Array:
        if not steps:
            raise InputError("no segments to score")
        documents = [list(column) for column in zip_longest(*references(steps))]
        return np.array(self._metric._extract_corpus_statistics(hypotheses(steps), documents), dtype=float)


class BLEU(SacreMetric):
    """Corpus BLEU. Columns: hypothesis length, reference length, four match counts, four n-gram totals."""

    name = "bleu"

    def _create(self) -> Any:
        from sacrebleu.metrics import bleu

        return bleu.BLEU(**{"force": True} | self.options)

    def aggregate(self, sums: Array) -> Array:
        return np.array([self._metric._compute_score_from_stats(row).score for row in sums.tolist()])


class ChrF(SacreMetric):
    """Corpus chrF2. Columns: numbers of hypothesis, reference and matched n-grams for each order."""

    name = "chrf"

    def _create(self) -> Any:
        from sacrebleu.metrics import chrf

        return chrf.CHRF(**self.options)

    def aggregate(self, sums: Array) -> Array:
        return np.array([self._metric._compute_f_score(row) for row in sums.tolist()])


class TER(SacreMetric):
    """Translation edit rate, with sacreBLEU's tokeniser and edit counts but a faster search (see `ter`).

    `tokenize` names the tokeniser of text without spaces. For "zh", sacreBLEU's own option splits Chinese text into
    characters. For "ja-mecab" and "char", the text is tokenised first, because sacreBLEU's option leaves long runs of
    Japanese syllables and all Thai text in one piece. Other tokenisers change nothing: TER counts words between spaces.
    Columns: fewest edits over the references, average reference length.
    """

    name = "ter"
    higher_is_better = False

    def __init__(self, tokenize: str = DEFAULT, **options: Any) -> None:
        asian = {"normalized": True, "asian_support": True} if tokenize == CHINESE else {}
        super().__init__(**asian | options)
        self._tokeniser = Tokeniser(tokenize) if tokenize in WITHOUT_SPACES - {CHINESE} else None

    def _create(self) -> Any:
        from sacrebleu.metrics import ter

        return ter.TER(**self.options)

    @property
    def signature(self) -> str:
        if self._tokeniser is None:
            return super().signature
        return super().signature.replace("tok:tercom", f"tok:{self._tokeniser.signature}+tercom")

    def rows(self, steps: Sequence[Step]) -> Array:
        targets = references(steps)
        counts = {len(texts) for texts in targets}
        self._metric.num_refs = counts.pop() if len(counts) == 1 else -1
        counted = [self._row(h, r) for h, r in zip(hypotheses(steps), targets, strict=True)]
        return np.array(counted, dtype=float).reshape(-1, 2)

    def _row(self, hypothesis: str, targets: Iterable[str]) -> tuple[float, float]:
        words = self._words(hypothesis)
        edits, lengths = zip(*(edit_counts(words, self._words(target)) for target in targets), strict=True)
        return min(edits), sum(lengths) / len(lengths)

    def _words(self, text: str) -> list[str]:
        words = text if self._tokeniser is None else " ".join(self._tokeniser(text))
        return list(self._metric._preprocess_segment(words).split())

    def aggregate(self, sums: Array) -> Array:
        """Return the edit rates; as in sacreBLEU, 100 if the reference is empty and there are edits."""
        edits, length = sums[:, 0], sums[:, 1]
        rate: Array = np.divide(edits, length, out=(edits > 0).astype(float), where=length > 0)
        return 100 * rate

    def fraction(self, sums: Array) -> tuple[float | None, float | None]:
        return float(sums[0]), float(sums[1])


class SentenceAverage(Additive):
    """The mean over segments of a sentence score in [0, 1]. Columns: score, one."""

    def __init__(self, tokenize: str = DEFAULT) -> None:
        self._words = Tokeniser(tokenize)

    @abstractmethod
    def sentence(self, hypothesis: str, target: str) -> float:
        """Return the score of one sentence, from 0 to 1."""

    def rows(self, steps: Sequence[Step]) -> Array:
        pairs = zip(hypotheses(steps), references(steps), strict=True)
        return np.array([(max(self.sentence(h, r) for r in refs), 1.0) for h, refs in pairs]).reshape(-1, 2)

    def aggregate(self, sums: Array) -> Array:
        return divide(100 * sums[:, 0], sums[:, 1])


class SBLEU(SentenceAverage):
    """Sentence BLEU of Nakov et al. (2012), averaged: the SBLEU of the 2019 paper.

    The highest n-gram order is 4, or the reference length if that is shorter. p1 is not smoothed; the others are
    (c+1)/(t+1). The brevity penalty counts the reference as one word longer, so a perfect hypothesis of r words
    scores exp(-1/r).
    """

    name = "sbleu"

    @property
    def signature(self) -> str:
        return f"nrefs:best|case:mixed|tok:{self._words.signature}|smooth:nakov2012|order:4"

    def sentence(self, hypothesis: str, target: str) -> float:
        words, reference = self._words(hypothesis), self._words(target)
        order = min(ORDER, len(reference))
        counts = _match_counts(words, reference, order)
        if not counts or not counts[0][0]:
            return 0.0
        precisions = [c / t if n == 0 else (c + 1) / (t + 1) for n, (c, t) in enumerate(counts)]
        brevity = min(0.0, 1 - (len(reference) + 1) / len(words))
        return math.exp(brevity + sum(map(math.log, precisions)) / order)


class RewardBLEU(SentenceAverage):
    """The reward of the 2017 shared task: sentence BLEU in [0, 1] on lower-cased text; zero counts become 0.01.

    Cases that the paper does not define: an empty hypothesis scores 0. N-gram orders above the length of the
    hypothesis or the reference are left out, so a perfect short sentence scores 1. If nothing matches, every
    count is 0.01.
    """

    name = "wmt17"

    def __init__(self, floor: float = 0.01, tokenize: str = DEFAULT) -> None:
        super().__init__(tokenize)
        self.floor = floor

    @property
    def signature(self) -> str:
        tokeniser = self._words.signature
        return f"nrefs:best|case:lc|tok:{tokeniser}|smooth:floor[{self.floor:.2g}]|order:4|eff:yes"

    def sentence(self, hypothesis: str, target: str) -> float:
        words, reference = self._words(hypothesis.lower()), self._words(target.lower())
        order = min(ORDER, len(words), len(reference))
        if not order:
            return 0.0
        precisions = [(c or self.floor) / t for c, t in _match_counts(words, reference, order)]
        brevity = min(0.0, 1 - len(reference) / len(words))
        return math.exp(brevity + sum(map(math.log, precisions)) / order)


def _match_counts(words: list[str], reference: list[str], order: int) -> list[tuple[int, int]]:
    """Return the clipped matches and the totals of the hypothesis' n-grams, for n from 1 to `order`."""
    orders = range(1, order + 1)
    return [(clipped_matches(words, count_ngrams(reference, n), n), max(0, len(words) - n + 1)) for n in orders]
