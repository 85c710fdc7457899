"""Unit tests of batches, loss, shards, seen words, BLEU and recipe."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("transformers")

import torch
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from safetensors.torch import load_file

from mtloop.core.errors import InputError, UnknownName
from mtloop.nmt.training import Recipe, SeenWords
from mtloop.nmt.training.batches import LENGTH_MULTIPLE, Batches, PaddedBatch, split_into_batches
from mtloop.nmt.training.bleu import bleu_without_sacrebleu
from mtloop.nmt.training.loss import Loss, logits
from mtloop.nmt.training.model_folder import INDEX_FILE, WEIGHTS_FILE, join_shards, write_shards
from mtloop.nmt.training.network import new_model
from mtloop.nmt.training.sentencepiece_model import EOS, PAD
from mtloop.nmt.training.token_corpus import TokenCorpus
from mtloop.nmt.training.token_rows import TokenRows
from mtloop.text.seen_words import tokenise_plain

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


def test_shards_fit_the_limit_and_can_be_joined(tmp_path: Path) -> None:
    tensors = {f"layer.{index}": torch.randn(20, 25) for index in range(10)}
    write_shards(tmp_path, tensors, limit=6000)
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    assert len(shards) == 5
    assert all(shard.stat().st_size <= 6000 for shard in shards)
    assert json.loads((tmp_path / INDEX_FILE).read_text())["weight_map"]["layer.0"] == shards[0].name
    joined = load_file(join_shards(tmp_path))
    assert joined.keys() == tensors.keys()
    assert all(torch.equal(joined[name], tensor) for name, tensor in tensors.items())
    assert [path.name for path in tmp_path.iterdir()] == [WEIGHTS_FILE]


def test_a_missing_shard_and_a_large_tensor_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no index of shards"):
        join_shards(tmp_path)
    write_shards(tmp_path, {"a": torch.zeros(500), "b": torch.zeros(500)}, limit=3000)
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(InputError, match="shards are missing: model-00002-of-00002"):
        join_shards(tmp_path)
    with pytest.raises(InputError, match=r"tensor a has 0\.0 MB"):
        write_shards(tmp_path, {"a": torch.zeros(5000)}, limit=3000)


@given(st.lists(st.text(st.characters(categories=("L", "M", "N", "P")), min_size=1), max_size=30))
def test_every_seen_word_is_found(words: list[str]) -> None:
    seen = SeenWords.of_texts(words, lambda text: [text])
    assert all(word in seen for word in words if any(map(str.isalpha, word)))


def test_seen_words_can_be_saved_and_loaded(tmp_path: Path) -> None:
    seen = SeenWords.of_texts(["Größe und Güte , 3 ."], tokenise_plain)
    seen.save(tmp_path / "seen.npy")
    loaded = SeenWords.load(tmp_path / "seen.npy")
    assert len(loaded) == 3
    assert "Größe" in loaded
    assert "größe" not in loaded
    assert 3 not in loaded
    assert "x" not in SeenWords.of_texts([], tokenise_plain)


@pytest.mark.parametrize("content", [None, b"", b"not numpy", "wrong"])
def test_an_invalid_seen_words_file_is_an_error(tmp_path: Path, content: bytes | str | None) -> None:
    path = tmp_path / "seen.npy"
    if content == "wrong":
        np.save(path, np.zeros((2, 2)))
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(InputError, match="seen words"):
        SeenWords.load(path)


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


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "either --steps or --minutes"),
        ({"steps": 1, "minutes": 1.0}, "either --steps or --minutes"),
        ({"steps": 0}, "steps is 0; expected more than 0"),
        ({"steps": 1, "dropout": 1.0}, "dropout is 1.0"),
        ({"steps": 1, "heads": 7}, "width 256 is not a multiple of the number of heads, 7"),
        ({"steps": 1, "vocab": "bep"}, "unknown vocab 'bep'; did you mean 'bpe'"),
        ({"steps": 1, "wdith": 3}, "unknown recipe field 'wdith'; did you mean 'width'"),
    ],
)
def test_errors_in_a_recipe(values: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Recipe.of(values)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="inverse-sqrt"):
        Recipe(steps=1, schedule="linear")


def test_unusable_pairs_are_left_out_and_counted() -> None:
    lengths = [np.array(side, np.int32) for side in ([1, 50, 20, 5], [9, 5, 3, 6])]
    corpus = TokenCorpus(*(TokenRows(np.full(side.sum(), EOS, np.int32), side) for side in lengths))
    kept, left_out = corpus.filter(max_tokens=40, max_ratio=4)
    assert len(kept) == 1
    assert left_out == {"empty": 1, "too long": 1, "of very different lengths": 1}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the compiler emits many
def test_the_compiled_loss_is_the_same() -> None:
    recipe = Recipe(steps=1, width=32, heads=4, ffn=64, encoder_layers=2, decoder_layers=2, dropout=0.0)
    model = new_model(recipe, 50, 60, CPU)
    plain, compiled = (Loss(model, smoothing=0.1, device=CPU, compiled=compiled) for compiled in (False, True))
    compiled.warm_up(tokens=500)
    for rows, source, target in ((5, 16, 8), (3, 24, 24)):
        batch = PaddedBatch(torch.randint(3, 50, (rows, source)), torch.randint(3, 60, (rows, target)))
        assert torch.allclose(plain(batch), compiled(batch), atol=1e-4)
