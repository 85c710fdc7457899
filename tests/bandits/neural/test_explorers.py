"""All neural bandit methods, with settings that change sampling, learning or saving."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.tiny_marian import demo_pairs

from mtloop.bandits.neural.annealing import Annealing
from mtloop.bandits.neural.bandit_nmt import BanditNMT
from mtloop.bandits.neural.baselines import NoBaseline
from mtloop.bandits.neural.explorers import ExpectedLoss, RewardedProposal
from mtloop.bandits.neural.zeroth_order import ZerothOrder, directions
from mtloop.checks.learner_contract import check_learner
from mtloop.core import InputError, Proposal, Reward, Segment, UnknownName
from mtloop.methods.neural import make_scope
from mtloop.methods.neural_bandits import NEURAL_BANDITS
from mtloop.methods.registry import make_learner, settings_of
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import LengthLimits, greedy, sample
from mtloop.nmt.engine.truncation import Truncation

EMPTY = Encoded((), torch.empty(0), lambda dx, collector: None)
SEGMENTS = [Segment(str(i), source) for i, (source, _) in enumerate(demo_pairs()[:6])]
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((method, {}) for method in NEURAL_BANDITS),
    ("nmt-el-cv", {"optimiser": "adam", "learning_rate": 0.01}),
    ("nmt-el-cv", {"optimiser": "adam", "learning_rate": 0.01, "scope": "bias"}),
    ("nmt-el-cv", {"optimiser": "adam", "learning_rate": 0.01, "scope": "lora"}),
    ("nmt-el", {"dropout": 0.5, "exploration": 0.5, "top_k": 20, "top_p": 0.9, "temperature": 1.0}),
    ("nmt-reinforce", {"dropout": 0.2, "scope": "bias", "kl_weight": 0.5}),
    ("nmt-el-recall", {"reward_baseline": "ridge", "exploration": 0.5}),
    ("nmt-el-recall", {"reward_baseline": "critic", "scope": "bias"}),
    ("nmt-szo", {"scope": "top", "perturbation_scale": 0.02}),
    ("nmt-szo", {"optimiser": "sgd", "learning_rate": 0.01}),
]


def reward_of(proposal: Proposal) -> Reward:
    """A reward that depends only on the text of the translation."""
    return Reward(sum(proposal.text.encode()) % 11 / 10)


def made(model: Marian, method: str, **settings: Any) -> BanditNMT:
    system = make_learner(method, model, settings)
    assert isinstance(system, BanditNMT)
    return system


def variant_name(variant: tuple[str, dict[str, Any]]) -> str:
    return " ".join([variant[0], *(f"{key}={value}" for key, value in variant[1].items())])


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_name)
def test_learner_contract(small: Marian, variant: tuple[str, dict[str, Any]]) -> None:
    method, settings = variant
    check_learner(lambda: make_learner(method, small, settings), SEGMENTS, reward_of)


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_name)
def test_a_saved_and_loaded_learner_is_bit_identical(
    small: Marian, variant: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    method, settings = variant
    stayed, resumed = (made(small, method, **settings) for _ in range(2))
    teach(stayed, SEGMENTS[:3])
    stayed.save(tmp_path)
    resumed.load(tmp_path)
    for system in (stayed, resumed):
        teach(system, SEGMENTS[3:])
    one, other = stayed.delta().tensors, resumed.delta().tensors
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def teach(system: BanditNMT, segments: list[Segment]) -> None:
    for segment in segments:
        proposal = system.propose(segment)
        system.learn(proposal, reward_of(proposal))


@pytest.mark.parametrize("method", [method for method in NEURAL_BANDITS if method not in ("nmt-el", "nmt-el-cv")])
def test_a_rejected_reward_changes_nothing(small: Marian, method: str) -> None:
    system = made(small, method)
    teach(system, SEGMENTS[:2])
    first, late = system.propose(SEGMENTS[2]), system.propose(SEGMENTS[3])
    system.learn(first, Reward(0.25))
    before = {name: tensor.clone() for name, tensor in system.delta().tensors.items()}
    strange = Proposal(SEGMENTS[4], "Etwas.", method, memo={**late.memo, "draw": 3})
    rejected = [system.learn(late, Reward(value)).rejected for value in (math.nan, 1.5)]
    rejected += [system.learn(strange, Reward(0.5)).rejected, system.learn(first, Reward(0.5)).rejected]
    assert rejected == ["reward out of range"] * 2 + ["unknown proposal", "rewarded before"]
    after = system.delta().tensors
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert system.learn(late, Reward(0.75)).rejected is None


@pytest.mark.parametrize("method", ["nmt-el-ridge", "nmt-reinforce"])
def test_a_model_with_nan_does_not_change_the_baseline(folder: Path, method: str) -> None:
    model = Marian.load(folder)
    system = made(model, method, scope="bias")
    teach(system, SEGMENTS[:2])
    proposal = system.propose(SEGMENTS[2])
    before = {name: tensor.clone() for name, tensor in system.explorer.tensors().items()}
    model.weights["model.decoder.layers.1.fc2.bias"][0] = math.nan
    assert system.learn(proposal, Reward(1.0)).rejected == "not finite"
    assert all(torch.equal(before[name], tensor) for name, tensor in system.explorer.tensors().items())


def test_truncated_samples_have_the_reported_probability(small: Marian) -> None:
    """The frequency of each first token matches its probability; only tokens inside the truncation occur."""
    encoded, limits, cut = (
        small.encode(small.source.encode("Save the file.")),
        LengthLimits(factor=0, slack=1),
        Truncation(top_k=3),
    )
    draws = [sample(small, encoded, limits, seed, 1.0, truncation=cut) for seed in range(300)]
    probabilities = {found.ids[0]: math.exp(found.log_probability) for found in draws}
    assert len(probabilities) == 3
    assert sum(probabilities.values()) == pytest.approx(1.0, abs=1e-4)
    for token, probability in probabilities.items():
        share = sum(found.ids[0] == token for found in draws) / len(draws)
        assert share == pytest.approx(probability, abs=0.09)
    most_likely = max(probabilities, key=probabilities.__getitem__)
    assert all(found.is_greedy == (found.ids[0] == most_likely) for found in draws)


def test_top_p_keeps_the_smallest_sufficient_set_of_tokens() -> None:
    logits = torch.randn(3, 500, generator=torch.Generator().manual_seed(1)) * 0.1  # flat: more than a first look
    kept = Truncation(top_p=0.9)(logits).isfinite()
    for row, inside in zip(logits.softmax(-1), kept, strict=True):
        ranked = row.sort(descending=True).values.cumsum(-1)
        assert int(inside.sum()) == int((ranked < 0.9).sum()) + 1
    drawn = logits.argmin(-1)
    assert Truncation(top_k=1)(logits, drawn).isfinite().sum(-1).tolist() == [2, 2, 2]


def test_exploration_mixes_sampling_and_the_most_likely_translation(small: Marian) -> None:
    """The greedy text is more frequent; probability and importance weight are those of the mixture."""
    system = made(small, "nmt-el", exploration=0.25, temperature=1.0)
    explorer = system.explorer
    encoded = small.encode(small.source.encode(SEGMENTS[0].source))
    best = greedy(small, encoded, system.limits).ids
    explored = [explorer.explore(system.scope, encoded, system.limits, seed, 1.0) for seed in range(60)]
    exploited = [one for one in explored if one.ids == best]
    assert 0.55 < len(exploited) / len(explored) < 0.95
    plain = sample(small, encoded, system.limits, 1, 1.0, take_best=True)
    assert exploited[0].probability == pytest.approx(0.75 + 0.25 * math.exp(plain.log_probability), abs=1e-6)
    assert exploited[0].memo["share"] == pytest.approx(
        math.exp(plain.log_probability) / exploited[0].probability, rel=1e-5
    )  # type: ignore[operator]
    drawn = next(one for one in explored if one.ids != best)
    assert drawn.memo["share"] == pytest.approx(4.0, rel=1e-5)


@pytest.mark.parametrize(("clipping", "times"), [("gradient", 1.0), ("score", 4.0)])
def test_a_score_is_clipped_before_the_reward_weights_it(small: Marian, clipping: str, times: float) -> None:
    """Four times the reward makes four times the update with clipping=score, an equal one with gradient."""
    norms = []
    for reward in (0.2, 0.8):
        system = made(small, "nmt-el", clipping=clipping, max_gradient_norm=0.1, learning_rate=0.1, scope="bias")
        system.learn(system.propose(SEGMENTS[0]), Reward(reward))
        assert system.scope.extra_bias is not None
        norms.append(float(system.scope.extra_bias.norm()))
    assert norms[1] == pytest.approx(0.01 * (0.8 if clipping == "score" else 1.0), rel=1e-3)
    assert norms[1] / norms[0] == pytest.approx(times, rel=1e-3)


def test_negative_weight_scales_rewards_below_the_baseline(small: Marian) -> None:
    system = made(small, "nmt-el-cv", negative_weight=0.0)
    learned = [
        system.learn(system.propose(segment), Reward(value))
        for segment, value in zip(SEGMENTS, (0.5, 0.1, 0.9), strict=False)
    ]
    assert [one.updates for one in learned] == [0, 0, 1]
    half = made(small, "nmt-el-cv", negative_weight=0.5)
    half.learn(half.propose(SEGMENTS[0]), Reward(0.5))
    assert half.learn(half.propose(SEGMENTS[1]), Reward(0.1)).info == {"weight": -0.1}


def test_dropout_changes_the_update_and_not_the_translation(small: Marian) -> None:
    systems = [made(small, "nmt-el", dropout=dropout, temperature=1.0) for dropout in (0.0, 0.5, 0.5)]
    proposals = [system.propose(SEGMENTS[0]) for system in systems]
    assert proposals[0] == proposals[1]
    for system, proposal in zip(systems, proposals, strict=True):
        system.learn(proposal, Reward(1.0))
    plain, one, other = (system.scope.tensors() for system in systems)
    assert any(not torch.equal(plain[name], one[name]) for name in plain)
    assert all(torch.equal(other[name], one[name]) for name in one)


def test_zeroth_order_follows_perturbations_with_a_higher_reward(small: Marian) -> None:
    """Above the mean the bias moves along u, below it against u; the first step of Adam depends only on the sign."""
    system = made(small, "nmt-szo", learning_rate=0.01)
    assert system.learn(system.propose(SEGMENTS[0]), Reward(0.5)).updates == 0  # it is the mean
    proposal = system.propose(SEGMENTS[1])
    _, u = directions(system.scope, int(str(proposal.memo["draw"])))
    assert u is not None
    system.learn(proposal, Reward(1.0))
    bias = system.scope.extra_bias
    assert bias is not None
    torch.testing.assert_close(bias, 0.01 * u.sign(), atol=1e-5, rtol=1e-3)


def test_zeroth_order_estimates_the_gradient(small: Marian) -> None:
    """For a reward linear in the perturbed bias, the mean of the estimates is minus its slope (descent)."""
    scope, explorer = make_scope(small, "bias", 0.1), ZerothOrder(NoBaseline(), perturbation_scale=0.5)
    slope = torch.zeros(len(small.target.pieces))
    slope[5] = 0.3
    total = torch.zeros_like(slope)
    for seed in range(2000):
        _, u = directions(scope, seed)
        assert u is not None
        reward = float(slope @ (0.5 * u))  # may be outside 0 to 1: a lesson does not check the range
        proposal = Proposal(SEGMENTS[0], "", memo={"draw": seed, "perturbation_scale": 0.5})
        lesson, _ = explorer.lesson(scope, LengthLimits(), RewardedProposal(proposal, reward, 0.0, lambda: EMPTY))
        total += lesson.error[0]
    assert float(total[5] / 2000) == pytest.approx(-0.3, abs=0.05)
    assert float((total / 2000 + slope).abs().max()) < 0.05


def test_zeroth_order_moves_tensors_along_the_perturbation(small: Marian) -> None:
    system = made(small, "nmt-szo", scope="top", optimiser="sgd", learning_rate=0.01, perturbation_scale=0.05)
    system.learn(system.propose(SEGMENTS[0]), Reward(0.5))
    proposal = system.propose(SEGMENTS[1])
    tensors, bias = directions(system.scope, int(str(proposal.memo["draw"])))
    assert bias is None
    assert system.learn(proposal, Reward(1.0)).info == {"weight": 0.25}
    for name, u in tensors.items():
        difference = system.model.weights[name] - small.weights[name]
        torch.testing.assert_close(difference, 0.01 * 0.25 / 0.05 * u, atol=1e-5, rtol=1e-3)


def test_the_perturbation_scale_is_annealed_and_the_model_does_not_change(small: Marian) -> None:
    annealing = Annealing(10, annealing_start=0.0, annealing_decay=0.5, min_temperature=0.01)
    explorer = ZerothOrder(perturbation_scale=0.3)
    system = BanditNMT(make_scope(small, "top", 0.1), explorer, method="nmt-szo", annealing=annealing)
    before = {name: small.weights[name].clone() for name in system.scope.names}
    assert system.propose(SEGMENTS[0]).memo["perturbation_scale"] == 0.3
    system.draw_log_.rewards_.count_ = 1000
    assert system.propose(SEGMENTS[0]).memo["perturbation_scale"] == pytest.approx(0.003)
    assert all(torch.equal(before[name], small.weights[name]) for name in before)


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("nmt-el", {"optimiser": "adm"}, "did you mean 'adam'"),
        ("nmt-el", {"optimiser": "adam", "scope": "lasso"}, "take optimiser=sgd"),
        ("nmt-el", {"exploration": 0.0}, "exploration"),
        ("nmt-el", {"dropout": 1.0}, "dropout"),
        ("nmt-el", {"negative_weight": -0.1}, "negative_weight"),
        ("nmt-el", {"kl_weight": -1.0}, "kl_weight"),
        ("nmt-el", {"top_p": 0.0}, "top_p"),
        ("nmt-el", {"top_k": -1}, "top_k"),
        ("nmt-el", {"max_gradient_norm": -1.0}, "max_gradient_norm"),
        ("nmt-el", {"clipping": "scores"}, "did you mean 'score'"),
        ("nmt-el-ridge", {"ridge_penalty": 0.0}, "ridge_penalty"),
        ("nmt-reinforce", {"critic_learning_rate": 0.0}, "critic_learning_rate"),
        ("nmt-szo", {"scope": "full"}, "bias, top, fixed"),
        ("nmt-szo", {"perturbation_scale": 0.0}, "perturbation_scale"),
        ("nmt-szo", {"dropout": 0.5}, "method nmt-szo has no setting 'dropout'"),
    ],
)
def test_invalid_settings_raise_an_input_error(
    small: Marian, method: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        make_learner(method, small, settings)


def test_settings_have_defaults_and_are_converted() -> None:
    assert settings_of("nmt-reinforce", {"critic_width": "8"})["critic_width"] == 8
    assert settings_of("nmt-szo")["scope"] == "bias"
    with pytest.raises(UnknownName, match="critic_learning_rate"):
        settings_of("nmt-reinforce", {"critic_learningrate": 1})


@pytest.mark.parametrize(
    ("method", "settings", "rate"),
    [
        ("nmt-el", {}, 0.003),
        ("nmt-el-cv", {}, 0.01),
        ("nmt-reinforce", {"scope": "lora"}, 0.01),
        ("nmt-el-ridge", {"scope": "bias"}, 0.1),
        ("nmt-el-cv", {"learning_rate": 0.5}, 0.5),
        ("nmt-el-cv", {"optimiser": "adam"}, 1e-5),
        ("nmt-el", {"optimiser": "adam", "scope": "lora"}, 1e-4),
        ("nmt-szo", {}, 1e-3),
    ],
)
def test_the_default_learning_rate_depends_on_scope_and_optimiser(
    small: Marian, method: str, settings: dict[str, Any], rate: float
) -> None:
    scope = made(small, method, **settings).scope
    assert getattr(scope, "scope", scope).learning_rate == rate


def test_a_snapshot_of_another_optimiser_is_rejected(small: Marian, tmp_path: Path) -> None:
    system = made(small, "nmt-el", optimiser="adam", scope="bias")
    teach(system, SEGMENTS[:1])
    system.save(tmp_path)
    with pytest.raises(InputError, match="Adam of OutputBias"):
        made(small, "nmt-el", scope="bias").load(tmp_path)


def test_optimiser_and_reward_state_are_not_counted_as_parameters(small: Marian) -> None:
    system = made(small, "nmt-reinforce", optimiser="adam", scope="bias")
    teach(system, SEGMENTS[:3])
    assert system.delta().parameters == len(small.target.pieces)


def test_an_explorer_checks_its_settings() -> None:
    with pytest.raises(InputError, match="exploration"):
        ExpectedLoss(exploration=1.5)
