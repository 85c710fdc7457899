"""Which language a text has, among those that can be translated."""

from __future__ import annotations

import asyncio

import pytest

from mtloop.service.compatible.language_detection import detect_languages, rank_languages
from mtloop.service.likely_languages import MAX_CHARACTERS

TEXTS = {
    "en": "The window cannot be closed while the program is working.",
    "de": "Das Fenster kann nicht geschlossen werden, solange das Programm arbeitet.",
    "fr": "La fenêtre ne peut pas être fermée pendant que le programme travaille.",
    "ru": "Окно нельзя закрыть, пока программа работает.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_the_most_likely_language_comes_first(language: str) -> None:
    ranked = rank_languages(TEXTS[language], TEXTS)
    assert {one.language for one in ranked} == set(TEXTS)
    assert ranked[0].language == language
    assert ranked[0].confidence > 80
    assert sum(one.confidence for one in ranked) <= 100.5
    assert [one.confidence for one in ranked] == sorted((one.confidence for one in ranked), reverse=True)


def test_only_the_given_languages_and_low_confidence_for_another() -> None:
    ranked = rank_languages(TEXTS["ru"], ["en", "de"])
    assert {one.language for one in ranked} == {"en", "de"}
    assert ranked[0].confidence < 5


def test_tags_are_those_of_the_caller() -> None:
    assert rank_languages(TEXTS["de"], ["en-GB", "DE_at", "de", "qx", ""])[0].language == "DE_at"
    assert [one.language for one in rank_languages(TEXTS["de"], ["qx", "nb-NO", "de"])] == ["de", "nb-NO", "qx"]
    assert rank_languages(TEXTS["de"], []) == []


def test_the_start_of_a_long_text_decides() -> None:
    long = TEXTS["fr"] * 100
    assert len(long) > MAX_CHARACTERS
    assert rank_languages(long + TEXTS["de"] * 1000, TEXTS) == rank_languages(long, TEXTS)


def test_several_texts_and_texts_without_a_language() -> None:
    found = asyncio.run(detect_languages([TEXTS["fr"], "", "12 \ud800"], ["de", "fr"]))
    assert found[0][0].language == "fr"
    assert all(one.confidence < 10 for row in found[1:] for one in row)
