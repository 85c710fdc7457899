"""Every neural method by name, with the settings that change how it draws, learns or is saved."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.tiny_marian import demo_pairs

from mtloop.bandits.neural.annealing import Annealing
from mtloop.bandits.neural.bandit_nmt import BanditNMT
from mtloop.bandits.neural.baselines import Nothing
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

NOWHERE = Encoded((), torch.empty(0), lambda dx, tape: None)
SEGMENTS = [Segment(str(i), source) for i, (source, _) in enumerate(demo_pairs()[:6])]
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((method, {}) for method in NEURAL_BANDITS),
    ("nmt-el-cv", {"optimiser": "adam", "rate": 0.01}),
    ("nmt-el-cv", {"optimiser": "adam", "rate": 0.01, "scope": "bias"}),
    ("nmt-el-cv", {"optimiser": "adam", "rate": 0.01, "scope": "lora"}),
    ("nmt-el", {"dropout": 0.5, "explore": 0.5, "best": 20, "mass": 0.9, "temperature": 1.0}),
    ("nmt-reinforce", {"dropout": 0.2, "scope": "bias", "kl": 0.5}),
    ("nmt-el-recall", {"expect": "ridge", "explore": 0.5}),
    ("nmt-el-recall", {"expect": "critic", "scope": "bias"}),
    ("nmt-szo", {"scope": "top", "spread": 0.02}),
    ("nmt-szo", {"optimiser": "sgd", "rate": 0.01}),
]


def worth(proposal: Proposal) -> Reward:
    """A number that depends on the translation, and on nothing else."""
    return Reward(sum(proposal.text.encode()) % 11 / 10)


def made(model: Marian, method: str, **settings: Any) -> BanditNMT:
    system = make_learner(method, model, settings)
    assert isinstance(system, BanditNMT)
    return system


def named(variant: tuple[str, dict[str, Any]]) -> str:
    return " ".join([variant[0], *(f"{key}={value}" for key, value in variant[1].items())])


@pytest.mark.parametrize("variant", VARIANTS, ids=named)
def test_the_contract(small: Marian, variant: tuple[str, dict[str, Any]]) -> None:
    method, settings = variant
    check_learner(lambda: make_learner(method, small, settings), SEGMENTS, worth)


@pytest.mark.parametrize("variant", VARIANTS, ids=named)
def test_saved_and_loaded_is_the_same_to_the_last_bit(
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
        system.learn(proposal, worth(proposal))


@pytest.mark.parametrize("method", [method for method in NEURAL_BANDITS if method not in ("nmt-el", "nmt-el-cv")])
def test_what_teaches_nothing_leaves_everything_as_it_was(small: Marian, method: str) -> None:
    system = made(small, method)
    teach(system, SEGMENTS[:2])
    first, late = system.propose(SEGMENTS[2]), system.propose(SEGMENTS[3])
    system.learn(first, Reward(0.25))
    before = {name: tensor.clone() for name, tensor in system.delta().tensors.items()}
    strange = Proposal(SEGMENTS[4], "Etwas.", method, memo={**late.memo, "draw": 3})
    said = [system.learn(late, Reward(value)).rejected for value in (math.nan, 1.5)]
    said += [system.learn(strange, Reward(0.5)).rejected, system.learn(first, Reward(0.5)).rejected]
    assert said == ["reward out of range"] * 2 + ["unknown proposal", "rewarded before"]
    after = system.delta().tensors
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert system.learn(late, Reward(0.75)).rejected is None


@pytest.mark.parametrize("method", ["nmt-el-ridge", "nmt-reinforce"])
def test_a_model_that_is_no_number_teaches_the_baseline_nothing(folder: Path, method: str) -> None:
    model = Marian.load(folder)
    system = made(model, method, scope="bias")
    teach(system, SEGMENTS[:2])
    proposal = system.propose(SEGMENTS[2])
    before = {name: tensor.clone() for name, tensor in system.explorer.tensors().items()}
    model.weights["model.decoder.layers.1.fc2.bias"][0] = math.nan
    assert system.learn(proposal, Reward(1.0)).rejected == "not finite"
    assert all(torch.equal(before[name], tensor) for name, tensor in system.explorer.tensors().items())


def test_draws_within_a_cut_have_the_probability_they_say(small: Marian) -> None:
    """Of many draws each first token comes as often as told, and only those inside the cut come."""
    encoded, limits, cut = (
        small.encode(small.source.encode("Save the file.")),
        LengthLimits(factor=0, slack=1),
        Truncation(best=3),
    )
    draws = [sample(small, encoded, limits, seed, 1.0, cut=cut) for seed in range(300)]
    chances = {found.ids[0]: math.exp(found.log_probability) for found in draws}
    assert len(chances) == 3
    assert sum(chances.values()) == pytest.approx(1.0, abs=1e-4)
    for token, chance in chances.items():
        share = sum(found.ids[0] == token for found in draws) / len(draws)
        assert share == pytest.approx(chance, abs=0.09)
    likeliest = max(chances, key=chances.__getitem__)
    assert all(found.likeliest == (found.ids[0] == likeliest) for found in draws)


def test_mass_keeps_the_fewest_tokens_that_hold_it() -> None:
    logits = torch.randn(3, 500, generator=torch.Generator().manual_seed(1)) * 0.1  # flat: more than a first look
    kept = Truncation(mass=0.9)(logits).isfinite()
    for row, inside in zip(logits.softmax(-1), kept, strict=True):
        ranked = row.sort(descending=True).values.cumsum(-1)
        assert int(inside.sum()) == int((ranked < 0.9).sum()) + 1
    drawn = logits.argmin(-1)
    assert Truncation(best=1)(logits, drawn).isfinite().sum(-1).tolist() == [2, 2, 2]


def test_a_share_of_draws_and_the_likeliest_otherwise(small: Marian) -> None:
    """The mixture: the greedy text is said more often, and probability and share are those of the mixture."""
    system = made(small, "nmt-el", explore=0.25, temperature=1.0)
    explorer = system.explorer
    encoded = small.encode(small.source.encode(SEGMENTS[0].source))
    best = greedy(small, encoded, system.limits).ids
    tried = [explorer.tries(system.scope, encoded, system.limits, seed, 1.0) for seed in range(60)]
    timid = [one for one in tried if one.ids == best]
    assert 0.55 < len(timid) / len(tried) < 0.95
    plain = sample(small, encoded, system.limits, 1, 1.0, timid=True)
    assert timid[0].probability == pytest.approx(0.75 + 0.25 * math.exp(plain.log_probability), abs=1e-6)
    assert timid[0].carried["share"] == pytest.approx(math.exp(plain.log_probability) / timid[0].probability, rel=1e-5)  # type: ignore[operator]
    drawn = next(one for one in tried if one.ids != best)
    assert drawn.carried["share"] == pytest.approx(4.0, rel=1e-5)


@pytest.mark.parametrize(("clipping", "times"), [("gradient", 1.0), ("score", 4.0)])
def test_a_clipped_score_is_weighed_afterwards(small: Marian, clipping: str, times: float) -> None:
    """Four times the reward moves four times as far where the log-probability's gradient was clipped, else as far."""
    moved = []
    for reward in (0.2, 0.8):
        system = made(small, "nmt-el", clipping=clipping, clip=0.1, rate=0.1, scope="bias")
        system.learn(system.propose(SEGMENTS[0]), Reward(reward))
        assert system.scope.extra_bias is not None
        moved.append(float(system.scope.extra_bias.norm()))
    assert moved[1] == pytest.approx(0.01 * (0.8 if clipping == "score" else 1.0), rel=1e-3)
    assert moved[1] / moved[0] == pytest.approx(times, rel=1e-3)


