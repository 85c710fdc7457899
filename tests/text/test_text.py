from __future__ import annotations

from pathlib import Path

import pytest
from helpers.tiny_model.make_spm import spm_bytes

from mtloop.core import InputError
from mtloop.text.moses import Truecaser, tokenise
from mtloop.text.stopwords import StopWords
from mtloop.text.units import ContentWords, Subwords

NONE = StopWords.of_words([], "none")


def test_tokens_are_not_escaped() -> None:
    assert tokenise("Drücken Sie <F1> & Strg+Ende.", "de") == [
        "Drücken",
        "Sie",
        "<",
        "F1",
        ">",
        "&",
        "Strg",
        "+",
        "Ende",
        ".",
    ]


def test_stop_words_ignore_case_and_region() -> None:
    words = StopWords.of_language("de-AT")
    assert {"der", "Der", "DER"} <= {word for word in ("der", "Der", "DER", "Bereich") if word in words}
    assert "Bereich" not in words


def test_a_language_without_a_stop_list_is_an_error_that_lists_the_others() -> None:
    with pytest.raises(InputError, match=r"no stop list for language 'xx'; known: .* de, .*--stopwords FILE"):
        StopWords.of_language("xx")


def test_content_words_have_letters_and_no_stop_words() -> None:
    units = ContentWords("de", StopWords.of_language("de"))
    assert units("Der Bereich 3 ( unten ) hat 2 USB-Geräte!") == {"Bereich", "USB-Geräte", "unten"}
    assert "case:kept" in units.signature


def test_letterless_tokens_can_be_kept() -> None:
    assert ContentWords("de", NONE, letterless=True)("Nr. 5") >= {"5"}


def test_truecasing_lowercases_only_words_that_are_lower_case_in_the_training_text() -> None:
    texts = ["Wir klicken hier.", "Sie klicken dort.", "Das Fenster ist da.", "Im Fenster klicken Sie."] * 2
    truecaser = Truecaser(texts, "de")
    units = ContentWords("de", NONE, truecaser)
    assert "klicken" in units("Klicken Sie!")
    assert "Fenster" in units("Fenster")
    assert "case:truecased" in units.signature


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spm") / "tiny.model"
    path.write_bytes(spm_bytes("target"))
    return path


def test_subwords_are_all_pieces(model: Path) -> None:
    pieces = Subwords(model)("Öffnen, Sie.")
    assert any("," in piece for piece in pieces)
    assert "spm-tiny.model" in Subwords(model).signature


def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.model").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"no\.model: not a SentencePiece model"):
        Subwords(tmp_path / "no.model")
