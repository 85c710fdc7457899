from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers.tiny_marian import demo_pairs
from torch import Tensor
from transformers import MarianMTModel

from mtloop.checks.learner_contract import check_learner
from mtloop.core import InputError, PostEdit, Proposal, Segment
from mtloop.methods.registry import settings_of
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.lesson import Lesson, forward_pass
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.scopes.lora import Lora, LowRankPair
from mtloop.nmt.scopes.scope import NotFinite

PAIRS = demo_pairs()
LEARNING_RATE = 0.05


def learner(model: Marian, bias_learning_rate: float = 0.0) -> AdaptiveNMT:
    return AdaptiveNMT(
        Lora(model, learning_rate=LEARNING_RATE, rank=4, bias_learning_rate=bias_learning_rate), method="lora"
    )


def teach(system: AdaptiveNMT, source: str, target: str) -> None:
    system.learn(Proposal(Segment("1", source), ""), PostEdit(target))


def ids_of(model: Marian, pair: tuple[str, str]) -> tuple[list[int], list[int]]:
    return model.source.encode(pair[0]), model.target.encode(pair[1])


def step(scope: Lora, pair: tuple[str, str]) -> Lesson:
    lesson = forward_pass(scope.model, *ids_of(scope.base, pair), scope.names, scope.extra_bias)
    scope.update(lesson)
    return lesson


def copies(scope: Lora) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in scope.tensors().items()}


@pytest.mark.parametrize("bias_learning_rate", [0.0, 0.1])
def test_learner_contract(small: Marian, bias_learning_rate: float) -> None:
    segments = [Segment(str(i), source) for i, (source, _) in enumerate(PAIRS[:6])]
    targets = dict(PAIRS)
    check_learner(lambda: learner(small, bias_learning_rate), segments, lambda p: PostEdit(targets[p.segment.source]))


def test_a_new_lora_translates_as_the_base(small: Marian) -> None:
    scope = Lora(small, rank=4)
    assert scope.model is small
    step(scope, PAIRS[3])
    assert all(float(pair.b.norm()) > 0 for pair in scope.pairs_.values())


@pytest.mark.parametrize("bias_learning_rate", [0.0, 0.1])
def test_the_loss_of_a_learned_pair_decreases(small: Marian, bias_learning_rate: float) -> None:
    system = learner(small, bias_learning_rate)
    ids, wanted = ids_of(small, PAIRS[7])
    before = forward_pass(small, ids, wanted, frozenset()).loss
    for _ in range(3):
        teach(system, *PAIRS[7])
    assert forward_pass(system.model, ids, wanted, frozenset(), system.scope.extra_bias).loss < before


def test_a_corrected_segment_is_translated_as_corrected(small: Marian) -> None:
    system = AdaptiveNMT(
        Lora(small, learning_rate=0.1, bias_learning_rate=1.0, rank=16),
        method="lora",
        max_updates=600,
        target_perplexity=1.05,
    )
    source, target = "Open the pane.", "Öffnen Sie den Bereich."
    assert system.propose(Segment("1", source)).text != target
    teach(system, source, target)
    assert system.propose(Segment("1", source)).text == target


def offsets_of(scope: Lora) -> dict[str, tuple[Tensor, Tensor]]:
    """Return A and the rows of B by Hugging Face's names, as leaves of autograd."""
    leaves = {
        block: (pair.b.clone().requires_grad_(), pair.a.clone().requires_grad_())
        for block, pair in scope.pairs_.items()
    }
    members = {block: scope.base.weights.members(block) for block in leaves}
    named = {name: (leaves[block], start, stop) for block, parts in members.items() for name, start, stop in parts}
    scope.leaves = leaves  # type: ignore[attr-defined]
    return {name: (b[start:stop], a) for name, ((b, a), start, stop) in named.items()}


def autograd_step(scope: Lora, theirs: MarianMTModel, pair: tuple[str, str]) -> dict[str, LowRankPair]:
    """A plain implementation: W + B A, backward pass, clip each to norm 1, subtract."""
    offsets = offsets_of(scope)
    leaves: dict[str, tuple[Tensor, Tensor]] = scope.leaves  # type: ignore[attr-defined]
    weights = dict(theirs.named_parameters())
    composed = {name: weights[name].detach() + b @ a for name, (b, a) in offsets.items()}
    ids, wanted = ids_of(scope.base, pair)
    inputs = {"input_ids": torch.tensor([ids]), "labels": torch.tensor([wanted])}
    torch.func.functional_call(theirs, composed, (), inputs).loss.backward()
    moved = {}
    for block, both in leaves.items():
        b, a = (leaf.detach() - LEARNING_RATE * leaf.grad / max(1.0, float(leaf.grad.norm())) for leaf in both)  # type: ignore[operator,union-attr]
        moved[block] = LowRankPair(b, a)
    return moved


def test_steps_equal_those_of_autograd(tiny: tuple[Path, MarianMTModel], marian: Marian) -> None:
    """Also within a lesson, where the offsets are separate from the base, and after a commit."""
    scope = Lora(marian, learning_rate=LEARNING_RATE, rank=4)
    for number, pair in enumerate([PAIRS[0], PAIRS[0], PAIRS[1], PAIRS[2]]):
        expected = autograd_step(scope, tiny[1], pair)
        step(scope, pair)
        if number % 2:
            scope.commit()
        for block, ours in scope.pairs_.items():
            torch.testing.assert_close(ours.b, expected[block].b, atol=2e-5, rtol=1e-3)
            torch.testing.assert_close(ours.a, expected[block].a, atol=2e-5, rtol=1e-3)


