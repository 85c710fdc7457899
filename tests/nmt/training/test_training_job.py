"""Training jobs: from sentence pairs to a model folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("transformers")

import torch
from helpers.toy_training import toy_pairs
from safetensors.torch import load_file
from transformers import MarianMTModel, MarianTokenizer

from mtloop.core.errors import InputError
from mtloop.nmt.training import SeenWords, TrainingJob
from mtloop.nmt.training.model_folder import WEIGHTS_FILE

Make = Callable[..., TrainingJob]


@pytest.mark.slow
def test_the_model_learns(make_job: Make) -> None:
    lines: list[str] = []
    valid = toy_pairs(30, seed=1)
    easy = {"width": 64, "ffn": 128, "learning_rate": 5e-3, "warmup": 30}
    easy |= {"dropout": 0.0, "label_smoothing": 0.0, "average_decay": 0.9}
    job = make_job(**easy, steps=200, checkpoint_every=200, log_every=25, valid=valid, log=lines.append)
    scores = job.run()
    losses = [float(line.split(" loss ")[1].split()[0]) for line in lines if " loss " in line]
    assert losses[-1] < losses[0] / 2
    assert scores["validation"] > 90
    assert "tokens/s" in lines[-2]
    assert "BLEU" in lines[-2]


class Killed(Exception):
    pass


def _kill_at(step: int) -> Callable[[str], None]:
    def log(text: str) -> None:
        if f" step {step} " in text:
            raise Killed

    return log


def test_a_resumed_run_equals_an_uninterrupted_one(make_job: Make, tmp_path: Path) -> None:
    whole = make_job(valid=toy_pairs(5, seed=1), out=tmp_path / "whole")
    whole.run()
    killed = replace(whole, out=tmp_path / "killed", log=_kill_at(6))  # two steps after a checkpoint
    with pytest.raises(Killed):
        killed.run()
    with pytest.raises(InputError, match="a training run exists here"):
        killed.run()
    replace(killed, pairs=[], resume=True, log=lambda text: None).run()
    one, other = (load_file(tmp_path / name / WEIGHTS_FILE) for name in ("whole", "killed"))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    records = [json.loads((tmp_path / name / "training.json").read_text()) for name in ("whole", "killed")]
    assert records[0]["scores"] == records[1]["scores"]
    assert records[0]["place"]["step"] == records[1]["place"]["step"] == 12


def test_resuming_with_another_recipe_is_refused(make_job: Make) -> None:
    job = make_job(steps=4)
    job.run()
    with pytest.raises(InputError, match=r"learning_rate was 0.01 in this training run and is 0.02 now"):
        replace(job, resume=True, recipe=replace(job.recipe, learning_rate=0.02)).run()


def test_resuming_with_more_steps(make_job: Make) -> None:
    job = make_job(steps=4)
    job.run()
    replace(job, resume=True, recipe=replace(job.recipe, steps=6)).run()
    assert json.loads((job.out / "training.json").read_text())["place"]["step"] == 6


def test_a_time_budget_ends_the_training(make_job: Make) -> None:
    job = make_job(steps=None, minutes=0.02)
    job.run()
    assert json.loads((job.out / "training.json").read_text())["place"]["step"] >= 1


@pytest.mark.parametrize("vocab", ["bpe", "unigram", "word"])
def test_transformers_loads_the_folder_and_tokenises_as_in_training(make_job: Make, vocab: str) -> None:
    job = make_job(vocab=vocab, steps=1, shard_mb=0.2, vocab_size=12 if vocab == "word" else 280)
    job.run()
    model, tokenizer = MarianMTModel.from_pretrained(job.out), MarianTokenizer.from_pretrained(job.out)
    assert model.dtype == torch.float32
    prepared = job._prepared_data()
    source, target = "big red cat .", "Katze rot groß ."
    assert tokenizer(source).input_ids == prepared.source.encode([source]).flat.tolist()
    ids = tokenizer(text_target=target).input_ids
    assert ids == prepared.target.encode([target]).flat.tolist()
    assert tokenizer.decode(ids, skip_special_tokens=True) == prepared.target.decode(ids) == target
    output = model.generate(**tokenizer(source, return_tensors="pt"), max_length=10)
    assert output.max() < model.config.decoder_vocab_size


def test_subwords_encode_any_text(make_job: Make) -> None:
    job = make_job(steps=1)
    job.run()
    tokenizer = MarianTokenizer.from_pretrained(job.out)
    for text in ("Neue… „Größe“ 😀", "שלום עולם", "a\u00a0b", "½ m²"):
        ids = tokenizer(text_target=text).input_ids
        assert tokenizer.decode(ids, skip_special_tokens=True) == text


def test_unknown_words_get_the_unknown_token(make_job: Make) -> None:
    job = make_job(vocab="word", vocab_size=100, steps=1)
    job.run()
    tokenizer = MarianTokenizer.from_pretrained(job.out)
    assert tokenizer("red zebra").input_ids[1:] == [tokenizer.unk_token_id, tokenizer.eos_token_id]


def test_model_card_and_seen_words(make_job: Make) -> None:
    job = make_job(steps=2, tests={"toys": toy_pairs(3)}, about="Toys, in the public domain.")
    job.run()
    card = (job.out / "README.md").read_text()
    for part in ("Toys, in the public domain.", "| toys |", "| learning_rate | 0.01 |", "1 encoder", "300 pairs"):
        assert part in card
    seen = SeenWords.load(job.out / "seen-words.npy")
    assert "Katze" in seen
    assert "Hunde" not in seen


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pairs": []}, "no pairs to train on"),
        ({"pairs": [("", ""), (" ", "")] * 50, "vocab": "word"}, "not enough|none of"),
        ({"vocab_size": 5000}, r"not enough for a bpe vocabulary of 5000; set vocab_size to at most \d+"),
        ({"max_tokens": 1}, "none of 300 pairs is usable; 300 too long"),
    ],
)
def test_input_errors_are_one_line(make_job: Make, changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make_job(**changes).run()
    assert "\n" not in str(caught.value)
