"""`mtloop learn-offline`: from the trace of a bandit run to a delta that translates."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.said import Said
from helpers.tiny_marian import demo_pairs

from mtloop.core import Trace
from mtloop.nmt.delta import Delta

Mtloop = Callable[..., Said]
PAIRS = [pair for pair in demo_pairs() if len(pair[0].split()) < 6][:12]


@pytest.fixture
def log(mtloop: Mtloop, model: Path, tmp_path: Path) -> Path:
    rows = ["source\ttarget", *("\t".join(pair) for pair in PAIRS)]
    (tmp_path / "task.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    options = ("--methods", "nmt-el,baseline", "--model", model, "--set", "temperature=1", "--jobs", 1)
    said = mtloop("bandit", "--task", tmp_path / "task.tsv", *options, "--out", tmp_path / "out")
    assert said.code == 0, said.err
    return tmp_path / "out" / "nmt-el.jsonl"


def test_a_trace_becomes_a_delta_that_translates(
    mtloop: Mtloop, model: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = log.parent / "learned.safetensors"
    arguments = ("learn-offline", "--trace", log, "--model", model, "--method", "lora", "--rate", 0.05, "--batch", 4)
    said = mtloop(*arguments, "--epochs", 2, "--held-out", 0.25, "--out", out)
    assert said.code == 0, said.err
    lines = {line.split("  ")[0]: line for line in said.out.splitlines()}
    rewards = [step.feedback.value for step in Trace.read(log).steps]  # type: ignore[union-attr]
    assert len(rewards) == 12
    assert {"as logged", "before", "after"} <= lines.keys()
    assert "3 held-out sentences, bootstrap of 1000 samples, seed 1" in said.out
    assert "mtloop: 9 translations to learn from, 3 held out" in said.err
    assert "epoch 2: value" in said.err
    delta = Delta.read(out)
    assert (delta.method, delta.counters["updates"]) == ("lora", 6)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Save the file.\nOpen the page.\n")))
    translated = mtloop("translate", "--model", model, "--delta", out)
    assert (translated.code, translated.out.count("\n")) == (0, 2), translated.err
    again = mtloop(*arguments, "--epochs", 2, "--held-out", 0.25, "--out", out.with_name("again.safetensors"))
    assert again.out.splitlines()[:-1] == said.out.splitlines()[:-1]
    same = Delta.read(out.with_name("again.safetensors"))
    assert same.tensors.keys() == delta.tensors.keys()
    assert all(same.tensors[name].equal(tensor) for name, tensor in delta.tensors.items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--estimator", "snips"), "unknown estimator 'snips'; did you mean 'ips'?"),
        (("--method", "ful"), "unknown scope 'ful'; did you mean 'full'?"),
        (("--held-out", "1"), "--held-out is a share"),
        (("--held-out", "0.01"), "too little to learn from: 12 translations, and 0 held out"),
        (("--rate", "-1"), "--rate is the step size"),
        (("--cap", "-1"), "cap is -1"),
        (("--batch", "1"), "batch 2 or more"),
        (("--deterministic",), "leave out --deterministic"),
        (("--trace", "nowhere.jsonl"), "nowhere.jsonl: cannot be read"),
        (("--trace", "BASELINE"), "say --deterministic"),
        (("--model", "nowhere"), "no model 'nowhere'"),
        (("--out", "LOG"), "is there already"),
    ],
)
def test_a_mistake_is_one_line(
    mtloop: Mtloop, model: Path, log: Path, arguments: tuple[str, ...], message: str
) -> None:
    named = {"BASELINE": log.with_name("baseline.jsonl"), "LOG": log}
    given = tuple(str(named.get(word, word)) for word in arguments)
    common = ("learn-offline", "--trace", log, "--model", model, "--out", log.parent / "learned.safetensors")
    said = mtloop(*common, *given)
    assert said.code == 2
    assert message in said.err
    assert len(said.err.strip().splitlines()) == 1
