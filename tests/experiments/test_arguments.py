"""Arguments of the Python functions: a mistake is an InputError of one line, and no option is ignored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mtloop
from mtloop.experiments.bandit_task import BanditTask


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.tsv").write_text("source\ttarget\n" + "".join(f"word {i}\tWort {i}\n" for i in range(9)))
    Path("run.toml").write_text('data = "data.tsv"\nmethod = "copy-source"\nlimit = 3\n')


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mtloop.run("data.tsv", "copy-source", skip=-5), "skip is -5; expected 0 or more"),
        (lambda: mtloop.run("data.tsv", "copy-source", limit="5"), "limit is '5'; expected a whole number"),
        (lambda: mtloop.run("data.tsv", "copy-source", limt=5), "no setting 'limt'; did you mean 'limit'"),
        (lambda: mtloop.run("data.tsv", "copy-source", stop_after=0), "stop_after is 0; expected 1 or more"),
        (lambda: mtloop.run("data.tsv", "copy-source", snapshot_every=0), "snapshot_every is 0; expected 1 or more"),
        (lambda: mtloop.compare("data.tsv", "copy-source", jobs=0), "jobs is 0; expected 1 or more"),
        (lambda: mtloop.compare("data.tsv", ","), "no method is named"),
        (lambda: mtloop.bandit("data.tsv", "copy-source", skip=-5), "skip is -5; expected 0 or more"),
        (lambda: mtloop.bandit("data.tsv", "copy-source", limt=5), "no setting 'limt'; did you mean 'limit'"),
        (lambda: mtloop.bandit("data.tsv", "copy-source", key_file="key"), "--key-file does not apply to a local task"),
        (
            lambda: mtloop.bandit(BanditTask("data.tsv"), "copy-source", limit=3),
            "--limit does not apply to a BanditTask",
        ),
        (lambda: mtloop.bandit("http://h/t", "copy-source", limit=3), "--limit does not apply to a task on a service"),
        (lambda: mtloop.score(["a"], ["a"], metrics="ter", resamples=0), "resamples is 0; expected 10 or more"),
        (lambda: mtloop.score(["a"], ["a"], metrics="slope-ca", block_words=0), "block_words is 0; expected 1 or more"),
    ],
)
def test_a_mistake_is_one_line(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(mtloop.InputError, match=message):
        call()


def test_names_are_a_list_or_text_with_commas() -> None:
    for methods in ("copy-source", ["copy-source"]):
        assert list(mtloop.compare("data.tsv", methods, metrics="ter,chrf", jobs=1).traces) == ["copy-source"]
        assert list(mtloop.bandit("data.tsv", methods, jobs=1).systems) == ["copy-source"]


def test_a_file_of_settings_is_a_path_or_its_name() -> None:
    for config in ("run.toml", Path("run.toml")):
        assert len(mtloop.run(config=config).steps) == 3
    assert len(mtloop.run(config="run.toml", limit=5).steps) == 5, "arguments take precedence"


def test_lang_is_a_short_name_of_target_lang() -> None:
    assert mtloop.run("data.tsv", "copy-source", lang="it").experiment.language == "it"
    assert mtloop.run("data.tsv", "copy-source", target_lang="it").experiment.language == "it"
