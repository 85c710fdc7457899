"""A word-level model, trained in seconds on the corpus of `tiny_smt`; its vocabulary lacks some words."""

from __future__ import annotations

from pathlib import Path

from helpers.tiny_smt import known_pairs

from mtloop.nmt.training import Recipe, TrainingJob

RECIPE = {
    "vocab": "word", "vocab_size": 19, "width": 32, "heads": 4, "ffn": 64, "encoder_layers": 1, "decoder_layers": 1,
    "dropout": 0.0, "batch_tokens": 1024, "warmup": 20, "learning_rate": 1e-2, "checkpoint_every": 1000,
    "log_every": 1000, "average_decay": 0.0,
    "label_smoothing": 0.0,
}  # fmt: skip


def write_tiny_words(folder: Path, steps: int = 120) -> Path:
    recipe = Recipe.of(RECIPE | {"steps": steps})
    TrainingJob(pairs=known_pairs(), out=folder, recipe=recipe, log=lambda text: None).run()
    return folder