def test_without_blame_only_what_went_well_teaches(small: Marian) -> None:
    system = made(small, "nmt-el-cv", blame=0.0)
    told = [
        system.learn(system.propose(segment), Reward(value))
        for segment, value in zip(SEGMENTS, (0.5, 0.1, 0.9), strict=False)
    ]
    assert [one.updates for one in told] == [0, 0, 1]
    half = made(small, "nmt-el-cv", blame=0.5)
    half.learn(half.propose(SEGMENTS[0]), Reward(0.5))
    assert half.learn(half.propose(SEGMENTS[1]), Reward(0.1)).info == {"weight": -0.1}


def test_dropout_changes_what_is_learned_and_not_what_is_said(small: Marian) -> None:
    systems = [made(small, "nmt-el", dropout=dropout, temperature=1.0) for dropout in (0.0, 0.5, 0.5)]
    proposals = [system.propose(SEGMENTS[0]) for system in systems]
    assert proposals[0] == proposals[1]
    for system, proposal in zip(systems, proposals, strict=True):
        system.learn(proposal, Reward(1.0))
    plain, one, other = (system.scope.tensors() for system in systems)
    assert any(not torch.equal(plain[name], one[name]) for name in plain)
    assert all(torch.equal(other[name], one[name]) for name in one)


