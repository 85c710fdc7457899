from __future__ import annotations

import numpy as np
import pytest

from mtloop.core import Proposal, Segment, Step, Truth
from mtloop.metrics import BLEU
from mtloop.smt.tuner import bleu, bleu_statistics, ngrams, search_weights


def test_bleu_equals_the_metric_except_for_smoothing() -> None:
    hypothesis, reference = ["a", "b", "c", "d", "e", "f", "g", "h", "x"], ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
    row = np.array(bleu_statistics(hypothesis, ngrams(reference), len(reference)))
    sums = row * 200  # with 200 equal segments add-one smoothing is negligible
    step = Step(0, Proposal(Segment("1", "s"), " ".join(hypothesis)), truth=Truth((" ".join(reference),)))
    assert float(bleu(sums)) == pytest.approx(BLEU().score([step]).value, abs=0.1)


def test_the_search_finds_the_informative_feature() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(40, 6, 3))
    good = features[:, :, 1].argmax(axis=1)
    reference = ["a", "b", "c", "d", "e"]
    rows = np.array(
        [[bleu_statistics(reference if k == g else ["x"] * 5, ngrams(reference), 5) for k in range(6)] for g in good]
    )
    weights, score = search_weights(features, rows, np.ones(3), [], rng)
    assert score > 95
    assert abs(weights[1]) > 3 * max(abs(weights[0]), abs(weights[2]))
