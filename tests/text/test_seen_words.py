from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.text.seen_words import SeenWords, tokenise_plain


@given(st.lists(st.text(st.characters(categories=("L", "M", "N", "P")), min_size=1), max_size=30))
def test_every_seen_word_is_found(words: list[str]) -> None:
    seen = SeenWords.of_texts(words, lambda text: [text])
    assert all(word in seen for word in words if any(map(str.isalpha, word)))


def test_seen_words_can_be_saved_and_loaded(tmp_path: Path) -> None:
    seen = SeenWords.of_texts(["Größe und Güte , 3 ."], tokenise_plain)
    seen.save(tmp_path / "seen.npy")
    loaded = SeenWords.load(tmp_path / "seen.npy")
    assert len(loaded) == 3
    assert "Größe" in loaded
    assert "größe" not in loaded
    assert 3 not in loaded
    assert "x" not in SeenWords.of_texts([], tokenise_plain)


@pytest.mark.parametrize("content", [None, b"", b"not numpy", "wrong"])
def test_an_invalid_seen_words_file_is_an_error(tmp_path: Path, content: bytes | str | None) -> None:
    path = tmp_path / "seen.npy"
    if content == "wrong":
        np.save(path, np.zeros((2, 2)))
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(InputError, match="seen words"):
        SeenWords.load(path)
