"""What keeps a model honest while it learns."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers.tiny_marian import demo_pairs

from mtloop.core import InputError, PostEdit, Proposal, Segment
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.engine.lesson import Lesson, study
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.regularisation import Regularisation
from mtloop.nmt.scopes.dense import Dense, all_names

PAIRS = demo_pairs()


def lesson_of(model: Marian) -> Lesson:
    source, target = PAIRS[0]
    return study(model, model.source.encode(source), model.target.encode(target), all_names(model.weights))


def test_the_kl_term_is_the_gradient_of_cross_entropy_to_a_mixture(small: Marian) -> None:
    """Against autograd: the wish is (1 - kl) post-edit + kl base."""
    lesson = lesson_of(small)
    anchor = torch.rand_like(lesson.error).softmax(-1)
    logits = small.logits(lesson.states).detach().requires_grad_()
    wish = 0.3 * anchor
    wish[torch.arange(len(lesson.target)), lesson.target] += 0.7
    (-(wish * logits.log_softmax(-1)).sum(-1).mean()).backward()
    tempered = Regularisation(kl=0.3).temper(lesson, anchor)
    assert logits.grad is not None
    torch.testing.assert_close(tempered.error, logits.grad, atol=1e-6, rtol=1e-4)


def test_the_anchor_is_what_the_model_thinks(small: Marian) -> None:
    lesson = lesson_of(small)
    torch.testing.assert_close(lesson.probabilities, small.logits(lesson.states).softmax(-1), atol=1e-6, rtol=1e-4)


def test_a_pair_nearly_known_moves_less(small: Marian) -> None:
    lesson = lesson_of(small)
    half = Regularisation(surprise=2 * lesson.loss).temper(lesson, None)
    assert abs(half.pace - 0.5) < 1e-6
    assert Regularisation(surprise=lesson.loss / 2).temper(lesson, None).pace == 1.0

    moved, name = [], "model.decoder.layers.0.fc1.weight"
    for one in (lesson, half):
        scope = Dense(small, all_names(small.weights), rate=0.01)
        scope.update(one)
        scope.settle()
        moved.append(scope.model.weights[name] - small.weights[name])
    torch.testing.assert_close(moved[1], moved[0] / 2, atol=1e-6, rtol=1e-3)


def test_earlier_pairs_are_drawn_again_the_same_way_and_never_the_newest() -> None:
    honesty = Regularisation(replay=3)
    pairs = list(range(10))
    assert honesty.earlier(7, pairs) == honesty.earlier(7, pairs)
    assert all(9 not in honesty.earlier(lesson, pairs) for lesson in range(50))
    assert honesty.earlier(1, [0]) == []
    assert Regularisation().earlier(7, pairs) == []


@pytest.mark.parametrize("method", ["bias", "full", "top", "lasso", "lora"])
def test_an_average_of_everything_is_the_newest_and_less_lags_behind(small: Marian, method: str) -> None:
    """With share 1 the average speaks as the model does; with less it is between the base and the model."""
    plain, whole, half = (make_learner(method, small, {"average": share}) for share in (0.0, 1.0, 0.5))
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
    plain, averaged = make_learner("full", small), make_learner("full", small, {"average": 0.5})
    assert isinstance(plain, AdaptiveNMT)
    assert isinstance(averaged, AdaptiveNMT)
    for system in (plain, averaged):
        system.learn(Proposal(Segment("1", PAIRS[0][0]), ""), PostEdit(PAIRS[0][1]))
    assert averaged.delta().parameters == plain.delta().parameters
    with pytest.raises(InputError, match="without `average`"):
        averaged.become(plain.delta())


def test_an_average_is_saved_with_the_delta(small: Marian, tmp_path: Path) -> None:
    one, other = (make_learner("full", small, {"average": 0.3}) for _ in range(2))
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
