"""How to train a model: every choice in one place, each with its help text for the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from mtloop.core.errors import InputError, UnknownName

T = TypeVar("T")
VOCABULARIES = ("bpe", "unigram", "word")
SCHEDULES = ("cosine", "inverse-sqrt")


def option(default: T, text: str) -> T:
    """A field that explains itself."""
    made: T = field(default=default, metadata={"help": text})
    return made


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Shape, vocabularies, batches, optimiser and budget of a training.

    >>> Recipe(steps=100).width
    256
    """

    source_lang: str = option("en", "Source language.")
    target_lang: str = option("de", "Target language.")

    vocab: str = option("bpe", "Subwords (bpe, unigram), or whole words and signs (word).")
    vocab_size: int = option(16000, "Entries in each of the two vocabularies.")
    vocab_sentences: int = option(1_000_000, "Sentences, drawn evenly from all, that vocabularies are trained on.")

    encoder_layers: int = option(6, "Layers of the encoder.")
    decoder_layers: int = option(3, "Layers of the decoder.")
    width: int = option(256, "Width of the model.")
    heads: int = option(8, "Attention heads.")
    ffn: int = option(1024, "Width of the feed-forward layers.")
    dropout: float = option(0.1, "Dropout.")

    max_tokens: int = option(128, "Pairs with more tokens than this on a side are left out.")
    max_ratio: float = option(4.0, "Pairs with one side this many times longer than the other are left out.")
    batch_tokens: int = option(16_384, "Tokens in a batch, source and target together, padding included.")

    steps: int | None = option(None, "Stop after this many updates.")
    minutes: float | None = option(None, "Stop after this much time; the schedule is stretched to fit.")
    lr: float = option(1e-3, "Highest learning rate.")
    warmup: int = option(1000, "Updates until the learning rate is at its highest.")
    schedule: str = option("cosine", "How the learning rate falls after that: cosine, inverse-sqrt.")
    label_smoothing: float = option(0.1, "Label smoothing.")
    weight_decay: float = option(0.01, "Weight decay of AdamW.")
    clip: float = option(1.0, "Largest norm of the gradient.")
    average: float = option(0.999, "Decay of the moving average of weights that becomes the model; 0 for none.")

    every: int = option(1000, "Updates between checkpoints, each with a validation.")
    report: int = option(100, "Updates between lines of progress.")
    seed: int = option(1, "Seed of everything random.")
    compile: bool = option(False, "Compile the model first: half a minute lost, then faster, on a GPU.")

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.minutes is None):
            raise InputError("say how long to train: either --steps or --minutes")
        for name, known in (("vocab", VOCABULARIES), ("schedule", SCHEDULES)):
            if getattr(self, name) not in known:
                raise UnknownName(name, getattr(self, name), known)
        for name in _COUNTS:
            if (value := getattr(self, name)) is not None and value <= 0:
                raise InputError(f"{name} is {value}; expected more than 0")
        for name in _SHARES:
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; expected at least 0 and less than 1")
        if self.width % self.heads:
            raise InputError(f"width {self.width} cannot be shared among {self.heads} heads; expected a multiple")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Recipe:
        """A recipe from a table of names and values; a wrong name answers with the right ones."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise UnknownName("part of a recipe", name, known)
        return cls(**values)

    def identity(self) -> dict[str, Any]:
        """What must stay the same when a training goes on; it may be given more or less time."""
        return {name: value for name, value in asdict(self).items() if name not in _MAY_CHANGE}


def refuse_change(then: Mapping[str, Any], now: Mapping[str, Any], path: Path) -> None:
    """A training goes on as it began; if not, say what differs."""
    for name in sorted(then.keys() | now.keys()):
        if then.get(name) != now.get(name):
            message = f"{name} was {then.get(name)!r} in this training and is {now.get(name)!r} now"
            raise InputError(f"{message}; go on as it began, or train into another folder", path=path)


_COUNTS = (
    *("vocab_size", "vocab_sentences", "encoder_layers", "decoder_layers", "width", "heads", "ffn", "max_tokens"),
    *("max_ratio", "batch_tokens", "steps", "minutes", "lr", "warmup", "clip", "every", "report"),
)
_SHARES = ("dropout", "label_smoothing", "average")
_MAY_CHANGE = ("steps", "minutes", "every", "report", "compile")
