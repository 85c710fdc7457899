"""Which sentence stands where: the data once, the held-out block at the start, in between and at the end."""

from __future__ import annotations

from dataclasses import dataclass

from mtloop.core.errors import InputError


@dataclass(frozen=True)
class StreamLayout:
    """`lines` of data, the last `held_out` of which are the block that is inserted `blocks` times.

    The block stands at the very start, at regular intervals and at the very end; nothing in an id or an answer tells
    it from the rest. `at` and `block` take constant time, so no position costs more than another.

    >>> layout = StreamLayout(lines=6, held_out=2, blocks=3)
    >>> len(layout), [layout.at(position) for position in range(len(layout))]
    (10, [4, 5, 0, 1, 4, 5, 2, 3, 4, 5])
    """

    lines: int
    held_out: int = 0
    blocks: int = 0

    def __post_init__(self) -> None:
        if self.lines < 1:
            raise InputError("a task needs at least one sentence")
        if self.held_out and self.blocks < 2:
            raise InputError("a held-out block stands at the start and at the end: at least 2 times; give --blocks 2")
        if not 0 <= self.held_out < self.lines:
            raise InputError(
                f"{self.held_out} held-out sentences of {self.lines}; at least one must be left to learn on"
            )

    def __len__(self) -> int:
        return self.normal + self.held_out * self.blocks

    @property
    def normal(self) -> int:
        """How many sentences are not held out."""
        return self.lines - self.held_out

    def starts(self) -> list[int]:
        """Where each block begins."""
        return [self._start(block) for block in range(self.blocks)] if self.held_out else []

    def at(self, position: int) -> int:
        """The number of the sentence at a position."""
        if not self.held_out:
            return position
        block = self._last_begun(position)
        inside = position - self._start(block)
        if inside < self.held_out:
            return self.normal + inside
        return position - (block + 1) * self.held_out

    def block(self, position: int) -> int | None:
        """Which block a position lies in; None between blocks."""
        if not self.held_out:
            return None
        block = self._last_begun(position)
        return block if position - self._start(block) < self.held_out else None

    def _start(self, block: int) -> int:
        return block * self.held_out + block * self.normal // (self.blocks - 1)

    def _last_begun(self, position: int) -> int:
        """The last block that begins at or before a position: an estimate, and at most a step either way."""
        block = min(position * (self.blocks - 1) // (self.normal + self.held_out * (self.blocks - 1)), self.blocks - 1)
        while block + 1 < self.blocks and self._start(block + 1) <= position:
            block += 1
        while self._start(block) > position:
            block -= 1
        return block
