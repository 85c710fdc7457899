"""The settings of a training run, each with its help text for the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from mtloop.core.errors import InputError, UnknownName
from mtloop.text.settings_files import make_settings

T = TypeVar("T")
VOCABULARIES = ("bpe", "unigram", "word")
SCHEDULES = ("cosine", "inverse-sqrt")


def option(default: T, text: str) -> T:
    """Return a dataclass field with a help text."""
    result: T = field(default=default, metadata={"help": text})
    return result


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Model size, vocabularies, batches, optimiser and budget of a training run.

    >>> Recipe(steps=100).width
    256
    """

    source_lang: str = option("en", "Source language.")
    target_lang: str = option("de", "Target language.")

    vocab: str = option("bpe", "Subwords (bpe, unigram), or whole words and punctuation (word).")
    vocab_size: int = option(16000, "Number of entries in each of the two vocabularies.")
    vocab_sentences: int = option(1_000_000, "Number of sentences, sampled evenly, to train vocabularies on.")

    encoder_layers: int = option(6, "Number of encoder layers.")
    decoder_layers: int = option(3, "Number of decoder layers.")
    width: int = option(256, "Width of the model (hidden size).")
    heads: int = option(8, "Number of attention heads.")
    ffn: int = option(1024, "Width of the feed-forward layers.")
    dropout: float = option(0.1, "Dropout probability.")

    max_tokens: int = option(128, "Leave out pairs with more tokens than this on a side.")
    max_ratio: float = option(4.0, "Leave out pairs with one side more than this many times longer than the other.")
    batch_tokens: int = option(16_384, "Tokens per batch, source and target together, padding included.")

    steps: int | None = option(None, "Stop after this many updates.")
    minutes: float | None = option(None, "Stop after this many minutes; the learning rate schedule is scaled to fit.")
    learning_rate: float = option(1e-3, "Maximum learning rate.")
    warmup: int = option(1000, "Updates until the learning rate reaches its maximum.")
    lr_schedule: str = option("cosine", "Decay of the learning rate after warmup: cosine, inverse-sqrt.")
    label_smoothing: float = option(0.1, "Label smoothing (0: off).")
    weight_decay: float = option(0.01, "Weight decay of AdamW.")
    max_gradient_norm: float = option(1.0, "Maximum norm of the gradient (gradient clipping).")
    average_decay: float = option(
        0.999, "Decay of the moving average of weights that becomes the model (0: no averaging)."
    )

    checkpoint_every: int = option(1000, "Updates between checkpoints; each checkpoint is validated.")
    log_every: int = option(100, "Updates between progress lines.")
    seed: int = option(1, "Random seed.")
    compile: bool = option(False, "Compile the model first, to train faster on a GPU.")

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.minutes is None):
            raise InputError("set the training budget: either --steps or --minutes")
        for kind, name, known in (
            ("vocabulary", "vocab", VOCABULARIES),
            ("learning rate schedule", "lr_schedule", SCHEDULES),
        ):
            if getattr(self, name) not in known:
                raise UnknownName(kind, getattr(self, name), known)
        for name in _POSITIVE:
            if (value := getattr(self, name)) is not None and value <= 0:
                raise InputError(f"{name} is {value}; expected more than 0")
        for name in _FRACTIONS:
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; expected at least 0 and less than 1")
        if self.width % self.heads:
            raise InputError(f"width {self.width} is not a multiple of the number of heads, {self.heads}")

    @classmethod
    def of(cls, values: Mapping[str, Any], path: Path | None = None) -> Recipe:
        """Return a recipe from names and values, read from `path`. Raise InputError for a wrong name or type."""
        return make_settings(cls, values, path=path, owner="the recipe")

    def identity(self) -> dict[str, Any]:
        """Return the fields that must not change on resume; the budget, for example, may change."""
        return {name: value for name, value in asdict(self).items() if name not in _MAY_CHANGE}


def check_unchanged(before: Mapping[str, Any], now: Mapping[str, Any], path: Path) -> None:
    """Raise InputError, which names the first difference, if a resumed run has another identity."""
    if unknown := sorted(before.keys() - now.keys()):
        raise InputError(f"{unknown[0]} is a field of an older mtloop; train into another folder", path=path)
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            message = f"{name} was {before.get(name)!r} in this training run and is {now.get(name)!r} now"
            raise InputError(f"{message}; restore it, or train into another folder", path=path)


_POSITIVE = (
    *("vocab_size", "vocab_sentences", "encoder_layers", "decoder_layers", "width", "heads", "ffn", "max_tokens"),
    *("max_ratio", "batch_tokens", "steps", "minutes", "learning_rate", "warmup", "max_gradient_norm"),
    *("checkpoint_every", "log_every"),
)
_FRACTIONS = ("dropout", "label_smoothing", "average_decay")
_MAY_CHANGE = ("steps", "minutes", "checkpoint_every", "log_every", "compile")
