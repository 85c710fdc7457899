"""The names in `scripts/fingerprint.py` exist: a renaming must change its tables too."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import click
import pytest

from mtloop.cli import cli
from mtloop.methods.registry import METHODS, settings_of
from mtloop.metrics.registry import MetricOptions, make_metrics
from mtloop.selection.policies.registry import make_policy

SCRIPT = Path(__file__).parents[1] / "scripts" / "fingerprint.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fingerprint", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def command(words: list[str]) -> click.Command:
    """The command that these words call."""
    found: click.Command | None = cli
    for word in words:
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word)
    assert found is not None, words
    return found


def test_every_method_is_in_the_fingerprint(script: ModuleType) -> None:
    assert {*script.NEURAL, *script.STATISTICAL, *script.BANDITS} == set(METHODS)


def test_every_verb_and_option_exists(script: ModuleType) -> None:
    commands = [command(words) for words in script.VERB.values()]
    options = {name for one in commands for parameter in one.params for name in parameter.opts}
    assert set(script.OPTION.values()) <= options


def test_every_setting_belongs_to_a_method(script: ModuleType) -> None:
    known = {name for method in METHODS for name in settings_of(method)}
    assert set(script.SETTING.values()) <= known


def test_metrics_and_policies_exist(script: ModuleType) -> None:
    options = MetricOptions(language="de", baseline=[])
    assert len(make_metrics(script.METRICS, options)) == len(script.METRICS)
    for policy in script.POLICIES:
        assert make_policy(policy, ["a", "b", "c", "d"], horizon=10)
