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
from mtloop.nmt.training.schedule import rate, spent
from mtloop.nmt.training.token_corpus import TokenCorpus


class Trainer:
    """Trains a model on a corpus, and can stop and go on at any step.

    `run` yields its progress and is this loop, with a clock and checkpoints:

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
        self.place = TrainingState()
        self._weights = weights(model)
        self.average = MovingAverage(self._weights, recipe.average)
        self.best = {name: value.clone() for name, value in self.average.values.items()}
        self._identity = recipe.identity() | {"corpus": corpus.fingerprint()}
        self.batches = Batches(corpus, tokens=recipe.batch_tokens, seed=recipe.seed, device=device)
        self._optimizer = torch.optim.AdamW(
            self._weights.values(), betas=(0.9, 0.98), weight_decay=recipe.weight_decay, fused=True
        )
        self._loss = Loss(model, smoothing=recipe.label_smoothing, device=device, compiled=recipe.compile)
        self._began = time.monotonic()

    def run(self) -> Iterator[Progress]:
        """Train until the budget is spent."""
        self._began = time.monotonic() - self.place.seconds
        if self.recipe.compile:
            self._loss.warm_up(self.recipe.batch_tokens)
        self.model.train()
        meter = Meter()
        for batch in self._stream():
            meter.add(self._step(batch), batch.tokens)
            ended = self._spent() >= 1
            due = ended or self.place.step % self.recipe.every == 0
            if due or self.place.step % self.recipe.report == 0:
                yield self._progress(meter, due)
                meter = Meter()
            if ended:
                return

    def final(self) -> dict[str, torch.Tensor]:
        """The averaged weights: those that validated best, or the last where nothing was validated."""
        return self.best if self.place.scores else self.average.values

    def save(self) -> None:
        """Write a checkpoint."""
        self.place.seconds = time.monotonic() - self._began
        checkpoint.write(self.path, self.place, self._tensors(), self._identity)

    def resume(self) -> None:
        """Go on from the checkpoint."""
        self.place, tensors = checkpoint.read(self.path, self._identity)
        for weight in self._weights.values():
            self._optimizer.state[weight] = {
                "step": torch.tensor(float(self.place.step), device=weight.device),
                "exp_avg": torch.zeros_like(weight),
                "exp_avg_sq": torch.zeros_like(weight),
            }
        with torch.no_grad():
            for name, tensor in self._tensors().items():
                tensor.copy_(tensors[name])

    def _stream(self) -> Iterator[PaddedBatch]:
        """Batch after batch, epoch after epoch, from where the training stands."""
        while self._spent() < 1:
            yield from self.batches.epoch(self.place.epoch, self.place.batch)
            self.place.epoch, self.place.batch = self.place.epoch + 1, 0

    def _step(self, batch: PaddedBatch) -> torch.Tensor:
        torch.manual_seed(self.recipe.seed * 1_000_003 + self.place.step)  # so dropout has no state to save
        value = self._loss(batch)
        value.backward()
        torch.nn.utils.clip_grad_norm_(self._weights.values(), self.recipe.clip)
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate()
        self._optimizer.step()
        self._optimizer.zero_grad()
        self.average.update(self.place.step)
        self.place.step += 1
        self.place.batch += 1
        self.place.tokens += batch.tokens
        return value.detach()

    def _progress(self, meter: Meter, due: bool) -> Progress:
        """Say how it goes; when due, validate the averaged model and write a checkpoint first."""
        mean, speed = meter.read()
        if not math.isfinite(mean):
            raise MtloopError(f"the loss is {mean} at step {self.place.step}; try a lower lr or a longer warmup")
        score = self._score() if due and self.validate is not None else None
        if due:
            self.save()
        return Progress(replace(self.place), self._spent(), mean, self._rate(), speed, score)

    def _score(self) -> float:
        assert self.validate is not None
        self.model.eval()
        with self.average.in_place():
            score = self.validate(self.model)
        self.model.train()
        if score >= max((earlier for _, earlier in self.place.scores), default=0.0):
            self.best = {name: value.clone() for name, value in self.average.values.items()}
        self.place.scores.append((self.place.step, score))
        return score

    def _tensors(self) -> dict[str, torch.Tensor]:
        """All that changes, by name, as it stands."""
        states = {name: self._optimizer.state[weight] for name, weight in self._weights.items()}
        return {
            **{f"model/{name}": weight.detach() for name, weight in self._weights.items()},
            **{f"average/{name}": value for name, value in self.average.values.items()},
            **{f"best/{name}": value for name, value in self.best.items()},
            **{f"first/{name}": state["exp_avg"] for name, state in states.items()},
            **{f"second/{name}": state["exp_avg_sq"] for name, state in states.items()},
        }

    def _spent(self) -> float:
        return spent(self.recipe, self.place.step, time.monotonic() - self._began)

    def _rate(self) -> float:
        return rate(self.recipe, self.place.step, self._spent())
