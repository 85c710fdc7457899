from __future__ import annotations

from mtloop.smt.language_model import NgramCounts


def test_language_model_weights_fit_held_out_text() -> None:
    counts = NgramCounts()
    for _ in range(30):
        counts.add(["open", "the", "file", "now"])
    weights = counts.fit([["open", "the", "file", "now"]] * 5)
    assert weights[-1] > 0.6  # a context seen often and always followed by the same word gets a high weight
