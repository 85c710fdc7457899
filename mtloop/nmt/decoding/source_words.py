"""The words of a source and the pieces that belong to each, so that attention can be summed by word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from mtloop.nmt.engine.vocabulary import SPACE, Vocabulary

NO_TEXT = re.compile(r"<0x[0-9A-F]{2}>|<unk>|</s>")  # a byte piece, the unknown token, the end of sentence
REPLACED = "\ufffd"


@dataclass(frozen=True, eq=False)
class SourceWords:
    """The words of one source; `word_of_piece` is the index of the word of each piece."""

    texts: tuple[str, ...]
    word_of_piece: Tensor
    after_space: tuple[bool, ...] = ()
    """Whether each word follows a space; if empty, every word does."""

    @classmethod
    def of(cls, ids: Sequence[int], vocabulary: Vocabulary) -> SourceWords:
        """Group pieces into words: a word starts at a space; punctuation and the end are separate words."""
        texts: list[str] = []
        after_space: list[bool] = []
        word_of_piece: list[int] = []
        before = ""
        for number in ids:
            piece = vocabulary.pieces[number]
            starts = not before or piece.startswith(SPACE) or number == vocabulary.end
            if starts or _is_word(piece) != _is_word(before):
                texts.append("")
                after_space.append(piece.startswith(SPACE))
            texts[-1] += piece.removeprefix(SPACE)
            word_of_piece.append(len(texts) - 1)
            before = piece
        return cls(tuple(texts), torch.tensor(word_of_piece), tuple(after_space))

    @cached_property
    def membership(self) -> Tensor:
        """1 where a piece belongs to a word, 0 elsewhere: (pieces, words)."""
        return torch.nn.functional.one_hot(self.word_of_piece, len(self.texts)).float()

    @cached_property
    def text_with_offsets(self) -> tuple[str, list[int]]:
        """The words as one text, and the offset of each word; a word that is not text is replaced by U+FFFD."""
        text, starts = "", []
        for number, word in enumerate(self.texts):
            text += " " if text and (not self.after_space or self.after_space[number]) else ""
            starts.append(len(text))
            text += REPLACED if NO_TEXT.search(word) else word
        return text, starts

    def sum_attention(self, attention: Tensor) -> Tensor:
        """Sum the attention weights over the pieces of each word: (rows, pieces) to (rows, words)."""
        return attention @ self.membership


def _is_word(piece: str) -> bool:
    return any(c.isalnum() for c in piece) and not NO_TEXT.fullmatch(piece.removeprefix(SPACE))
