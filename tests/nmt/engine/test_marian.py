"""The engine equals Hugging Face's Marian: the same ids, logits, tokens and gradients."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from helpers.tiny_marian import demo_pairs
from transformers import MarianMTModel, MarianTokenizer

from mtloop.core import InputError
from mtloop.nmt.engine.lesson import forward_pass, log_probability
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import UNLIMITED, LengthLimits, beam, greedy, sample
from mtloop.nmt.engine.weights import LOGITS_BIAS
from mtloop.nmt.scopes.dense import all_names

PAIRS = demo_pairs()
Tiny = tuple[Path, MarianMTModel]


def tokenizer(folder: Path) -> MarianTokenizer:
    separate = (folder / "target_vocab.json").exists()
    more = {"target_vocab_file": str(folder / "target_vocab.json"), "separate_vocabs": True} if separate else {}
    return MarianTokenizer(
        str(folder / "source.spm"), str(folder / "target.spm"), str(folder / "vocab.json"),
        source_lang="en", target_lang="de", **more,
    )  # fmt: skip


def test_ids_and_texts_are_those_of_the_hub_tokenizer(tiny: Tiny, marian: Marian) -> None:
    theirs = tokenizer(tiny[0])
    for source, target in [*PAIRS[:60], ("", ""), ("🙂 שלום\tx", "🙂"), ("  a  b ", " a b")]:
        assert marian.source.encode(source) == theirs(source).input_ids
        ids = theirs(text_target=target).input_ids
        assert marian.target.encode(target) == ids
        if (tiny[0] / "target_vocab.json").exists():
            assert marian.target.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


def test_logits_equal_those_of_transformers(tiny: Tiny, marian: Marian) -> None:
    for source, target in PAIRS[:10]:
        ids, wanted = marian.source.encode(source), marian.target.encode(target)
        with torch.no_grad():
            theirs = tiny[1](input_ids=torch.tensor([ids]), labels=torch.tensor([wanted])).logits[0]
            ours = marian.logits(marian.decode(marian.encode(ids), wanted).states)
        torch.testing.assert_close(ours, theirs, atol=2e-4, rtol=1e-4)


@pytest.mark.parametrize("beams", [1, 4])
def test_beam_search_equals_generate_of_transformers(tiny: Tiny, marian: Marian, beams: int) -> None:
    ended = 0
    for source, _ in PAIRS[:40]:
        ids = marian.source.encode(source)
        theirs = tiny[1].generate(torch.tensor([ids]), num_beams=beams, do_sample=False, max_length=31)[0].tolist()[1:]
        limits = LengthLimits(factor=0, slack=30, max_repeats=10**6)
        ours = greedy(marian, ids, limits) if beams == 1 else beam(marian, ids, beams, limits)[0]
        assert list(ours.ids) == theirs
        ended += theirs[-1] == marian.target.end
    assert ended > 5, "the test must see sentences that end"


def test_gradients_equal_those_of_transformers(tiny: Tiny, marian: Marian) -> None:
    """For every tensor: the full gradient, and its norm from the factored form."""
    ids, wanted = marian.source.encode(PAIRS[4][0]), marian.target.encode(PAIRS[4][1])
    tiny[1].zero_grad()
    tiny[1](input_ids=torch.tensor([ids]), labels=torch.tensor([wanted])).loss.backward()
    gradients = forward_pass(marian, ids, wanted, all_names(marian.weights)).gradients()
    names = {name for name, _ in tiny[1].named_parameters() if "position" not in name}
    assert len(gradients) == len(names)
    for name, parameter in tiny[1].named_parameters():
        if "position" in name:
            continue
        ours = gradients[
            marian.weights.canonical_name("model.encoder.embed_tokens.weight") if "shared" in name else name
        ]
        norm = ours.norm()
        full = torch.zeros_like(parameter)
        ours.subtract_from(full, -1.0)
        assert parameter.grad is not None
        torch.testing.assert_close(full, parameter.grad, atol=1e-5, rtol=1e-3)
        assert norm == pytest.approx(float(parameter.grad.norm()), rel=1e-3, abs=1e-6)


def test_log_probability_equals_that_of_the_search(marian: Marian) -> None:
    ids = marian.source.encode(PAIRS[3][0])
    found = greedy(marian, ids, LengthLimits(slack=10))
    assert log_probability(marian, ids, list(found.ids)) == pytest.approx(found.log_probability, abs=1e-3)
    best = beam(marian, ids, 4, LengthLimits(slack=10))
    assert [b.score for b in best] == sorted((b.score for b in best), reverse=True)
    assert log_probability(marian, ids, list(best[1].ids)) == pytest.approx(best[1].log_probability, abs=1e-3)


def test_sampling_follows_the_model_and_is_reproducible(small: Marian) -> None:
    ids = small.source.encode("Open")
    with torch.no_grad():
        logits = small.logits(small.decode(small.encode(ids), [0]).states)[0]
    logits[small.target.pad] = float("-inf")
    share = logits.softmax(-1)
    likeliest = int(share.argmax())
    first = [sample(small, ids, LengthLimits(factor=0, slack=1), seed).ids[0] for seed in range(400)]
    assert first.count(likeliest) / 400 == pytest.approx(float(share[likeliest]), abs=0.08)
    assert sample(small, ids, UNLIMITED, 7) == sample(small, ids, UNLIMITED, 7)


@pytest.mark.parametrize("prefix", ["Öff", "Öffnen", "Öffnen Sie den Ber", "Wählen Sie "])
def test_a_completion_begins_with_the_prefix(small: Marian, prefix: str) -> None:
    found = greedy(small, small.source.encode("Open the pane."), LengthLimits(), prefix=prefix)
    assert small.target.decode(found.ids).startswith(prefix.strip())


def test_limits_end_endless_output(small: Marian) -> None:
    small.weights[LOGITS_BIAS][small.target.end] = -100.0
    ids = small.source.encode("Save")
    assert len(greedy(small, ids, LengthLimits(factor=1, slack=5, max_repeats=10**6)).ids) == len(ids) + 5
    looped = greedy(small, ids, LengthLimits(factor=0, slack=400, max_phrase=400, max_repeats=2)).ids
    assert len(looped) < 400 or not LengthLimits(max_phrase=400, max_repeats=2).is_looping(looped)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", b"{}", "not the configuration"),
        ("vocab.json", b"[]", "expected a JSON object"),
        ("vocab.json", b'{"a": 1}', "lacks <unk>"),
        ("source.spm", b"", "missing or empty"),
        ("target.spm", b"junk", "not a SentencePiece model"),
        ("model.safetensors", b"", "not a safetensors file"),
        ("model.safetensors", None, "no model.safetensors"),
    ],
)
def test_a_broken_folder_gives_an_error_of_one_line(
    small_folder: Path, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    for path in small_folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        Marian.load(tmp_path)
    assert len(str(error.value).splitlines()) == 1


def test_a_folder_with_only_a_bin_file_names_the_command(small_folder: Path, tmp_path: Path) -> None:
    for path in small_folder.glob("*.*"):
        if path.suffix != ".safetensors":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(InputError, match="mtloop model convert"):
        Marian.load(tmp_path)


def test_the_fingerprint_depends_on_every_value(small_folder: Path) -> None:
    one, same, other = (Marian.load(small_folder).weights for _ in range(3))
    assert one.fingerprint == same.fingerprint
    other["model.decoder.layers.1.fc2.bias"][3] += 1e-6
    assert one.fingerprint != other.fingerprint


def test_shape_is_read_from_the_configuration(small_folder: Path) -> None:
    assert json.loads((small_folder / "config.json").read_text())["d_model"] == Marian.load(small_folder).shape.width
