"""Tuning before each sentence: the pairs, the strength, and that nothing of it stays."""

from __future__ import annotations

import math

import pytest
import torch
from helpers.tiny_marian import demo_pairs

from mtloop.core import InputError, PostEdit, Proposal, Segment
from mtloop.methods.registry import make_learner
from mtloop.nmt.engine.lesson import log_probability
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.scopes.scope import Frozen, NotFinite, Scope
from mtloop.nmt.similar_tuning import SimilarTuningNMT, TuningSettings

PAIRS = demo_pairs()


def make(model: Marian, **settings: float | str) -> SimilarTuningNMT:
    made = make_learner("similar-tuning", model, settings)
    assert isinstance(made, SimilarTuningNMT)
    return made


def teach(system: SimilarTuningNMT, count: int) -> None:
    for source, target in PAIRS[:count]:
        assert system.learn(Proposal(Segment("1", source), ""), PostEdit(target)).updates == 0


def probability(scope: Scope, source: str, target: str) -> float:
    model = scope.model
    return log_probability(model, model.source.encode(source), model.target.encode(target), scope.extra_bias)


@pytest.mark.parametrize("scope", ["full", "lora"])
def test_a_tuned_model_knows_the_most_similar_pair_better(small: Marian, scope: str) -> None:
    system = make(small, scope=scope)
    teach(system, 4)
    source, target = PAIRS[2]
    tuned = system.tuned(source)
    assert probability(tuned, source, target) > probability(system.scope, source, target) + 0.1


def test_the_tuned_weights_translate(small: Marian) -> None:
    system, base = make(small, learning_rate=0.5), make_learner("baseline", small)
    teach(system, 4)
    segments = [Segment(str(number), source) for number, (source, _) in enumerate(PAIRS[:4])]
    assert [system.propose(one).text for one in segments] != [base.propose(one).text for one in segments]


@pytest.mark.parametrize("scope", ["full", "lora"])
@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_weights_are_bit_equal_afterwards(small: Marian, scope: str, beam_size: int) -> None:
    before = {name: tensor.clone() for name, tensor in small.weights.items()}
    system = make(small, scope=scope, beam_size=beam_size, learning_rate=0.5)
    teach(system, 4)
    own = system.scope
    for source, _ in PAIRS[:4]:
        changed = system.tuned(source).model.weights
        assert any(not torch.equal(changed[name], tensor) for name, tensor in before.items())
        system.propose(Segment("1", source))
    assert system.scope is own
    assert isinstance(own, Frozen)
    assert all(torch.equal(small.weights[name], tensor) for name, tensor in before.items())


def test_the_source_is_encoded_with_the_tuned_weights_and_later_with_the_base(small: Marian) -> None:
    """Also if a lesson has just encoded the same source."""
    system = make(small, learning_rate=0.5)
    teach(system, 4)
    ids = small.source.encode(PAIRS[3][0])
    base, tuned = small.encode(ids).states, system.tuned(PAIRS[3][0])
    with system._translating_with(tuned):
        assert torch.equal(system._last.encode(system.model, ids).states, tuned.model.encode(ids).states)
    assert not torch.equal(tuned.model.encode(ids).states, base)
    assert torch.equal(system._last.encode(system.model, ids).states, base)


def test_a_failed_translation_takes_the_updates_back_too(small: Marian, monkeypatch: pytest.MonkeyPatch) -> None:
    system = make(small)
    teach(system, 2)
    own = system.scope

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mtloop.nmt.adaptive.greedy", fail)
    with pytest.raises(KeyboardInterrupt):
        system.propose(Segment("1", PAIRS[0][0]))
    assert system.scope is own


def test_updates_that_are_not_finite_are_left_out(small: Marian, monkeypatch: pytest.MonkeyPatch) -> None:
    system = make(small)
    teach(system, 2)

    def fail(*_: object) -> None:
        raise NotFinite("the gradient is not finite")

    monkeypatch.setattr("mtloop.nmt.scopes.dense.Dense.update", fail)
    assert system.tuned(PAIRS[0][0]) is system.scope


class Recorder(Frozen):
    """A scope that records the learning rates and the targets of its updates."""

    def __init__(self, model: Marian) -> None:
        super().__init__(model)
        self.rates: list[float] = []
        self.targets: list[list[int]] = []

    def update(self, lesson: object) -> None:
        self.rates.append(lesson.learning_rate_scale)  # type: ignore[attr-defined]
        self.targets.append(lesson.target.tolist())  # type: ignore[attr-defined]


def test_epochs_and_learning_rate_follow_the_likeness(small: Marian, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pairs with likeness 1 and 0.5: 0.75 on average, so three of four epochs, at sqrt(0.75) of the rate."""
    system = make(small, similar_pairs=2)
    teach(system, 3)
    first, second, _ = system.pairs
    monkeypatch.setattr(system.pairs, "most_like", lambda source, count: [(first, 1.0), (second, 0.5)][:count])
    recorder = Recorder(small)
    system.new_scope = lambda: recorder
    assert system.tuned("any") is recorder
    assert recorder.rates == pytest.approx([math.sqrt(0.75)] * 6)
    assert recorder.targets == [first.tokens.tolist(), second.tokens.tolist()] * 3


def test_nothing_is_tuned_without_a_similar_pair(small: Marian) -> None:
    system = make(small)
    assert system.tuned(PAIRS[0][0]) is system.scope
    teach(system, 1)
    assert system.tuned("Zzz") is system.scope


def test_many_segments_are_translated_as_one_by_one(small: Marian) -> None:
    system = make(small, learning_rate=0.5)
    teach(system, 4)
    segments = [Segment(str(number), source) for number, (source, _) in enumerate(PAIRS[:4])]
    assert [one.text for one in system.propose_many(segments)] == [system.propose(one).text for one in segments]


def test_a_forgotten_pair_tunes_no_more(small: Marian) -> None:
    system = make(small)
    teach(system, 1)
    assert system.tuned(PAIRS[0][0]) is not system.scope
    assert system.forget(0)
    assert system.tuned(PAIRS[0][0]) is system.scope


@pytest.mark.parametrize("setting", ["similar_pairs", "max_epochs"])
def test_counts_must_be_at_least_one(setting: str) -> None:
    with pytest.raises(InputError, match=f"^{setting} is 0; expected 1 or more$"):
        TuningSettings(**{setting: 0})
