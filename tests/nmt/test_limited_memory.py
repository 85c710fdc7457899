"""A memory that is limited to some lessons: exact matches, similar corrections and votes come from these only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.tiny_marian import demo_pairs, write_tiny

from mtloop.core import PostEdit, Proposal, Segment
from mtloop.core.types import JSON
from mtloop.methods.engines import NMT
from mtloop.methods.oracles import INFORMED_METHODS
from mtloop.methods.peers import PEER_METHODS
from mtloop.methods.registry import METHODS, find_method, make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.decoding.knn.pair_store import PairStore
from mtloop.nmt.decoding.memory import Memory
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.marian import Marian

PAIRS = list(demo_pairs())[:6]
SOURCES = [source for source, _ in demo_pairs()][:30]
SETTINGS: dict[str, dict[str, JSON]] = {
    "knn-adaptive": {"neighbours": 1},
    "knn-kok": {"neighbours": 1, "temperature": 1e6, "max_distance": 1e6},
    "similar-tuning": {"learning_rate": 1.0},
}


def taught(model: Marian, method: str = "memory", pairs: list[tuple[str, str]] = PAIRS) -> AdaptiveNMT:
    learner = make_learner(method, model, {})
    assert isinstance(learner, AdaptiveNMT)
    teach(learner, pairs)
    return learner


def teach(learner: AdaptiveNMT, pairs: list[tuple[str, str]]) -> None:
    for source, target in pairs:
        learner.learn(Proposal(Segment("", source), ""), PostEdit(target))


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


def memory_learners(model: Marian) -> Iterator[tuple[str, AdaptiveNMT, Memory]]:
    """A taught learner of every registered method that has a memory, with lookup of repeats where that is a setting."""
    need_files = {*INFORMED_METHODS, "fixed"}
    for name in ("memory", "lora+memory", *METHODS):
        method = find_method(name)
        if method.engine is NMT and PostEdit in (method.learns_from or ()) and name not in need_files:
            learner = method.make(model, {"exact_match": True} if "exact_match" in method.settings else {})
            if isinstance(learner, AdaptiveNMT) and learner.memory is not None:
                teach(learner, PAIRS)
                yield name, learner, learner.memory


def test_no_method_uses_a_lesson_that_is_not_visible(small: Marian) -> None:
    tried = set()
    for name, learner, memory in memory_learners(small):
        tried.add(name)
        assert uses_memory(small, memory) == [True] * len(PAIRS), name
        learner.limit_memory(frozenset())
        assert uses_memory(small, memory) == [False] * len(PAIRS), name
        learner.limit_memory(range(len(PAIRS)))
        assert uses_memory(small, memory) == [True] * len(PAIRS), name
    assert {"memory", "lora+memory", *PEER_METHODS} <= tried


def uses_memory(model: Marian, memory: Memory) -> list[bool]:
    """For each source, whether its translation depends on what is in the memory."""
    found = []
    for source, _ in PAIRS:
        words = SourceWords.of(model.source.encode(source), model.source)
        similar = memory.most_like(source, 3) if isinstance(memory, PairStore) else []
        repeats = memory.exact_match(source), *memory.translations(source)
        found.append(bool(any(repeats) or similar or memory.processor(words)))
    return found


@pytest.mark.parametrize("method", ["memory", *PEER_METHODS])
def test_a_limited_method_translates_like_one_that_learned_nothing_else(small: Marian, method: str) -> None:
    def make(pairs: list[tuple[str, str]]) -> AdaptiveNMT:
        learner = make_learner(method, small, SETTINGS.get(method, {}))
        assert isinstance(learner, AdaptiveNMT)
        teach(learner, pairs)
        return learner

    first, second = PAIRS[:3] * 2, PAIRS[3:] * 2  # the policies of knn-kok see that a state can be right
    learner = make(first + second)
    everything = translations(learner)
    assert everything != translations(make([]))
    learner.limit_memory(frozenset())
    assert translations(learner) == translations(make([]))
    if method not in ("knn-kok", "knn-adaptive"):  # there, all lessons have taught the weight of the votes
        learner.limit_memory(range(len(first)))
        assert translations(learner) == translations(make(first))
    learner.limit_memory(None)
    assert translations(learner) == everything


def test_weights_know_all_lessons(tmp_path: Path) -> None:
    """A limit does not reach what the weights have learned."""
    write_tiny(tmp_path, seed=5)  # translates most texts with some words
    model = Marian.load(tmp_path)
    untaught, learner = translations(taught(model, "full+memory", pairs=[])), taught(model, "full+memory")
    learner.limit_memory(frozenset())
    assert translations(learner) != untaught
