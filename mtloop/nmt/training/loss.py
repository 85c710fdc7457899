"""The loss of a batch: cross-entropy of each target token, given all earlier ones (teacher forcing)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch.nn import functional
from transformers import MarianMTModel

from mtloop.nmt.training.batches import PaddedBatch
from mtloop.nmt.training.sentencepiece_model import PAD

LayerFunction: TypeAlias = Callable[..., torch.Tensor]
WARM_UP_LENGTHS = (32, 40)  # of source and target; unequal, so that the compiler does not treat them as one size


class Loss:
    """Mean cross-entropy of the target tokens, in half precision on a GPU.

    The result is the same as calling the model. The model's own loop over layers draws a random number at each layer
    (LayerDrop) and cannot be compiled; here each kind of layer is compiled once, for any depth.
    """

    def __init__(self, model: MarianMTModel, *, smoothing: float, device: torch.device, compiled: bool = False) -> None:
        self.model, self.smoothing, self.device = model, smoothing, device
        functions: list[LayerFunction] = [_encoder_layer, _decoder_layer, _cross_entropy]
        self._encode, self._decode, self._score = map(_compiled, functions) if compiled else functions
        if device.type == "cuda":
            torch.backends.cuda.enable_cudnn_sdp(False)  # it makes a new plan for every shape, and shapes vary

    def __call__(self, batch: PaddedBatch) -> torch.Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            hidden = self.hidden(batch)
            return self._score(self.model, hidden, batch.target, self.smoothing)

    def hidden(self, batch: PaddedBatch) -> torch.Tensor:
        """Return the last hidden states of the decoder."""
        mask = (batch.source != PAD)[:, None, None, :]
        states = _embed(self.model.model.encoder, batch.source)
        for layer in self.model.model.encoder.layers:
            states = self._encode(layer, states, mask)
        hidden = _embed(self.model.model.decoder, functional.pad(batch.target[:, :-1], (1, 0), value=PAD))
        for layer in self.model.model.decoder.layers:
            hidden = self._decode(layer, hidden, states, mask)
        return hidden

    def warm_up(self, tokens: int) -> None:
        """Compile for all shapes, with one batch of about `tokens` tokens."""
        rows = max(2, tokens // sum(WARM_UP_LENGTHS))
        source, target = (torch.full((rows, width), PAD + 1, device=self.device) for width in WARM_UP_LENGTHS)
        self(PaddedBatch(source, target)).backward()
        self.model.zero_grad()


def _compiled(function: LayerFunction) -> LayerFunction:
    return torch.compile(function, dynamic=True)


def logits(model: MarianMTModel, hidden: torch.Tensor) -> torch.Tensor:
    """Return a score for every entry of the target vocabulary."""
    scores: torch.Tensor = model.lm_head(hidden) + model.final_logits_bias
    return scores


def _cross_entropy(model: MarianMTModel, hidden: torch.Tensor, target: torch.Tensor, smoothing: float) -> torch.Tensor:
    scores = logits(model, hidden).flatten(0, 1).float()
    return functional.cross_entropy(scores, target.flatten(), ignore_index=PAD, label_smoothing=smoothing)


def _encoder_layer(layer: Any, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    output: torch.Tensor = layer(states, mask.expand(-1, 1, states.shape[1], -1))
    return output


def _decoder_layer(layer: Any, hidden: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    cross_mask = mask.expand(-1, 1, hidden.shape[1], -1)
    output: torch.Tensor = layer(hidden, None, states, encoder_attention_mask=cross_mask, use_cache=False)
    return output


def _embed(stack: Any, ids: torch.Tensor) -> torch.Tensor:
    """Return token embeddings plus position embeddings, with dropout."""
    embedded = stack.embed_tokens(ids) * stack.embed_scale + stack.embed_positions.weight[: ids.shape[1]]
    return functional.dropout(embedded, p=stack.dropout, training=stack.training)
