"""How a training goes, in a line."""

from __future__ import annotations

from dataclasses import dataclass

from mtloop.nmt.training.checkpoint import TrainingState


@dataclass(frozen=True)
class Progress:
    """What there is to say now and then; `rate` is in tokens a second, padding included."""

    place: TrainingState
    spent: float
    loss: float
    lr: float
    rate: float
    score: float | None = None

    def __str__(self) -> str:
        told = f"{self.spent:6.1%} step {self.place.step} epoch {self.place.epoch + 1} loss {self.loss:.3f}"
        told += f" lr {self.lr:.2e} {self.rate:,.0f} tokens/s"
        return told if self.score is None else f"{told} BLEU {self.score:.2f}"
