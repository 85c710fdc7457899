"""`mtloop learn-offline`: from the trace of a bandit run to a delta for `translate`."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from helpers.command_result import CommandResult
from helpers.tiny_marian import demo_pairs

from mtloop.cli import main
from mtloop.core import Trace
from mtloop.nmt.delta import Delta

Mtloop = Callable[..., CommandResult]
PAIRS = [pair for pair in demo_pairs() if len(pair[0].split()) < 6][:12]


@pytest.fixture(scope="module")
def log(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of nmt-el; that of the baseline is in the same folder."""
    folder = tmp_path_factory.mktemp("log")
    rows = ["source\ttarget", *("\t".join(pair) for pair in PAIRS)]
    (folder / "task.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    options = ("--methods", "nmt-el,baseline", "--model", model, "--set", "temperature=1", "--jobs", 1)
    with redirect_stdout(io.StringIO()):
        main([*map(str, ("bandit", "--task", folder / "task.tsv", *options, "--out", folder / "out"))])
    return folder / "out" / "nmt-el.jsonl"


def test_a_trace_becomes_a_delta_that_translates(mtloop: Mtloop, model: Path, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "learned.safetensors"
    arguments = ("learn-offline", "--trace", log, "--model", model, "--scope", "lora", "--learning-rate", 0.05)
    arguments += ("--batch-size", 4)
    result = mtloop(*arguments, "--epochs", 2, "--held-out", 0.25, "--out", out)
    assert result.code == 0, result.err
    lines = {line.split("  ")[0]: line for line in result.out.splitlines()}
    rewards = [step.feedback.value for step in Trace.read(log).steps]  # type: ignore[union-attr]
    assert len(rewards) == 12
    assert {"as logged", "before", "after"} <= lines.keys()
    assert "3 held-out sentences, bootstrap of 1000 samples, seed 1" in result.out
    assert "mtloop: 9 translations to learn from, 3 held out" in result.err
    assert "epoch 2: estimated reward" in result.err
    delta = Delta.read(out)
    assert (delta.method, delta.counters["updates"]) == ("lora", 6)
    translated = mtloop("translate", "--model", model, "--delta", out, stdin="Save the file.\nOpen the page.\n")
    assert (translated.code, translated.out.count("\n")) == (0, 2), translated.err
    again = mtloop(*arguments, "--epochs", 2, "--held-out", 0.25, "--out", out.with_name("again.safetensors"))
    assert again.out.splitlines()[:-1] == result.out.splitlines()[:-1]
    same = Delta.read(out.with_name("again.safetensors"))
    assert same.tensors.keys() == delta.tensors.keys()
    assert all(same.tensors[name].equal(tensor) for name, tensor in delta.tensors.items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--estimator", "snips"), "there is no estimator 'snips'; did you mean 'ips'?"),
        (("--scope", "ful"), "there is no scope 'ful'; did you mean 'full'?"),
        (("--held-out", "1"), "--held-out is 1; expected a share"),
        (("--held-out", "0.01"), "not enough data: 12 translations to learn from, 0 held out"),
        (("--learning-rate", "-1"), "--learning-rate is -1"),
        (("--max-weight", "-1"), "max_weight is -1"),
        (("--batch-size", "1"), "batch_size is 1; expected 2 or more"),
        (("--deterministic",), "omit --deterministic"),
        (("--trace", "nowhere.jsonl"), "nowhere.jsonl: cannot be read"),
        (("--trace", "BASELINE"), "give --deterministic"),
        (("--model", "nowhere"), "no model 'nowhere'"),
        (("--out", "LOG"), "already exists"),
    ],
)
def test_an_error_is_one_line(mtloop: Mtloop, model: Path, log: Path, arguments: tuple[str, ...], message: str) -> None:
    named = {"BASELINE": log.with_name("baseline.jsonl"), "LOG": log}
    given = tuple(str(named.get(word, word)) for word in arguments)
    common = ("learn-offline", "--trace", log, "--model", model, "--out", log.parent / "learned.safetensors")
    result = mtloop(*common, *given)
    assert result.code == 2
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1
