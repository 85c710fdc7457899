"""What people type before they know better, and what they are told."""

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
from helpers.said import Said
from helpers.tiny_marian import demo_pairs

from mtloop.core import Trace

Mtloop = Callable[..., Said]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = ["source\ttarget", *("\t".join(pair) for pair in demo_pairs()[:12])]
    (tmp_path / "stream.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path / "stream.tsv"


@pytest.mark.parametrize("group", [[], ["model"], ["task"], ["campaign"], ["participant"]])
def test_a_bare_command_shows_its_help_as_help_looks(mtloop: Mtloop, group: list[str]) -> None:
    said = mtloop(*group)
    assert said.code == 2
    assert said.err == mtloop(*group, "--help").out


def test_a_mistyped_verb_is_told_the_right_one(mtloop: Mtloop) -> None:
    said = mtloop("scor", "x.txt")
    assert (said.code, "did you mean 'score'?" in said.err) == (2, True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('limit = "x"', "limit is 'x'; expected int"),
        ("limit = 1.5", "expected int"),
        ("limit = true", "expected int"),
        ("skip = -3", "skip is -3; expected 0 or more"),
        ("threads = 0", "expected 1 or more"),
        ('distinct = "yes"', "expected bool"),
        ("distinct = 1", "expected bool"),
        ("schedule = 3", "expected str"),
        ("settings = 3", "expected dict"),
        ("beam = 0", "beam is 0; expected 1 or more"),
        ("bean = 4", "did you mean 'beam'?"),
        ("beam = 4\n[settings]\nbeams = 2", "beam 4 and beams = 2 say different things"),
    ],
)
def test_a_wrong_line_of_toml_is_one_line_of_complaint(
    mtloop: Mtloop, data: Path, tmp_path: Path, line: str, message: str
) -> None:
    (tmp_path / "run.toml").write_text(f'method = "baseline"\n{line}\n')
    out = tmp_path / "run.jsonl"
    said = mtloop("run", "--data", data, "--config", tmp_path / "run.toml", "--out", out)
    assert (said.code, said.err.count("\n")) == (2, 1), said.err
    assert message in said.err
    assert not out.exists()


