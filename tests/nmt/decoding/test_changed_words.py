"""A lesson does not change the translation of a sentence with another meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from mtloop.core import PostEdit, Proposal, Segment
from mtloop.methods.defaults import DEFAULT_METHOD
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT, text_unit
from mtloop.nmt.decoding import changed_words
from mtloop.nmt.decoding.base_translations import BaseTranslations
from mtloop.nmt.decoding.changed_words import Change, ChangedWords, change_between, word_numbers
from mtloop.nmt.decoding.memory import StoredSegment
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.batch_reading import token_log_probabilities
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import LengthLimits

OPPOSITES = [  # what was taught, and the sentence with another meaning that must not get its translation
    ("Log in", "Anmelden", "Log out"),
    ("Zoom in", "Vergrößern", "Zoom out"),
    ("Enable the option.", "Aktivieren Sie die Option.", "Disable the option."),
    ("Encrypt the message.", "Verschlüsseln Sie die Nachricht.", "Decrypt the message."),
    ("Align left", "Linksbündig", "Align right"),
]


@pytest.fixture(scope="module")
def model() -> Marian:
    torch.set_num_threads(1)
    return Marian.load(find_model("en-de"))


def taught(model: Marian, source: str, target: str, method: str = DEFAULT_METHOD, **settings: int) -> AdaptiveNMT:
    learner = make_learner(method, model, settings)
    assert isinstance(learner, AdaptiveNMT)
    learner.learn(Proposal(Segment("1", source), ""), PostEdit(target))
    return learner


def make_nmt(model: Marian, method: str) -> AdaptiveNMT:
    learner = make_learner(method, model)
    assert isinstance(learner, AdaptiveNMT)
    return learner


def translate(learner: AdaptiveNMT, source: str) -> str:
    return learner.propose(Segment("2", source)).text


@pytest.mark.parametrize("method", ["memory", DEFAULT_METHOD])
@pytest.mark.parametrize(("source", "target", "opposite"), OPPOSITES)
def test_an_opposite_does_not_get_the_translation_of_the_lesson(
    model: Marian, method: str, source: str, target: str, opposite: str
) -> None:
    learner = taught(model, source, target, method)
    assert translate(learner, source) == target
    assert translate(learner, opposite) != target
    assert learner.propose_many([Segment("2", opposite)])[0].text == translate(learner, opposite)


NEGATIONS = [  # what was taught, and the sentence without the negation
    ("Do not allow", "Nicht zulassen", "Allow"),
    ("Do not ask again", "Nicht erneut fragen", "Ask again"),
    ("Do not send", "Nicht absenden", "Send"),
    ("Do not remember me", "Nicht anmeldung merken", "Remember me"),
]


@pytest.mark.parametrize("method", ["memory", DEFAULT_METHOD])
@pytest.mark.parametrize(("source", "target", "opposite"), NEGATIONS)
def test_a_sentence_without_the_negation_does_not_get_the_negated_translation(
    model: Marian, method: str, source: str, target: str, opposite: str
) -> None:
    before = translate(make_nmt(model, method), opposite)
    learner = taught(model, source, target, method)
    assert translate(learner, source) == target
    after = translate(learner, opposite)
    assert "nicht" not in before.lower()
    assert "nicht" not in after.lower()


@pytest.mark.parametrize("method", ["memory", DEFAULT_METHOD])
@pytest.mark.parametrize("target", ["Speichern", "Sichern"])
def test_a_sentence_with_a_negation_does_not_get_the_translation_without_it(
    model: Marian, method: str, target: str
) -> None:
    learner = taught(model, "Save", target, method)
    for negated in ("Do not save", "Never save"):
        assert {"nicht", "nie", "niemals"} & set(translate(learner, negated).lower().split())


ALTERNATIVES = [  # lessons that another of the best translations would take over
    ("Zoom in", "Vergrößern", "Zoom out"),
    ("Zoom in", "Ansicht vergrößern", "Zoom out"),
    ("Encrypt the message.", "Die Nachricht verschlüsseln.", "Decrypt the message."),
]


@pytest.mark.parametrize("method", ["memory", DEFAULT_METHOD])
@pytest.mark.parametrize(("source", "target", "opposite"), ALTERNATIVES)
def test_no_candidate_is_the_translation_of_a_lesson_with_another_meaning(
    model: Marian, method: str, source: str, target: str, opposite: str
) -> None:
    learner = taught(model, source, target, method)
    segment = Segment("2", opposite)
    found = learner.propose_best(segment, 5)
    assert target not in found
    assert found[0] == translate(learner, opposite)
    assert len(found) >= 3
    assert len(learner.rank_unit(text_unit(segment), 5)) == 5
    assert target in learner.propose_best(Segment("2", source), 5)


def test_candidates_of_a_search_with_beams_are_checked(model: Marian) -> None:
    learner = taught(model, "Zoom in", "Ansicht vergrößern", beam_size=4)
    assert learner.search("Zoom out")[0].ids == tuple(model.target.encode("Ansicht vergrößern"))
    assert translate(learner, "Zoom out") not in ("Ansicht vergrößern", "")
    assert "Ansicht vergrößern" not in learner.propose_best(Segment("2", "Zoom out"), 4)


@pytest.mark.parametrize("prefix", ["Mel", "Melden Sie sich "])
def test_what_follows_a_typed_beginning_is_not_that_of_a_lesson_with_another_meaning(
    model: Marian, prefix: str
) -> None:
    learner = taught(model, "Log in", "Melden Sie sich an")
    assert learner.propose(Segment("2", "Log in"), prefix).text == "Melden Sie sich an"
    proposal, origins = learner.explain_words(Segment("2", "Log out"), prefix)
    assert proposal.text == "Melden Sie sich ab"
    assert origins == [], "it does not come from the memory"


@pytest.mark.parametrize("method", ["memory", DEFAULT_METHOD])
def test_a_typed_beginning_is_a_fact_and_the_memory_completes_it(model: Marian, method: str) -> None:
    """The base model sees no difference in what follows it: the whole is what the translator wants."""
    learner = taught(model, "Open the pane.", "Öffnen Sie den Bereich.", method)
    for source in ("Open the pane.", "Close the pane."):
        assert learner.propose(Segment("2", source), "Öffnen Sie den ").text == "Öffnen Sie den Bereich."
    learner = taught(model, "Enable the option.", "Aktivieren Sie die Option.", method)
    assert learner.propose(Segment("2", "Disable the option."), "Akt").text == "Aktivieren Sie die Option."


def test_without_the_check_opposites_are_turned_round(model: Marian) -> None:
    """The tests above can fail: this is what happens without the check."""
    flips = [
        translate(taught(model, source, target, check_changed_words=False), opposite) == target
        for source, target, opposite in OPPOSITES
    ]
    assert sum(flips) >= 3


def test_a_term_is_still_known_in_another_sentence(model: Marian) -> None:
    learner = taught(model, "Open the pane.", "Öffnen Sie den Bereich.")
    assert translate(learner, "Close the pane.") == "Schließe den Bereich."


@pytest.mark.parametrize(
    ("lesson", "source", "change"),
    [
        ("Log in", "Log out", ({1}, {1})),
        ("check in here in the morning", "check out here in the morning", ({1}, {1})),
        ("Save the file to this folder .", "Do not save the file to this folder .", (set(), {0, 1})),
        ("Save the file .", "save the file !", None),
        ("Save the file", "Print a page", None),
        ("", "Print", (set(), {0})),
        ("Do not print", "Print", ({0, 1}, set())),
        ("Print", "Do not print", (set(), {0, 1})),
        ("Please do not print", "Print", None),
    ],
)
def test_changed_words(lesson: str, source: str, change: tuple[set[int], set[int]] | None) -> None:
    expected = None if change is None else Change(*map(frozenset, change))
    assert change_between(lesson.split(), source.split()) == expected


@given(st.lists(st.sampled_from("ab.c"), max_size=8), st.lists(st.sampled_from("ab.c"), max_size=8))
def test_without_the_changed_words_both_sentences_are_equal(lesson: list[str], source: list[str]) -> None:
    change = change_between(lesson, source)
    if change is not None:
        left = [word for i, word in enumerate(lesson) if i not in change.lost and word != "."]
        right = [word for i, word in enumerate(source) if i not in change.gained and word != "."]
        assert left == right


def stored(model: Marian, source: str, target: str, attended: str) -> StoredSegment:
    tokens = torch.tensor(model.target.encode(target))
    return StoredSegment(0, source, target, tokens, torch.empty(0), (attended,) * len(tokens))


def silent_words(model: Marian, one: StoredSegment, source: str) -> list[str]:
    ids = model.source.encode(source)
    (flags,) = ChangedWords(model, ids, SourceWords.of(ids, model.source)).silent([one])
    assert flags is not None
    tokens = one.tokens.tolist()
    groups = word_numbers(tokens, model.target)
    assert all(len(set(flags[groups == group])) == 1 for group in groups), "a word is silent as a whole or not at all"
    return [model.target.decode(np.array(tokens)[groups == group].tolist()) for group in np.unique(groups[flags])]


def test_the_words_that_depend_on_a_changed_word_are_silent(model: Marian) -> None:
    """Whatever the attention says: here it ties every token to "option"."""
    one = stored(model, "Enable the option.", "Aktivieren Sie die Option.", "option")
    assert "Aktivieren" in silent_words(model, one, "Disable the option.")
    assert not any("Option" in word for word in silent_words(model, one, "Disable the option."))


def test_a_sentence_with_the_same_words_changes_nothing(model: Marian) -> None:
    ids = model.source.encode("enable the option!")
    changed = ChangedWords(model, ids, SourceWords.of(ids, model.source))
    assert changed.silent([stored(model, "Enable the option.", "Aktivieren Sie die Option.", "option")]) == [None]


def test_few_lessons_are_read_for_one_source(model: Marian, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[int]()
    monkeypatch.setattr(changed_words, "token_log_probabilities", counting(read, token_log_probabilities))
    ids = model.source.encode("Disable the option.")
    changed = ChangedWords(model, ids, SourceWords.of(ids, model.source))
    one = stored(model, "Enable the option.", "Aktivieren Sie die Option.", "option")
    found = changed.silent([one] * 5)
    assert len(read) <= 2 * changed_words.MAX_LESSONS
    assert all(flags is not None for flags in found), "what is found in one lesson holds for the others"


def counting(calls: list[int], function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def counted(*arguments: Any) -> Tensor:
        calls.append(1)
        return function(*arguments)

    return counted


@pytest.mark.parametrize("lessons", [[0, 1], [1, 0], [0, 2], [2, 0]])
def test_a_word_that_needs_a_missing_word_is_silent_in_all_lessons(model: Marian, lessons: list[int]) -> None:
    """The second lesson has too many other words to be read; in upper or lower case, "Anmelden" is the same word."""
    pairs = [("Log in", "Anmelden"), ("Please log in", "Bitte anmelden"), ("Log in to the old server", "ANMELDEN")]
    ids = model.source.encode("Log out")
    changed = ChangedWords(model, ids, SourceWords.of(ids, model.source))
    chosen = [pairs[number] for number in lessons]
    found = changed.silent([stored(model, *pair, "in") for pair in chosen])
    for (_, target), flags in zip(chosen, found, strict=True):
        words = model.target.encode(target)
        assert flags is not None
        assert flags[len(words) - 2], "the last word before the end of the sentence"
        assert target == "Bitte anmelden" or flags[0]


@pytest.mark.parametrize("lessons", [[0, 1], [1, 0]])
@pytest.mark.parametrize("method", ["memory", DEFAULT_METHOD])
def test_two_lessons_together_do_not_turn_an_opposite_round(model: Marian, method: str, lessons: list[int]) -> None:
    pairs = [("Log in", "Anmelden"), ("Please log in", "Bitte anmelden")]
    learner = make_learner(method, model)
    assert isinstance(learner, AdaptiveNMT)
    for number in lessons:
        source, target = pairs[number]
        learner.learn(Proposal(Segment("1", source), ""), PostEdit(target))
    assert [translate(learner, source) for source, _ in pairs] == [target for _, target in pairs]
    for opposite in ("Log out", "Please log out"):
        assert "anmelden" not in translate(learner, opposite).lower()


def test_synonyms_may_have_one_translation(model: Marian) -> None:
    """The base model translates both alike, so they mean the same."""
    base = BaseTranslations(model, LengthLimits(), lambda text: [text])
    assert base.translate("Save the file.") == base.translate("Save the file!").replace("!", ".")
    assert not base.takes_over("Save the file.", ["save the file"])
    assert not base.takes_over("Save the file.", ["Print this page now."])
    assert base.takes_over("Save the file.", ["Delete the file."])
