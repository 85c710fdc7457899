"""Statistical methods on the command line: train, run, resume, compare."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult
from helpers.tiers import slow
from helpers.tiny_smt import known_pairs, stream_pairs, write_stream

from mtloop.core import Trace
from mtloop.smt.card import SmtModelCard

Call = Callable[..., CommandResult]
FOUR = "smt-baseline,smt-adapting,smt-foreground,smt-foreground-unfair"


@pytest.fixture(scope="module")
def smt_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model trained with `mtloop train`."""
    folder = tmp_path_factory.mktemp("trained")
    train, dev = write_stream(folder / "train.tsv", known_pairs()), write_stream(folder / "dev.tsv", known_pairs()[::8])
    command = [sys.executable, "-m", "mtloop", "train", "--engine", "smt", "--data", train, "--valid", dev]
    done = subprocess.run(  # not forked: threads of Thot in this process would block the child
        [*command, "--test", f"again={dev}", "--lang", "de", "--out", folder / "model"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "HMM, iteration 1 of" in done.stderr
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == [
        "valid (untuned)", "valid", "again (untuned)", "again"]  # fmt: skip
    assert SmtModelCard.read(folder / "model").languages == ("", "de")
    return folder / "model"


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stream(tmp_path_factory.mktemp("stream") / "stream.tsv", stream_pairs())


CHILD = """
import os, signal, sys
where, nth, arguments = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
import mtloop.core.trace
import mtloop.smt.learners as learners

calls = 0
def kill_at(function):
    def call(*args, **keywords):
        global calls
        calls += 1
        if calls == nth: os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **keywords)
    return call

if where == "propose": learners.SmtLearner.propose = kill_at(learners.SmtLearner.propose)
if where == "learn": learners.SmtLearner.learn = kill_at(learners.SmtLearner.learn)
if where == "save": learners.SmtLearner.save = kill_at(learners.SmtLearner.save)
from mtloop.cli import main
main(arguments)
"""


def child(model: Path, data: Path, out: Path, method: str, where: str = "", nth: int = 0) -> int:
    """Run a method in a child process, which is killed at the nth call of a method of the learner."""
    arguments = ["run", "--data", data, "--model", model, "--method", method, "--schedule", "blocks:20", "--shuffle", 1]
    arguments += ["--out", out, "--snapshot-every", 10, "--resume"]
    arguments += ["--set", "retrain_words=20"] if "foreground" in method else []
    command = [sys.executable, "-c", CHILD, where, str(nth), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"}).returncode


@pytest.mark.parametrize(
    ("method", "where", "nth"),
    [
        slow("smt-adapting", "propose", 33),
        slow("smt-adapting", "learn", 41),
        slow("smt-adapting", "save", 2),
        slow("smt-foreground", "learn", 17),
        slow("smt-foreground-unfair", "propose", 30),
    ],
)
def test_a_killed_and_resumed_run_writes_the_same_bytes(
    smt_model: Path, stream: Path, tmp_path: Path, method: str, where: str, nth: int
) -> None:
    whole, out = tmp_path / "whole.jsonl", tmp_path / "run.jsonl"
    assert child(smt_model, stream, whole, method) == 0
    assert child(smt_model, stream, out, method, where, nth) == -signal.SIGKILL
    assert out.read_bytes() != whole.read_bytes()
    assert child(smt_model, stream, out, method) == 0
    assert out.read_bytes() == whole.read_bytes()


def test_the_header_contains_the_configuration(mtloop: Call, smt_model: Path, stream: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    assert mtloop("run", "--data", stream, "--model", smt_model, "--method", "smt-adapting", "--out", out).code == 0
    header = Trace.read(out).header
    assert header.config["schedule"] == "blocks:1000"
    assert header.config["settings"] == {"foreground": "incremental", "repetitions": 1, "nbest_size": 50}
    assert {"sil-thot", "mtloop", "python"} == header.versions.keys()


@pytest.mark.slow
def test_compare_shows_the_papers_table_and_figures(
    mtloop: Call, smt_model: Path, stream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mtloop.experiments import backward_reliability

    monkeypatch.setattr(backward_reliability, "MIN_SEGMENTS", 8)
    arguments = ["compare", "--data", stream, "--methods", FOUR, "--model", smt_model, "--schedule", "blocks:30"]
    arguments += ["--block-words", "30", "--shuffle", "1", "--out", tmp_path, "--jobs", "1"]
    result = mtloop(*arguments)
    assert result.code == 0, result.err
    assert "Table 2" in result.out
    assert all(number in result.out for number in ("100.4", "97.7", "96.5", "107.4"))  # the paper's
    learned = ("smt-adapting", "smt-foreground")  # the baseline never learns; unfair would equal fair
    assert result.out.count("backward transfer") == 2
    assert all(f"Figure 5: {system}," in result.out for system in learned)
    drawn = {path.stem for path in (tmp_path / "report_files").glob("figure-*.png")}
    figures = [*map(str, range(1, 5)), *(f"5-{system}" for system in learned)]
    assert drawn == {f"figure-{figure}-{metric}" for figure in figures for metric in ("ter", "bleu")}
    assert "The measures of the 2012 paper" in (tmp_path / "report.html").read_text(encoding="utf-8")
    schedules = {name: Trace.read(tmp_path / f"{name}.jsonl").header.config["schedule"] for name in FOUR.split(",")}
    assert schedules["smt-foreground"] == "blocks:30"
    assert schedules["smt-foreground-unfair"] == "blocks:30:unfair"
    before = (tmp_path / "smt-adapting.reliability.json").stat().st_mtime_ns
    assert mtloop(*arguments).out == result.out  # finished runs are not repeated
    assert (tmp_path / "smt-adapting.reliability.json").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "smt-adaptin"], "did you mean 'smt-adapting'?"),
        (
            ["--method", "smt-adapting", "--set", "foreground=both"],
            "setting foreground is 'both'; expected incremental or rescoring",
        ),
        (["--method", "smt-adapting", "--beam-size", "4"], "method smt-adapting has no setting 'beam_size'"),
        (["--method", "smt-foreground", "--set", "max_phrase_length=0"], "max_phrase_length is 0; expected 1 or more"),
        (
            ["--method", "smt-foreground-unfair", "--set", "retrain_words=0"],
            "retrain_words is 0; expected 1 or more",
        ),
        (["--method", "smt-foreground-unfair", "--schedule", "each"], "give --schedule blocks:WORDS, not each"),
    ],
)
def test_an_error_is_one_line(
    mtloop: Call, smt_model: Path, stream: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = mtloop("run", "--data", stream, "--model", smt_model, "--out", tmp_path / "r.jsonl", *arguments)
    assert result.code == 2
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def test_without_a_model_the_training_command_is_named(mtloop: Call, stream: Path, tmp_path: Path) -> None:
    out = ["--out", tmp_path / "r.jsonl"]
    assert "mtloop train --engine smt" in mtloop("run", "--data", stream, "--method", "smt-baseline", *out).err
    result = mtloop("run", "--data", stream, "--method", "smt-baseline", "--model", tmp_path / "none", *out)
    assert "not a folder with an SMT model" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "smt", "--steps", "5"], "--steps is an option of --engine nmt"),
        (["--ngram-order", "4"], "--ngram-order is an option of --engine smt"),
        (["--engine", "smt"], "already exists"),
    ],
)
def test_training_options_of_the_other_engine_are_refused(
    mtloop: Call, stream: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "m").mkdir()
    result = mtloop("train", "--data", stream, "--out", tmp_path / "m", *arguments)
    assert result.code == 2
    assert message in result.err
    assert json.dumps(sorted(path.name for path in (tmp_path / "m").iterdir())) == "[]"


def test_translate_with_a_statistical_model(mtloop: Call, smt_model: Path) -> None:
    result = mtloop("translate", "--model", smt_model, stdin="Open the file.\n\nSave the page now.\n")
    assert result.out.splitlines() == ["Öffnen Sie die Datei.", "", "Speichern Sie die Seite jetzt."]
    refused = mtloop("translate", "--model", smt_model, "--beam-size", 4)
    assert "--beam-size apply to Marian models" in refused.err
