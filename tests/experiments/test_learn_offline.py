"""`learn_offline` from Python: what it takes, what its result gives."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("transformers")

from helpers.tiny_marian import demo_pairs, write_tiny

from mtloop.bandits.offline.policy_value import PolicyValue
from mtloop.core.errors import InputError
from mtloop.experiments.bandit import bandit
from mtloop.experiments.learn_offline import OfflineResult, learn_offline
from mtloop.nmt.delta import Delta

REWARDS = np.array([0.2, 0.4, 0.9, 0.7, 0.1])
RATIOS = np.array([0.1, 0.5, 3.0, 2.0, 0.1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model, and the log of a bandit run with it."""
    folder = tmp_path_factory.mktemp("log")
    (folder / "model").mkdir()
    write_tiny(folder / "model")
    pairs = [pair for pair in demo_pairs() if len(pair[0].split()) < 6][:10]
    rows = ["source\ttarget", *map("\t".join, pairs), ""]
    (folder / "task.tsv").write_text("\n".join(rows), encoding="utf-8")
    model, settings = str(folder / "model"), {"temperature": 1}
    bandit(folder / "task.tsv", ["nmt-el"], out=folder, model=model, settings=settings, jobs=1)
    return folder


def test_the_delta_the_estimates_and_the_progress(folder: Path, tmp_path: Path, log_messages: list[str]) -> None:
    log, model = folder / "nmt-el.jsonl", str(folder / "model")
    result = learn_offline(log, out=tmp_path / "new.safetensors", model=model, scope="bias", epochs=2, batch_size=4)
    assert result.delta == tmp_path / "new.safetensors"
    assert Delta.read(result.delta).counters["updates"] == sum(epoch.updates for epoch in result.epochs) == 4
    assert result.before.rewards.tolist() == result.after.rewards.tolist()
    assert log_messages[0] == "8 translations to learn from, 2 held out"
    assert [message.split(":")[0] for message in log_messages[1:]] == ["epoch 1", "epoch 2"]
    assert learn_offline([str(log)], model=model, scope="bias", epochs=2, batch_size=4).delta.is_file()


def test_nothing_is_written_after_a_mistake(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "new.safetensors"
    with pytest.raises(InputError, match="not enough data: 10 translations to learn from, 0 held out"):
        learn_offline(folder / "nmt-el.jsonl", out=out, model=str(folder / "model"), held_out=0.01)
    assert not out.exists()


@pytest.fixture
def result() -> OfflineResult:
    before = PolicyValue(REWARDS, np.zeros(5), 10.0)
    return OfflineResult(Path("new.safetensors"), before, PolicyValue(REWARDS, np.log(RATIOS), 10.0))


def test_the_table_has_intervals(result: OfflineResult) -> None:
    text = str(result)
    lines = {line.split("  ")[0]: line for line in text.splitlines()}
    assert "0.4600" in lines["before"]
    assert lines["as logged"].split()[2:] == lines["before"].split()[1:]
    assert f"{float(RATIOS @ REWARDS / RATIOS.sum()):.4f}" in lines["after"]
    assert "after minus before: +0.2" in text
    assert text.endswith("5 held-out sentences, bootstrap of 1000 samples, seed 1")


def test_the_data_frame_has_the_numbers_of_the_table(result: OfflineResult) -> None:
    rows = result.to_pandas().set_index("policy")
    assert list(rows.index) == ["as logged", "before", "after"]
    assert math.isclose(rows.loc["after", "value"], float(RATIOS @ REWARDS / RATIOS.sum()))
    assert math.isclose(rows.loc["after", "ips"], float(RATIOS @ REWARDS / 5))
    assert math.isclose(rows.loc["before", "effective_sentences"], 5)
    assert rows["value"].between(rows["low"], rows["high"]).all()
    assert math.isclose(result.comparison.difference, rows.loc["after", "value"] - rows.loc["before", "value"])
