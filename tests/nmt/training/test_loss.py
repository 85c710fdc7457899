from __future__ import annotations

import pytest

pytest.importorskip("transformers")

import torch

from mtloop.nmt.training import Recipe
from mtloop.nmt.training.batches import PaddedBatch
from mtloop.nmt.training.loss import Loss, logits
from mtloop.nmt.training.network import new_model
from mtloop.nmt.training.sentencepiece_model import PAD

CPU = torch.device("cpu")


def test_the_loss_equals_that_of_transformers() -> None:
    recipe = Recipe(steps=1, width=32, heads=4, ffn=64, encoder_layers=2, decoder_layers=2)
    model = new_model(recipe, 50, 60, CPU).eval()
    with torch.no_grad():
        model.final_logits_bias.normal_()
    source, target = torch.randint(3, 50, (4, 16)), torch.randint(3, 60, (4, 8))
    source[0, 9:], source[3, 2:], target[1, 5:] = PAD, PAD, PAD
    ours = Loss(model, smoothing=0.0, device=CPU)
    labels = target.masked_fill(target == PAD, -100)
    expected = model(input_ids=source, attention_mask=source != PAD, labels=labels)
    batch = PaddedBatch(source, target)
    assert torch.allclose(logits(model, ours.hidden(batch)), expected.logits, atol=1e-5)
    assert torch.allclose(ours(batch), expected.loss, atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the compiler emits many
def test_the_compiled_loss_is_the_same() -> None:
    recipe = Recipe(steps=1, width=32, heads=4, ffn=64, encoder_layers=1, decoder_layers=1, dropout=0.0)
    model = new_model(recipe, 50, 60, CPU)
    plain, compiled = (Loss(model, smoothing=0.1, device=CPU, compiled=compiled) for compiled in (False, True))
    compiled.warm_up(tokens=500)
    for rows, source, target in ((5, 16, 8), (3, 24, 24)):
        batch = PaddedBatch(torch.randint(3, 50, (rows, source)), torch.randint(3, 60, (rows, target)))
        assert torch.allclose(plain(batch), compiled(batch), atol=1e-4)
