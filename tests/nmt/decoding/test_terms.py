"""Terms of a glossary while decoding: where they start, and how they go on."""

from __future__ import annotations

import torch

from mtloop.core.types import Segment
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.decoding.terms import TargetPhrase, TermModel, TermProcessor
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import SearchState
from mtloop.text.glossary import Glossary

SOURCES = ["Open the file in the archive.", "The archive is open", "Save the record, then the archive, now.", "Nothing"]


def processor(model: Marian, source: str, pairs: dict[str, str], draft: str = "") -> TermProcessor | None:
    words = SourceWords.of(model.source.encode(source), model.source)
    return TermModel(Glossary.of(pairs, "en", "de"), 10.0, 7.0, 0.2).processor(words, model.target, lambda: draft)


def pushed(found: TermProcessor, model: Marian, text: str, attended: str, weight: float = 1.0) -> dict[str, float]:
    """Return the subwords with a bonus after a text, with attention on one source word."""
    words, ids = found.words, model.target.encode(text)[:-1] if text else []
    attention = torch.zeros(1, len(words.word_of_piece))
    attention[0, (words.word_of_piece == words.texts.index(attended)).nonzero()[0, 0]] = weight
    logits = torch.zeros(1, len(model.target.pieces))
    logits[0, model.target.encode("Bild")[0]] = 1.0  # the model's own choice starts a word
    changed = found(SearchState(torch.zeros(1, 1), attention, [ids]), logits.clone()) - logits
    return {model.target.pieces[int(i)]: round(float(changed[0, i]), 3) for i in changed[0].nonzero().flatten()}


def spelled(model: Marian, word: str) -> list[str]:
    return [model.target.pieces[i] for i in model.target.encode(word)[:-1]]


def test_a_source_without_terms_has_no_processor(small: Marian) -> None:
    assert processor(small, "Open the file", {"archive": "Archiv"}) is None


def test_the_start_gets_a_bonus_in_proportion_to_the_attention(small: Marian) -> None:
    found = processor(small, "Open the archives now", {"archive": "Datensatz"})
    assert found is not None
    first = spelled(small, "Datensatz")[0]
    assert pushed(found, small, "", "archives", 0.5)[first] == 5.0
    assert pushed(found, small, "", "archives", 0.1) == {}
    assert pushed(found, small, "", "Open") == {}


def test_a_term_that_was_started_is_continued_wherever_the_decoder_looks(small: Marian) -> None:
    found = processor(small, "Open the archives now", {"archive": "Zellvorlage"})
    assert found is not None
    pieces = spelled(small, "Zellvorlage")
    assert len(pieces) > 1
    pushed(found, small, "", "archives")
    ids = small.target.pieces_to_ids(pieces[:1])
    assert found.speller.text(ids) == pieces[0].removeprefix("▁")
    logits = found(SearchState(torch.zeros(1, 1), torch.zeros(1, len(found.words.word_of_piece)), [ids]),
                   torch.zeros(1, len(small.target.pieces)))  # fmt: skip
    assert logits[0, small.target.pieces_to_ids(pieces[1:2])[0]] == 7.0


def test_the_same_letters_in_another_word_are_not_continued(small: Marian) -> None:
    found = processor(small, "Open the archives now", {"archive": "Datensatz"})
    assert found is not None
    assert pushed(found, small, "Die Daten", "Open") == {}


def test_a_term_that_was_written_gets_no_bonus(small: Marian) -> None:
    found = processor(small, "Open the archives now", {"archive": "Datensatz"})
    assert found is not None
    for text in ("Der Datensatz", "Die Datensätze", "Der Datensatz ist"):
        assert pushed(found, small, text, "archives") == {}
    assert pushed(found, small, "Die Datei", "archives") != {}


def test_a_term_that_occurs_twice_is_written_twice(small: Marian) -> None:
    found = processor(small, "archive or archive", {"archive": "Datensatz"})
    assert found is not None
    assert pushed(found, small, "Datensatz oder", "or") == {}
    assert pushed(found, small, "Datensatz oder", "archive") != {}
    assert pushed(found, small, "Datensatz oder Datensatz und", "archive") == {}


def test_the_forms_of_a_phrase_go_on_word_by_word() -> None:
    phrase = TargetPhrase((("gelbe", "gelben"), ("Karte", "Karten")))
    assert phrase.continuations("gel") == ["be", "ben"]
    assert phrase.continuations("gelben") == [" Karte", " Karten"]
    assert phrase.continuations("gelben Kart") == ["e", "en"]
    assert phrase.continuations("gelbes") == []
    assert phrase.continuations("gelbe Karten und") == []
    assert phrase.pattern.findall("Die gelben Karten, gelbe Kartenspiele") == ["gelben Karten"]


def test_lower_case_terms_may_start_a_sentence_and_german_nouns_keep_their_capital() -> None:
    german, italian = Glossary.of({"a": "bedingt", "b": "Feld"}, "en", "de"), Glossary.of({"b": "Campo"}, "en", "it")
    assert {"bedingt", "Bedingt"} <= set(TargetPhrase.of("bedingt", german).words[0])
    assert "feld" not in TargetPhrase.of("Feld", german).words[0]
    assert {"Campo", "campo", "campi"} <= set(TargetPhrase.of("Campo", italian).words[0])


def test_a_translation_that_has_the_terms_is_not_changed(small: Marian) -> None:
    pairs = {"archive": "Datensatz", "file": "Ordner"}
    assert processor(small, "Open the archives", pairs, draft="Öffnen Sie die Datensätze.") is None
    assert processor(small, "archive or archive", pairs, draft="der Datensatz") is not None
    found = processor(small, "files of archives", pairs, draft="die Ordner")
    assert found is not None
    assert [one.term.source for one in found.to_write] == ["archive"]


def test_the_glossary_does_not_change_what_is_learned(small: Marian) -> None:
    learner = make_learner("baseline", small)
    assert isinstance(learner, AdaptiveNMT)
    before = learner.delta().counters
    learner.terms = TermModel(Glossary.of({"archive": "Datensatz"}, "en", "de"))
    learner.propose(Segment("", SOURCES[0]))
    assert learner.delta().counters == before
