"""Common mistakes on the command line and their error messages."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult
from helpers.tiers import slow
from helpers.tiny_marian import demo_pairs

from mtloop.core import Trace

Mtloop = Callable[..., CommandResult]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = ["source\ttarget", *("\t".join(pair) for pair in demo_pairs()[:12])]
    (tmp_path / "stream.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path / "stream.tsv"


@pytest.mark.parametrize("group", [[], ["model"], ["task"], ["campaign"], ["participant"]])
def test_a_command_without_arguments_prints_its_help(mtloop: Mtloop, group: list[str]) -> None:
    result = mtloop(*group)
    assert result.code == 2
    assert result.err == mtloop(*group, "--help").out


def test_a_mistyped_command_gets_a_suggestion(mtloop: Mtloop) -> None:
    result = mtloop("scor", "x.txt")
    assert (result.code, "did you mean 'score'?" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('limit = "x"', "limit is 'x'; expected a whole number"),
        ("limit = 1.5", "expected a whole number"),
        ("limit = true", "expected a whole number"),
        ("skip = -3", "skip is -3; expected 0 or more"),
        ("threads = 0", "expected 1 or more"),
        ('distinct = "yes"', "expected true or false"),
        ("distinct = 1", "expected true or false"),
        ("schedule = 3", "expected text"),
        ("settings = 3", "expected a table"),
        ("beam_size = 0", "beam_size is 0; expected 1 or more"),
        ("bean_size = 4", "did you mean 'beam_size'?"),
        ("beam_size = 4\n[settings]\nbeam_size = 2", "beam_size = 4 contradicts the setting beam_size = 2"),
    ],
)
def test_an_error_in_a_toml_file_is_one_line(
    mtloop: Mtloop, data: Path, tmp_path: Path, line: str, message: str
) -> None:
    (tmp_path / "run.toml").write_text(f'method = "baseline"\n{line}\n')
    out = tmp_path / "run.jsonl"
    result = mtloop("run", "--data", data, "--config", tmp_path / "run.toml", "--out", out)
    assert (result.code, result.err.count("\n")) == (2, 1), result.err
    assert message in result.err
    assert not out.exists()


def test_toml_sets_the_beam_size(mtloop: Mtloop, model: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('method = "baseline"\nbeam_size = 2\nlimit = 1\n')
    out = tmp_path / "run.jsonl"
    result = mtloop("run", "--data", data, "--model", model, "--config", tmp_path / "run.toml", "--out", out)
    assert result.code == 0, result.err
    assert Trace.read(out).header.config["settings"]["beam_size"] == 2  # type: ignore[index, call-overload]


def test_the_command_line_takes_precedence_over_toml(mtloop: Mtloop, model: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('method = "baseline"\nlimit = 1\n[settings]\nbeam_size = 2\n')
    for number, given in enumerate((("--beam-size", 4), ("--set", "beam_size=4"))):
        out = tmp_path / f"{number}.jsonl"
        config = ("--model", model, "--config", tmp_path / "run.toml")
        assert mtloop("run", "--data", data, *config, *given, "--out", out).code == 0
        assert Trace.read(out).header.config["settings"]["beam_size"] == 4  # type: ignore[index, call-overload]


def test_output_paths_of_a_run(mtloop: Mtloop, data: Path, tmp_path: Path) -> None:
    run = ("run", "--data", data, "--method", "copy-source")
    assert mtloop(*run, "--out", tmp_path / "new" / "folder" / "run.jsonl").code == 0
    assert "is a folder" in mtloop(*run, "--out", tmp_path).err
    past = mtloop(*run, "--skip", 12, "--out", tmp_path / "past.jsonl")
    assert (past.code, "contains no segments after the first 12" in past.err) == (2, True)
    assert not list(tmp_path.glob("past*"))


def test_invalid_utf_8_on_standard_input(mtloop: Mtloop, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9\nabc\n")))
    result = mtloop("translate", "--model", model)
    assert (result.code, "standard input:1: invalid UTF-8 (byte 0xe9 in column 4)" in result.err) == (2, True)


def test_an_empty_file_and_a_truncated_trace(mtloop: Mtloop, data: Path, tmp_path: Path) -> None:
    for name in ("ref.txt", "empty.txt"):
        (tmp_path / name).write_text("" if name == "empty.txt" else "Ja.\n")
    result = mtloop("score", "--ref", tmp_path / "ref.txt", "--hyp", tmp_path / "empty.txt")
    assert (result.code, "trace" in result.err, "empty.txt" in result.err) == (2, False, True)
    out = tmp_path / "run.jsonl"
    assert mtloop("run", "--data", data, "--method", "copy-source", "--out", out).code == 0
    assert not mtloop("score", out, "--metrics", "bleu").err
    out.write_bytes(out.read_bytes()[:-20])
    assert "the last line is incomplete and was ignored" in mtloop("score", out, "--metrics", "bleu").err


def test_a_wrong_metric_is_refused_before_any_run(mtloop: Mtloop, data: Path, tmp_path: Path) -> None:
    result = mtloop(
        "compare", "--data", data, "--methods", "copy-source", "--metrics", "blue", "--out", tmp_path / "out"
    )
    assert (result.code, "did you mean 'bleu'?" in result.err) == (2, True)
    assert not (tmp_path / "out").exists()
    (tmp_path / "ref.txt").write_text("Ja.\n")
    result = mtloop("score", "--ref", tmp_path / "ref.txt", "--hyp", tmp_path / "ref.txt", "--metrics", "rr")
    assert (result.code, "--src FILE" in result.err) == (2, True)


@pytest.mark.parametrize("reward", ["rr", "hter", "r0", "slope-ca", "blue"])
def test_a_metric_that_is_no_reward_is_refused_with_a_list(
    mtloop: Mtloop, data: Path, tmp_path: Path, reward: str
) -> None:
    result = mtloop("bandit", "--task", data, "--methods", "copy-source", "--reward", reward, "--out", tmp_path / "out")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "bleu" in result.err
    assert "--stopwords" not in result.err


def test_read_commands_do_not_create_a_database(mtloop: Mtloop, tmp_path: Path) -> None:
    for command in (("task", "list"), ("task", "delete", "x"), ("task", "stop", "x"), ("participant", "list")):
        result = mtloop(*command, "--folder", tmp_path / "typo")
        assert (result.code, "check --folder" in result.err) == (2, True)
    assert not (tmp_path / "typo").exists()


@pytest.mark.slow
def test_two_processes_do_not_write_one_trace(model: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    command = [sys.executable, "-m", "mtloop", "run", "--data", data, "--model", model, "--out", out, "--resume"]
    slow = ["--set", "max_updates=2000", "--set", "target_perplexity=1"]
    first = subprocess.Popen([*command, "--method", "full", *slow])
    try:
        deadline = time.monotonic() + 60
        while not (out.exists() and out.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.1)
        os.kill(first.pid, signal.SIGSTOP)
        second = subprocess.run([*command, "--method", "full"], capture_output=True, text=True)
    finally:
        first.kill()
        first.wait()
    assert second.returncode == 2
    assert "is being written by another process" in second.stderr


@pytest.mark.parametrize("number", [slow(signal.SIGTERM), slow(signal.SIGINT)])
def test_an_interrupted_comparison_stops_its_runs(model: Path, data: Path, tmp_path: Path, number: int) -> None:
    """The signal is sent only to the parent process, as a service manager does."""
    out = tmp_path / "out"
    (tmp_path / "slow.toml").write_text("[settings]\nmax_updates = 3000\ntarget_perplexity = 1.0\n")
    command = [sys.executable, "-m", "mtloop", "compare", "--data", data, "--model", model, "--methods", "full,lasso"]
    parent = subprocess.Popen(
        [*command, "--config", tmp_path / "slow.toml", "--out", out],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # the test runner may ignore SIGINT
    )
    try:
        deadline = time.monotonic() + 60
        while len(list(out.glob("*.jsonl"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        parent.send_signal(number)
        _, result = parent.communicate(timeout=60)
        with pytest.raises(ProcessLookupError):  # no process of the group is left
            os.killpg(parent.pid, 0)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)
        parent.communicate()
    assert parent.returncode == 128 + number
    assert ("run the same command again to resume" in result) == (number == signal.SIGINT)
    assert len(list(out.glob("*.jsonl"))) == 2
