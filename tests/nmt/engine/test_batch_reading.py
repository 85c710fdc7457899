"""One target read with several sources at once: the log-probabilities of one reading each."""

from __future__ import annotations

import torch
from helpers.tiny_marian import demo_pairs

from mtloop.nmt.engine.batch_reading import token_log_probabilities
from mtloop.nmt.engine.lesson import forward_pass
from mtloop.nmt.engine.marian import Marian


def test_each_source_gives_what_it_gives_alone(small: Marian) -> None:
    """The sources have different lengths, so some are padded."""
    sources = [small.source.encode(source) for source, _ in demo_pairs()[:5]]
    target = small.target.encode(demo_pairs()[0][1])
    found = token_log_probabilities(small, sources, target)
    assert found.shape == (5, len(target))
    for row, source in enumerate(sources):
        decoded = small.decode(small.encode(source), target)
        alone = small.logits(decoded.states).log_softmax(-1)[torch.arange(len(target)), torch.tensor(target)]
        torch.testing.assert_close(found[row], alone, atol=1e-5, rtol=1e-5)


def test_their_mean_is_the_loss_of_the_pair(small: Marian) -> None:
    source, target = small.source.encode("Open the pane."), small.target.encode("Öffnen Sie den Bereich.")
    (found,) = token_log_probabilities(small, [source], target)
    assert abs(forward_pass(small, source, target, frozenset()).loss + float(found.mean())) < 1e-5
