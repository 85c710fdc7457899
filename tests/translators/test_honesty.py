"""What keeps a model honest while it learns."""

from __future__ import annotations

import torch
from helpers.tiny_marian import demo_pairs

from mtloop.translators.honesty import Honesty
from mtloop.translators.marian.lesson import Lesson, study
from mtloop.translators.marian.model import Marian
from mtloop.translators.scopes import Dense, all_names

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
    tempered = Honesty(kl=0.3).temper(lesson, anchor)
    assert logits.grad is not None
    torch.testing.assert_close(tempered.error, logits.grad, atol=1e-6, rtol=1e-4)


def test_the_anchor_is_what_the_model_thinks(small: Marian) -> None:
    lesson = lesson_of(small)
    torch.testing.assert_close(lesson.probabilities, small.logits(lesson.states).softmax(-1), atol=1e-6, rtol=1e-4)


def test_a_pair_nearly_known_moves_less(small: Marian) -> None:
    lesson = lesson_of(small)
    half = Honesty(surprise=2 * lesson.loss).temper(lesson, None)
    assert abs(half.pace - 0.5) < 1e-6
    assert Honesty(surprise=lesson.loss / 2).temper(lesson, None).pace == 1.0

    moved, name = [], "model.decoder.layers.0.fc1.weight"
    for one in (lesson, half):
        scope = Dense(small, all_names(small.weights), rate=0.01)
        scope.update(one)
        scope.settle()
        moved.append(scope.model.weights[name] - small.weights[name])
    torch.testing.assert_close(moved[1], moved[0] / 2, atol=1e-6, rtol=1e-3)


def test_earlier_pairs_are_drawn_again_the_same_way_and_never_the_newest() -> None:
    honesty = Honesty(replay=3)
    pairs = list(range(10))
    assert honesty.earlier(7, pairs) == honesty.earlier(7, pairs)
    assert all(9 not in honesty.earlier(lesson, pairs) for lesson in range(50))
    assert honesty.earlier(1, [0]) == []
    assert Honesty().earlier(7, pairs) == []
