"""The names of methods: the order of parts, and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtloop.core.errors import UnknownName
from mtloop.experiments.experiment import Experiment
from mtloop.experiments.run import run
from mtloop.methods import learner_config
from mtloop.methods.registry import find_method, settings_of


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("memory+full", "full+memory"),
        ("copy+memory+full", "full+memory+copy"),
        ("copy+memory", "memory+copy"),
        ("memory+copy+lora", "lora+memory+copy"),
        ("full+memory+copy", "full+memory+copy"),
        ("nmt-el", "nmt-el"),
    ],
)
def test_parts_have_any_order_and_one_name(name: str, canonical: str) -> None:
    assert find_method(name) == find_method(canonical)
    assert settings_of(name) == settings_of(canonical), "also the defaults of a registered combination"
    assert Experiment("data.tsv", name).header(None).config["method"] == canonical


def test_an_unknown_method_gets_a_suggestion_and_an_example_of_a_combination() -> None:
    with pytest.raises(UnknownName, match=r"^there is no method 'lassso'; did you mean 'lasso'\? known: baseline, .*;"):
        find_method("lassso")
    with pytest.raises(UnknownName, match=r"; parts combine with \+, for example lasso\+memory\+copy$"):
        find_method("full+lora")


def test_an_unknown_setting_names_the_method() -> None:
    with pytest.raises(UnknownName, match=r"^method full has no setting 'learning_rat'; did you mean 'learning_rate'"):
        settings_of("full", {"learning_rat": 1})


def test_a_run_looks_its_method_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data.tsv").write_text("source\ttarget\none\teins\n")
    looked_up: list[str] = []
    monkeypatch.setattr(learner_config, "find_method", lambda name, **_: looked_up.append(name) or find_method(name))
    run(tmp_path / "data.tsv", "copy-source", out=tmp_path / "run.jsonl")
    assert looked_up == ["copy-source"]
