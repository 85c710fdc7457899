"""The words a model has seen in training, as a set of hashes: small, and it gives no text away."""

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
from mtloop.core.worker_pool import in_chunks

Hashes: TypeAlias = npt.NDArray[np.uint64]
Tokenise: TypeAlias = Callable[[str], Iterable[str]]


class SeenWords:
    """Answers `word in seen`: always True for a word that was seen, False for others but for one in 10^13 or so.

    >>> seen = SeenWords.of_texts(["Die Datei ist offen ."], str.split)
    >>> "Datei" in seen, "datei" in seen, len(seen)
    (True, False, 4)
    """

    def __init__(self, hashes: Hashes) -> None:
        self.hashes = hashes

    @classmethod
    def of_texts(cls, texts: Sequence[str], tokenise: Tokenise, workers: int = 1) -> SeenWords:
        """Every token with a letter in it, in the case it stands in."""
        words: set[str] = set()
        for found in in_chunks(partial(_words, tokenise), texts, workers):
            words |= found
        return cls(np.array(sorted(map(hashed, words)), np.uint64))

    @classmethod
    def load(cls, path: str | Path) -> SeenWords:
        """Read what `save` wrote."""
        try:
            hashes = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError("no set of seen words can be read from it", path=path) from error
        if hashes.dtype != np.uint64 or hashes.ndim != 1:
            raise InputError("not a set of seen words: expected one row of 64-bit hashes", path=path)
        return cls(hashes)

    def save(self, path: str | Path) -> None:
        """A NumPy file of sorted 64-bit hashes."""
        with atomic(path) as file:
            np.save(file, self.hashes, allow_pickle=False)

    def __contains__(self, word: object) -> bool:
        if not isinstance(word, str):
            return False
        wanted = np.uint64(hashed(word))
        place = int(np.searchsorted(self.hashes, wanted))
        return place < len(self.hashes) and bool(self.hashes[place] == wanted)

    def __len__(self) -> int:
        return len(self.hashes)


def hashed(word: str) -> int:
    """The first eight bytes of BLAKE2b over the word's UTF-8, lowest first."""
    return int.from_bytes(blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


def plain_tokens(text: str) -> list[str]:
    """Words and the marks between them: a stand-in for Moses tokens where sacremoses is missing.

    >>> plain_tokens("„OK“-Knopf, z.B. a/b")
    ['„', 'OK', '“', '-', 'Knopf', ',', 'z.B', '.', 'a/b']
    """
    return _PLAIN.findall(text)


_PLAIN = re.compile(r"\w+(?:[-./'’]\w+)*|[^\w\s]")


def _words(tokenise: Tokenise, texts: Sequence[str]) -> set[str]:
    tokens = {token for text in texts for token in tokenise(text)}
    return {token for token in tokens if any(map(str.isalpha, token))}
