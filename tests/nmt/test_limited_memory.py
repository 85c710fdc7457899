"""A memory that is limited to some lessons: exact matches, similar corrections and votes come from these only."""

from __future__ import annotations

from pathlib import Path

from helpers.tiny_marian import demo_pairs, write_tiny

from mtloop.core import PostEdit, Proposal, Segment
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.marian import Marian

PAIRS = list(demo_pairs())[:6]
SOURCES = [source for source, _ in demo_pairs()][:30]


def taught(model: Marian, method: str = "memory", pairs: list[tuple[str, str]] = PAIRS) -> AdaptiveNMT:
    learner = make_learner(method, model, {})
    assert isinstance(learner, AdaptiveNMT)
    for source, target in pairs:
        learner.learn(Proposal(Segment("", source), ""), PostEdit(target))
    return learner


def translations(learner: AdaptiveNMT) -> list[str]:
    return [learner.propose(Segment("", source)).text for source in SOURCES]


def test_exact_matches_come_from_visible_lessons(small: Marian) -> None:
    learner = taught(small)
    learner.limit_memory({1, 3})
    found = [learner.propose(Segment("", source)).text == target for source, target in PAIRS]
    assert found == [False, True, False, True, False, False]
    learner.limit_memory(None)
    assert all(learner.propose(Segment("", source)).text == target for source, target in PAIRS)


def test_an_older_translation_of_the_same_source_is_found(small: Marian) -> None:
    source, target = PAIRS[0]
    learner = taught(small, pairs=[(source, target), (source, PAIRS[1][1])])
    assert learner.propose(Segment("", source)).text == PAIRS[1][1]
    learner.limit_memory({0})
    assert learner.propose(Segment("", source)).text == target


def test_similar_corrections_are_visible_ones(small: Marian) -> None:
    learner = taught(small)
    everything = {one.lesson for source, _ in PAIRS for one in learner.similar_corrections(source) or ()}
    assert everything == set(range(len(PAIRS)))
    learner.limit_memory({2, 5})
    limited = {one.lesson for source, _ in PAIRS for one in learner.similar_corrections(source) or ()}
    assert limited == {2, 5}


def test_votes_come_from_visible_lessons(small: Marian) -> None:
    learner = taught(small)
    memory = learner.memory
    assert memory is not None
    words = SourceWords.of(small.source.encode(PAIRS[0][0]), small.source)
    memory.visible = {0}
    alone = memory.processor(words)
    assert alone is not None
    assert set(memory.lessons_of_rows(alone.rows)) == {0}
    memory.visible = frozenset()
    assert memory.processor(words) is None


def test_no_visible_lesson_is_as_if_nothing_was_learned(small: Marian) -> None:
    learner, untaught = taught(small), translations(taught(small, pairs=[]))
    everything = translations(learner)
    assert everything != untaught
    learner.limit_memory(frozenset())
    assert translations(learner) == untaught
    learner.limit_memory(range(len(PAIRS)))
    assert translations(learner) == everything


def test_weights_know_all_lessons(tmp_path: Path) -> None:
    """A limit does not reach what the weights have learned."""
    write_tiny(tmp_path, seed=5)  # translates most texts with some words
    model = Marian.load(tmp_path)
    untaught, learner = translations(taught(model, "full+memory", pairs=[])), taught(model, "full+memory")
    learner.limit_memory(frozenset())
    assert translations(learner) != untaught
