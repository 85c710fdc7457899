"""Learning and translating units with any learner: protected text, several at a time, a second try."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from mtloop.core.types import Feedback, Learned, PostEdit, Proposal, Segment, SimilarCorrection
from mtloop.text.protected.word_links import Link
from mtloop.translation.lesson_choice import TranslatedUnit
from mtloop.translation.unit_translation import MAX_SECOND_TRY, as_written, learn_unit, propose_all, translate_units


def segment(source: str, syntax: str = "plain") -> Segment:
    return Segment("1", source, {"syntax": syntax})


class Shouting:
    """Knows nothing of placeholders, tags and sentences: it writes everything in capital letters."""

    def __init__(self) -> None:
        self.learned: list[tuple[str, str]] = []

    def propose(self, segment: Segment) -> Proposal:
        return Proposal(segment, segment.source.upper())

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        assert isinstance(feedback, PostEdit)
        self.learned.append((proposal.segment.source, feedback.text))
        return Learned(1, "length" if "long" in feedback.text else None)


class Searching(Shouting):
    """Protects text itself, and is better with a larger beam."""

    beam_size = 1

    def __init__(self, texts: dict[int, str]) -> None:
        super().__init__()
        self.texts, self.batches = texts, list[tuple[int, int]]()

    def align(self, source: str, target: str) -> list[Link]:
        return []

    def propose_many(self, segments: Sequence[Segment]) -> list[Proposal]:
        self.batches.append((self.beam_size, len(segments)))
        return [Proposal(one, self.texts[self.beam_size] if one.source == "Save %s." else "Gut.") for one in segments]


def test_any_learner_gets_sentences_without_tags_and_placeholders() -> None:
    text = 'Open <b>{name}</b> &amp; go. See <x id="1"/> now!'
    (proposal,) = propose_all(Shouting(), [segment(text, "xml")])
    assert proposal.text == 'OPEN <b>{name}</b> &amp; GO. SEE <x id="1"/> NOW!'


def test_any_learner_learns_sentence_by_sentence() -> None:
    learner = Shouting()
    lesson = TranslatedUnit(segment("Open %s. <b>Close</b> it."), "%s öffnen. Es <b>schließen</b>.")
    assert learn_unit(learner, lesson) == Learned(2)
    assert learner.learned == [("Open %1.", "%1 öffnen."), ("Close it.", "Es schließen.")]
    assert learn_unit(learner, TranslatedUnit(segment("Open %s"), "Öffnen")) == Learned(rejected="placeholders")
    assert learn_unit(learner, TranslatedUnit(segment("Open"), "long")).rejected == "length"


def test_a_learner_that_protects_text_gets_the_whole_unit() -> None:
    learner = Searching({})
    learn_unit(learner, TranslatedUnit(segment("Open %s. Close it."), "%s öffnen. Schließen."))
    assert learner.learned == [("Open %s. Close it.", "%s öffnen. Schließen.")]


@pytest.mark.parametrize(
    ("first", "second", "kept", "failed"),
    [
        ("Speichern.", "%s speichern.", "%s speichern.", []),
        ("%s speichern", "Speichern.", "%s speichern", ["punctuation"]),
        ("Erst.", "Dann.", "Erst.", ["placeholders"]),
    ],
)
def test_a_failing_unit_gets_a_second_try_and_keeps_the_better(
    first: str, second: str, kept: str, failed: list[str]
) -> None:
    learner = Searching({1: first, 4: second})
    units = [(3, segment("Good.")), (5, segment("Save %s."))]
    good, tried = translate_units(learner, units, target_lang="de")
    assert (good.index, good.text, good.failed) == (3, "Gut.", ())
    assert (tried.index, tried.text, [one.name for one in tried.failed]) == (5, kept, failed)
    assert learner.batches == [(1, 2), (4, 1)]
    assert learner.beam_size == 1


def test_no_second_try_with_a_large_beam() -> None:
    learner = Searching({4: "Speichern."})
    learner.beam_size = 4
    translate_units(learner, [(0, segment("Save %s."))], target_lang="de")
    assert learner.batches == [(4, 1)]


def test_a_second_try_computes_with_one_thread_and_not_for_long_texts() -> None:
    learner, inside = Searching({1: "Speichern.", 4: "Speichern."}), list[int]()

    @contextmanager
    def one_thread() -> Iterator[None]:
        inside.append(len(learner.batches))
        yield
        inside.append(len(learner.batches))

    long = segment("Good. " * (MAX_SECOND_TRY // 6 + 1))
    translate_units(learner, [(0, segment("Save %s.")), (1, long)], "de", one_thread)
    assert learner.batches == [(1, 2), (4, 1)]
    assert inside == [1, 2]


def test_similar_corrections_as_the_user_wrote_them() -> None:
    unit = TranslatedUnit(segment("Delete <b>{name}</b>. Sure?"), "<b>{name}</b> löschen. Sicher?")
    plain = TranslatedUnit(segment("Open it."), "Öffnen.")
    sentences = [("Delete %1.", "%1 löschen."), ("Sure?", "Sicher?"), plain.key, ("From a delta", "Aus einem Delta")]
    found = as_written([SimilarCorrection(*one, 0.5) for one in sentences], [unit, plain])
    assert [(one.source, one.target) for one in found] == [unit.key, plain.key, sentences[3]]
