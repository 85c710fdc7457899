"""The settings of trials, drawn by Optuna."""

from __future__ import annotations

import json
import logging
import math
from statistics import mean

import optuna
import pytest

from mtloop.core.types import JSON
from mtloop.experiments.tuning.space import Space, make_space
from mtloop.experiments.tuning.trial import Trial, TrialResult
from mtloop.experiments.tuning.trial_sampler import SAMPLERS, TrialSampler
from mtloop.methods.registry import find_method

FULL = find_method("full")
REAL = make_space(["learning_rate=1e-4:1e-1:log", "target_perplexity=1.2:4"], FULL)
DEFAULTS: dict[str, JSON] = {"learning_rate": 3e-3, "target_perplexity": 2.0}


def sampler_for(space: Space, sampler: str = "tpe", seed: int = 1) -> TrialSampler:
    return TrialSampler(space, {name: FULL.defaults[name] for name in space.dimensions}, sampler, seed)


def draw(sampler: TrialSampler, count: int, batch: int = 4, value: float = 0.0) -> list[Trial]:
    """Draw trials that all have the same value."""
    drawn: list[Trial] = []
    while len(drawn) < count:
        trials = sampler.ask(min(batch, count - len(drawn)))
        for trial in trials:
            sampler.tell(TrialResult(trial, 1, value))
        drawn += trials
    return drawn


def distance(settings: dict[str, JSON]) -> float:
    """A smooth function of the settings with its optimum away from the defaults."""
    rate, perplexity = float(settings["learning_rate"]), float(settings["target_perplexity"])  # type: ignore[arg-type]
    return (math.log10(rate) + 1.6) ** 2 + (perplexity - 3.1) ** 2


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_draws_depend_on_the_seed_and_begin_with_the_defaults(sampler: str) -> None:
    one, same, other = (draw(sampler_for(REAL, sampler, seed), 12) for seed in (1, 1, 2))
    assert one == same != other
    assert one[0] == Trial(0)
    assert [trial.number for trial in one] == list(range(12))
    assert len({json.dumps(dict(trial.settings)) for trial in one}) == 12


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_small_space_is_searched_completely_without_repetition(sampler: str) -> None:
    space = make_space(["learning_rate=0.1,0.2,0.3", "max_updates=1:2"], FULL)
    drawn = draw(sampler_for(space, sampler), 7)[1:]
    assert sorted(json.dumps(dict(trial.settings)) for trial in drawn) == sorted(map(json.dumps, space.combinations()))


def test_defaults_in_a_small_space_are_not_drawn_again() -> None:
    space = make_space([f"max_updates={FULL.defaults['max_updates']},7,8"], FULL)
    assert [trial.settings for trial in draw(sampler_for(space), 3)[1:]] in (
        [{"max_updates": 7}, {"max_updates": 8}],
        [{"max_updates": 8}, {"max_updates": 7}],
    )


def test_a_log_range_is_drawn_evenly_around_the_geometric_mean() -> None:
    space = make_space(["learning_rate=1e-4:1e-2:log"], FULL)
    rates = [trial.settings["learning_rate"] for trial in sampler_for(space, "random").ask(1001)[1:]]
    assert 450 < sum(float(rate) < 1e-3 for rate in rates) < 550  # type: ignore[arg-type]
    assert all(1e-4 <= float(rate) <= 1e-2 for rate in rates)  # type: ignore[arg-type]


def test_tpe_comes_closer_to_the_optimum_than_random_draws() -> None:
    def best(sampler: str, seed: int) -> float:
        drawing, found = sampler_for(REAL, sampler, seed), math.inf
        for _ in range(4):
            for trial in drawing.ask(4):
                value = distance({**DEFAULTS, **trial.settings})
                drawing.tell(TrialResult(trial, 1, -value))
                found = min(found, value)
        return found

    seeds = range(10)
    assert mean(best("tpe", seed) for seed in seeds) < 0.6 * mean(best("random", seed) for seed in seeds)


def test_tpe_avoids_settings_that_the_method_refuses() -> None:
    """Without the refused settings in its study, TPE draws them most of the time: nothing is known about them."""

    def refused(seed: int) -> int:
        drawing = sampler_for(REAL, seed=seed)
        trials = [_answer(drawing, trial) for _ in range(10) for trial in drawing.ask(4)]
        return sum(trials[20:])

    def _answer(drawing: TrialSampler, trial: Trial) -> bool:
        too_fast = float({**DEFAULTS, **trial.settings}["learning_rate"]) > 1e-2  # type: ignore[arg-type]
        drawing.tell(TrialResult(trial, 1, -math.inf if too_fast else 0.0))
        return too_fast

    assert mean(refused(seed) for seed in range(4)) < 8  # of 20


def test_optuna_writes_no_message_and_its_log_level_stays(capfd: pytest.CaptureFixture[str]) -> None:
    optuna.logging.set_verbosity(logging.INFO)
    draw(sampler_for(REAL), 8)
    assert optuna.logging.get_verbosity() == logging.INFO
    assert capfd.readouterr().err == ""
