from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from helpers.command_result import CommandResult
from helpers.forked import kill_at, run_forked
from helpers.tiers import slow
from helpers.tiny_marian import demo_pairs

from mtloop.cli import main
from mtloop.core import Trace
from mtloop.core.trace import TraceWriter
from mtloop.metrics.effort import KSMR
from mtloop.metrics.quality import TER
from mtloop.nmt.delta import Delta

Call = Callable[..., CommandResult]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "stream.tsv"
    rows = [f"{source}\t{target}" for source, target in demo_pairs()[:12]]
    path.write_text("\n".join(["source\ttarget", *rows, ""]), encoding="utf-8")
    return path


def arguments(model: Path, data: Path, out: Path, *more: object) -> list[str]:
    given = [
        "tune",
        "--data",
        data,
        "--model",
        model,
        "--target-lang",
        "de",
        "--method",
        "bias",
        "--space",
        "learning_rate=0.1:5:log",
    ]
    given += ["--trials", 4]
    given += ["--halving", "--tune-rows", "1-8", "--report-rows", "9-12", "--metric", "chrf", "--seed", 3]
    given += ["--report-metrics", "ter,bleu,r0", "--snapshot-every", 2, "--jobs", 1, "--out", out, *more]
    return [str(argument) for argument in given]


def full_search(model: Path, data: Path, out: Path, *more: object) -> list[str]:
    """The arguments of a search without successive halving: five trials in batches of two."""
    given = [each for each in arguments(model, data, out) if each != "--halving"]
    return [*given, *(str(each) for each in ("--trials", 5, "--batch", 2, *more))]


