"""The words of a training corpus as a set of hashes: small, and the text cannot be recovered from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mtloop.core.atomic import atomic
from mtloop.core.errors import InputError
from mtloop.text.worker_pool import map_chunks

Hashes: TypeAlias = npt.NDArray[np.uint64]
Tokeniser: TypeAlias = Callable[[str], Iterable[str]]


class SeenWords:
    """Supports `word in seen`: True for every word of the corpus, False for other words (about 1 error in 10^13).

    >>> seen = SeenWords.of_texts(["Die Datei ist offen ."], str.split)
    >>> "Datei" in seen, "datei" in seen, len(seen)
    (True, False, 4)
    """

    def __init__(self, hashes: Hashes) -> None:
        self.hashes = hashes

    @classmethod
    def of_texts(cls, texts: Sequence[str], tokenise: Tokeniser, workers: int = 1) -> SeenWords:
        """Collect every token that contains a letter, in its original case."""
        words: set[str] = set()
        for chunk in map_chunks(partial(_words, tokenise), texts, workers):
            words |= chunk
        return cls(np.array(sorted(map(hash_word, words)), np.uint64))

    @classmethod
    def load(cls, path: str | Path) -> SeenWords:
        """Read a file that `save` wrote."""
        try:
            hashes = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError("not a set of seen words; expected a file seen-words.npy", path=path) from error
        if hashes.dtype != np.uint64 or hashes.ndim != 1:
            raise InputError("not a set of seen words; expected a one-dimensional array of 64-bit hashes", path=path)
        return cls(hashes)

    def save(self, path: str | Path) -> None:
        """Write the sorted 64-bit hashes as a NumPy file."""
        with atomic(path) as file:
            np.save(file, self.hashes, allow_pickle=False)

    def __contains__(self, word: object) -> bool:
        if not isinstance(word, str):
            return False
        value = np.uint64(hash_word(word))
        index = int(np.searchsorted(self.hashes, value))
        return index < len(self.hashes) and bool(self.hashes[index] == value)

    def __len__(self) -> int:
        return len(self.hashes)


def hash_word(word: str) -> int:
    """Return the 8-byte BLAKE2b hash of the word in UTF-8, as a little-endian integer."""
    return int.from_bytes(blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


def tokenise_plain(text: str) -> list[str]:
    """Return words and punctuation marks: a replacement for Moses tokens if sacremoses is not installed.

    >>> tokenise_plain("„OK“-Knopf, z.B. a/b")
    ['„', 'OK', '“', '-', 'Knopf', ',', 'z.B', '.', 'a/b']
    """
    return _PLAIN.findall(text)


_PLAIN = re.compile(r"\w+(?:[-./'’]\w+)*|[^\w\s]")


def _words(tokenise: Tokeniser, texts: Sequence[str]) -> set[str]:
    tokens = {token for text in texts for token in tokenise(text)}
    return {token for token in tokens if any(map(str.isalpha, token))}
