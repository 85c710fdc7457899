"""The training pairs as tokens, read in every epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file, save

from mtloop.core.atomic import atomic
from mtloop.core.errors import InputError
from mtloop.nmt.training.token_rows import TokenRows

MIN_RATIO_LENGTH = 10  # in shorter pairs, a high ratio of the lengths is no sign of a bad pair


@dataclass(frozen=True)
class TokenCorpus:
    """Source and target rows; row i of both is one pair."""

    source: TokenRows
    target: TokenRows

    def __len__(self) -> int:
        return len(self.source)

    @property
    def tokens(self) -> int:
        return len(self.source.flat) + len(self.target.flat)

    def filter(self, max_tokens: int, max_ratio: float) -> tuple[TokenCorpus, Mapping[str, int]]:
        """Return the usable pairs, and the number of pairs left out by reason. Raise InputError if none is left."""
        longer = np.maximum(self.source.lengths, self.target.lengths)
        shorter = np.minimum(self.source.lengths, self.target.lengths)
        empty = shorter <= 1  # only the end-of-sentence token
        long = ~empty & (longer > max_tokens)
        uneven = ~empty & ~long & (longer > MIN_RATIO_LENGTH) & (longer > max_ratio * shorter)
        left_out = {"empty": empty, "too long": long, "of very different lengths": uneven}
        kept = self.select(~(empty | long | uneven))
        if not len(kept):
            raise InputError(f"none of {len(self)} pairs is usable; {_left_out_text(left_out)}")
        return kept, {reason: int(mask.sum()) for reason, mask in left_out.items() if mask.any()}

    def select(self, keep: npt.NDArray[np.bool_]) -> TokenCorpus:
        return TokenCorpus(self.source.select(keep), self.target.select(keep))

    def fingerprint(self) -> str:
        """Return a hash of all tokens."""
        digest = blake2b(digest_size=16)
        for array in self._arrays().values():
            digest.update(array.tobytes())
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        with atomic(path) as file:
            file.write(save(self._arrays()))

    @classmethod
    def load(cls, path: Path) -> TokenCorpus:
        arrays = load_file(path)
        source = TokenRows(arrays["source"], arrays["source_lengths"])
        return cls(source, TokenRows(arrays["target"], arrays["target_lengths"]))

    def _arrays(self) -> dict[str, npt.NDArray[np.int32]]:
        sides = {"source": self.source, "target": self.target}
        lengths = {f"{name}_lengths": rows.lengths for name, rows in sides.items()}
        return {name: rows.flat for name, rows in sides.items()} | lengths


def _left_out_text(left_out: Mapping[str, npt.NDArray[np.bool_]]) -> str:
    return ", ".join(f"{mask.sum()} {reason}" for reason, mask in left_out.items() if mask.any())
