"""Progress of a training run, as one line of text."""

from __future__ import annotations

from dataclasses import dataclass

from mtloop.nmt.training.checkpoint import TrainingState


@dataclass(frozen=True)
class Progress:
    """A progress report; `spent` is the share of the budget (0 to 1), `speed` counts tokens per second with padding."""

    state: TrainingState
    spent: float
    loss: float
    learning_rate: float
    speed: float
    score: float | None = None

    def __str__(self) -> str:
        text = f"{self.spent:6.1%} step {self.state.step} epoch {self.state.epoch + 1} loss {self.loss:.3f}"
        text += f" lr {self.learning_rate:.2e} {self.speed:,.0f} tokens/s"
        return text if self.score is None else f"{text} BLEU {self.score:.2f}"
