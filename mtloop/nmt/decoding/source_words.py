"""Source words as the encoder sees them: which pieces belong together, so that attention can be added up by word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from mtloop.nmt.engine.vocabulary import SPACE, Vocabulary

NO_TEXT = re.compile(r"<0x[0-9A-F]{2}>|<unk>|</s>")  # a byte of a rare character, an unknown one, the end
REPLACED = "\ufffd"


@dataclass(frozen=True, eq=False)
class SourceWords:
    """The words of one source, and the word each of its pieces is in."""

    texts: tuple[str, ...]
    where: Tensor
    spaced: tuple[bool, ...] = ()
    """Whether a space stands before each word; if nothing is said, one does."""

    @classmethod
    def of(cls, ids: Sequence[int], vocabulary: Vocabulary) -> SourceWords:
        """A word starts at a space; marks around it stand alone, and so does the end of the sentence."""
        texts: list[str] = []
        spaced: list[bool] = []
        where: list[int] = []
        before = ""
        for number in ids:
            piece = vocabulary.pieces[number]
            alone = not before or piece.startswith(SPACE) or number == vocabulary.end
            if alone or _is_word(piece) != _is_word(before):
                texts.append("")
                spaced.append(piece.startswith(SPACE))
            texts[-1] += piece.removeprefix(SPACE)
            where.append(len(texts) - 1)
            before = piece
        return cls(tuple(texts), torch.tensor(where), tuple(spaced))

    @cached_property
    def member(self) -> Tensor:
        """One where a piece is in a word: (pieces, words)."""
        return torch.nn.functional.one_hot(self.where, len(self.texts)).float()

    @cached_property
    def running(self) -> tuple[str, list[int]]:
        """The words as running text, and where in it each begins; what is not text is a mark in it."""
        text, starts = "", []
        for number, word in enumerate(self.texts):
            text += " " if text and (not self.spaced or self.spaced[number]) else ""
            starts.append(len(text))
            text += REPLACED if NO_TEXT.search(word) else word
        return text, starts

    def shares(self, attention: Tensor) -> Tensor:
        """How much of each row of attention falls on each word: (rows, words)."""
        return attention @ self.member


def _is_word(piece: str) -> bool:
    return any(c.isalnum() for c in piece) and not NO_TEXT.fullmatch(piece.removeprefix(SPACE))
