from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.tiers import slow
from helpers.tiny_marian import demo_pairs

from mtloop.bandits.neural.annealing import Annealing
from mtloop.bandits.neural.bandit_nmt import BanditNMT
from mtloop.bandits.neural.baselines import NoBaseline, RunningMean
from mtloop.bandits.neural.explorers import ExpectedLoss
from mtloop.checks.learner_contract import check_learner
from mtloop.core import (
    Delay,
    Feedback,
    InputError,
    PostEdit,
    Proposal,
    Reward,
    Segment,
    Truth,
    UnknownName,
    run,
    serialisation,
)
from mtloop.methods.neural import make_scope
from mtloop.methods.registry import make_learner, settings_of
from mtloop.nmt.engine.lesson import forward_pass
from mtloop.nmt.engine.marian import Marian
from mtloop.text.text_unit import TextUnit

PAIRS = demo_pairs()
SEGMENTS = [Segment(str(i), source) for i, (source, _) in enumerate(PAIRS[:8])]
SCOPES = ["full", "top", "bias", "lasso"]


def reward_of(proposal: Proposal) -> Reward:
    """A reward that depends only on the text of the translation."""
    return Reward(sum(proposal.text.encode()) % 11 / 10)


def learner(model: Marian, scope: str = "full", control: bool = False, **settings: Any) -> BanditNMT:
    return BanditNMT(make_scope(model, scope, 0.05), explorer(control), **settings)


def explorer(control: bool) -> ExpectedLoss:
    return ExpectedLoss(RunningMean() if control else NoBaseline())


def state(system: BanditNMT) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in system.delta().tensors.items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("scope", ["full", slow("lasso"), slow("top"), slow("bias")])
@pytest.mark.parametrize("control", [True, slow(False)])
def test_learner_contract(small: Marian, scope: str, control: bool) -> None:
    annealing = Annealing(8, annealing_start=0.5, annealing_decay=0.9)
    check_learner(lambda: learner(small, scope, control=control, annealing=annealing), SEGMENTS, reward_of)


def test_scope_fixed_learns_the_tensors_of_a_file(small: Marian, tmp_path: Path) -> None:
    name = "model.decoder.layers.1.fc1.weight"
    (tmp_path / "fixed.json").write_text(f'{{"tensors": ["{name}"]}}')
    system = make_learner("nmt-el", small, {"scope": "fixed", "tensors_file": str(tmp_path / "fixed.json")})
    assert isinstance(system, BanditNMT)
    system.learn(system.propose(SEGMENTS[0]), Reward(1.0))
    assert [key for key in state(system) if not key.startswith("bandit/")] == [f"dense/{name}"]


def test_the_memo_holds_the_data_for_learning(small: Marian) -> None:
    proposal = learner(small).propose(SEGMENTS[0])
    assert proposal.memo["rewards"] == 0
    assert proposal.probability == pytest.approx(math.exp(float(str(proposal.memo["log_probability"]))))
    assert small.target.decode(proposal.memo["tokens"]) == proposal.text  # type: ignore[arg-type]
    assert learner(small, seed=2).propose(SEGMENTS[0]).memo["draw"] != proposal.memo["draw"]


def test_a_draw_depends_on_the_number_of_rewards(small: Marian) -> None:
    system = learner(small)
    first = system.propose(SEGMENTS[0])
    system.learn(first, Reward(0.0))
    assert system.propose(SEGMENTS[0]).memo["draw"] != first.memo["draw"]


@pytest.mark.parametrize("scope", SCOPES)
def test_a_reward_makes_its_translation_more_likely(small: Marian, scope: str) -> None:
    system = learner(small, scope)
    proposal = system.propose(SEGMENTS[1])
    before = likelihood(system, proposal)
    assert system.learn(proposal, Reward(1.0)).updates == 1
    assert likelihood(system, proposal) > before


def test_a_reward_below_the_mean_makes_its_translation_less_likely(small: Marian) -> None:
    system = learner(small, control=True)
    assert system.learn(system.propose(SEGMENTS[0]), Reward(0.9)).updates == 0  # it is the mean
    proposal = system.propose(SEGMENTS[1])
    before = likelihood(system, proposal)
    assert system.learn(proposal, Reward(0.1)).info == {"weight": -0.4}
    assert likelihood(system, proposal) < before


def several() -> Segment:
    """A segment of three sentences, with tags and a placeholder."""
    return Segment("", "Open the file. <b>Save</b> it to %s. Close the window.")


