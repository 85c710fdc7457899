"""The words of a translation that come from a correction."""

from __future__ import annotations

from mtloop.core.types import PostEdit, Proposal, Segment
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.decoding.word_origins import Vote, WordOrigin, word_origins
from mtloop.nmt.engine.marian import Marian

PIECES = ["</s>", "▁the", "▁fil", "e", "▁new"]


def test_a_word_comes_from_the_lesson_that_decided_most_of_its_pieces() -> None:
    votes = [{1: Vote(0.2, 0)}, {2: Vote(0.9, 0)}, {3: Vote(0.8, 0)}, {4: Vote(0.5, 1)}]
    assert word_origins([1, 2, 3, 4], PIECES, votes, [7, 8]) == [WordOrigin("file", 7), WordOrigin("new", 8)]


def test_the_end_of_a_sentence_is_no_word(small: Marian) -> None:
    """The memory also votes for the end. It must not make the last word one that comes from a correction."""
    learner = make_learner("memory", small)
    assert isinstance(learner, AdaptiveNMT)
    learner.learn(Proposal(Segment("", "Open the pane."), ""), PostEdit("Öffnen Sie den Bereich."))
    learner.repeats_exactly = False
    _, origins = learner.explain_words(Segment("", "Open the pane."))
    assert [one.word for one in origins][-1] == "Bereich."
    assert not any("</s>" in one.word for one in origins)
