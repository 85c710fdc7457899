"""A memory of confirmed segments: what it says, how it forgets, how it is saved."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers.tiny_marian import demo_pairs
from hypothesis import given
from hypothesis import strategies as st

from mtloop.checks.learner_contract import check_learner
from mtloop.core import InputError, PostEdit, Proposal, Segment
from mtloop.core.errors import UnknownName
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.decoding.memory import SMALL, WHISPER, Memory, Remembered, Trust
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.delta import Delta
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import Moment

PAIRS = demo_pairs()
METHODS = {
    "memory": {},
    "memory+copy": {},
    "full+memory": {},
    "lasso+memory": {"hidden_budget": 8_000, "row_budget": 1_600},
    "full+memory+copy": {"kl": 0.3, "replay": 1},
    "lora+memory+copy": {},
    "full": {"replay": 2, "surprise": 3.0},
}


def make(model: Marian, method: str, **settings: float) -> AdaptiveNMT:
    made = make_learner(method, model, METHODS[method] | settings)
    assert isinstance(made, AdaptiveNMT)
    return made


def teach(system: AdaptiveNMT, source: str, target: str) -> None:
    system.learn(Proposal(Segment("1", source), ""), PostEdit(target))


def say(system: AdaptiveNMT, source: str) -> str:
    return system.propose(Segment("1", source)).text


@pytest.mark.parametrize("method", METHODS)
def test_the_contract(small: Marian, method: str) -> None:
    segments = [Segment(str(i), source) for i, (source, _) in enumerate(PAIRS[:6])]
    targets = dict(PAIRS)
    check_learner(lambda: make(small, method), segments, lambda p: PostEdit(targets[p.segment.source]))


@pytest.mark.parametrize("name", ["full+lasso", "memory+memory", "full+full", "full+", "memory+translator"])
def test_a_name_that_joins_nothing_is_refused(small: Marian, name: str) -> None:
    with pytest.raises(UnknownName, match="method"):
        make_learner(name, small)


@pytest.mark.parametrize(
    ("method", "setting", "value"),
    [
        ("memory", "most", 7.0),
        ("memory", "most", float("nan")),
        ("memory", "neighbours", 0),
        ("memory", "reach", 0.0),
        ("memory", "newest", 0),
        ("memory", "alike", -1),
        ("memory", "stretch", -0.5),
        ("memory", "beams", 0),
        ("full", "kl", -3.0),
        ("full", "average", 2.0),
        ("full", "replay", -1),
        ("full", "surprise", float("nan")),
        ("full", "rate", -0.1),
        ("full", "rate", float("inf")),
        ("full", "updates", -1),
        ("full", "enough", 0.5),
    ],
)
def test_a_setting_out_of_range_is_refused(small: Marian, method: str, setting: str, value: float) -> None:
    with pytest.raises(InputError, match=setting):
        make_learner(method, small, {setting: value})


def test_an_exact_repeat_is_said_as_it_was_confirmed_and_the_newest_wins(small: Marian) -> None:
    system = make(small, "memory")
    source, first = PAIRS[0]
    teach(system, source, first)
    assert say(system, source) == first
    teach(system, source, f"{first} {first}")
    assert say(system, source) == f"{first} {first}"
    assert system.memory is not None
    assert system.memory.versions(source) == [first, f"{first} {first}"]
    assert system.forget(1)
    assert say(system, source) == first


def test_what_is_forgotten_is_gone(small: Marian) -> None:
    """After, delete, gone: translations and saved state are those of a memory that never held it."""
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
    assert [say(kept, source) for source, _ in PAIRS] == [say(never, source) for source, _ in PAIRS]
    ours, theirs = kept.delta().tensors, never.delta().tensors
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_what_went_into_weights_is_not_taken_back_in_place(small: Marian) -> None:
    system = make(small, "full+memory")
    teach(system, *PAIRS[0])
    assert not system.forget(0)


def test_an_empty_memory_changes_nothing(small: Marian) -> None:
    system, base = make(small, "memory"), make_learner("baseline", small)
    for source, _ in PAIRS[:5]:
        assert say(system, source) == base.propose(Segment("1", source)).text


@pytest.mark.parametrize("method", ["memory", "full+memory+copy", "lora+memory+copy"])
def test_saved_and_loaded_it_goes_on_as_if_never_stopped(small: Marian, tmp_path: Path, method: str) -> None:
    through, stopped = make(small, method), make(small, method)
    for source, target in PAIRS[:5]:
        teach(through, source, target)
        teach(stopped, source, target)
    stopped.save(tmp_path)
    again = make(small, method)
    again.load(tmp_path)
    for source, target in PAIRS[5:8]:
        teach(through, source, target)
        teach(again, source, target)
    assert [say(through, source) for source, _ in PAIRS] == [say(again, source) for source, _ in PAIRS]


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


def remembered(lesson: int, word: str, token: int, key: torch.Tensor) -> Remembered:
    return Remembered(lesson, f"{word} {lesson}", "x", torch.tensor([token]), key[None].half(), (word,))


@given(seed=st.integers(0, 10_000), rows=st.integers(1, 30), neighbours=st.integers(1, 40))
def test_the_vote_is_brute_force(seed: int, rows: int, neighbours: int) -> None:
    """The mixture written out: believed neighbours by gaze and distance, votes added up by token."""
    torch.manual_seed(seed)
    trust = Trust(0.8, 1.5, 0.2, neighbours, newest=100, stretch=0.0)
    memory, keys, tokens = Memory(trust), torch.randn(rows, 16).half().float(), torch.randint(0, 5, (rows,))
    for row in range(rows):
        memory.add(remembered(row, f"w{row % 2}", int(tokens[row]), keys[row]))
    words = SourceWords(("w0", "w1", "w2"), torch.tensor([0, 1, 2]))
    states, attention, logits = torch.randn(1, 16), torch.rand(1, 3).softmax(-1), torch.randn(1, 7)
    recalled = memory.recall(words)
    assert recalled is not None
    ours = recalled(Moment(states, attention, [[]]), logits.clone()).softmax(-1)[0]
    distance = ((keys - states) ** 2).mean(1)
    gaze = attention[0, [row % 2 for row in range(rows)]]
    belief = gaze * torch.exp(-distance / trust.reach)
    best = belief.argsort(descending=True)[:neighbours]
    weight = gaze[best] * torch.exp(-distance[best] / trust.temperature)
    share = trust.most * belief[best[0]]
    if share < WHISPER:
        share = torch.zeros(())
    wanted = (1 - share) * logits[0].softmax(-1)
    for token, part in zip(tokens[best], weight / weight.sum(), strict=True):
        wanted[token] += share * part
    torch.testing.assert_close(ours, wanted, atol=1e-4, rtol=1e-3)
    assert abs(float(ours.sum()) - 1) < 1e-4


def test_a_word_not_met_before_is_left_to_the_model() -> None:
    memory = Memory(Trust())
    memory.add(remembered(0, "pane", 3, torch.zeros(16)))
    assert memory.recall(SourceWords(("ribbon",), torch.tensor([0]))) is None


def test_two_hundred_thousand_states_are_compared_by_the_newest_of_each_word() -> None:
    """The cost of a token does not grow with the store."""
    memory = Memory(Trust(newest=32))
    keys, tokens, words = torch.zeros(1000, 8).half(), torch.zeros(1000, dtype=torch.long), ("the",) * 1000
    for lesson in range(200):
        memory.add(Remembered(lesson, f"s{lesson}", "t", tokens, keys, words))
    assert memory.states == 200_000
    recalled = memory.recall(SourceWords(("The", "end"), torch.tensor([0, 1])))
    assert recalled is not None
    assert recalled.compared == 32


def test_states_of_like_sentences_come_before_newer_ones() -> None:
    """What an old document taught is found again when the text comes back to it."""
    memory = Memory(Trust(reach=1e6, temperature=1e6, newest=2, alike=1))
    for lesson, word in enumerate(["ribbon", "pane", "pane", "pane"]):
        keys = torch.full((2, 4), float(lesson))
        memory.add(Remembered(lesson, f"{lesson}", "t", torch.tensor([lesson, 9]), keys.half(), ("the", word)))
    assert voted(memory, "ribbon") == {0, 3}
    assert voted(memory, "dog") == {2, 3}


def test_a_state_of_a_like_sentence_is_believed_from_further_away() -> None:
    """The more so the more words they share."""
    heard = []
    for beside in ("ribbon", "dog"):
        memory = Memory(Trust(reach=0.1, stretch=20.0))
        memory.add(Remembered(0, "s", "t", torch.tensor([3, 9]), torch.ones(2, 4).half(), ("the", "ribbon")))
        recalled = memory.recall(SourceWords(("the", beside), torch.tensor([0, 1])))
        assert recalled is not None
        logits = recalled(Moment(torch.zeros(1, 4), torch.tensor([[1.0, 0.0]]), [[]]), torch.zeros(1, 10))
        heard.append(float(logits[0, 3]))
    assert heard[0] > heard[1] > 0


def voted(memory: Memory, beside: str) -> set[int]:
    """The tokens that get votes while "the" is looked at, in a sentence with another word."""
    recalled = memory.recall(SourceWords(("the", beside), torch.tensor([0, 1])))
    assert recalled is not None
    logits = recalled(Moment(torch.zeros(1, 4), torch.tensor([[1.0, 0.0]]), [[]]), torch.zeros(1, 10))
    return set((logits[0] > 1e-3).nonzero().flatten().tolist())


def test_words_are_put_together_from_pieces(small: Marian) -> None:
    ids = small.source.encode(PAIRS[0][0])
    words = SourceWords.of(ids, small.source)
    assert len(words.where) == len(ids)
    assert words.texts[-1] == "</s>"
    torch.testing.assert_close(words.shares(torch.eye(len(ids))).sum(0), words.member.sum(0))


def test_what_is_forgotten_gives_its_room_back() -> None:
    def segment(lesson: int) -> Remembered:
        words = tuple(f"word{lesson % 40}" for _ in range(20))
        keys = torch.full((20, 8), float(lesson)).half()
        return Remembered(lesson, f"source {lesson}", f"target {lesson}", torch.arange(20), keys, words)

    memory = Memory(Trust())
    for lesson in range(1000):
        memory.add(segment(lesson))
    whole = memory.tensors()
    for lesson in range(990):
        assert memory.forget(lesson)
    assert len(memory._store) < 2 * SMALL
    assert memory.states == 200
    left = memory.tensors()
    assert left["memory/lessons"].tolist() == list(range(990, 1000))
    assert left["memory/keys"].equal(whole["memory/keys"][-200:])
    for _ in range(3):
        memory.restore(whole)
    assert len(memory._store) == memory.states == 20_000
    assert memory.tensors()["memory/keys"].equal(whole["memory/keys"])