def test_one_of_several_sentences_is_drawn(small: Marian) -> None:
    """The others are translated without sampling, and another seed draws another one."""
    drawn = set()
    for seed in range(8):
        system = learner(small, seed=seed)
        proposal = system.propose(several())
        part = proposal.memo["part"]
        assert isinstance(part, int)
        unit = TextUnit.of(several().source)
        assert len(unit.parts) == 3
        texts = [system.translator().translate_sentence(one) for one in unit.parts]
        texts[part] = small.target.decode(proposal.memo["tokens"])  # type: ignore[arg-type]
        assert proposal.text == unit.assemble(texts, system.translator().align).text
        assert system.drawn_source(proposal) == unit.parts[part]
        drawn.add(part)
    assert drawn == {0, 1, 2}


@pytest.mark.parametrize("scope", SCOPES)
def test_a_reward_is_credited_to_the_sentence_that_was_drawn(small: Marian, scope: str) -> None:
    """What is learned is what the same draw teaches for the sentence alone, and not for the text around it."""
    system = learner(small, scope)
    proposal = system.propose(several())
    before = likelihood(system, proposal)
    assert system.learn(proposal, Reward(1.0)).updates == 1
    assert likelihood(system, proposal) > before
    alone = learner(small, scope)
    source = Segment("", alone.drawn_source(proposal))
    memo = {name: proposal.memo[name] for name in ("tokens", "temperature", "log_probability")}
    draw = alone.draw_log_.signed_memo(source, proposal.text, memo)
    assert alone.learn(Proposal(source, proposal.text, alone.method, memo=draw), Reward(1.0)).updates == 1
    learned, expected = ({k: v for k, v in state(one).items() if "bandit/" not in k} for one in (system, alone))
    assert same(learned, expected)


def likelihood(system: BanditNMT, proposal: Proposal) -> float:
    ids = system.model.source.encode(system.drawn_source(proposal))
    return -forward_pass(system.model, ids, proposal.memo["tokens"], frozenset(), system.scope.extra_bias).loss  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "feedback", "reason"),
    [
        ({}, Reward(math.nan), "reward out of range"),
        ({}, Reward(math.inf), "reward out of range"),
        ({}, Reward(1.01), "reward out of range"),
        ({}, Reward(-0.01), "reward out of range"),
        ({"text": "Etwas anderes."}, Reward(0.5), "unknown proposal"),
        ({"system": "another", "memo": {}}, Reward(0.5), "unknown proposal"),
        ({"memo": {"draw": 1, "rewards": 0, "tokens": [1], "temperature": 1.0}}, Reward(0.5), "unknown proposal"),
        ({"memo": {"draw": 1, "rewards": 0, "tokens": [10**9], "temperature": 1.0}}, Reward(0.5), "unknown proposal"),
        ({"memo": {}}, Reward(0.5), "not drawn"),
        ({}, PostEdit("Speichern"), "learns from rewards, not from post-edits"),
    ],
)
def test_a_rejected_reward_changes_nothing(
    small: Marian, change: dict[str, Any], feedback: Feedback, reason: str
) -> None:
    system = learner(small, control=True)
    for segment in SEGMENTS[:3]:
        system.learn(proposal := system.propose(segment), reward_of(proposal))
    before, count = state(system), system.draw_log_.rewards_.count_
    learned = system.learn(replace(system.propose(SEGMENTS[4]), **change), feedback)
    assert (learned.rejected, learned.updates) == (reason, 0)
    assert same(before, state(system))
    assert system.draw_log_.rewards_.count_ == count


def test_a_proposal_with_more_rewards_than_this_learner_is_unknown(small: Marian) -> None:
    ahead, behind = learner(small), learner(small)
    ahead.learn(ahead.propose(SEGMENTS[0]), Reward(0.5))
    assert behind.learn(ahead.propose(SEGMENTS[1]), Reward(0.5)).rejected == "unknown proposal"


def test_a_second_reward_is_rejected_even_after_a_restart(small: Marian, tmp_path: Path) -> None:
    system = learner(small)
    proposal = system.propose(SEGMENTS[0])
    assert system.learn(proposal, Reward(0.5)).rejected is None
    before = state(system)
    assert system.learn(proposal, Reward(0.9)).rejected == "rewarded before"
    system.save(tmp_path)
    again = learner(small)
    again.load(tmp_path)
    assert again.learn(proposal, Reward(0.9)).rejected == "rewarded before"
    assert same(before, state(again))


def test_equal_sources_get_separate_rewards(small: Marian) -> None:
    system = learner(small)
    twins = [system.propose(Segment(name, "Save the file.")) for name in "ab"]
    assert twins[0].text == twins[1].text
    assert [system.learn(twin, Reward(0.5)).rejected for twin in twins] == [None, None]


