"""The published methods as learners: their contract, their saved state, and that they learn."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers.tiny_marian import demo_pairs, write_tiny

from mtloop.checks.learner_contract import check_learner
from mtloop.core import InputError, PostEdit, Proposal, Segment
from mtloop.core.types import Learned
from mtloop.methods.peers import PEER_METHODS
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.delta import Delta
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian

PAIRS = demo_pairs()
KNN = [name for name in PEER_METHODS if name != "similar-tuning"]
LESSONS = {
    "The pane is open.": "Der Bereich ist geöffnet.",
    "Close the pane.": "Schließen Sie den Bereich.",
    "The pane is closed.": "Der Bereich ist geschlossen.",
    "Open the pane.": "Öffnen Sie den Bereich.",
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Marian:
    folder = tmp_path_factory.mktemp("small")
    write_tiny(folder)
    return Marian.load(folder)


@pytest.fixture(scope="module")
def model() -> Marian:
    torch.set_num_threads(1)
    return Marian.load(find_model("en-de"))


def make(model: Marian, method: str, **settings: float | str) -> AdaptiveNMT:
    made = make_learner(method, model, settings)
    assert isinstance(made, AdaptiveNMT)
    return made


def teach(system: AdaptiveNMT, source: str, target: str) -> None:
    assert system.learn(Proposal(Segment("1", source), ""), PostEdit(target)).rejected is None


def translate(system: AdaptiveNMT, source: str) -> str:
    return system.propose(Segment("1", source)).text


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("method", PEER_METHODS)
def test_learner_contract(small: Marian, method: str, beam_size: int) -> None:
    segments = [Segment(str(number), source) for number, (source, _) in enumerate(PAIRS[:6])]
    targets = dict(PAIRS)
    check_learner(
        lambda: make(small, method, beam_size=beam_size),
        segments,
        lambda proposal: PostEdit(targets[proposal.segment.source]),
    )


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("method", PEER_METHODS)
def test_a_taught_word_appears_in_another_sentence(model: Marian, method: str, beam_size: int) -> None:
    learner = make(model, method, beam_size=beam_size)
    assert translate(learner, "The pane is empty.") == "Die Leiste ist leer."
    for source, target in LESSONS.items():
        teach(learner, source, target)
    assert translate(learner, "The pane is empty.") == "Der Bereich ist leer."
    assert translate(learner, "The window is open.") == "Das Fenster ist geöffnet."


@pytest.mark.parametrize("method", PEER_METHODS)
def test_a_saved_learner_is_equal_and_learns_on(small: Marian, method: str, tmp_path: Path) -> None:
    saved, loaded = make(small, method), make(small, method)
    for source, target in PAIRS[:5]:
        teach(saved, source, target)
    saved.write_delta(tmp_path / "mine.delta")
    loaded.load_delta(Delta.read(tmp_path / "mine.delta"))
    for source, target in PAIRS[5:7]:
        teach(saved, source, target)
        teach(loaded, source, target)
    ours, theirs = saved.delta(), loaded.delta()
    assert ours.counters == theirs.counters
    assert ours.tensors.keys() == theirs.tensors.keys()
    assert all(torch.equal(tensor, theirs.tensors[name]) for name, tensor in ours.tensors.items())
    assert [translate(saved, source) for source, _ in PAIRS[:9]] == [
        translate(loaded, source) for source, _ in PAIRS[:9]
    ]


@pytest.mark.parametrize("method", PEER_METHODS)
def test_propose_does_not_change_the_learner(small: Marian, method: str) -> None:
    learner = make(small, method)
    for source, target in PAIRS[:5]:
        teach(learner, source, target)
    before = {name: tensor.clone() for name, tensor in learner.delta().tensors.items()}
    weights = {name: tensor.clone() for name, tensor in small.weights.items()}
    for source, _ in PAIRS[:8]:
        translate(learner, source)
    after = learner.delta().tensors
    assert before.keys() == after.keys()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
    assert all(torch.equal(tensor, small.weights[name]) for name, tensor in weights.items())


@pytest.mark.parametrize("method", PEER_METHODS)
def test_an_untaught_learner_is_the_base(small: Marian, method: str) -> None:
    learner, base = make(small, method), make(small, "baseline")
    for source, _ in PAIRS[:4]:
        assert translate(learner, source) == translate(base, source)


@pytest.mark.parametrize("method", PEER_METHODS)
def test_an_exact_repeat_is_looked_up_only_if_asked_for(small: Marian, method: str) -> None:
    source, target = PAIRS[0]
    for asked in (False, True):
        learner = make(small, method, exact_match=asked)
        teach(learner, source, target)
        proposal = learner.propose(Segment("1", source))
        assert (proposal.memo.get("memory") == "exact") is asked
        assert not asked or proposal.text == target


@pytest.mark.parametrize("method", KNN)
def test_many_segments_are_translated_as_one_by_one(small: Marian, method: str) -> None:
    learner = make(small, method)
    for source, target in PAIRS[:5]:
        teach(learner, source, target)
    segments = [Segment(str(number), source) for number, (source, _) in enumerate(PAIRS[:6])]
    assert [one.text for one in learner.propose_many(segments)] == [learner.propose(one).text for one in segments]


@pytest.mark.parametrize("method", PEER_METHODS)
def test_a_forgotten_lesson_has_no_effect(small: Marian, method: str) -> None:
    """A trained network cannot forget, and says so."""
    learner = make(small, method)
    before = [translate(learner, source) for source, _ in PAIRS[:4]]
    for source, target in PAIRS[:3]:
        teach(learner, source, target)
    forgotten = [learner.forget(lesson) for lesson in range(3)]
    assert forgotten == [method != "knn-adaptive"] * 3
    assert method == "knn-adaptive" or [translate(learner, source) for source, _ in PAIRS[:4]] == before


@pytest.mark.parametrize("method", PEER_METHODS)
def test_a_lesson_leaves_the_memory_at_once(small: Marian, method: str) -> None:
    """Also that of a method whose network cannot forget: its states are not compared any more."""
    learner = make(small, method, exact_match=True)
    for source, target in PAIRS[:2]:
        teach(learner, source, target)
    learner.forget_in_memory(0)
    assert learner.memory is not None
    assert [one.lesson for one in learner.memory] == [1]
    assert translate(learner, PAIRS[0][0]) != PAIRS[0][1]
    assert translate(learner, PAIRS[1][0]) == PAIRS[1][1]
    for index in (1, 1):
        learner.forget_in_memory(index)
    assert [translate(learner, source) for source, _ in PAIRS[:2]] == [
        translate(make(small, "baseline"), source) for source, _ in PAIRS[:2]
    ]


@pytest.mark.parametrize("method", PEER_METHODS)
def test_a_lesson_that_fails_leaves_nothing_in_the_memory(
    small: Marian, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    learner, learn_sentence = make(small, method), AdaptiveNMT._learn_sentence

    def fail(self: AdaptiveNMT, source: str, target: str, part: int, is_last: bool) -> Learned:
        if is_last:
            raise RuntimeError(source)
        return learn_sentence(self, source, target, part, is_last)

    monkeypatch.setattr(AdaptiveNMT, "_learn_sentence", fail)
    with pytest.raises(RuntimeError):
        teach(learner, "Open it. Close it.", "Öffnen. Schließen.")
    assert (learner.lessons_, len(learner.memory or ())) == (0, 0)


@pytest.mark.parametrize(
    ("method", "setting", "value"),
    [
        ("knn-mt", "neighbours", 0),
        ("knn-mt", "store_weight", 1.5),
        ("knn-adaptive", "network_updates", -1),
        ("knn-adaptive", "network_learning_rate", 0.0),
        ("knn-kok", "max_distance", 0.0),
        ("sk-mt", "similar_pairs", 0),
        ("sk-mt", "temperature", 0.0),
        ("similar-tuning", "learning_rate", 0.0),
        ("similar-tuning", "max_epochs", 0),
        ("similar-tuning", "beam_size", 0),
    ],
)
def test_a_setting_out_of_range_is_refused(small: Marian, method: str, setting: str, value: float) -> None:
    with pytest.raises(InputError, match=f"^{setting} is {value}; expected "):
        make(small, method, **{setting: value})
