"""The settings of the papers: complete, below the user's own settings, and named in the header of a trace."""

from __future__ import annotations

import pytest

from mtloop.core.errors import InputError
from mtloop.methods.learner_config import LearnerConfig
from mtloop.methods.presets import PRESETS, check_preset, preset_for, preset_settings
from mtloop.methods.registry import find_method

EVERY = [(preset, method) for preset, methods in PRESETS.items() for method in methods]


@pytest.mark.parametrize(("preset", "name"), EVERY)
def test_every_preset_has_settings_that_its_method_knows(preset: str, name: str) -> None:
    method = find_method(name)
    assert method.paper.endswith(preset) or name.endswith("baseline")
    settings = preset_settings(preset, method)
    assert method.settings_with(settings) == method.defaults | settings, "no value is of another type"


def test_the_settings_of_2019_are_those_of_the_paper() -> None:
    """Section 4: learning rate 0.01, 1.0 for the bias; gradients of norm 1; at most 3 updates, to perplexity 2."""
    for name, rate in {"full": 0.01, "top": 0.01, "fixed": 0.01, "lasso": 0.01, "bias": 1.0}.items():
        settings = preset_settings("2019", find_method(name))
        assert settings["learning_rate"] == rate
        assert (settings["gradient_clipping"], settings["max_updates"], settings["target_perplexity"]) == (
            "scale",
            3,
            2,
        )


def test_the_settings_of_2017_are_those_of_the_paper() -> None:
    """Section 5.2: learning rate 1e-5, dropout 0.5, norm 1; annealing from sentence 700,000 of 1.3 million."""
    for name, optimiser in {"nmt-el": "adam", "nmt-el-cv": "adam", "wnmt-el": "sgd"}.items():
        settings = preset_settings("2017", find_method(name))
        assert (settings["optimiser"], settings["learning_rate"], settings["dropout"]) == (optimiser, 1e-5, 0.5)
        assert settings["annealing_start"] == pytest.approx(0.538, abs=1e-3)
        assert float(str(settings["min_temperature"])) <= 1e-3  # the paper has no minimum


def test_own_settings_take_precedence_and_the_header_names_the_preset() -> None:
    config = LearnerConfig.create("full", settings={"learning_rate": 0.5}, preset="2019")
    assert (config.settings["learning_rate"], config.settings["gradient_clipping"]) == (0.5, "scale")
    assert config.describe(None)["preset"] == "2019"
    assert LearnerConfig.create(**config.to_json()) == config  # type: ignore[arg-type]
    assert "preset" not in LearnerConfig.create("full").describe(None)


def test_the_length_of_the_stream_is_that_of_the_task() -> None:
    anneals, other = LearnerConfig.create("nmt-el", preset="2017"), LearnerConfig.create("baseline")
    assert anneals.with_stream_length(500).settings["stream_length"] == 500
    given = LearnerConfig.create("nmt-el", settings={"stream_length": 7})
    assert given.with_stream_length(500) == given
    assert other.with_stream_length(500) == other


@pytest.mark.parametrize(
    ("preset", "names", "reason"),
    [
        ("2018", ["full"], "there is no preset '2018'"),
        ("2021", ["full"], "there is no preset '2021'"),
        ("2019", ["nmt-el"], "preset 2019 has no settings for method nmt-el; it is for baseline, bias, full"),
        ("2017", ["full", "memory"], "no settings for any of these methods"),
        ("2019", ["lora+memory+copy"], "no settings for method lora"),
    ],
)
def test_a_preset_that_does_not_fit_is_refused(preset: str, names: list[str], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        check_preset(preset, map(find_method, names))


def test_a_preset_applies_to_the_methods_that_it_describes() -> None:
    check_preset("2019", [find_method("full"), find_method("memory")])
    assert (preset_for("2019", "full"), preset_for("2019", "memory"), preset_for("", "full")) == ("2019", "", "")
