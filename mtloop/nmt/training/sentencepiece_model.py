"""A vocabulary: a SentencePiece model whose ids are the ids of the network.

The same ids stand in `vocab.json`, so that a `MarianTokenizer` and this class encode alike; where the pieces are words
and signs, texts are cut first (`text.cut`), and so they must be for a `MarianTokenizer`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

from mtloop.core.atomic import atomic
from mtloop.core.errors import InputError
from mtloop.core.worker_pool import in_chunks
from mtloop.nmt.training.token_rows import TokenRows
from mtloop.text.reversible import is_cut, join, split

EOS, UNK, PAD = 0, 1, 2
SPACE = "▁"  # SentencePiece's word boundary
_IDS: dict[str, Any] = {"eos_id": EOS, "unk_id": UNK, "pad_id": PAD, "bos_id": -1}
_SUBWORDS: dict[str, Any] = {"byte_fallback": True, "split_digits": True, "character_coverage": 0.9998}
_WORDS: dict[str, Any] = {"hard_vocab_limit": False}


@dataclass(frozen=True)
class SentencePieceModel:
    """Cuts text into pieces and joins them again. Subwords spell what they do not know in bytes; words cannot."""

    model: bytes

    @classmethod
    def trained(
        cls, texts: Sequence[str], *, kind: str, size: int, sentences: int, normalise: bool
    ) -> SentencePieceModel:
        """A vocabulary of the texts. `normalise` folds look-alikes (NFKC), which is for sources:
        a target that lost its ellipses and no-break spaces could never show them. Words stay as they are cut."""
        step = max(1, -(-len(texts) // sentences))
        whole = kind == "word"
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=map(cut, texts[::step]) if whole else iter(texts[::step]),
                model_writer=model,
                model_type=kind,
                vocab_size=size,
                normalization_rule_name="nmt_nfkc" if normalise and not whole else "identity",
                minloglevel=2,
                **_IDS,
                **(_WORDS if whole else _SUBWORDS),
            )
        except RuntimeError as error:
            raise InputError(_too_small(kind, size, len(texts), str(error))) from error
        return cls(model.getvalue())

    @classmethod
    def load(cls, path: Path) -> SentencePieceModel:
        """Read a SentencePiece model that this class wrote."""
        if not path.is_file():
            raise InputError("no such SentencePiece model", path=path)
        vocabulary = cls(path.read_bytes())
        try:
            ids = [vocabulary._pieces.piece_to_id(piece) for piece in ("</s>", "<unk>", "<pad>")]
        except RuntimeError as error:
            raise InputError("not a SentencePiece model", path=path) from error
        if ids != [EOS, UNK, PAD]:
            raise InputError("not a vocabulary of mtloop train: </s>, <unk>, <pad> must be 0, 1, 2", path=path)
        return vocabulary

    def save(self, path: Path) -> None:
        with atomic(path) as file:
            file.write(self.model)

    def __len__(self) -> int:
        return int(self._pieces.get_piece_size())

    def ids(self) -> dict[str, int]:
        """Every piece with its id: the content of `vocab.json`."""
        return {self._pieces.id_to_piece(index): index for index in range(len(self))}

    def encode(self, texts: Sequence[str], workers: int = 1) -> TokenRows:
        """Ids of every text, each ending in the end-of-sentence token."""
        return TokenRows.joined(in_chunks(partial(_encode, self.model), texts, workers))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; special tokens say nothing."""
        text = str(self._pieces.decode([index for index in ids if index not in (EOS, UNK, PAD)]))
        return join(text.split(" ")) if _is_cut(self.model) else text

    @property
    def _pieces(self) -> Any:
        return _processor(self.model)


@lru_cache(maxsize=4)
def _processor(model: bytes) -> Any:
    return sentencepiece.SentencePieceProcessor(model_proto=model)


@lru_cache(maxsize=4)
def _is_cut(model: bytes) -> bool:
    pieces = _processor(model)
    return is_cut(pieces.id_to_piece(index) for index in range(pieces.get_piece_size()))


def cut(text: str) -> str:
    """Words and signs with spaces between them."""
    return " ".join(split(text))


def _encode(model: bytes, texts: Sequence[str]) -> TokenRows:
    pieces = _processor(model)
    if _is_cut(model):  # one by one: SentencePiece makes one of several unknown words in a row
        rows: Any = [[*pieces.piece_to_id([SPACE + word for word in split(text)]), EOS] for text in texts]
    else:
        rows = pieces.encode(list(texts), add_eos=True, num_threads=1)
    flat = np.fromiter(chain.from_iterable(rows), np.int32)
    return TokenRows(flat, np.fromiter(map(len, rows), np.int32, len(rows)))


def _too_small(kind: str, size: int, count: int, reason: str) -> str:
    if needed := re.search(r"smaller than required_chars\D*\d+ vs (\d+)", reason):
        characters = f"a {kind} vocabulary of {size} does not hold the characters of the text"
        return f"{characters}; ask for at least {needed[1]} (vocab_size)"
    limit = re.search(r"<= (\d+)", reason)
    hint = f"at most {limit[1]}" if limit else "fewer, or give more text"
    return f"{count} sentences are not enough for a {kind} vocabulary of {size}; ask for {hint} (vocab_size)"