@pytest.fixture(scope="module")
def whole(model: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder and the output of an uninterrupted search."""
    out = tmp_path_factory.mktemp("whole") / "out"
    return out, run_search(arguments(model, data, out), out)


@pytest.fixture(scope="module")
def uninterrupted(model: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of uninterrupted searches without successive halving, by sampler."""
    folders = {sampler: tmp_path_factory.mktemp(sampler) / "out" for sampler in ("tpe", "random")}
    for sampler, out in folders.items():
        run_search(full_search(model, data, out, "--sampler", sampler), out)
    return folders


def run_search(arguments: list[str], out: Path) -> str:
    """Run a search in this process and return its output."""
    with redirect_stdout(io.StringIO()) as output:
        main(arguments)
    return output.getvalue().replace(str(out), "OUT")


def half_a_line(trace: TraceWriter, line: bytes) -> None:
    trace._file.write(line[: len(line) // 2])
    trace._file.flush()


PLACES: dict[str, tuple[Any, str, Callable[..., None] | None]] = {
    "write": (TraceWriter, "_append", half_a_line),
    "snapshot": (Delta, "write", None),
    "file": (os, "fsync", None),
}


def killed_search(arguments: list[str], where: str, nth: int) -> subprocess.CompletedProcess[str]:
    """Run a search in a child process, which is killed at the nth call of a place."""

    def work() -> None:
        owner, name, first = PLACES[where]
        kill_at(owner, name, nth, first=first)
        main(arguments)

    return run_forked(work)


def assert_same(out: Path, other: Path) -> None:
    """Check that the winner, leaderboard and traces are equal, byte for byte."""
    names, others = ({path.relative_to(folder) for path in folder.rglob("*.*l")} for folder in (out, other))
    assert names == others
    for name in names:
        if ".meta." not in name.name:  # clock times
            assert (out / name).read_bytes() == (other / name).read_bytes(), name


@pytest.mark.parametrize(("where", "nth"), [("write", 30), slow("snapshot", 9), slow("file", 8)])
def test_an_interrupted_search_finds_the_same_winner(
    model: Path, data: Path, whole: tuple[Path, str], tmp_path: Path, where: str, nth: int
) -> None:
    out = tmp_path / "out"
    killed = killed_search(arguments(model, data, out), where, nth)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (out / "report/winner.jsonl").exists()
    assert run_search(arguments(model, data, out), out) == whole[1]
    assert_same(out, whole[0])


@pytest.mark.parametrize(("sampler", "jobs"), [slow("tpe", 1), slow("tpe", 2), slow("random", 1), slow("random", 2)])
def test_a_search_killed_in_the_middle_ends_with_the_same_trials(
    model: Path, data: Path, uninterrupted: dict[str, Path], tmp_path: Path, sampler: str, jobs: int
) -> None:
    """Kill the process of the search with -9 while a trial of the second batch is running, then run it again."""
    out = tmp_path / "out"
    given = full_search(model, data, out, "--sampler", sampler, "--jobs", jobs)
    command = [sys.executable, "-m", "mtloop", *given]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (out / "trials/003.jsonl").exists() and first.poll() is None:
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    assert not (out / "winner.toml").exists()
    run_search(given, out)
    assert (out / "trials.jsonl").read_bytes() == (uninterrupted[sampler] / "trials.jsonl").read_bytes()
    assert_same(out, uninterrupted[sampler])


def test_the_samplers_draw_other_trials_after_the_first_batches(uninterrupted: dict[str, Path]) -> None:
    tpe, random = (
        {line["trial"]: line["settings"] for line in map(json.loads, (out / "trials.jsonl").read_text().splitlines())}
        for out in uninterrupted.values()
    )
    assert [tpe[i] for i in range(4)] == [random[i] for i in range(4)]
    assert tpe[4] != random[4]
    values = [json.loads(line)["value"] for line in (uninterrupted["tpe"] / "trials.jsonl").read_text().splitlines()]
    assert len(set(values)) > 2  # otherwise the results could not have changed the draws
    plans = [json.loads((out / "plan.json").read_text()) for out in uninterrupted.values()]
    assert [(plan["sampler"], plan["batch"]) for plan in plans] == [("tpe", 2), ("random", 5)]


def test_output_and_files_of_a_search(whole: tuple[Path, str], mtloop: Call, tmp_path: Path) -> None:
    out, output = whole
    assert "Tuned on rows 1-8: chrf, higher is better." in output
    assert "Reported on rows 9-12" in output
    for name in ("baseline", "default", "minus baseline"):
        assert name in output
    lines = [json.loads(line) for line in (out / "trials.jsonl").read_text().splitlines()]
    assert len(lines) == 4
    assert [line["rows"] for line in lines] == [8, 8, 4, 4]
    assert not list(out.rglob("*.state"))
    verdict = output.splitlines()[-1]
    assert verdict.startswith(("Keep the defaults. ", "Use the winner. "))
    assert (out / "winner.toml").read_text().splitlines()[0] == f"# {verdict}"
    assert mtloop("run", "--config", out / "winner.toml", "--limit", 2, "--out", tmp_path / "w.jsonl").code == 0
    header = Trace.read(tmp_path / "w.jsonl").header
    assert {**header.config["settings"], **lines[0]["settings"]} == header.config["settings"]  # type: ignore[dict-item]


def test_several_metrics_by_their_mean_relative_gain(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    given = arguments(model, data, tmp_path / "out", "--metric", "ter,ksmr", "--trials", 2)
    result = mtloop(*[argument for argument in given if argument != "--halving"])
    assert result.code == 0, result.err
    assert "mean of the relative gains over the baseline in ter, ksmr" in result.out
    best = json.loads((tmp_path / "out/trials.jsonl").read_text().splitlines()[0])
    baseline = Trace.read(tmp_path / "out/trials/baseline.jsonl").steps
    base = {metric.name: metric.score(baseline).value for metric in (TER(), KSMR())}
    gains = [1 - best["scores"][name] / base[name] for name in ("ter", "ksmr")]
    assert best["value"] == pytest.approx(100 * sum(gains) / 2)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--report-rows", "8-12"], "rows 1-8 to tune on and rows 8-12 to report on overlap"),
        (["--report-rows", "9-13"], "the stream has only 12"),
        (["--tune-rows", "all"], "expected FIRST-LAST"),
        (["--space", "learning_rat=1:2"], "did you mean 'learning_rate'?"),
        (["--space", "learning_rate=1:2"], "given twice"),
        (["--method", "baseline"], "never learns"),
        (["--method", "ful"], "did you mean 'full'?"),
        (["--metric", "blue"], "did you mean 'bleu'?"),
        (["--metric", "slope-ca"], "is not additive"),
        (["--report-metrics", "terr"], "did you mean 'ter'?"),
        (["--report-metrics", ","], "no metric is named; give at least one"),
        (["--metric", ","], "no metric is named; give at least one"),
        (["--schedule", "never"], "expected each"),
        (["--sampler", "tpe"], "with halving, all trials are drawn before the first result; use the sampler random"),
        (["--seed", "4294967296"], "seed is 4294967296; expected 0 to 4294967295"),
    ],
)
def test_an_error_is_one_line_and_nothing_is_written(
    mtloop: Call, model: Path, data: Path, tmp_path: Path, more: list[str], message: str
) -> None:
    out = tmp_path / "out"
    result = mtloop(*arguments(model, data, out, *more))
    assert result.code == 2
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert not out.exists()


def test_a_missing_optuna_is_reported_before_work_begins(
    mtloop: Call, model: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    result = mtloop(*arguments(model, data, tmp_path / "out"))
    assert result.code == 2
    assert result.err == "mtloop: optuna is not installed; run: pip install 'mtloop[tune]'\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_progress_names_batches_or_rungs(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    lines = mtloop(*full_search(model, data, tmp_path / "out", "--trials", 3)).err.splitlines()
    assert [line for line in lines if line.startswith("trials")] == [
        "trials 1 to 2 of 3, on 8 segments",
        "trials 3 to 3 of 3, on 8 segments",
    ]
    halving = arguments(model, data, tmp_path / "halving", "--trials", 2)
    assert mtloop(*halving).err.splitlines()[0] == "rung 1 of 1: 2 trials on 8 segments"


def test_another_search_in_the_same_folder_is_refused(
    mtloop: Call, model: Path, data: Path, whole: tuple[Path, str]
) -> None:
    result = mtloop(*arguments(model, data, whole[0], "--seed", 4))
    assert (result.code, result.out) == (2, "")
    assert "another search (different: seed)" in result.err


def test_run_stop_after_and_resume(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    given = ["run", "--data", data, "--model", model, "--set", "learning_rate=0.1", "--snapshot-every", 100]
    assert mtloop(*given, "--out", tmp_path / "whole.jsonl").code == 0
    for count in (5, 3, 12):
        assert mtloop(*given, "--stop-after", count, "--resume", "--out", tmp_path / "part.jsonl").code == 0
        assert len(Trace.read(tmp_path / "part.jsonl").steps) == max(count, 5)
    assert (tmp_path / "part.state/000000005").is_dir()
    assert (tmp_path / "part.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
