from __future__ import annotations

import numpy as np

from mtloop.nmt.training.sentencepiece_model import EOS
from mtloop.nmt.training.token_corpus import TokenCorpus
from mtloop.nmt.training.token_rows import TokenRows


def test_unusable_pairs_are_left_out_and_counted() -> None:
    lengths = [np.array(side, np.int32) for side in ([1, 50, 20, 5], [9, 5, 3, 6])]
    corpus = TokenCorpus(*(TokenRows(np.full(side.sum(), EOS, np.int32), side) for side in lengths))
    kept, left_out = corpus.filter(max_tokens=40, max_ratio=4)
    assert len(kept) == 1
    assert left_out == {"empty": 1, "too long": 1, "of very different lengths": 1}