@pytest.mark.slow
def test_rewards_a_hundred_steps_late_are_learned_and_weights_stay_finite(small: Marian) -> None:
    stream = [(Segment(str(i), PAIRS[i % 20][0]), Truth((PAIRS[i % 20][1],))) for i in range(104)]
    system = learner(small, control=True)
    steps = list(run(stream, system, lambda proposal, truth: reward_of(proposal), schedule=Delay(100)))
    assert all(step.proposal.memo["rewards"] == max(0, step.index - 100) for step in steps)
    assert sum(step.learned.updates for step in steps if step.learned) > 80
    assert not any(step.learned.rejected for step in steps if step.learned)
    assert all(tensor.isfinite().all() for tensor in state(system).values())


@pytest.mark.parametrize("scope", ["full", "bias", "lasso"])
def test_a_gradient_that_is_nan_changes_no_weight(folder: Path, scope: str) -> None:
    model = Marian.load(folder)
    system = learner(model, scope)
    proposal = system.propose(SEGMENTS[0])
    model.weights["model.decoder.layers.1.fc2.bias"][0] = math.nan
    before = system.scope.tensors()
    assert system.learn(proposal, Reward(1.0)).rejected == "not finite"
    assert same(before, system.scope.tensors())


@pytest.mark.parametrize("source", ["", "   ", "word " * 400])
def test_empty_and_long_sources_are_translated_without_sampling(small: Marian, source: str) -> None:
    system = learner(small)
    proposal = serialisation.decode(Proposal, serialisation.encode(system.propose(Segment("1", source))))
    assert proposal.probability is None
    assert system.learn(proposal, Reward(0.5)).rejected == "not drawn"


def test_a_delta_of_another_scope_is_refused(small: Marian, tmp_path: Path) -> None:
    system = learner(small)
    system.learn(system.propose(SEGMENTS[0]), Reward(0.5))
    system.save(tmp_path)
    with pytest.raises(InputError, match="on Dense"):
        learner(small, "bias").load(tmp_path)


def test_annealing_ends_sampling_and_learning(small: Marian) -> None:
    system = learner(small, annealing=Annealing(10, annealing_start=0.0, annealing_decay=0.5, min_temperature=0.01))
    system.draw_log_.rewards_.count_ = 10**6
    proposal = system.propose(SEGMENTS[2])
    assert proposal.memo["temperature"] == pytest.approx(0.01)
    assert proposal.text == system.translator().propose(SEGMENTS[2]).text
    assert system.learn(proposal, Reward(1.0)).updates == 0


def test_methods_by_name(small: Marian) -> None:
    plain, control = (
        make_learner("nmt-el", small),
        make_learner("nmt-el-cv", small, {"scope": "bias", "stream_length": 100}),
    )
    assert isinstance(plain, BanditNMT)
    assert isinstance(control, BanditNMT)
    assert (type(plain.explorer.baseline), type(control.explorer.baseline)) == (NoBaseline, RunningMean)  # type: ignore[attr-defined]
    assert plain.learns_from == (Reward,)
    assert control.annealing.stream_length == 100
    with pytest.raises(InputError, match="setting scope is 'ful'; did you mean 'full'"):
        make_learner("nmt-el", small, {"scope": "ful"})
    with pytest.raises(InputError, match="tensors_file"):
        make_learner("nmt-el", small, {"tensors_file": "x.json"})
    with pytest.raises(UnknownName, match="temperature"):
        settings_of("nmt-el", {"temprature": 1})


def test_an_update_is_a_step_of_sgd(small: Marian) -> None:
    """One unclipped step on the output bias, by hand: learning rate * reward * (one-hot - p)."""
    system = BanditNMT(make_scope(small, "bias", 0.5), max_gradient_norm=0.0)
    proposal = system.propose(SEGMENTS[3])
    tokens: Any = proposal.memo["tokens"]
    states = forward_pass(small, small.source.encode(SEGMENTS[3].source), tokens, frozenset()).states
    logits = small.logits(states)
    logits[:, small.target.pad] = -math.inf
    difference = torch.nn.functional.one_hot(torch.tensor(tokens), logits.shape[1]) - logits.softmax(-1)
    kept = torch.tensor([not system.limits.is_looping(tokens[:position]) for position in range(len(tokens))])
    system.learn(proposal, Reward(0.8))
    torch.testing.assert_close(system.scope.extra_bias, 0.5 * 0.8 * difference[kept].sum(0), atol=1e-5, rtol=1e-4)
