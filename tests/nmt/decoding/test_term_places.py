"""Terms in their places: where a term goes, what the decoder must write there, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from mtloop.core.types import Segment
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.decoding.term_places import (
    PlacedTermProcessor,
    TermRewriter,
    find_place,
    is_appended,
    is_compound,
    missing_terms,
)
from mtloop.nmt.decoding.terms import TermModel
from mtloop.nmt.decoding.word_alignment import AttendedWord
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import SearchState
from mtloop.text.glossary import Glossary

SOURCE, TEXT = "Open the file now.", "Die Datei jetzt öffnen."
GLOSSARY = Glossary.of({"file": "Akte", "window": "Scheibe", "folder": "Mappe"}, "en", "de")


def attended(source: str, text: str, links: dict[str, str]) -> list[AttendedWord]:
    """Return the words of a translation, each with attention on one word of the source."""
    found = []
    for word, origin in links.items():
        start, low = text.index(word), source.index(origin)
        found.append(AttendedWord(start, start + len(word), ((low, low + len(origin), 0.8),)))
    return found


def rewritten(model: Marian, source: str, text: str, links: dict[str, str], *found: str) -> str:
    """Rewrite a translation; the search finds given texts."""
    terms = TermModel(GLOSSARY)
    words = attended(source, text, links)
    speller = terms.spell_with(model.target)
    return TermRewriter(terms, speller, lambda *_: words, lambda _: found, lambda *_: 0.0)(source, text)


LINKS = {"Datei": "file", "jetzt": "now", "öffnen": "Open"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["Die Akte jetzt öffnen."], "Die Akte jetzt öffnen."),
        (["Die Datei jetzt öffnen Akte.", "Akte jetzt öffnen."], "Akte jetzt öffnen."),  # appended
        (["Die Akte Akten jetzt öffnen."], "Die Akte jetzt öffnen."),  # repeated: only the word is replaced
        (["Die Akte der Datei jetzt öffnen."], "Die Akte jetzt öffnen."),  # the old word is still there
        ([], "Die Akte jetzt öffnen."),
    ],
)
def test_what_may_replace_a_translation(small: Marian, found: Sequence[str], expected: str) -> None:
    assert rewritten(small, SOURCE, TEXT, LINKS, *found) == expected


def test_without_a_place_the_translation_stays(small: Marian) -> None:
    assert rewritten(small, SOURCE, TEXT, {"öffnen": "Open"}, "Die Akte jetzt öffnen.") == TEXT


def test_a_compound_is_not_replaced_by_one_of_its_words(small: Marian) -> None:
    source, text = "The file manager starts.", "Der Dateiverwalter startet."
    match = GLOSSARY.find(source)[0]
    words = attended(source, text, {"Dateiverwalter": "file", "startet": "starts"})
    assert is_compound(source, match, words)
    assert rewritten(small, source, text, {"Dateiverwalter": "file", "startet": "starts"}) == text


def test_a_term_that_was_copied_is_found_without_attention() -> None:
    glossary = Glossary.of({"BASE": "BASIS"}, "en", "de")
    source = "=BASE(255) is FF"
    assert find_place(source, "=BASE(255) ist FF", glossary.find(source)[0], []) == (1, 5)


def test_the_word_with_the_most_attention_is_the_place() -> None:
    source, text = "Select a folder", "Wählen Sie einen Ordner"
    words = [AttendedWord(0, 6, ((9, 15, 0.3),)), AttendedWord(17, 23, ((9, 15, 0.5),))]
    assert find_place(source, text, GLOSSARY.find(source)[0], words) == (17, 23)


def test_the_end_of_a_compound_is_no_missing_term() -> None:
    assert missing_terms(GLOSSARY, "the file", "die Datei")
    assert not missing_terms(GLOSSARY, "the file", "die Personalakte")


def test_a_term_after_the_whole_translation_is_appended() -> None:
    assert is_appended("Fenster schließen.", "Fenster schließen Scheibe.")
    assert not is_appended("Fenster schließen.", "Fenster geschlossen Scheibe.")
    assert not is_appended("Fenster schließen.", "Fenster schließen!")


def test_the_decoder_writes_the_beginning_then_the_term(small: Marian) -> None:
    terms, target = TermModel(GLOSSARY), small.target
    beginning = tuple(target.encode("Bild")[:-1])
    phrases = terms.phrases_of(GLOSSARY.terms[0])
    processor = PlacedTermProcessor(beginning, phrases, terms.spell_with(target))
    for ids in [beginning[:0], beginning]:
        logits = processor(SearchState(torch.zeros(1, 1), torch.zeros(1, 1), [ids]), torch.zeros(1, len(target.pieces)))
        logits[0, target.pad] = float("-inf")
        allowed = {target.pieces[int(i)] for i in logits[0].isfinite().nonzero()}
        assert (
            allowed == {target.pieces[beginning[0]]}
            if not ids
            else {target.pieces[target.encode("Akte")[0]]} <= allowed
        )
        assert target.end not in logits[0].isfinite().nonzero()


@pytest.mark.parametrize(
    ("source", "old", "new"),
    [("Open the file.", "Datei", "Akte"), ("Close the window.", "Fenster", "Scheibe"),
     ("Select a folder and press OK.", "Ordner", "Mappe")],
)  # fmt: skip
def test_a_term_stands_in_place_of_the_models_word(source: str, old: str, new: str) -> None:
    learner = make_learner("baseline", Marian.load(find_model("en-de")), {})
    assert isinstance(learner, AdaptiveNMT)
    before = learner.propose(Segment("", source)).text
    assert old in before
    learner.terms = TermModel(GLOSSARY)
    [after] = learner.propose_many([Segment("", source)])
    assert after.text == learner.propose(Segment("", source)).text
    assert new in after.text
    assert old not in after.text
    assert not is_appended(before, after.text)
    assert "missed terms" not in after.memo


def test_a_missed_term_is_said(small: Marian) -> None:
    learner = make_learner("baseline", small)
    assert isinstance(learner, AdaptiveNMT)
    learner.terms = TermModel(GLOSSARY)
    learner.terms.min_attention = 2.0
    learner._attend = lambda source, target: []  # type: ignore[method-assign]
    assert learner.propose(Segment("", "the file")).memo["missed terms"] == ["file"]
