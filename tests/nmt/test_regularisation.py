"""Regularisation: the KL term, the loss threshold, replay, and the weight average."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers.tiers import slow
from helpers.tiny_marian import demo_pairs

from mtloop.core import InputError, PostEdit, Proposal, Segment
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.engine.lesson import Lesson, forward_pass
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.regularisation import Regularisation
from mtloop.nmt.scopes.dense import Dense, all_names

PAIRS = demo_pairs()


def lesson_of(model: Marian) -> Lesson:
    source, target = PAIRS[0]
    return forward_pass(model, model.source.encode(source), model.target.encode(target), all_names(model.weights))


def test_the_kl_term_is_the_gradient_of_cross_entropy_to_a_mixture(small: Marian) -> None:
    """Compare with autograd: the target is (1 - kl_weight) post-edit + kl_weight base."""
    lesson = lesson_of(small)
    base = torch.rand_like(lesson.error).softmax(-1)
    logits = small.logits(lesson.states).detach().requires_grad_()
    mixture = 0.3 * base
    mixture[torch.arange(len(lesson.target)), lesson.target] += 0.7
    (-(mixture * logits.log_softmax(-1)).sum(-1).mean()).backward()
    regularised = Regularisation(kl_weight=0.3).apply(lesson, base)
    assert logits.grad is not None
    torch.testing.assert_close(regularised.error, logits.grad, atol=1e-6, rtol=1e-4)


def test_probabilities_are_the_softmax_of_the_logits(small: Marian) -> None:
    lesson = lesson_of(small)
    torch.testing.assert_close(lesson.probabilities, small.logits(lesson.states).softmax(-1), atol=1e-6, rtol=1e-4)


def test_a_pair_with_a_low_loss_moves_the_weights_less(small: Marian) -> None:
    lesson = lesson_of(small)
    half = Regularisation(loss_threshold=2 * lesson.loss).apply(lesson, None)
    assert abs(half.learning_rate_scale - 0.5) < 1e-6
    assert Regularisation(loss_threshold=lesson.loss / 2).apply(lesson, None).learning_rate_scale == 1.0

    changes, name = [], "model.decoder.layers.0.fc1.weight"
    for one in (lesson, half):
        scope = Dense(small, all_names(small.weights), learning_rate=0.01)
        scope.update(one)
        scope.commit()
        changes.append(scope.model.weights[name] - small.weights[name])
    torch.testing.assert_close(changes[1], changes[0] / 2, atol=1e-6, rtol=1e-3)


def test_replay_samples_are_reproducible_and_exclude_the_newest_pair() -> None:
    regularisation = Regularisation(replay_pairs=3)
    pairs = list(range(10))
    assert regularisation.sample_replay(7, pairs) == regularisation.sample_replay(7, pairs)
    assert all(9 not in regularisation.sample_replay(lesson, pairs) for lesson in range(50))
    assert regularisation.sample_replay(1, [0]) == []
    assert Regularisation().sample_replay(7, pairs) == []


@pytest.mark.parametrize("method", ["full", "lora", slow("bias"), slow("top"), slow("lasso")])
def test_an_average_with_weight_1_is_the_newest_model_and_a_lower_weight_follows_slower(
    small: Marian, method: str
) -> None:
    """With weight 1 the average translates as the model does; with less it is between the base and the model."""
    plain, whole, half = (make_learner(method, small, {"weight_average": share}) for share in (0.0, 1.0, 0.5))
    for source, target in PAIRS[:4]:
        for system in (plain, whole, half):
            system.learn(Proposal(Segment("1", source), ""), PostEdit(target))
    segments = [Segment("1", source) for source, _ in PAIRS]
    assert [plain.propose(s).text for s in segments] == [whole.propose(s).text for s in segments]
    assert isinstance(half, AdaptiveNMT)
    assert half.average is not None
    if half.scope.extra_bias is not None and half.average.extra_bias is not None:
        assert float(half.average.extra_bias.norm()) < float(half.scope.extra_bias.norm()) + 1e-6
    for name in half.scope.names & {"model.decoder.layers.1.fc1.weight"}:
        base, fast, slow = (model.weights[name] for model in (small, half.model, half.average.model))
        assert float((slow - base).norm()) < float((fast - base).norm()) or torch.equal(fast, base)


def test_a_delta_without_an_average_is_refused_and_one_with_it_counts_weights_once(small: Marian) -> None:
    plain, averaged = make_learner("full", small), make_learner("full", small, {"weight_average": 0.5})
    assert isinstance(plain, AdaptiveNMT)
    assert isinstance(averaged, AdaptiveNMT)
    for system in (plain, averaged):
        system.learn(Proposal(Segment("1", PAIRS[0][0]), ""), PostEdit(PAIRS[0][1]))
    assert averaged.delta().parameters == plain.delta().parameters
    with pytest.raises(InputError, match="without the setting weight_average"):
        averaged.load_delta(plain.delta())


def test_an_average_is_saved_with_the_delta(small: Marian, tmp_path: Path) -> None:
    one, other = (make_learner("full", small, {"weight_average": 0.3}) for _ in range(2))
    assert isinstance(one, AdaptiveNMT)
    assert isinstance(other, AdaptiveNMT)
    for source, target in PAIRS[:3]:
        one.learn(Proposal(Segment("1", source), ""), PostEdit(target))
    one.save(tmp_path)
    other.load(tmp_path)
    for source, target in PAIRS[3:5]:
        for system in (one, other):
            system.learn(Proposal(Segment("1", source), ""), PostEdit(target))
    ours, theirs = one.delta().tensors, other.delta().tensors
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
