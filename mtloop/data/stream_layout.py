"""The order of sentences in a task: all training sentences once, with a held-out block inserted several times."""

from __future__ import annotations

from dataclasses import dataclass

from mtloop.core.errors import InputError


@dataclass(frozen=True)
class StreamLayout:
    """The data has `sentences` sentences. The last `held_out` of them form a block that is inserted `blocks` times.

    The block is at the very start, at regular intervals and at the very end. Sentence ids and responses do not reveal
    it. `sentence_at` and `block_at` take constant time, so response times do not reveal it either.

    >>> layout = StreamLayout(sentences=6, held_out=2, blocks=3)
    >>> len(layout), [layout.sentence_at(position) for position in range(len(layout))]
    (10, [4, 5, 0, 1, 4, 5, 2, 3, 4, 5])
    """

    sentences: int
    held_out: int = 0
    blocks: int = 0

    def __post_init__(self) -> None:
        if self.sentences < 1:
            raise InputError("a task needs at least one sentence")
        if self.held_out and self.blocks < 2:
            raise InputError("the held-out block is at the start and at the end, so it needs at least --blocks 2")
        if not 0 <= self.held_out < self.sentences:
            held_out = f"{self.held_out} held-out sentences of {self.sentences}"
            raise InputError(f"{held_out}; at least one sentence must be left for training")

    def __len__(self) -> int:
        return self.training_sentences + self.held_out * self.blocks

    @property
    def training_sentences(self) -> int:
        """The number of sentences that are not held out."""
        return self.sentences - self.held_out

    def block_starts(self) -> list[int]:
        """The first position of each block."""
        return [self._start(block) for block in range(self.blocks)] if self.held_out else []

    def sentence_at(self, position: int) -> int:
        """Return the index in the data of the sentence at a position of the stream. Both count from 0."""
        if not self.held_out:
            return position
        block = self._last_block(position)
        inside = position - self._start(block)
        if inside < self.held_out:
            return self.training_sentences + inside
        return position - (block + 1) * self.held_out

    def block_at(self, position: int) -> int | None:
        """Return the number of the block at a position, from 0, or None outside the blocks."""
        if not self.held_out:
            return None
        block = self._last_block(position)
        return block if position - self._start(block) < self.held_out else None

    def _start(self, block: int) -> int:
        return block * self.held_out + block * self.training_sentences // (self.blocks - 1)

    def _last_block(self, position: int) -> int:
        """Return the last block that starts at or before a position: an estimate, corrected by at most one step."""
        last = self.blocks - 1
        block = min(position * last // (self.training_sentences + self.held_out * last), last)
        while block + 1 < self.blocks and self._start(block + 1) <= position:
            block += 1
        while self._start(block) > position:
            block -= 1
        return block
