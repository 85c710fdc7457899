"""A vocabulary: a SentencePiece model whose ids are the ids of the network.

`vocab.json` has the same ids, so a `MarianTokenizer` encodes like this class. For a word vocabulary, texts are first
tokenised by `text.reversible`; do the same before you use a `MarianTokenizer`.
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
from mtloop.nmt.training.token_rows import TokenRows
from mtloop.text.reversible import detokenise, has_joiners, tokenise_reversibly
from mtloop.text.worker_pool import map_chunks

EOS, UNK, PAD = 0, 1, 2
SPACE = "▁"  # SentencePiece's word boundary
_IDS: dict[str, Any] = {"eos_id": EOS, "unk_id": UNK, "pad_id": PAD, "bos_id": -1}
_SUBWORDS: dict[str, Any] = {"byte_fallback": True, "split_digits": True, "character_coverage": 0.9998}
_WORDS: dict[str, Any] = {"hard_vocab_limit": False}


@dataclass(frozen=True)
class SentencePieceModel:
    """Encodes and decodes text. Subword models write unknown characters as bytes; word models have `<unk>`."""

    model: bytes

    @classmethod
    def train(
        cls, texts: Sequence[str], *, kind: str, size: int, sentences: int, normalise: bool
    ) -> SentencePieceModel:
        """Train a vocabulary of `size` entries on at most `sentences` of the texts.

        `normalise` applies NFKC to subword vocabularies. Use it for sources only: a target model could otherwise never
        generate characters such as an ellipsis or a no-break space.
        """
        step = max(1, -(-len(texts) // sentences))
        is_word = kind == "word"
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=map(_tokenised, texts[::step]) if is_word else iter(texts[::step]),
                model_writer=model,
                model_type=kind,
                vocab_size=size,
                normalization_rule_name="nmt_nfkc" if normalise and not is_word else "identity",
                minloglevel=2,
                **_IDS,
                **(_WORDS if is_word else _SUBWORDS),
            )
        except RuntimeError as error:
            raise InputError(_error_message(kind, size, len(texts), str(error))) from error
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
        """Return every piece with its id: the content of `vocab.json`."""
        return {self._pieces.id_to_piece(index): index for index in range(len(self))}

    def encode(self, texts: Sequence[str], workers: int = 1) -> TokenRows:
        """Return the ids of every text; each row ends with the end-of-sentence token."""
        return TokenRows.concatenate(map_chunks(partial(_encode, self.model), texts, workers))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids; special tokens are left out."""
        text = str(self._pieces.decode([index for index in ids if index not in (EOS, UNK, PAD)]))
        return detokenise(text.split(" ")) if _has_word_pieces(self.model) else text

    @property
    def _pieces(self) -> Any:
        return _processor(self.model)


@lru_cache(maxsize=4)
def _processor(model: bytes) -> Any:
    return sentencepiece.SentencePieceProcessor(model_proto=model)


@lru_cache(maxsize=4)
def _has_word_pieces(model: bytes) -> bool:
    pieces = _processor(model)
    return has_joiners(pieces.id_to_piece(index) for index in range(pieces.get_piece_size()))


def _tokenised(text: str) -> str:
    return " ".join(tokenise_reversibly(text))


def _encode(model: bytes, texts: Sequence[str]) -> TokenRows:
    pieces = _processor(model)
    if _has_word_pieces(model):  # word by word: SentencePiece merges consecutive unknown words
        rows: Any = [[*pieces.piece_to_id([SPACE + word for word in tokenise_reversibly(text)]), EOS] for text in texts]
    else:
        rows = pieces.encode(list(texts), add_eos=True, num_threads=1)
    flat = np.fromiter(chain.from_iterable(rows), np.int32)
    return TokenRows(flat, np.fromiter(map(len, rows), np.int32, len(rows)))


def _error_message(kind: str, size: int, count: int, reason: str) -> str:
    if needed := re.search(r"smaller than required_chars\D*\d+ vs (\d+)", reason):
        characters = f"a {kind} vocabulary of {size} is too small for the characters of the text"
        return f"{characters}; set vocab_size to at least {needed[1]}"
    limit = re.search(r"<= (\d+)", reason)
    hint = f"at most {limit[1]}" if limit else "a smaller value, or give more text"
    return f"{count} sentences are not enough for a {kind} vocabulary of {size}; set vocab_size to {hint}"
