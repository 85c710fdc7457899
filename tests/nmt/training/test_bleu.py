from __future__ import annotations

import pytest
from sacrebleu.metrics.bleu import BLEU

from mtloop.nmt.training.bleu import bleu_without_sacrebleu


@pytest.mark.parametrize(
    ("hypotheses", "references"),
    [
        (["The 3.5 cats, in 2-d (sat) on the mat."], ["The 3.5 cats in 2-d (sat) on a mat."]),
        (["one two three four five", "six"], ["one two three four six", "seven eight"]),
        (["a &quot;b&quot; c d"], ['a "b" c d e f']),
        (["x y"], ["p q"]),
        ([""], ["something"]),
        (["„Ja“ – nein!", "10,5 %"], ["„Ja“ – nein.", "10,5 %"]),
    ],
)
def test_bleu_equals_that_of_sacrebleu(hypotheses: list[str], references: list[str]) -> None:
    assert bleu_without_sacrebleu(hypotheses, references) == pytest.approx(
        BLEU().corpus_score(hypotheses, [references]).score
    )