def test_toml_takes_a_beam(mtloop: Mtloop, model: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('method = "baseline"\nbeam = 2\nlimit = 1\n')
    out = tmp_path / "run.jsonl"
    said = mtloop("run", "--data", data, "--model", model, "--config", tmp_path / "run.toml", "--out", out)
    assert said.code == 0, said.err
    assert Trace.read(out).header.config["settings"]["beams"] == 2  # type: ignore[index, call-overload]


def test_the_command_line_wins_over_toml(mtloop: Mtloop, model: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('method = "baseline"\nlimit = 1\n[settings]\nbeams = 2\n')
    for number, given in enumerate((("--beam", 4), ("--set", "beams=4"))):
        out = tmp_path / f"{number}.jsonl"
        config = ("--model", model, "--config", tmp_path / "run.toml")
        assert mtloop("run", "--data", data, *config, *given, "--out", out).code == 0
        assert Trace.read(out).header.config["settings"]["beams"] == 4  # type: ignore[index, call-overload]


def test_where_a_run_can_write_and_where_not(mtloop: Mtloop, data: Path, tmp_path: Path) -> None:
    run = ("run", "--data", data, "--method", "copy-source")
    assert mtloop(*run, "--out", tmp_path / "new" / "folder" / "run.jsonl").code == 0
    assert "is a folder" in mtloop(*run, "--out", tmp_path).err
    past = mtloop(*run, "--skip", 12, "--out", tmp_path / "past.jsonl")
    assert (past.code, "holds no segments after the first 12" in past.err) == (2, True)
    assert not list(tmp_path.glob("past*"))


def test_text_that_is_no_text(mtloop: Mtloop, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9\nabc\n")))
    said = mtloop("translate", "--model", model)
    assert (said.code, "standard input:1: invalid UTF-8 (byte 0xe9 in column 4)" in said.err) == (2, True)


def test_an_empty_file_and_a_torn_trace(mtloop: Mtloop, data: Path, tmp_path: Path) -> None:
    for name in ("ref.txt", "empty.txt"):
        (tmp_path / name).write_text("" if name == "empty.txt" else "Ja.\n")
    said = mtloop("score", "--ref", tmp_path / "ref.txt", "--hyp", tmp_path / "empty.txt")
    assert (said.code, "trace" in said.err, "empty.txt" in said.err) == (2, False, True)
    out = tmp_path / "run.jsonl"
    assert mtloop("run", "--data", data, "--method", "copy-source", "--out", out).code == 0
    assert not mtloop("score", out, "--metrics", "bleu").err
    out.write_bytes(out.read_bytes()[:-20])
    assert "the last line is torn and left out" in mtloop("score", out, "--metrics", "bleu").err


def test_metrics_are_refused_before_the_work_that_they_need(mtloop: Mtloop, data: Path, tmp_path: Path) -> None:
    said = mtloop("compare", "--data", data, "--methods", "copy-source", "--metrics", "blue", "--out", tmp_path / "out")
    assert (said.code, "did you mean 'bleu'?" in said.err) == (2, True)
    assert not (tmp_path / "out").exists()
    (tmp_path / "ref.txt").write_text("Ja.\n")
    said = mtloop("score", "--ref", tmp_path / "ref.txt", "--hyp", tmp_path / "ref.txt", "--metrics", "rr")
    assert (said.code, "--src FILE" in said.err) == (2, True)


@pytest.mark.parametrize("reward", ["rr", "hter", "r0", "slope-ca", "blue"])
def test_what_is_no_reward_is_told_what_is(mtloop: Mtloop, data: Path, tmp_path: Path, reward: str) -> None:
    said = mtloop("bandit", "--task", data, "--methods", "copy-source", "--reward", reward, "--out", tmp_path / "out")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "bleu" in said.err
    assert "--stopwords" not in said.err


def test_a_service_that_is_not_there_is_not_made_by_looking(mtloop: Mtloop, tmp_path: Path) -> None:
    for command in (("task", "list"), ("task", "delete", "x"), ("task", "stop", "x"), ("participant", "list")):
        said = mtloop(*command, "--folder", tmp_path / "typo")
        assert (said.code, "is it the right --folder?" in said.err) == (2, True)
    assert not (tmp_path / "typo").exists()


def test_two_processes_do_not_write_one_trace(model: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    command = [sys.executable, "-m", "mtloop", "run", "--data", data, "--model", model, "--out", out, "--resume"]
    first = subprocess.Popen([*command, "--method", "full", "--set", "updates=2000", "--set", "enough=1"])
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_comparison_that_is_ended_ends_its_runs(model: Path, data: Path, tmp_path: Path, number: int) -> None:
    """The signal goes to the parent alone, as that of a service manager does."""
    out = tmp_path / "out"
    (tmp_path / "slow.toml").write_text("[settings]\nupdates = 3000\nenough = 1.0\n")
    command = [sys.executable, "-m", "mtloop", "compare", "--data", data, "--model", model, "--methods", "full,lasso"]
    parent = subprocess.Popen(
        [*command, "--config", tmp_path / "slow.toml", "--out", out],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # who runs the tests may ignore it
    )
    try:
        deadline = time.monotonic() + 60
        while len(list(out.glob("*.jsonl"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        parent.send_signal(number)
        _, said = parent.communicate(timeout=60)
        with pytest.raises(ProcessLookupError):  # nobody of its group is left
            os.killpg(parent.pid, 0)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)
        parent.communicate()
    assert parent.returncode == 128 + number
    assert ("the same command goes on where it was" in said) == (number == signal.SIGINT)
    assert len(list(out.glob("*.jsonl"))) == 2
