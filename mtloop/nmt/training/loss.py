"""The loss of a batch: what the model says of each target token, given all before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch.nn import functional
from transformers import MarianMTModel

from mtloop.nmt.training.batches import PaddedBatch
from mtloop.nmt.training.sentencepiece_model import PAD

Part: TypeAlias = Callable[..., torch.Tensor]
TYPICAL = (32, 40)  # widths of source and target to compile for: unlike, or they would be taken for one number


class Loss:
    """Mean cross-entropy of the target tokens, in half precision on a GPU.

    The sum of the parts is the same as calling the model, whose own loop over layers asks for a random number at
    each of them (LayerDrop) and cannot be compiled. Here each kind of layer is compiled once, whatever its depth.
    """

    def __init__(self, model: MarianMTModel, *, smoothing: float, device: torch.device, compiled: bool = False) -> None:
        self.model, self.smoothing, self.device = model, smoothing, device
        parts: list[Part] = [_encoder_layer, _decoder_layer, _cross_entropy]
        self._encode, self._decode, self._score = map(_compiled, parts) if compiled else parts
        if device.type == "cuda":
            torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for every shape, and shapes vary

    def __call__(self, batch: PaddedBatch) -> torch.Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            hidden = self.hidden(batch)
            return self._score(self.model, hidden, batch.target, self.smoothing)

    def hidden(self, batch: PaddedBatch) -> torch.Tensor:
        """The last states of the decoder."""
        mask = (batch.source != PAD)[:, None, None, :]
        states = _embed(self.model.model.encoder, batch.source)
        for layer in self.model.model.encoder.layers:
            states = self._encode(layer, states, mask)
        hidden = _embed(self.model.model.decoder, functional.pad(batch.target[:, :-1], (1, 0), value=PAD))
        for layer in self.model.model.decoder.layers:
            hidden = self._decode(layer, hidden, states, mask)
        return hidden

    def warm_up(self, tokens: int) -> None:
        """Compile for batches of about so many tokens, all shapes at once."""
        rows = max(2, tokens // sum(TYPICAL))
        source, target = (torch.full((rows, width), PAD + 1, device=self.device) for width in TYPICAL)
        self(PaddedBatch(source, target)).backward()
        self.model.zero_grad()


def _compiled(part: Part) -> Part:
    return torch.compile(part, dynamic=True)


def logits(model: MarianMTModel, hidden: torch.Tensor) -> torch.Tensor:
    """A score for every word of the target vocabulary."""
    scores: torch.Tensor = model.lm_head(hidden) + model.final_logits_bias
    return scores


def _cross_entropy(model: MarianMTModel, hidden: torch.Tensor, target: torch.Tensor, smoothing: float) -> torch.Tensor:
    scores = logits(model, hidden).flatten(0, 1).float()
    return functional.cross_entropy(scores, target.flatten(), ignore_index=PAD, label_smoothing=smoothing)


def _encoder_layer(layer: Any, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    changed: torch.Tensor = layer(states, mask.expand(-1, 1, states.shape[1], -1))
    return changed


def _decoder_layer(layer: Any, hidden: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    across = mask.expand(-1, 1, hidden.shape[1], -1)
    changed: torch.Tensor = layer(hidden, None, states, encoder_attention_mask=across, use_cache=False)
    return changed


def _embed(stack: Any, ids: torch.Tensor) -> torch.Tensor:
    """Word and position, as the encoder or decoder sees them."""
    embedded = stack.embed_tokens(ids) * stack.embed_scale + stack.embed_positions.weight[: ids.shape[1]]
    return functional.dropout(embedded, p=stack.dropout, training=stack.training)
