"""Frozen matrices in bfloat16 and int8: nearly the same results, and float32 where something learned."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from helpers.tiny_marian import demo_pairs

from mtloop.core import InputError
from mtloop.methods.learner_config import LearnerConfig
from mtloop.nmt.engine import precision
from mtloop.nmt.engine.batch_search import encode_batch, greedy_batch
from mtloop.nmt.engine.lesson import forward_pass
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import UNLIMITED, Decoder, LengthLimits, greedy
from mtloop.nmt.scopes.dense import all_names, hidden_names
from mtloop.nmt.scopes.lora import matrices

PAIRS = [pair for pair in demo_pairs() if len(pair[0]) > 60][:3]


def test_losses_and_gradients_are_close(marian: Marian) -> None:
    reduced, names = marian.with_precision("bfloat16"), matrices(marian.weights)
    for source, target in PAIRS:
        ids, wanted = marian.source.encode(source), marian.target.encode(target)
        one, other = (forward_pass(model, ids, wanted, names) for model in (marian, reduced))
        assert other.loss != one.loss
        assert other.loss == pytest.approx(one.loss, rel=2e-2)
        for name, gradient in one.gradients().items():
            (dy, x), (reduced_dy, reduced_x) = gradient.products[0], other.gradients()[name].products[0]
            full = dy.t() @ x
            if full.norm() > 1e-3:
                assert (full - reduced_dy.t() @ reduced_x).norm() < 0.1 * full.norm(), name


def test_decoding_stays_in_float32(marian: Marian) -> None:
    reduced = marian.with_precision("bfloat16")
    for source, _ in PAIRS:
        encoded = marian.encode(marian.source.encode(source))
        assert greedy(marian, encoded, UNLIMITED).ids == greedy(reduced, encoded, UNLIMITED).ids


def test_tensors_that_learn_are_read_in_float32(small: Marian) -> None:
    reduced = small.with_precision("bfloat16")
    ids, wanted = (side.encode(text) for side, text in zip((small.source, small.target), PAIRS[0], strict=True))
    copied = reduced.with_weights(reduced.weights.copy(all_names(small.weights)))
    assert forward_pass(copied, ids, wanted, frozenset()).loss == forward_pass(small, ids, wanted, frozenset()).loss
    hidden = reduced.with_weights(reduced.weights.copy(hidden_names(small.weights)))
    torch.testing.assert_close(hidden.encode(ids).states, small.encode(ids).states, rtol=0, atol=0)


def test_int8_decodes_nearly_the_same_alone_and_in_batches(small: Marian, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "MIN_SIZE", 0)
    reduced, limits = small.with_precision("int8"), LengthLimits(factor=0, slack=12)
    sources = [small.source.encode(source) for source, _ in demo_pairs()[:8]]
    alone = [greedy(reduced, encode_batch_states(reduced, ids), limits).ids for ids in sources]
    assert [tuple(ids) for ids in greedy_batch(reduced, sources, limits)] == alone
    encoded = small.encode(sources[0])
    one, other = (Decoder(model, encoded.states).step(torch.tensor([5]), [[5]]) for model in (small, reduced))
    assert not torch.equal(one, other)
    assert float((one - other).norm()) < 0.1 * float(one.norm())


def encode_batch_states(model: Marian, ids: list[int]) -> Encoded:
    """The encoder states of a batch of one: batches are encoded in float32."""
    return replace(model.encode(ids), states=encode_batch(model, [ids]).states[0])


def test_int8_leaves_what_learns_in_float32(small: Marian, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "MIN_SIZE", 0)
    reduced, encoded = small.with_precision("int8"), small.encode(small.source.encode(PAIRS[0][0]))
    learns = reduced.with_weights(reduced.weights.copy(hidden_names(small.weights)))
    one, other = (Decoder(model, encoded.states).step(torch.tensor([5]), [[5]]) for model in (small, learns))
    assert torch.equal(one, other)


def test_auto_takes_what_the_processor_has_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for found, wanted in (({"avx512_bf16": True}, "bfloat16"), ({"amx_bf16": True}, "bfloat16"), ({}, "float32")):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda found=found: found)
        assert precision.fastest_precision() == wanted
        config = LearnerConfig.create("lora", settings={"precision": "auto"})
        assert config.settings["precision"] == wanted
        assert config.precision == ("" if wanted == "float32" else wanted)


def test_another_precision_is_refused() -> None:
    with pytest.raises(InputError, match=r"setting precision is 'float16'.*expected auto, float32, bfloat16 or int8"):
        LearnerConfig.create("lora", settings={"precision": "float16"})


def test_float32_is_the_model_itself_and_learners_share_the_rest(small: Marian) -> None:
    assert small.with_precision("float32") is small
    assert small.with_precision("bfloat16").weights is small.with_precision("bfloat16").weights
