"""Validation: BLEU of greedy translations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import MarianMTModel

from mtloop.nmt.training.sentencepiece_model import EOS, PAD, SentencePieceModel

MAX_LENGTH = 500  # tokens of a source or translation; the model has 512 positions
BATCH_TOKENS = {"cpu": 4_096, "cuda": 262_144}  # source tokens per batch, by device


class Validation:
    """A set of pairs; calling it with a model returns BLEU."""

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
        self._rows = [_truncated(row) for row in torch.from_numpy(rows.flat).long().split(rows.lengths.tolist())]

    def __call__(self, model: MarianMTModel) -> float:
        """Return BLEU of the greedy translations, computed by sacreBLEU."""
        from sacrebleu.metrics.bleu import BLEU

        return float(BLEU().corpus_score(self.translate(model), [self.references]).score)

    def translate(self, model: MarianMTModel) -> list[str]:
        """Return a translation of every source; sources of similar lengths share a batch."""
        order = sorted(range(len(self._rows)), key=lambda index: len(self._rows[index]), reverse=True)
        translations = [""] * len(order)
        while order:
            count = max(1, BATCH_TOKENS[self._device.type] // len(self._rows[order[0]]))
            batch, order = order[:count], order[count:]
            for index, text in zip(
                batch, self._translate_batch(model, [self._rows[index] for index in batch]), strict=True
            ):
                translations[index] = text
        return translations

    @torch.inference_mode()
    def _translate_batch(self, model: Any, rows: Sequence[torch.Tensor]) -> list[str]:
        ids = torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True, padding_value=PAD).to(self._device)
        max_length = min(2 * ids.shape[1] + 10, MAX_LENGTH)
        outputs = model.generate(ids, attention_mask=ids != PAD, num_beams=1, do_sample=False, max_length=max_length)
        return [self._target.decode(row) for row in outputs.tolist()]


def _truncated(row: torch.Tensor) -> torch.Tensor:
    return row if len(row) <= MAX_LENGTH else torch.cat([row[: MAX_LENGTH - 1], row.new_tensor([EOS])])
