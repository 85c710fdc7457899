"""A glossary: which terms a text contains, and how often a translation has them."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core.errors import InputError, MissingExtra
from mtloop.text.glossary import Glossary, group_matches
from mtloop.text.inflection import word_forms
from mtloop.text.lemmas import Lemmas, lemmas_or_forms, load_lemmas

PAIRS = {"list box": "Listenfeld", "list": "Liste", "IF": "WENN", "format": "Format", "C++": "C++", "X-axis": "X-Achse"}


def found(text: str, source_lang: str = "en") -> list[str]:
    return [text[match.start : match.end] for match in Glossary.of(PAIRS, source_lang, "de").find(text)]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The list box is a list.", ["list box", "list"]),
        ("Two List Boxes, three lists", ["List Boxes", "lists"]),
        ("IF you ask if it fits", ["IF"]),
        ("formats, formatting, formatted", ["formats"]),
        ("C, C++ and the X-axis", ["C++", "X-axis"]),
        ("listing a %1 boxlist", []),
        ("the list's end", ["list"]),
        ("", []),
    ],
)
def test_the_longest_term_is_found_in_any_form_and_case(text: str, terms: list[str]) -> None:
    assert found(text) == terms


def test_without_a_language_only_case_may_differ() -> None:
    assert found("List boxes and a LIST", "") == ["List", "LIST"]


def test_a_language_that_simplemma_does_not_know_has_forms_only() -> None:
    assert lemmas_or_forms("xx") is str.casefold
    with pytest.raises(InputError, match="no base forms for language 'xx'"):
        load_lemmas("xx")


def test_without_simplemma_word_forms_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simplemma", None)
    load_lemmas.cache_clear()
    assert lemmas_or_forms("en") is str.casefold
    with pytest.raises(MissingExtra, match=r"mtloop\[terms\]"):
        load_lemmas("en")


def test_equal_terms_are_joined_and_each_translation_counts() -> None:
    glossary = Glossary.of([("pane", "Bereich"), ("pane", "Leiste"), ("pane ", "Bereich")], "en", "de")
    [term] = glossary.terms
    assert term.targets == ("Bereich", "Leiste")
    assert glossary.count_targets(term, "Bereiche, eine Leiste und der Seitenbereich") == 2


@pytest.mark.parametrize("pairs", [{"pane": ""}, {" ": "x"}, ["ab"], [("a", "b", "c")], {"pane": None}, [("a", 1)]])
def test_a_wrong_entry_is_one_clear_error(pairs: Any) -> None:
    with pytest.raises(InputError, match="a term"):
        Glossary.of(pairs)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Zellvorlagen", "Zellvorlage"),
        ("Wörterbücher", "Wörterbuch"),
        ("bedingter", "bedingte"),
        ("Tabellendokumenten", "Tabellendokument"),
    ],
)
def test_german_forms_have_one_base_form(one: str, other: str) -> None:
    assert load_lemmas("de")(one) == load_lemmas("de")(other)


def test_different_words_have_different_base_forms() -> None:
    lemmas = load_lemmas("de-AT")
    assert len({lemmas(word) for word in ("Zellvorlage", "Zelle", "Vorlage", "Zellformat")}) == 4
    assert Lemmas("de").signature.startswith("simplemma-")


def test_inflected_forms_are_made_by_endings_and_checked() -> None:
    lemmas = load_lemmas("de")
    assert {"Wörterbuch", "Wörterbuchs", "Wörterbücher", "Wörterbüchern"} <= set(word_forms("Wörterbuch", "de", lemmas))
    assert set(word_forms("Zellvorlage", "de", lemmas)) == {"Zellvorlage", "Zellvorlagen"}
    assert {"bedingte", "bedingten", "bedingter"} <= set(word_forms("bedingte", "de", lemmas))
    assert word_forms("Z-Achse", "de", lemmas)[:2] == ("Z-Achse", "Z-Achsen")
    assert word_forms("WENN", "de", lemmas) == ("WENN",)


@given(st.text(alphabet="ab L-x.", max_size=40))
def test_matches_do_not_overlap_and_are_in_order(text: str) -> None:
    glossary = Glossary.of({"a": "x", "a b": "y", "ab": "z", "L-x": "v"})
    matches = glossary.find(text)
    assert all(one.end <= other.start for one, other in pairwise(matches))
    assert sum(map(len, group_matches(matches).values())) == len(matches)
    for match in matches:
        assert "".join(text[match.start : match.end].split()).lower() == "".join(match.term.source.split()).lower()
