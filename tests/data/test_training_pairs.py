"""Training data: pairs, and the languages of all files together."""

from __future__ import annotations

import pytest
from helpers.file_samples import PAIRS, tmx, tu, xliff2

from mtloop.core.errors import InputError
from mtloop.data.training_pairs import text_pairs, training_languages


def test_pairs_of_the_chosen_languages(write) -> None:
    path = write("a.tmx", tmx(tu(en="Save.", de="Sichern.", fr="Sauver.")))
    assert list(text_pairs(path, target_lang="fr")) == [("Save.", "Sauver.")]


def test_a_table_without_header(write) -> None:
    assert list(text_pairs(write("a.tsv", "Save.\tSichern.\n"), source_lang="en")) == [("Save.", "Sichern.")]


def test_languages_are_those_of_the_files(write) -> None:
    table, memory = write("a.tsv", "Save.\tSalva.\n"), write("a.tmx", tmx(tu(en_US="Save.", it_IT="Salva.")))
    assert training_languages([table]) == ("", "")
    assert training_languages([table, memory]) == ("en", "it")
    assert training_languages([memory], "en", "it_it") == ("en", "it_it")
    assert training_languages([table], "en") == ("en", "")


def test_files_in_different_languages_are_refused(write) -> None:
    first, second = write("a.xlf", xliff2()), write("b.tmx", tmx(tu(en="Save.", it="Salva.")))
    with pytest.raises(
        InputError, match=f"^{second}: the texts are en -> it, but the other files are en -> de; train on"
    ):
        training_languages([first, second])
    assert len(list(text_pairs(first))) == len(PAIRS)
