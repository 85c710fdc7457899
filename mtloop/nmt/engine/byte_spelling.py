"""Characters that a vocabulary spells byte by byte: what is begun is finished, and not said over and over.

An emoji, a letter of another script or a rare sign is four byte pieces or fewer. A model that has hardly seen any
begins to copy one and then wanders off, and half a character is none; or it goes on copying. Where it wanders off, it
is kept to the source's own characters; where it knows another one, as after a correction, it may say that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from mtloop.nmt.engine.search import Moment
from mtloop.nmt.engine.vocabulary import Vocabulary

CONTINUING = range(0x80, 0xC0)


@dataclass(frozen=True)
class Spelling:
    """Advice for a source with such characters, so many of each; `bytes_` are the target's byte pieces, id to value."""

    characters: Mapping[bytes, int]
    bytes_: Mapping[int, int]

    @classmethod
    def of(cls, ids: Sequence[int], source: Vocabulary, target: Vocabulary) -> Spelling | None:
        """None where the source has no such character, or the target cannot spell any."""
        spelt = bytes(source.bytes_[i] for i in ids if i in source.bytes_)
        found = Counter(character.encode() for character in spelt.decode(errors="ignore"))
        return cls(found, target.bytes_) if found and target.bytes_ else None

    def __call__(self, moment: Moment, logits: Tensor) -> Tensor:
        for row, written in enumerate(moment.written):
            spelt = [self.bytes_.get(i) for i in written]
            begun = _begun(spelt)
            if not begun:
                continue
            if len(begun) < _length(begun[0]):
                self._finish(begun, spelt, logits[row])
            elif begun in self.characters and begun not in self.left(spelt):
                logits[row, self._ids[begun[0]]] = float("-inf")
        return logits

    def _finish(self, begun: bytes, spelt: Sequence[int | None], logits: Tensor) -> None:
        """Leave only bytes that go on with a character; where the model wants none, those of the source's."""
        follow = list(CONTINUING) if self.bytes_.get(int(logits.argmax())) in CONTINUING else self.follow(begun, spelt)
        kept = torch.tensor([self._ids[value] for value in follow if value in self._ids])
        values = logits[kept]
        logits.fill_(float("-inf"))
        logits[kept] = values

    @cached_property
    def _ids(self) -> dict[int, int]:
        return {value: i for i, value in self.bytes_.items()}

    def left(self, spelt: Sequence[int | None]) -> frozenset[bytes]:
        """The characters that were not yet said as often as the source has them."""
        said = Counter(bytes(value for value in spelt if value is not None).decode(errors="ignore"))
        return frozenset(one for one, times in self.characters.items() if said[one.decode()] < times)

    def follow(self, begun: bytes, spelt: Sequence[int | None]) -> list[int]:
        """How characters of the source go on that begin so, those that are left first; anything, where there is none.

        >>> face = "😀".encode()
        >>> Spelling({face: 1}, {}).follow(face[:2], [*face[:2]])
        [152]
        """
        for known in (self.left(spelt), self.characters):
            if found := {one[len(begun)] for one in known if one.startswith(begun) and len(one) > len(begun)}:
                return sorted(found)
        return list(CONTINUING)


def _begun(spelt: Sequence[int | None]) -> bytes:
    """The bytes at the end, from the last that begins a character; `spelt` has None where no byte stands."""
    tail: list[int] = []
    for value in reversed(spelt[-4:]):
        if value is None:
            return b""
        tail.insert(0, value)
        if value not in CONTINUING:
            return bytes(tail)
    return b""


def _length(first: int) -> int:
    """How many bytes a character has that begins with this one."""
    return 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
