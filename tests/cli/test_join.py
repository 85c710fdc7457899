from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.command_result import CommandResult
from helpers.fake_service import KEY, SOURCES, Faulty, Service, served
from helpers.forked import kill_at, run_forked
from helpers.tiers import slow

from mtloop.cli import main
from mtloop.client.participation import PendingProposalFile
from mtloop.client.task_stream import Task
from mtloop.core import Learned, Trace
from mtloop.core.trace import TraceWriter

Call = Callable[..., CommandResult]


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def url(service: Service) -> Iterator[str]:
    with served(service) as address:
        yield address


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key.txt"
    path.write_text(KEY + "\n")
    return path


def test_the_score_of_the_trace_equals_the_reward_of_the_service(
    mtloop: Call, service: Service, url: str, key: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run.jsonl"
    result = mtloop("join", url, "--task", "dev", "--key-file", key, "--method", "copy-source", "--out", out)
    assert (result.code, result.out.strip()) == (0, str(out)), result.err
    (run,) = service.runs.values()
    score = json.loads(mtloop("score", out, "--metrics", "reward", "--format", "json").out)
    assert score[0]["cumulative_reward"] == sum(run.rewards) == 1.75
    config = Trace.read(out).header.config
    assert {
        "task": "dev",
        "run": run.id,
        "first_step": 0,
        "method": "copy-source",
        "model": "",
    }.items() <= config.items()
    assert KEY not in out.read_text()


def test_join_with_a_model(mtloop: Call, service: Service, url: str, key: Path, tmp_path: Path, model: Path) -> None:
    out = tmp_path / "run.jsonl"
    result = mtloop(
        "join",
        url,
        "--task",
        "dev",
        "--key-file",
        key,
        "--model",
        model,
        "--set",
        "beam_size=2",
        "--passes",
        2,
        "--out",
        out,
    )
    assert result.code == 0, result.err
    trace = Trace.read(out)
    assert len(trace.steps) == 2 * len(SOURCES)
    settings = trace.header.config["settings"]
    assert settings == {"beam_size": 2, "max_piece_tokens": 48, "precision": "float32", "limit_loops": True}
    assert trace.header.config["fingerprint"]
    assert all(step.learned == Learned() for step in trace.steps)


# What is called there, and whether the process is killed after the call.
PLACES: dict[str, tuple[type, str, bool]] = {
    "joined": (TraceWriter, "_append", False),
    "journal": (PendingProposalFile, "write", False),
    "rewarded": (Task, "judge", True),
    "written": (TraceWriter, "_append", True),
}


def child(url: str, key: Path, out: Path, where: str = "", nth: int = 0) -> subprocess.CompletedProcess[str]:
    """Join in a child process, which is killed at the nth call of a place."""
    arguments = ["join", url, "--task", "dev", "--key-file", key, "--method", "copy-source", "--out", out, "--resume"]

    def work() -> None:
        if where:
            owner, name, after = PLACES[where]
            kill_at(owner, name, nth, after=after)
        main([str(argument) for argument in arguments])

    return run_forked(work)


@pytest.mark.parametrize(
    ("where", "nth"), [slow("joined", 1), slow("journal", 3), ("rewarded", 3), slow("written", 1), slow("written", 6)]
)
def test_a_killed_join_is_resumed(service: Service, url: str, key: Path, tmp_path: Path, where: str, nth: int) -> None:
    out = tmp_path / "run.jsonl"
    killed = child(url, key, out, where, nth)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    resumed = child(url, key, out)
    assert resumed.returncode == 0, resumed.stderr
    *_, run = service.runs.values()
    assert len(service.runs) == 1 + (where == "joined")
    rewards = [step.feedback.value for step in Trace.read(out).steps]  # type: ignore[union-attr]
    assert rewards == run.rewards
    assert len(rewards) == len(SOURCES)


@pytest.mark.slow
def test_join_retries_when_the_service_fails(mtloop: Call, service: Service, key: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    with served(Faulty(service, *[None] * 6, "later", 503, 429, "after", 500)) as url:
        result = mtloop("join", url, "--task", "dev", "--key-file", key, "--method", "copy-source", "--out", out)
    assert result.code == 0, result.err
    assert len(service.runs["run-0"].rewards) == len(Trace.read(out).steps) == len(SOURCES)


def test_an_existing_run_is_continued(mtloop: Call, service: Service, url: str, key: Path, tmp_path: Path) -> None:
    common = ["join", url, "--task", "dev", "--key-file", key, "--method", "copy-source"]
    assert mtloop(*common, "--out", tmp_path / "one.jsonl").code == 0
    assert mtloop(*common, "--out", tmp_path / "two.jsonl", "--run", "run-0", "--passes", 2).code == 0
    assert len(service.runs) == 1
    assert len(Trace.read(tmp_path / "two.jsonl").steps) == len(SOURCES)


@pytest.mark.parametrize("method", ["full", "bias", "top", "lasso"])
def test_methods_that_learn_only_from_post_edits_are_refused(
    mtloop: Call, service: Service, url: str, key: Path, tmp_path: Path, model: Path, method: str
) -> None:
    out = tmp_path / "run.jsonl"
    result = mtloop("join", url, "--task", "dev", "--key-file", key, "--method", method, "--model", model, "--out", out)
    assert result.code == 2
    assert f"method {method} learns from post-edits, but a task gives only rewards" in result.err
    assert not service.requests
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "dve"], "there is no task 'dve'; did you mean 'dev'?"),
        (["--method", "copysource"], "did you mean 'copy-source'?"),
        (["--model", "en-de"], "method copy-source uses no model"),
        (["--set", "beam_size=2"], "method copy-source has no setting 'beam_size'"),
        (["--run", "run-7"], "no such run"),
        (["--passes", "4"], "task dev allows 3 passes, not 4"),
        (["--key-file", "none.txt"], "none.txt: the API key cannot be read"),
        (["--key-file", "two.txt"], "two.txt: contains 2 words"),
        (["--key-file", "wrong.txt"], "401 Unauthorized"),
        (["--out", "there.jsonl"], "already exists; resume it with --resume"),
        (["--out", "there.jsonl", "--resume"], "there.jsonl"),
    ],
)
def test_an_error_is_one_line(
    mtloop: Call, service: Service, url: str, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    arguments: list[str], message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name, content in (("two.txt", "a key"), ("wrong.txt", "nobody"), ("there.jsonl", "precious")):
        Path(name).write_text(content)
    given = ["--task", "dev", "--key-file", key, "--method", "copy-source", "--out", tmp_path / "run.jsonl"]
    result = mtloop("join", url, *given, *arguments)
    assert result.code == 2
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert not service.runs
    assert not Path("run.jsonl").exists()
    assert Path("there.jsonl").read_text() == "precious"


@pytest.mark.parametrize(
    ("url", "message"),
    [("tasks.example.org", "is not a service address"), ("http://127.0.0.1:1", "was not available within 0 s")],
)
def test_a_wrong_address(mtloop: Call, key: Path, tmp_path: Path, url: str, message: str) -> None:
    out = tmp_path / "run.jsonl"
    result = mtloop(
        "join", url, "--task", "dev", "--key-file", key, "--method", "copy-source", "--out", out, "--give-up-after", 0
    )
    assert result.code == 2
    assert message in result.err


def test_a_missing_library_is_named(
    mtloop: Call, url: str, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    out = tmp_path / "run.jsonl"
    result = mtloop("join", url, "--task", "dev", "--key-file", key, "--method", "copy-source", "--out", out)
    assert (result.code, result.err) == (2, "mtloop: httpx2 is not installed; run: pip install 'mtloop[client]'\n")


def test_compare_with_copy_source(mtloop: Call, tmp_path: Path, model: Path) -> None:
    data = tmp_path / "d.tsv"
    data.write_text("source\ttarget\nOpen the file\tÖffnen\nSave the file\tSave the file\n", encoding="utf-8")
    result = mtloop(
        "compare",
        "--data",
        data,
        "--methods",
        "copy-source,baseline",
        "--model",
        model,
        "--jobs",
        1,
        "--out",
        tmp_path / "o",
    )
    assert result.code == 0, result.err
    assert "copy-source" in result.out


def test_run_and_copy_source(mtloop: Call, tmp_path: Path) -> None:
    data, out = tmp_path / "d.tsv", tmp_path / "run.jsonl"
    data.write_text("source\ttarget\nOpen\tÖffnen\nSave\tSave\n", encoding="utf-8")
    assert mtloop("run", "--data", data, "--method", "copy-source", "--out", out).code == 0
    assert [step.proposal.text for step in Trace.read(out).steps] == ["Open", "Save"]
    assert (
        "uses no model"
        in mtloop("run", "--data", data, "--method", "copy-source", "--model", "x", "--out", tmp_path / "x").err
    )