def test_zeroth_order_climbs_along_what_earned_more(small: Marian) -> None:
    """Above the mean the bias moves along u, below it against u; by Adam, so each by its sign alone at first."""
    system = made(small, "nmt-szo", rate=0.01)
    assert system.learn(system.propose(SEGMENTS[0]), Reward(0.5)).updates == 0  # it is the mean
    proposal = system.propose(SEGMENTS[1])
    _, u = directions(system.scope, int(str(proposal.memo["draw"])))
    assert u is not None
    system.learn(proposal, Reward(1.0))
    bias = system.scope.extra_bias
    assert bias is not None
    torch.testing.assert_close(bias, 0.01 * u.sign(), atol=1e-5, rtol=1e-3)


def test_zeroth_order_estimates_the_gradient(small: Marian) -> None:
    """On a reward that is linear in the shaken bias, the mean of the estimates is minus its slope (it descends)."""
    scope, explorer = make_scope(small, "bias", 0.1), ZerothOrder(Nothing(), spread=0.5)
    slope = torch.zeros(len(small.target.pieces))
    slope[5] = 0.3
    total = torch.zeros_like(slope)
    for seed in range(2000):
        _, u = directions(scope, seed)
        assert u is not None
        reward = float(slope @ (0.5 * u))  # no reward of a rater's, but a lesson asks for no range
        proposal = Proposal(SEGMENTS[0], "", memo={"draw": seed, "spread": 0.5})
        lesson, _ = explorer.lesson(scope, LengthLimits(), RewardedProposal(proposal, reward, 0.0, lambda: NOWHERE))
        total += lesson.error[0]
    assert float(total[5] / 2000) == pytest.approx(-0.3, abs=0.05)
    assert float((total / 2000 + slope).abs().max()) < 0.05


def test_zeroth_order_moves_tensors_along_what_earned_more(small: Marian) -> None:
    system = made(small, "nmt-szo", scope="top", optimiser="sgd", rate=0.01, spread=0.05)
    system.learn(system.propose(SEGMENTS[0]), Reward(0.5))
    proposal = system.propose(SEGMENTS[1])
    tensors, bias = directions(system.scope, int(str(proposal.memo["draw"])))
    assert bias is None
    assert system.learn(proposal, Reward(1.0)).info == {"weight": 0.25}
    for name, u in tensors.items():
        moved = system.model.weights[name] - small.weights[name]
        torch.testing.assert_close(moved, 0.01 * 0.25 / 0.05 * u, atol=1e-5, rtol=1e-3)


