"""A memory of confirmed segments: voting, forgetting and saving."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers.tiers import slow
from helpers.tiny_marian import demo_pairs
from hypothesis import given
from hypothesis import strategies as st

from mtloop.checks.learner_contract import check_learner
from mtloop.core import InputError, PostEdit, Proposal, Segment
from mtloop.core.errors import UnknownName
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.decoding.memory import MIN_DELETED_ROWS, MIN_MEMORY_WEIGHT, Memory, MemorySettings, StoredSegment
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.delta import Delta
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import SearchState

PAIRS = demo_pairs()
METHODS = {
    "memory": {},
    "memory+copy": {},
    "full+memory": {},
    "lasso+memory": {"hidden_budget": 8_000, "embedding_budget": 1_600},
    "full+memory+copy": {"kl_weight": 0.3, "replay_pairs": 1},
    "lora+memory+copy": {},
    "full": {"replay_pairs": 2, "loss_threshold": 3.0},
}
QUICK = ("memory", "lora+memory+copy")


def make(model: Marian, method: str, **settings: float) -> AdaptiveNMT:
    made = make_learner(method, model, METHODS[method] | settings)
    assert isinstance(made, AdaptiveNMT)
    return made


def teach(system: AdaptiveNMT, source: str, target: str) -> None:
    system.learn(Proposal(Segment("1", source), ""), PostEdit(target))


def translate(system: AdaptiveNMT, source: str) -> str:
    return system.propose(Segment("1", source)).text


@pytest.mark.parametrize("method", [name if name in QUICK else slow(name) for name in METHODS])
def test_learner_contract(small: Marian, method: str) -> None:
    segments = [Segment(str(i), source) for i, (source, _) in enumerate(PAIRS[:6])]
    targets = dict(PAIRS)
    check_learner(lambda: make(small, method), segments, lambda p: PostEdit(targets[p.segment.source]))


@pytest.mark.parametrize("name", ["full+lasso", "memory+memory", "full+full"])
def test_a_name_of_an_impossible_combination_is_refused(small: Marian, name: str) -> None:
    with pytest.raises(UnknownName, match=r"there is no method .* for example lasso\+memory\+copy$"):
        make_learner(name, small)


@pytest.mark.parametrize(
    ("name", "part"), [("full+", "''"), ("memory+translator", "'translator'"), ("memory+ful", "'ful'")]
)
def test_an_unknown_part_of_a_combination_is_named(small: Marian, name: str, part: str) -> None:
    with pytest.raises(UnknownName, match=f"there is no part of a method {part}; .*known: baseline, bias, copy"):
        make_learner(name, small)


@pytest.mark.parametrize(
    ("method", "setting", "value"),
    [
        ("memory", "max_memory_weight", 7.0),
        ("memory", "max_memory_weight", float("nan")),
        ("memory", "neighbours", 0),
        ("memory", "distance_scale", 0.0),
        ("memory", "max_states_per_word", 0),
        ("memory", "similar_segments", -1),
        ("memory", "similarity_boost", -0.5),
        ("memory", "beam_size", 0),
        ("full", "kl_weight", -3.0),
        ("full", "weight_average", 2.0),
        ("full", "replay_pairs", -1),
        ("full", "loss_threshold", float("nan")),
        ("full", "learning_rate", -0.1),
        ("full", "learning_rate", float("inf")),
        ("full", "max_updates", -1),
        ("full", "target_perplexity", 0.5),
    ],
)
def test_a_setting_out_of_range_is_refused(small: Marian, method: str, setting: str, value: float) -> None:
    with pytest.raises(InputError, match=f"^(setting )?{setting} is {value}; expected "):
        make_learner(method, small, {setting: value})


def test_an_exact_repeat_gets_its_newest_confirmed_translation(small: Marian) -> None:
    system = make(small, "memory")
    source, first = PAIRS[0]
    teach(system, source, first)
    assert translate(system, source) == first
    teach(system, source, f"{first} {first}")
    assert translate(system, source) == f"{first} {first}"
    assert system.memory is not None
    assert system.memory.translations(source) == [first, f"{first} {first}"]
    assert system.forget(1)
    assert translate(system, source) == first


def test_a_forgotten_segment_has_no_effect(small: Marian) -> None:
    """Translations and saved state are those of a memory that never stored it."""
    kept, never = make(small, "memory"), make(small, "memory")
    for number, (source, target) in enumerate(PAIRS[:6]):
        teach(kept, source, target)
        if number != 3:
            teach(never, source, target)
        else:
            never.lessons_ += 1
    assert kept.forget(3)
    assert not kept.forget(3), "a correction can be deleted once"
    assert not kept.forget(99)
    assert [translate(kept, source) for source, _ in PAIRS] == [translate(never, source) for source, _ in PAIRS]
    ours, theirs = kept.delta().tensors, never.delta().tensors
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_updates_of_weights_cannot_be_forgotten(small: Marian) -> None:
    system = make(small, "full+memory")
    teach(system, *PAIRS[0])
    assert not system.forget(0)


def test_an_empty_memory_changes_nothing(small: Marian) -> None:
    system, base = make(small, "memory"), make_learner("baseline", small)
    for source, _ in PAIRS[:5]:
        assert translate(system, source) == base.propose(Segment("1", source)).text


@pytest.mark.parametrize("method", ["memory", slow("full+memory+copy"), "lora+memory+copy"])
def test_a_reloaded_learner_continues_exactly(small: Marian, tmp_path: Path, method: str) -> None:
    uninterrupted, stopped = make(small, method), make(small, method)
    for source, target in PAIRS[:5]:
        teach(uninterrupted, source, target)
        teach(stopped, source, target)
    stopped.save(tmp_path)
    resumed = make(small, method)
    resumed.load(tmp_path)
    for source, target in PAIRS[5:8]:
        teach(uninterrupted, source, target)
        teach(resumed, source, target)
    assert [translate(uninterrupted, source) for source, _ in PAIRS] == [
        translate(resumed, source) for source, _ in PAIRS
    ]


def test_a_memory_of_another_base_is_refused(small: Marian, tmp_path: Path) -> None:
    system = make(small, "memory")
    teach(system, *PAIRS[0])
    delta = system.delta()
    Delta(delta.method, "another", delta.tensors, delta.counters).write(tmp_path / "delta.safetensors")
    with pytest.raises(InputError, match="another base"):
        make(small, "memory").load(tmp_path)


def test_a_damaged_memory_is_refused(small: Marian, tmp_path: Path) -> None:
    system = make(small, "memory")
    teach(system, *PAIRS[0])
    delta = system.delta()
    damaged = dict(delta.tensors) | {"memory/sources": torch.full_like(delta.tensors["memory/sources"], 0xFF)}
    Delta(delta.method, delta.base, damaged, delta.counters).write(tmp_path / "delta.safetensors")
    with pytest.raises(InputError, match="damaged"):
        make(small, "memory").load(tmp_path)


def stored(lesson: int, word: str, token: int, key: torch.Tensor) -> StoredSegment:
    return StoredSegment(lesson, f"{word} {lesson}", "x", torch.tensor([token]), key[None].half(), (word,))


@given(seed=st.integers(0, 10_000), rows=st.integers(1, 30), neighbours=st.integers(1, 40))
def test_the_votes_equal_a_brute_force_mixture(seed: int, rows: int, neighbours: int) -> None:
    """Neighbours are weighted by attention and distance; votes for the same token add up."""
    torch.manual_seed(seed)
    settings = MemorySettings(0.8, 1.5, 0.2, neighbours, max_states_per_word=100, similarity_boost=0.0)
    memory, keys, tokens = Memory(settings), torch.randn(rows, 16).half().float(), torch.randint(0, 5, (rows,))
    for row in range(rows):
        memory.add(stored(row, f"w{row % 2}", int(tokens[row]), keys[row]))
    words = SourceWords(("w0", "w1", "w2"), torch.tensor([0, 1, 2]))
    states, attention, logits = torch.randn(1, 16), torch.rand(1, 3).softmax(-1), torch.randn(1, 7)
    processor = memory.processor(words)
    assert processor is not None
    ours = processor(SearchState(states, attention, [[]]), logits.clone()).softmax(-1)[0]
    distance = ((keys - states) ** 2).mean(1)
    word_attention = attention[0, [row % 2 for row in range(rows)]]
    relevance = word_attention * torch.exp(-distance / settings.distance_scale)
    best = relevance.argsort(descending=True)[:neighbours]
    weight = word_attention[best] * torch.exp(-distance[best] / settings.memory_temperature)
    share = settings.max_memory_weight * relevance[best[0]]
    if share < MIN_MEMORY_WEIGHT:
        share = torch.zeros(())
    expected = (1 - share) * logits[0].softmax(-1)
    for token, part in zip(tokens[best], weight / weight.sum(), strict=True):
        expected[token] += share * part
    torch.testing.assert_close(ours, expected, atol=1e-4, rtol=1e-3)
    assert abs(float(ours.sum()) - 1) < 1e-4


def test_an_unseen_word_gets_no_votes() -> None:
    memory = Memory(MemorySettings())
    memory.add(stored(0, "pane", 3, torch.zeros(16)))
    assert memory.processor(SourceWords(("ribbon",), torch.tensor([0]))) is None


def test_only_the_newest_of_many_states_of_a_word_are_compared() -> None:
    """The cost per token does not grow with the store."""
    memory = Memory(MemorySettings(max_states_per_word=32))
    keys, tokens, words = torch.zeros(1000, 8).half(), torch.zeros(1000, dtype=torch.long), ("the",) * 1000
    for lesson in range(200):
        memory.add(StoredSegment(lesson, f"s{lesson}", "t", tokens, keys, words))
    assert memory.states == 200_000
    processor = memory.processor(SourceWords(("The", "end"), torch.tensor([0, 1])))
    assert processor is not None
    assert processor.compared == 32


def test_states_of_similar_sentences_come_before_newer_ones() -> None:
    """Segments of an old document are found again when similar sentences occur."""
    memory = Memory(
        MemorySettings(distance_scale=1e6, memory_temperature=1e6, max_states_per_word=2, similar_segments=1)
    )
    for lesson, word in enumerate(["ribbon", "pane", "pane", "pane"]):
        keys = torch.full((2, 4), float(lesson))
        memory.add(StoredSegment(lesson, f"{lesson}", "t", torch.tensor([lesson, 9]), keys.half(), ("the", word)))
    assert voted(memory, "ribbon") == {0, 3}
    assert voted(memory, "dog") == {2, 3}


def test_a_state_of_a_similar_sentence_votes_at_a_larger_distance() -> None:
    """The weight grows with the number of common words."""
    votes = []
    for other in ("ribbon", "dog"):
        memory = Memory(MemorySettings(distance_scale=0.1, similarity_boost=20.0))
        memory.add(StoredSegment(0, "s", "t", torch.tensor([3, 9]), torch.ones(2, 4).half(), ("the", "ribbon")))
        processor = memory.processor(SourceWords(("the", other), torch.tensor([0, 1])))
        assert processor is not None
        logits = processor(SearchState(torch.zeros(1, 4), torch.tensor([[1.0, 0.0]]), [[]]), torch.zeros(1, 10))
        votes.append(float(logits[0, 3]))
    assert votes[0] > votes[1] > 0


def voted(memory: Memory, other: str) -> set[int]:
    """Return the tokens that get votes at full attention on "the", in a sentence with another word."""
    processor = memory.processor(SourceWords(("the", other), torch.tensor([0, 1])))
    assert processor is not None
    logits = processor(SearchState(torch.zeros(1, 4), torch.tensor([[1.0, 0.0]]), [[]]), torch.zeros(1, 10))
    return set((logits[0] > 1e-3).nonzero().flatten().tolist())


def test_words_are_joined_from_pieces(small: Marian) -> None:
    ids = small.source.encode(PAIRS[0][0])
    words = SourceWords.of(ids, small.source)
    assert len(words.word_of_piece) == len(ids)
    assert words.texts[-1] == "</s>"
    torch.testing.assert_close(words.sum_attention(torch.eye(len(ids))).sum(0), words.membership.sum(0))


def test_forgotten_segments_free_their_memory() -> None:
    def segment(lesson: int) -> StoredSegment:
        words = tuple(f"word{lesson % 40}" for _ in range(20))
        keys = torch.full((20, 8), float(lesson)).half()
        return StoredSegment(lesson, f"source {lesson}", f"target {lesson}", torch.arange(20), keys, words)

    memory = Memory(MemorySettings())
    for lesson in range(1000):
        memory.add(segment(lesson))
    whole = memory.tensors()
    for lesson in range(990):
        assert memory.forget(lesson)
    assert len(memory._store) < 2 * MIN_DELETED_ROWS
    assert memory.states == 200
    left = memory.tensors()
    assert left["memory/lessons"].tolist() == list(range(990, 1000))
    assert left["memory/keys"].equal(whole["memory/keys"][-200:])
    for _ in range(3):
        memory.restore(whole)
    assert len(memory._store) == memory.states == 20_000
    assert memory.tensors()["memory/keys"].equal(whole["memory/keys"])
