"""Offline learning: gradients, the better of two translations, and invalid logs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.tiers import slow
from helpers.tiny_marian import demo_pairs, write_tiny
from helpers.two_armed import RIGHT, SOURCE, WRONG, make_two_armed

from mtloop.bandits.neural.bandit_nmt import BanditNMT
from mtloop.bandits.offline.estimators import ESTIMATORS, LoggedBatch
from mtloop.bandits.offline.learning import Offline, OfflineSettings, join_lessons
from mtloop.bandits.offline.logs import Logged, Logs, read_logs
from mtloop.core import Header, InputError, PostEdit, Proposal, Reward, Segment, Step, TraceWriter, UnknownName
from mtloop.core.errors import TraceError
from mtloop.methods.neural import make_scope
from mtloop.methods.registry import make_learner
from mtloop.nmt.engine.lesson import forward_pass
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import LengthLimits, sample
from mtloop.nmt.scopes.dense import Dense, all_names

SOURCES = [source for source, _ in demo_pairs()[:6]]


def sampled_log(model: Marian, sources: list[str], temperature: float = 1.0, reward_of: Any = None) -> list[Logged]:
    """A log of samples of this model; by default the reward depends on the text."""
    found = []
    for number, source in enumerate(sources):
        one = sample(model, model.source.encode(source), LengthLimits(), number, temperature)
        text = model.target.decode(one.ids)
        reward = reward_of(text) if reward_of else sum(text.encode()) % 11 / 10
        found.append(Logged(source, one.ids, reward, one.log_probability, temperature))
    return found


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_gradient_of_a_batch_against_finite_differences(small: Marian, estimator: str) -> None:
    """The slope along the gradient of all tensors is its norm; the log comes from other weights."""
    logs = [
        replace(one, log_probability=one.log_probability + 0.3 * (-1) ** i)
        for i, one in enumerate(sampled_log(small, SOURCES))
    ]
    scope = Dense(small, all_names(small.weights))
    offline = Offline(scope, logs, OfflineSettings(estimator=estimator, batch_size=6, max_weight=2.0))
    lessons, estimate = offline.estimate(logs)
    samples = offline._sample(logs, 0) if estimator == "doubly-controlled" else []
    found = join_lessons(lessons, [*estimate.logged, *estimate.sampled]).gradients()
    full = {name: dense_gradient(gradient, small.weights[name].shape) for name, gradient in found.items()}
    length = math.sqrt(sum(float(one.pow(2).sum()) for one in full.values()))
    kept = {name: small.weights[name].clone() for name in full}
    step, ends = 1e-2, []
    for sign in (1, -1):
        for name, gradient in full.items():
            small.weights[name].copy_(kept[name] - sign * step * gradient / length)
        ends.append(value(offline, logs, samples))
    for name, tensor in kept.items():
        small.weights[name].copy_(tensor)
    assert length > 0.05
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(length, rel=0.05)


def value(offline: Offline, logs: list[Logged], samples: list[Logged]) -> float:
    """The estimate, from its definition."""
    batch = LoggedBatch(
        offline.log_ratios(logs),
        np.array([one.reward for one in logs]),
        offline._predicted(logs),
        offline.log_ratios(samples) if samples else np.zeros(0),
        offline._predicted(samples),
        offline.control,
        offline.settings.weight_limit,
    )
    return ESTIMATORS[offline.settings.estimator](batch).value


def dense_gradient(found: Any, shape: torch.Size) -> torch.Tensor:
    gradient = torch.zeros(shape)
    found.subtract_from(gradient, -1.0)
    return gradient


def test_a_batch_of_one_is_the_lesson_itself(small: Marian) -> None:
    scope = Dense(small, all_names(small.weights))
    offline = Offline(scope, logs := sampled_log(small, SOURCES[:1]), OfflineSettings(estimator="ips", batch_size=1))
    lessons, _ = offline.estimate(logs)
    alone, joined = lessons[0].gradients(), join_lessons(lessons, [2.0]).gradients()
    assert alone.keys() == scope.names
    for name, gradient in alone.items():
        torch.testing.assert_close(
            dense_gradient(joined[name], small.weights[name].shape),
            2 * dense_gradient(gradient, small.weights[name].shape),
        )


@pytest.fixture(scope="module")
def two_armed(tmp_path_factory: pytest.TempPathFactory) -> Marian:
    """A model with two translations of one source; the wrong one is far more likely."""
    return make_two_armed(tmp_path_factory.mktemp("two-armed"), frozenset({1, 3}), 5)


def probability(model: Marian, text: str, bias: torch.Tensor | None = None) -> float:
    ids, wanted = model.source.encode(SOURCE), model.target.encode(text)
    return math.exp(-forward_pass(model, ids, wanted, frozenset(), bias).loss * len(wanted))


def reward_of(text: str) -> float:
    return 0.9 if text == RIGHT else 0.3 if text == WRONG else 0.0


@pytest.mark.parametrize(("estimator", "size"), [("ips", 96), ("reweighted", 72), slow("doubly-controlled", 72)])
def test_the_better_translation_is_found_in_the_log_of_a_bad_policy(
    two_armed: Marian, estimator: str, size: int
) -> None:
    logs = sampled_log(two_armed, [SOURCE] * size, reward_of=reward_of)
    assert sum(one.reward == 0.3 for one in logs) > 2 * sum(one.reward == 0.9 for one in logs) > 10
    assert preferred(two_armed) < 0.4
    settings = OfflineSettings(estimator=estimator, epochs=4, batch_size=size // 4, max_weight=5.0)
    offline = Offline(make_scope(two_armed, "full", 0.05), logs, settings)
    epochs = list(offline.run())
    assert preferred(offline.model) > 0.75
    assert epochs[-1].value > epochs[0].value
    assert all(epoch.updates == 4 and not epoch.skipped for epoch in epochs)


def preferred(model: Marian) -> float:
    """The probability of the better translation, of the two."""
    right, wrong = probability(model, RIGHT), probability(model, WRONG)
    return right / (right + wrong)


def test_a_deterministic_log_with_two_sources_of_translations(two_armed: Marian) -> None:
    """Without sampling probabilities: the translation with the higher reward becomes more likely."""
    logs = [Logged(SOURCE, tuple(two_armed.target.encode(text)), reward_of(text)) for text in (RIGHT, WRONG) * 8]
    offline = Offline(
        make_scope(two_armed, "full", 0.3), logs, OfflineSettings(estimator="reweighted", epochs=10, batch_size=8)
    )
    list(offline.run())
    assert preferred(two_armed) < 0.4
    assert preferred(offline.model) > 0.9


@pytest.mark.parametrize("scope", ["full", "lora", slow("top"), slow("bias"), slow("lasso")])
def test_every_scope_learns_and_is_deterministic(small: Marian, scope: str) -> None:
    logs, states = sampled_log(small, SOURCES * 2), []
    for _ in range(2):
        offline = Offline(
            make_scope(small, scope, 0.05), logs, OfflineSettings(estimator="doubly-controlled", epochs=1, batch_size=4)
        )
        list(offline.run())
        states.append({name: tensor.clone() for name, tensor in offline.scope.tensors().items()})
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert any(tensor.abs().sum() > 0 for tensor in states[0].values())


def test_a_gradient_that_is_nan_makes_no_update(folder: Path) -> None:
    model = Marian.load(folder)
    logs = sampled_log(model, SOURCES)
    model.weights["model.decoder.layers.1.fc2.bias"][0] = math.nan
    offline = Offline(make_scope(model, "full", 0.05), logs, OfflineSettings(epochs=1, batch_size=3))
    (epoch,) = offline.run()
    assert (epoch.updates, epoch.skipped) == (0, 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 1}, "batch_size is 1; expected 2 or more"),
        ({"epochs": 0}, "epochs is 0"),
        ({"max_weight": -1.0}, "max_weight is -1"),
        ({"max_gradient_norm": math.nan}, "max_gradient_norm is nan"),
        ({"samples": 0}, "samples is 0"),
    ],
)
def test_invalid_settings_raise_an_input_error(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        OfflineSettings(**settings)


def test_an_unknown_estimator_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="known: doubly-controlled, ips, reweighted"):
        OfflineSettings(estimator="snips")


def write(path: Path, steps: list[Step], model: Marian | None = None) -> Path:
    config = {"fingerprint": model.fingerprint} if model else {}
    with TraceWriter(path, Header(config)) as trace:
        for step in steps:
            trace.write(step)
    return path


def steps_of(system: Any, values: list[float]) -> list[Step]:
    proposals = [system.propose(Segment(str(i), SOURCES[i % len(SOURCES)])) for i in range(len(values))]
    return [Step(i, proposal, Reward(value)) for i, (proposal, value) in enumerate(zip(proposals, values, strict=True))]


@pytest.fixture
def system(small: Marian) -> BanditNMT:
    learner = make_learner("nmt-el", small, {"temperature": 0.7})
    assert isinstance(learner, BanditNMT)
    return learner


def test_a_trace_of_samples_is_a_log(small: Marian, system: BanditNMT, tmp_path: Path) -> None:
    steps = steps_of(system, [0.1, 0.5, 0.9])
    steps.append(Step(3, system.propose(Segment("3", "")), Reward(0.5)))
    steps.append(Step(4, system.propose(Segment("4", "Save the file.")), Reward(1.5)))
    logs = read_logs([write(tmp_path / "log.jsonl", steps, small)], small)
    assert [one.reward for one in logs.items] == [0.1, 0.5, 0.9]
    assert {one.temperature for one in logs.items} == {0.7}
    assert logs.skipped == {"not drawn": 1, "reward out of range": 1}
    np.testing.assert_allclose(Offline(make_scope(small, "full", 0.0), []).log_ratios(logs.items), 0.0, atol=1e-2)


def test_a_trace_without_samples_is_a_deterministic_log(small: Marian, tmp_path: Path) -> None:
    proposals = [Proposal(Segment(str(i), SOURCES[i]), text, "baseline") for i, text in enumerate((RIGHT, WRONG))]
    steps = [Step(i, proposal, Reward(0.5)) for i, proposal in enumerate(proposals)]
    steps.append(Step(2, Proposal(Segment("2", SOURCE), "", "baseline"), Reward(0.0)))
    path = write(tmp_path / "log.jsonl", steps, small)
    logs = read_logs([path], small, deterministic=True)
    assert [one.log_probability for one in logs.items] == [0.0, 0.0]
    assert logs.skipped == {"empty": 1}
    assert small.target.decode(logs.items[0].tokens) == steps[0].proposal.text
    with pytest.raises(TraceError, match=r"contains no propensities .* give --deterministic"):
        read_logs([path], small)


def test_invalid_logs_raise_a_trace_error(small: Marian, system: BanditNMT, tmp_path: Path) -> None:
    steps = steps_of(system, [0.1, 0.5])
    other = replace(steps[0].proposal, text="Etwas anderes")
    smt = Proposal(Segment("0", "Save"), "x", "smt-el-cv", 0.5, memo={"direction": [0.1], "draw": 1})
    wrong: list[tuple[str, list[Step], bool, str]] = [
        (
            "edits",
            [Step(0, steps[0].proposal, PostEdit("Speichern"))],
            False,
            "contains no rewards: it has post-edits; .*mtloop run",
        ),
        ("silent", [Step(0, steps[0].proposal)], False, "contains no rewards: it has no feedback to learn from"),
        ("changed", [Step(0, other, Reward(0.5))], False, "step 0: the tokens do not match the text"),
        ("statistical", [Step(0, smt, Reward(0.5))], False, "made by a statistical method"),
        ("drawn", steps, True, "step 0 was sampled; omit --deterministic"),
    ]
    for name, events, deterministic, message in wrong:
        with pytest.raises(TraceError, match=message):
            read_logs([write(tmp_path / f"{name}.jsonl", events)], small, deterministic)


def test_a_log_of_another_model_is_rejected(small: Marian, system: BanditNMT, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    write_tiny(folder, seed=5)
    path = write(tmp_path / "log.jsonl", steps_of(system, [0.5]), Marian.load(folder))
    with pytest.raises(TraceError, match="was made with another model"):
        read_logs([path], small)


def test_equal_sources_are_held_out_together(small: Marian) -> None:
    logs = Logs([Logged(f"source {i % 10}", (5, 0), 0.5) for i in range(40)])
    training, test = logs.split(0.3, seed=1)
    assert (len(training), len(test)) == (28, 12)
    assert {one.source for one in training}.isdisjoint(one.source for one in test)
    assert [one.source for one in logs.split(0.3, seed=2)[1]] != [one.source for one in test]