def test_shaking_falls_with_the_temperature_and_leaves_the_model_alone(small: Marian) -> None:
    annealing = Annealing(steps=10, start=0.0, decay=0.5, floor=0.01)
    system = BanditNMT(make_scope(small, "top", 0.1), ZerothOrder(spread=0.3), method="nmt-szo", annealing=annealing)
    before = {name: small.weights[name].clone() for name in system.scope.names}
    assert system.propose(SEGMENTS[0]).memo["spread"] == 0.3
    system.ledger_.rewards_.heard_ = 1000
    assert system.propose(SEGMENTS[0]).memo["spread"] == pytest.approx(0.003)
    assert all(torch.equal(before[name], small.weights[name]) for name in before)


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        ("nmt-el", {"optimiser": "adm"}, "did you mean 'adam'"),
        ("nmt-el", {"optimiser": "adam", "scope": "lasso"}, "take optimiser=sgd"),
        ("nmt-el", {"explore": 0.0}, "explore"),
        ("nmt-el", {"dropout": 1.0}, "dropout"),
        ("nmt-el", {"blame": -0.1}, "blame"),
        ("nmt-el", {"kl": -1.0}, "kl"),
        ("nmt-el", {"mass": 0.0}, "mass"),
        ("nmt-el", {"best": -1}, "best"),
        ("nmt-el", {"clip": -1.0}, "clip"),
        ("nmt-el", {"clipping": "scores"}, "did you mean 'score'"),
        ("nmt-el-ridge", {"ridge": 0.0}, "ridge"),
        ("nmt-reinforce", {"critic_rate": 0.0}, "critic_rate"),
        ("nmt-szo", {"scope": "full"}, "bias, top, fixed"),
        ("nmt-szo", {"spread": 0.0}, "spread"),
        ("nmt-szo", {"dropout": 0.5}, "unknown setting of method nmt-szo 'dropout'"),
    ],
)
def test_wrong_settings_are_one_line(small: Marian, method: str, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make_learner(method, small, settings)


def test_every_setting_is_told_with_its_default() -> None:
    assert settings_of("nmt-reinforce", {"hidden": "8"})["hidden"] == 8
    assert settings_of("nmt-szo")["scope"] == "bias"
    with pytest.raises(UnknownName, match="critic_rate"):
        settings_of("nmt-reinforce", {"criticrate": 1})


@pytest.mark.parametrize(
    ("method", "settings", "rate"),
    [
        ("nmt-el", {}, 0.003),
        ("nmt-el-cv", {}, 0.01),
        ("nmt-reinforce", {"scope": "lora"}, 0.01),
        ("nmt-el-ridge", {"scope": "bias"}, 0.1),
        ("nmt-el-cv", {"rate": 0.5}, 0.5),
        ("nmt-el-cv", {"optimiser": "adam"}, 1e-5),
        ("nmt-el", {"optimiser": "adam", "scope": "lora"}, 1e-4),
        ("nmt-szo", {}, 1e-3),
    ],
)
def test_a_rate_that_is_not_told_is_that_of_scope_and_optimiser(
    small: Marian, method: str, settings: dict[str, Any], rate: float
) -> None:
    scope = made(small, method, **settings).scope
    assert getattr(scope, "scope", scope).rate == rate


def test_a_snapshot_of_another_optimiser_is_refused(small: Marian, tmp_path: Path) -> None:
    system = made(small, "nmt-el", optimiser="adam", scope="bias")
    teach(system, SEGMENTS[:1])
    system.save(tmp_path)
    with pytest.raises(InputError, match="Adam of OutputBias"):
        made(small, "nmt-el", scope="bias").load(tmp_path)


def test_moments_and_what_was_heard_are_no_parameters(small: Marian) -> None:
    system = made(small, "nmt-reinforce", optimiser="adam", scope="bias")
    teach(system, SEGMENTS[:3])
    assert system.delta().parameters == len(small.target.pieces)


def test_what_an_explorer_needs_is_checked() -> None:
    with pytest.raises(InputError, match="explore"):
        ExpectedLoss(explore=1.5)
