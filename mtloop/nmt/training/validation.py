"""How good a model is by now: it translates, greedily, and is scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import MarianMTModel

from mtloop.nmt.training.bleu import bleu
from mtloop.nmt.training.sentencepiece_model import EOS, PAD, SentencePieceModel

LONGEST = 500  # tokens of a source that are read; positions end soon after
TOKENS = {"cpu": 4_096, "cuda": 262_144}  # of a batch, before it is translated


class Validation:
    """Pairs to translate and compare."""

    def __init__(
        self,
        pairs: Sequence[tuple[str, str]],
        source: SentencePieceModel,
        target: SentencePieceModel,
        device: torch.device,
    ) -> None:
        self.references = [reference for _, reference in pairs]
        self._target, self._device = target, device
        rows = source.encode([text for text, _ in pairs])
        self._rows = [_shortened(row) for row in torch.from_numpy(rows.flat).long().split(rows.lengths.tolist())]

    def __call__(self, model: MarianMTModel) -> float:
        """BLEU of the greedy translations."""
        return bleu(self.translations(model), self.references)

    def translations(self, model: MarianMTModel) -> list[str]:
        """Every source, translated; sources of like lengths together."""
        order = sorted(range(len(self._rows)), key=lambda index: len(self._rows[index]), reverse=True)
        said = [""] * len(order)
        while order:
            count = max(1, TOKENS[self._device.type] // len(self._rows[order[0]]))
            batch, order = order[:count], order[count:]
            for index, text in zip(batch, self._translate(model, [self._rows[index] for index in batch]), strict=True):
                said[index] = text
        return said

    @torch.inference_mode()
    def _translate(self, model: Any, rows: Sequence[torch.Tensor]) -> list[str]:
        ids = torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True, padding_value=PAD).to(self._device)
        longest = min(2 * ids.shape[1] + 10, LONGEST)
        said = model.generate(ids, attention_mask=ids != PAD, num_beams=1, do_sample=False, max_length=longest)
        return [self._target.decode(row) for row in said.tolist()]


def _shortened(row: torch.Tensor) -> torch.Tensor:
    return row if len(row) <= LONGEST else torch.cat([row[: LONGEST - 1], row.new_tensor([EOS])])
