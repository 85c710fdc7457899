"""The encoding of the last source, which is usually translated first and learned from next."""

from __future__ import annotations

from dataclasses import dataclass

from mtloop.nmt.engine.marian import Encoded, Marian


@dataclass
class LastEncoding:
    """Encodes sources, and keeps the last encoding; `clear` it when weights change."""

    _encoded: Encoded | None = None

    def encode(self, model: Marian, ids: list[int]) -> Encoded:
        if self._encoded is None or self._encoded.ids != tuple(ids):
            self._encoded = model.encode(ids)
        return self._encoded

    def clear(self) -> None:
        self._encoded = None
