"""The training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch
from transformers import MarianMTModel

from mtloop.core.errors import MtloopError
from mtloop.nmt.training import checkpoint
from mtloop.nmt.training.batches import Batches, PaddedBatch
from mtloop.nmt.training.checkpoint import TrainingState
from mtloop.nmt.training.loss import Loss
from mtloop.nmt.training.meter import Meter
from mtloop.nmt.training.moving_average import MovingAverage
from mtloop.nmt.training.network import weights
from mtloop.nmt.training.progress import Progress
from mtloop.nmt.training.recipe import Recipe
from mtloop.nmt.training.schedule import budget_spent, learning_rate
from mtloop.nmt.training.token_corpus import TokenCorpus


class Trainer:
    """Trains a model on a corpus; a run can stop and resume at any checkpoint.

    `run` yields progress reports. It is this loop, with a budget and checkpoints:

        for batch in batches:
            loss(model, batch).backward()
            optimizer.step()
            average.update()
    """

    def __init__(
        self,
        recipe: Recipe,
        corpus: TokenCorpus,
        model: MarianMTModel,
        *,
        path: Path,
        device: torch.device,
        validate: Callable[[MarianMTModel], float] | None = None,
    ) -> None:
        self.recipe, self.model, self.path, self.validate = recipe, model, path, validate
        self.state = TrainingState()
        self._weights = weights(model)
        self.average = MovingAverage(self._weights, recipe.average_decay)
        self.best = {name: value.clone() for name, value in self.average.values.items()}
        self._identity = recipe.identity() | {"corpus": corpus.fingerprint()}
        self.batches = Batches(corpus, tokens=recipe.batch_tokens, seed=recipe.seed, device=device)
        self._optimizer = torch.optim.AdamW(
            self._weights.values(), betas=(0.9, 0.98), weight_decay=recipe.weight_decay, fused=True
        )
        self._loss = Loss(model, smoothing=recipe.label_smoothing, device=device, compiled=recipe.compile)
        self._started = time.monotonic()

    def run(self) -> Iterator[Progress]:
        """Train until the budget is spent; yield progress reports."""
        self._started = time.monotonic() - self.state.seconds
        if self.recipe.compile:
            self._loss.warm_up(self.recipe.batch_tokens)
        self.model.train()
        meter = Meter()
        for batch in self._remaining_batches():
            meter.add(self._step(batch), batch.tokens)
            finished = self._spent() >= 1
            due = finished or self.state.step % self.recipe.checkpoint_every == 0
            if due or self.state.step % self.recipe.log_every == 0:
                yield self._progress(meter, due)
                meter = Meter()
            if finished:
                return

    def final_weights(self) -> dict[str, torch.Tensor]:
        """Return the averaged weights with the best validation score, or the last ones without validation."""
        return self.best if self.state.scores else self.average.values

    def save(self) -> None:
        """Write a checkpoint."""
        self.state.seconds = time.monotonic() - self._started
        checkpoint.write(self.path, self.state, self._tensors(), self._identity)

    def resume(self) -> None:
        """Continue from the checkpoint."""
        self.state, tensors = checkpoint.read(self.path, self._identity)
        for weight in self._weights.values():
            self._optimizer.state[weight] = {
                "step": torch.tensor(float(self.state.step), device=weight.device),
                "exp_avg": torch.zeros_like(weight),
                "exp_avg_sq": torch.zeros_like(weight),
            }
        with torch.no_grad():
            for name, tensor in self._tensors().items():
                tensor.copy_(tensors[name])

    def _remaining_batches(self) -> Iterator[PaddedBatch]:
        """Yield the batches of the current and later epochs, from the current position on."""
        while self._spent() < 1:
            yield from self.batches.epoch(self.state.epoch, self.state.batch)
            self.state.epoch, self.state.batch = self.state.epoch + 1, 0

    def _step(self, batch: PaddedBatch) -> torch.Tensor:
        torch.manual_seed(self.recipe.seed * 1_000_003 + self.state.step)  # dropout then has no state to save
        loss = self._loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._weights.values(), self.recipe.max_gradient_norm)
        for group in self._optimizer.param_groups:
            group["lr"] = self._learning_rate()
        self._optimizer.step()
        self._optimizer.zero_grad()
        self.average.update(self.state.step)
        self.state.step += 1
        self.state.batch += 1
        self.state.tokens += batch.tokens
        return loss.detach()

    def _progress(self, meter: Meter, due: bool) -> Progress:
        """Return a progress report; if a checkpoint is due, first validate the averaged model and write it."""
        loss, speed = meter.read()
        if not math.isfinite(loss):
            advice = "try a lower learning rate or a longer warmup"
            raise MtloopError(f"the loss is {loss} at step {self.state.step}; {advice}")
        score = self._validate() if due and self.validate is not None else None
        if due:
            self.save()
        return Progress(replace(self.state), self._spent(), loss, self._learning_rate(), speed, score)

    def _validate(self) -> float:
        assert self.validate is not None
        self.model.eval()
        with self.average.applied():
            score = self.validate(self.model)
        self.model.train()
        if score >= max((earlier for _, earlier in self.state.scores), default=0.0):
            self.best = {name: value.clone() for name, value in self.average.values.items()}
        self.state.scores.append((self.state.step, score))
        return score

    def _tensors(self) -> dict[str, torch.Tensor]:
        """Return all tensors of the training state by name; they are not copied."""
        states = {name: self._optimizer.state[weight] for name, weight in self._weights.items()}
        return {
            **{f"model/{name}": weight.detach() for name, weight in self._weights.items()},
            **{f"average/{name}": value for name, value in self.average.values.items()},
            **{f"best/{name}": value for name, value in self.best.items()},
            **{f"first/{name}": state["exp_avg"] for name, state in states.items()},
            **{f"second/{name}": state["exp_avg_sq"] for name, state in states.items()},
        }

    def _spent(self) -> float:
        return budget_spent(self.recipe, self.state.step, time.monotonic() - self._started)

    def _learning_rate(self) -> float:
        return learning_rate(self.recipe, self.state.step, self._spent())
