from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("transformers")

import torch

from mtloop.nmt.training.batches import LENGTH_MULTIPLE, Batches, split_into_batches
from mtloop.nmt.training.sentencepiece_model import PAD
from mtloop.nmt.training.token_corpus import TokenCorpus
from mtloop.nmt.training.token_rows import TokenRows

CPU = torch.device("cpu")


def _corpus(count: int) -> TokenCorpus:
    """Return a corpus in which row i repeats one token, i + 3, so that batches show their rows."""
    rng = np.random.default_rng(1)
    sides = [rng.integers(2, 40, count).astype(np.int32) for _ in range(2)]
    return TokenCorpus(
        *(TokenRows(np.repeat(np.arange(3, count + 3, dtype=np.int32), lengths), lengths) for lengths in sides)
    )


def test_an_epoch_has_every_pair_once_within_the_token_limit() -> None:
    corpus = _corpus(500)
    batches = list(Batches(corpus, tokens=1000, seed=1, device=CPU).epoch(0))
    assert sum(batch.tokens > 1000 for batch in batches) <= 1  # the last batch may contain one pair too many
    assert all(side.shape[1] % LENGTH_MULTIPLE == 0 for batch in batches for side in (batch.source, batch.target))
    assert sorted(row for batch in batches for row in batch.source[:, 0].tolist()) == list(range(3, 503))
    for batch in batches:
        assert torch.equal(batch.source[:, 0], batch.target[:, 0])
        lengths = (batch.target != PAD).sum(1)
        assert lengths.tolist() == [corpus.target.lengths[row - 3] for row in batch.target[:, 0].tolist()]


def test_batches_depend_on_epoch_and_seed() -> None:
    def first(seed: int, epoch: int, skip: int = 0) -> torch.Tensor:
        return next(Batches(_corpus(500), tokens=1000, seed=seed, device=CPU).epoch(epoch, skip)).source[:, 0]

    assert torch.equal(first(1, 0), first(1, 0))
    assert not torch.equal(first(1, 0), first(1, 1))
    assert not torch.equal(first(1, 0), first(2, 0))
    epoch = Batches(_corpus(500), tokens=1000, seed=1, device=CPU).epoch(0)
    assert torch.equal([batch.source[:, 0] for batch in epoch][3], first(1, 0, skip=3))


def test_no_last_batch_of_size_one() -> None:
    widths = np.full(9, LENGTH_MULTIPLE)
    assert [stop - start for start, stop, _, _ in split_into_batches(widths, widths, tokens=8 * LENGTH_MULTIPLE)] == [
        4,
        5,
    ]


def test_a_pair_above_the_token_limit_is_a_batch() -> None:
    assert next(split_into_batches(np.array([64, 64, 64]), np.array([64, 64, 64]), tokens=100)) == (0, 1, 64, 64)