def test_separate_and_composed_offsets_are_the_same_model(small: Marian) -> None:
    scope = Lora(small, learning_rate=LEARNING_RATE, rank=4)
    ids, wanted = ids_of(small, PAIRS[4])
    step(scope, PAIRS[3])
    separate = forward_pass(scope.model, ids, wanted, frozenset()).loss
    scope.commit()
    composed = forward_pass(scope.model, ids, wanted, frozenset()).loss
    assert composed == pytest.approx(separate, abs=1e-5)
    assert composed != pytest.approx(forward_pass(small, ids, wanted, frozenset()).loss, abs=1e-4)


@pytest.mark.parametrize("bias_learning_rate", [0.0, 0.1])
def test_a_lesson_that_is_rolled_back_leaves_no_change(small: Marian, bias_learning_rate: float) -> None:
    system, again = learner(small, bias_learning_rate), learner(small, bias_learning_rate)
    for one in (system, again):
        teach(one, *PAIRS[2])
    before = copies(system.scope)  # type: ignore[arg-type]
    system.max_loss_increase = -100.0  # every update counts as harmful
    learned = system.learn(Proposal(Segment("1", PAIRS[5][0]), ""), PostEdit(PAIRS[5][1]))
    assert (learned.rejected, learned.updates) == ("harmful", 0)
    assert all(torch.equal(before[name], tensor) for name, tensor in system.scope.tensors().items())
    ids, wanted = ids_of(small, PAIRS[9])
    losses = {forward_pass(one.model, ids, wanted, frozenset(), one.scope.extra_bias).loss for one in (system, again)}
    assert len(losses) == 1


def test_a_gradient_that_is_not_finite_changes_nothing(small: Marian) -> None:
    scope = Lora(small, rank=4, bias_learning_rate=0.1)
    lesson = forward_pass(scope.model, *ids_of(small, PAIRS[0]), scope.names, scope.extra_bias)
    lesson.error[0, 0] = float("nan")
    before = copies(scope)
    with pytest.raises(NotFinite):
        scope.update(lesson)
    assert all(torch.equal(before[name], tensor) for name, tensor in scope.tensors().items())
    assert scope.model is small


@pytest.mark.parametrize("bias_learning_rate", [0.0, 0.1])
def test_a_reloaded_delta_continues_exactly(small: Marian, tmp_path: Path, bias_learning_rate: float) -> None:
    stayed = learner(small, bias_learning_rate)
    for pair in PAIRS[:5]:
        teach(stayed, *pair)
    stayed.save(tmp_path)
    resumed = learner(small, bias_learning_rate)
    resumed.load(tmp_path)
    for pair in PAIRS[5:9]:
        teach(stayed, *pair)
        teach(resumed, *pair)
    ours, theirs = stayed.scope.tensors(), resumed.scope.tensors()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert ("bias" in ours) == bool(bias_learning_rate)
    assert stayed.delta().parameters == stayed.scope.parameters  # type: ignore[attr-defined]


def test_a_delta_sets_the_rank(small: Marian) -> None:
    one = learner(small)
    teach(one, *PAIRS[0])
    other = AdaptiveNMT(Lora(small, rank=2), method="lora")
    other.load_delta(one.delta())
    assert other.propose(Segment("1", PAIRS[3][0])) == one.propose(Segment("1", PAIRS[3][0]))
    assert other.scope.rank == 4  # type: ignore[attr-defined]


@pytest.mark.parametrize("wrong", ["missing", "shape", "rank"])
def test_a_delta_that_does_not_fit_is_refused_and_changes_nothing(small: Marian, wrong: str) -> None:
    scope = Lora(small, rank=4)
    step(scope, PAIRS[0])
    scope.commit()
    before, tensors = copies(scope), copies(scope)
    name = max(name for name in tensors if name.startswith("a/"))
    if wrong == "missing":
        del tensors[name]
    else:
        tensors[name] = torch.zeros(4, 7) if wrong == "shape" else tensors[name][:3]
    with pytest.raises(InputError, match="this delta"):
        scope.restore(tensors)
    assert all(torch.equal(before[name], tensor) for name, tensor in scope.tensors().items())


def test_the_base_is_shared_and_never_written(small: Marian) -> None:
    before = small.weights.fingerprint
    system = learner(small)
    teach(system, *PAIRS[5])
    assert small.weights.copy([]).fingerprint == before
    assert not small.weights.pending


def test_the_seed_determines_the_initial_matrices(small: Marian) -> None:
    one, same, other = (next(iter(Lora(small, rank=4, seed=seed).pairs_.values())).a for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert settings_of("lora")["seed"] == 1  # settings are in the header of the trace


def test_the_budget_is_kept_or_refused(small: Marian) -> None:
    each = Lora(small, rank=1).parameters
    scope = Lora(small, rank=3, parameter_budget=3 * each)
    assert scope.parameters == 3 * each
    with pytest.raises(InputError, match="allows rank 3; give a smaller"):
        Lora(small, rank=4, parameter_budget=3 * each)
    with pytest.raises(InputError, match="allows rank 2;"):
        Lora(small, rank=3, parameter_budget=3 * each, bias_learning_rate=0.1)
    assert Lora(small, parameter_budget=3 * each).rank == 3  # rank 0: the largest within the budget
    for rank, budget in ((-1, 3 * each), (0, each - 1)):
        with pytest.raises(InputError, match=f"rank {rank}: each rank takes {each:,}"):
            Lora(small, rank=rank, parameter_budget=budget)


def test_the_number_of_parameters_on_the_embedded_model() -> None:
    model = Marian.load(find_model("en-de"))
    assert (Lora(model).rank, Lora(model).parameters) == (32, 1_351_680)
    assert Lora(model, rank=16).parameters == 675_840
    assert Lora(model, rank=47).parameters <= 2_000_000
    with pytest.raises(InputError, match="allows rank 47"):
        Lora(model, rank=48)
