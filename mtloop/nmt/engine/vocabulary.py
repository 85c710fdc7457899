"""Text to ids and back, the same as MarianTokenizer, without loading transformers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from mtloop.core.errors import InputError
from mtloop.core.json_files import parse_json
from mtloop.text.reversible import detokenise, has_joiners, tokenise_reversibly

SPACE = "▁"  # SentencePiece's word boundary
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class Vocabulary:
    """One side of a model: a SentencePiece model, which splits text into subwords ("pieces"), and their ids."""

    def __init__(self, spm: Path, table: Path) -> None:
        self._spm = _load_spm(spm)
        self._ids = _load_table(table)
        self.unknown, self.end, self.pad = (self._special(token, table) for token in ("<unk>", "</s>", "<pad>"))

    def __len__(self) -> int:
        return len(self._ids)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, with the end-of-sentence id."""
        if self.is_word_level:
            pieces = [SPACE + word for word in tokenise_reversibly(text)]
        else:
            pieces = self._spm.encode(text, out_type=str)
        return [*self.pieces_to_ids(pieces), self.end]

    def pieces_to_ids(self, pieces: Iterable[str]) -> list[int]:
        return [self._ids.get(piece, self.unknown) for piece in pieces]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, without special tokens, unknown tokens and incomplete characters."""
        special = {self.end, self.pad, self.unknown}
        pieces = [self.pieces[i] for i in ids if i not in special]
        text = str(self._spm.decode_pieces(pieces)).replace(SPACE, " ").replace("\ufffd", "").strip()
        return detokenise(text.split(" ")) if self.is_word_level else text

    @cached_property
    def is_word_level(self) -> bool:
        """Whether the subwords are whole words and punctuation marks."""
        return has_joiners(self._ids)

    @property
    def largest_id(self) -> int:
        return max(self._ids.values())

    @cached_property
    def pieces(self) -> list[str]:
        """The subword of every id, as a list."""
        pieces = [""] * (self.largest_id + 1)
        for piece, i in self._ids.items():
            pieces[i] = piece
        return pieces

    @cached_property
    def byte_values(self) -> dict[int, int]:
        """The ids of the byte subwords with their bytes; characters without a subword are spelt with these."""
        found = ((i, BYTE.fullmatch(piece)) for i, piece in enumerate(self.pieces))
        return {i: int(byte[1], 16) for i, byte in found if byte}

    def _special(self, token: str, table: Path) -> int:
        if token not in self._ids:
            raise InputError(f"the vocabulary lacks {token}", path=table)
        return self._ids[token]


def load_vocabularies(folder: Path) -> tuple[Vocabulary, Vocabulary]:
    """Return the source and target vocabulary of a model folder; a model with one shared table uses it for both."""
    separate = folder / "target_vocab.json"
    target_table = separate if separate.exists() else folder / "vocab.json"
    source = Vocabulary(folder / "source.spm", folder / "vocab.json")
    return source, Vocabulary(folder / "target.spm", target_table)


def _load_spm(path: Path) -> Any:
    import sentencepiece

    if not path.is_file() or not path.stat().st_size:
        raise InputError("a Marian model needs this SentencePiece file; it is missing or empty", path=path)
    try:
        return sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError) as error:
        raise InputError("not a SentencePiece model", path=path) from error


def _load_table(path: Path) -> dict[str, int]:
    try:
        table = parse_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"a Marian model needs this vocabulary: {error}", path=path) from error
    if not isinstance(table, dict) or not table or not all(type(id) is int and id >= 0 for id in table.values()):
        raise InputError("expected a JSON object of subwords and ids", path=path)
    return table
