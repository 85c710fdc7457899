"""Corpus BLEU: sacreBLEU's where it is installed, else the same computed here (13a tokens, exponential smoothing)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

ORDER = 4
_SPLITS = (
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
_ENTITIES = (("<skipped>", ""), ("-\n", ""), ("\n", " "), ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """BLEU on 0-100, with one reference a segment."""
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError:
        return own_bleu(hypotheses, references)
    return float(BLEU().corpus_score(list(hypotheses), [list(references)]).score)


def own_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """The same number without sacreBLEU.

    >>> round(own_bleu(["the cat sat on the mat"], ["the cat sat on a mat"]), 2)
    53.73
    """
    said, wanted = ([tokens(text) for text in texts] for texts in (hypotheses, references))
    length, reference = (sum(map(len, texts)) for texts in (said, wanted))
    precisions = _smoothed([_matches(said, wanted, order) for order in range(1, ORDER + 1)])
    if not length or not all(precisions):
        return 0.0
    brevity = min(0.0, 1 - reference / length)
    return 100 * math.exp(brevity + sum(map(math.log, precisions)) / ORDER)


def tokens(text: str) -> list[str]:
    """The tokens of mteval-v13a.

    >>> tokens("Version 2.5, (beta).")
    ['Version', '2.5', ',', '(', 'beta', ')', '.']
    """
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    text = f" {text} "
    for pattern, replacement in _SPLITS:
        text = pattern.sub(replacement, text)
    return text.split()


def _matches(said: Sequence[list[str]], wanted: Sequence[list[str]], order: int) -> tuple[int, int]:
    """N-grams of the hypotheses that the references have too, and all n-grams of the hypotheses."""
    right = total = 0
    for hypothesis, reference in zip(said, wanted, strict=True):
        ours = _ngrams(hypothesis, order)
        right += (ours & _ngrams(reference, order)).total()
        total += ours.total()
    return right, total


def _ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[start : start + order]) for start in range(len(words) - order + 1))


def _smoothed(counts: Sequence[tuple[int, int]]) -> list[float]:
    """Precisions; each that is zero counts half of the one before it, beginning with half a match."""
    precisions, zeros = [], 0
    for right, total in counts:
        zeros += total > 0 and right == 0
        precisions.append(0.0 if total == 0 else right / total if right else 1 / (2**zeros * total))
    return precisions
