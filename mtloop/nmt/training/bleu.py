"""Corpus BLEU by sacreBLEU, or the same number without sacreBLEU (13a tokens, exponential smoothing)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

MAX_ORDER = 4
_SPLITS = (
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
_ENTITIES = (("<skipped>", ""), ("-\n", ""), ("\n", " "), ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Return BLEU (0 to 100), with one reference per segment."""
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError:
        return bleu_without_sacrebleu(hypotheses, references)
    return float(BLEU().corpus_score(list(hypotheses), [list(references)]).score)


def bleu_without_sacrebleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Return the same number as sacreBLEU, without sacreBLEU.

    >>> round(bleu_without_sacrebleu(["the cat sat on the mat"], ["the cat sat on a mat"]), 2)
    53.73
    """
    outputs, targets = ([tokenise_13a(text) for text in texts] for texts in (hypotheses, references))
    length, reference_length = (sum(map(len, texts)) for texts in (outputs, targets))
    precisions = _smoothed_precisions([_matches(outputs, targets, order) for order in range(1, MAX_ORDER + 1)])
    if not length or not all(precisions):
        return 0.0
    brevity = min(0.0, 1 - reference_length / length)
    return 100 * math.exp(brevity + sum(map(math.log, precisions)) / MAX_ORDER)


def tokenise_13a(text: str) -> list[str]:
    """Return the tokens of mteval-v13a.

    >>> tokenise_13a("Version 2.5, (beta).")
    ['Version', '2.5', ',', '(', 'beta', ')', '.']
    """
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    text = f" {text} "
    for pattern, replacement in _SPLITS:
        text = pattern.sub(replacement, text)
    return text.split()


def _matches(hypotheses: Sequence[list[str]], references: Sequence[list[str]], order: int) -> tuple[int, int]:
    """Return the number of matching n-grams and the number of all n-grams of the hypotheses."""
    matches = total = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        ngrams = _ngrams(hypothesis, order)
        matches += (ngrams & _ngrams(reference, order)).total()
        total += ngrams.total()
    return matches, total


def _ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[start : start + order]) for start in range(len(words) - order + 1))


def _smoothed_precisions(counts: Sequence[tuple[int, int]]) -> list[float]:
    """Return the precisions; zero matches count as 1/2 for the first such order, then 1/4 and so on."""
    precisions, zeros = [], 0
    for matches, total in counts:
        zeros += total > 0 and matches == 0
        precisions.append(0.0 if total == 0 else matches / total if matches else 1 / (2**zeros * total))
    return precisions
