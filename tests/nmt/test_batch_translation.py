"""Many texts at once: the translations of one by one, in the order of the texts, on any number of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

import pytest
import torch
from helpers.tiny_marian import demo_pairs
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core import PostEdit, Proposal, Segment
from mtloop.core.types import JSON
from mtloop.methods.defaults import DEFAULT_METHOD
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.batch_translation import BatchTranslation, Processors, make_batches, no_processors
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import LengthLimits, LogitsProcessor, greedy

TEXTS = [source for source, _ in demo_pairs()[:16]]


@pytest.fixture(scope="module")
def embedded() -> Marian:
    """The embedded model; translations by the random models hardly differ."""
    return Marian.load(find_model("en-de"))


def translation(model: Marian, processors: Processors = no_processors) -> BatchTranslation:
    """Return a translation in several small batches."""
    return BatchTranslation(model, LengthLimits(), None, processors, max_batch_sources=5, max_batch_tokens=100)


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def alone(model: Marian, texts: Sequence[str]) -> list[str]:
    return [model.target.decode(greedy(model, model.source.encode(text), LengthLimits()).ids) for text in texts]


@pytest.mark.slow
def test_translations_are_in_the_order_of_the_texts(embedded: Marian) -> None:
    texts = [*TEXTS, "", *reversed(TEXTS)]
    expected = alone(embedded, texts)
    assert len(set(expected)) == len(set(texts))
    assert translation(embedded)(texts) == expected
    assert translation(embedded)([]) == []


def test_equal_texts_are_translated_once(embedded: Marian) -> None:
    asked: list[tuple[int, ...]] = []

    def processors(source: Sequence[int]) -> Sequence[LogitsProcessor]:
        asked.append(tuple(source))
        return ()

    texts = [TEXTS[0], TEXTS[1], TEXTS[0]]
    found = translation(embedded, processors)(texts)
    assert found[0] == found[2]
    assert sorted(asked) == sorted(tuple(embedded.source.encode(text)) for text in TEXTS[:2])


def test_number_of_threads_changes_nothing(embedded: Marian, set_threads: Callable[[int], None]) -> None:
    translate = translation(embedded)
    set_threads(1)
    one = translate(TEXTS)
    set_threads(3)
    assert translate(TEXTS) == one
    assert torch.get_num_threads() == 3
    assert threads_of_a_new_thread() == 3


def test_an_error_ends_the_work_and_leaves_the_threads_as_they_were(
    embedded: Marian, set_threads: Callable[[int], None]
) -> None:
    def broken(source: Sequence[int]) -> Sequence[LogitsProcessor]:
        raise ZeroDivisionError("broken")

    set_threads(2)
    running = threading.active_count()
    with pytest.raises(ZeroDivisionError, match="broken"):
        translation(embedded, broken)(TEXTS)
    assert torch.get_num_threads() == threads_of_a_new_thread() == 2
    assert threading.active_count() == running


def threads_of_a_new_thread() -> int:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize(
    ("method", "settings"),
    [(DEFAULT_METHOD, {}), ("bias", {}), ("full", {"weight_average": 0.5}), ("memory", {"beam_size": 2})],
)
def test_proposals_of_a_learner_are_those_one_by_one(embedded: Marian, method: str, settings: dict[str, JSON]) -> None:
    """Also for a sentence that is known exactly, several sentences, a placeholder, a tag, and no text at all."""
    learner = make_learner(method, embedded, settings)
    assert isinstance(learner, AdaptiveNMT)
    for number, (source, target) in enumerate(demo_pairs()[:5]):
        learner.learn(Proposal(Segment(str(number), source), ""), PostEdit(target))
    written = ["Click <b>Save</b> now.", f"{TEXTS[7]} {TEXTS[8]}", "%(name)s was deleted.", "", " \n", TEXTS[7]]
    segments = [Segment(str(number), text) for number, text in enumerate([*TEXTS[2:9], *written])]
    alone = [learner.propose(segment) for segment in segments]
    assert learner.propose_many(segments) == alone
    assert learner.propose_many([]) == []


@given(st.sets(st.lists(st.integers(0, 3), min_size=1, max_size=9).map(tuple)), st.integers(1, 5), st.integers(1, 30))
def test_batches_hold_every_source_once_within_their_limits(
    sources: set[tuple[int, ...]], max_sources: int, max_tokens: int
) -> None:
    batches = list(make_batches(sources, max_sources, max_tokens))
    assert sorted(source for batch in batches for source in batch) == sorted(sources)
    for batch in batches:
        assert 1 <= len(batch) <= max_sources
        assert len(batch) == 1 or len(batch) * max(map(len, batch)) <= max_tokens
    lengths = [len(source) for batch in batches for source in batch]
    assert lengths == sorted(lengths, reverse=True), "sources of similar length belong together"
