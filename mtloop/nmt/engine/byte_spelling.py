"""Characters that a vocabulary spells in bytes: complete each character, and do not repeat it.

An emoji, a letter of another script or a rare sign is up to four byte pieces. A model that has seen few of them starts
to copy one and then generates other pieces, so that the character stays incomplete; or it copies the character again
and again. Where the model leaves a character, only the continuations of the source's own characters are allowed. Where
the model prefers another character, for example after a correction, it may generate that one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from mtloop.nmt.engine.search import SearchState
from mtloop.nmt.engine.vocabulary import Vocabulary

CONTINUATION_BYTES = range(0x80, 0xC0)


@dataclass(frozen=True)
class ByteSpellingProcessor:
    """A logits processor for one source with such characters.

    `characters` maps each character to its count in the source; `byte_values` maps the ids of the target's byte pieces
    to their bytes.
    """

    characters: Mapping[bytes, int]
    byte_values: Mapping[int, int]

    @classmethod
    def for_source(cls, ids: Sequence[int], source: Vocabulary, target: Vocabulary) -> ByteSpellingProcessor | None:
        """Return None if the source has no such character, or if the target vocabulary has no byte pieces."""
        spelt = bytes(source.byte_values[i] for i in ids if i in source.byte_values)
        found = Counter(character.encode() for character in spelt.decode(errors="ignore"))
        return cls(found, target.byte_values) if found and target.byte_values else None

    def __call__(self, state: SearchState, logits: Tensor) -> Tensor:
        for row, tokens in enumerate(state.tokens):
            spelt = [self.byte_values.get(i) for i in tokens]
            last = _last_character(spelt)
            if not last:
                continue
            if len(last) < _utf8_length(last[0]):
                self._complete(last, spelt, logits[row])
            elif last in self.characters and last not in self.remaining(spelt):
                logits[row, self._ids[last[0]]] = float("-inf")
        return logits

    def _complete(self, start: bytes, spelt: Sequence[int | None], logits: Tensor) -> None:
        """Allow continuation bytes only; if the model prefers another piece, only those of the source's characters."""
        continues = self.byte_values.get(int(logits.argmax())) in CONTINUATION_BYTES
        allowed = list(CONTINUATION_BYTES) if continues else self.next_bytes(start, spelt)
        ids = torch.tensor([self._ids[value] for value in allowed if value in self._ids])
        values = logits[ids]
        logits.fill_(float("-inf"))
        logits[ids] = values

    @cached_property
    def _ids(self) -> dict[int, int]:
        return {value: i for i, value in self.byte_values.items()}

    def remaining(self, spelt: Sequence[int | None]) -> frozenset[bytes]:
        """Return the characters that the output has fewer times than the source."""
        output = Counter(bytes(value for value in spelt if value is not None).decode(errors="ignore"))
        return frozenset(one for one, count in self.characters.items() if output[one.decode()] < count)

    def next_bytes(self, start: bytes, spelt: Sequence[int | None]) -> list[int]:
        """Return the bytes that continue `start` to a character of the source, preferably to a remaining one.

        If no character of the source begins with `start`, return all continuation bytes.

        >>> face = "😀".encode()
        >>> ByteSpellingProcessor({face: 1}, {}).next_bytes(face[:2], [*face[:2]])
        [152]
        """
        for known in (self.remaining(spelt), self.characters):
            if found := {one[len(start)] for one in known if one.startswith(start) and len(one) > len(start)}:
                return sorted(found)
        return list(CONTINUATION_BYTES)


def _last_character(spelt: Sequence[int | None]) -> bytes:
    """Return the bytes from the last leading byte to the end; `spelt` is None for pieces that are not bytes."""
    tail: list[int] = []
    for value in reversed(spelt[-4:]):
        if value is None:
            return b""
        tail.insert(0, value)
        if value not in CONTINUATION_BYTES:
            return bytes(tail)
    return b""


def _utf8_length(first: int) -> int:
    """Return the number of bytes of a character with this leading byte."""
    return 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
