"""Jobs in this process and in child processes: equal traces, errors, and children that end with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mtloop.core import Trace
from mtloop.core.errors import InputError, MtloopError
from mtloop.experiments.bandit_task import BanditJob, BanditTask
from mtloop.experiments.experiment import Experiment
from mtloop.experiments.join import ParticipantJob
from mtloop.experiments.run import ExperimentJob
from mtloop.experiments.runners import InProcess, Job, Processes, Runner, run_jobs
from mtloop.experiments.worker import job_from_json
from mtloop.methods.learner_config import LearnerConfig

ENGINE = """
import time
from mtloop.core import Learned, Proposal

class Slow:
    def propose(self, segment):
        time.sleep(0.1)
        return Proposal(segment, segment.source)
    def learn(self, proposal, feedback):
        return Learned()
"""

DYING_ENGINE = """
import os

class Dies:
    def __init__(self):
        os.kill(os.getpid(), 9)
    def propose(self, segment): ...
    def learn(self, proposal, feedback): ...
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.tsv"
    path.write_text("source\ttarget\n" + "".join(f"word {i}\tWort {i}\n" for i in range(200)), encoding="utf-8")
    return path


@pytest.mark.parametrize("runner", [InProcess(), Processes(2)], ids=["in process", "processes"])
def test_every_runner_writes_the_same_trace(runner: Runner, data: Path, tmp_path: Path) -> None:
    jobs = [
        ExperimentJob(Experiment(str(data), "copy-source", limit=rows), tmp_path / f"{rows}.jsonl") for rows in (3, 5)
    ]
    assert runner(jobs) == ["", ""]
    assert [len(Trace.read(job.trace).steps) for job in jobs] == [3, 5]
    assert runner([ExperimentJob(jobs[0].experiment, jobs[0].trace, rows=3)]) == [""], "a job that is done"


@pytest.mark.parametrize("runner", [InProcess(), Processes(2)], ids=["in process", "processes"])
def test_an_error_in_the_input_is_the_message_of_its_job(runner: Runner, data: Path, tmp_path: Path) -> None:
    wrong = ExperimentJob(Experiment(str(tmp_path / "none.tsv"), "copy-source"), tmp_path / "wrong.jsonl")
    right = ExperimentJob(Experiment(str(data), "copy-source", limit=2), tmp_path / "right.jsonl")
    first, second = runner([wrong, right])
    assert "none.tsv" in first
    assert (second, right.trace.exists()) == ("", True)
    with pytest.raises(InputError, match=r"^method copy-source failed: .*none\.tsv"):
        run_jobs([wrong], runner)


def test_a_child_that_dies_is_not_a_wrong_input(data: Path, tmp_path: Path) -> None:
    (tmp_path / "dies.py").write_text(DYING_ENGINE)
    job = ExperimentJob(Experiment(str(data), f"{tmp_path}/dies.py:Dies"), tmp_path / "dies.jsonl")
    with pytest.raises(MtloopError, match=r"was stopped .*run the same command again to resume"):
        Processes(1)([job])


def test_a_job_is_the_same_after_json(data: Path, tmp_path: Path) -> None:
    config = LearnerConfig.create("copy-source")
    jobs: list[Job] = [
        ExperimentJob(Experiment(str(data), "full", settings={"max_updates": 2}), tmp_path / "a.jsonl", 7, 3),
        BanditJob(BanditTask(str(data), noise={"skew": 0.1}, thumbs=0.4), config, tmp_path),
        ParticipantJob("http://localhost:1", "dev", tmp_path / "key", config, tmp_path / "b.jsonl", passes=2),
    ]
    for job in jobs:
        assert job_from_json({"kind": job.kind, **job.to_json()}) == job


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_child_ends_when_its_parent_is_killed(data: Path, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(ENGINE)
    program = (
        "from pathlib import Path\nfrom mtloop.experiments.experiment import Experiment\n"
        "from mtloop.experiments.run import ExperimentJob\nfrom mtloop.experiments.runners import Processes\n"
        f"Processes(1)([ExperimentJob(Experiment({str(data)!r}, 'slow.py:Slow'), Path('slow.jsonl'))])\n"
    )
    trace = tmp_path / "slow.jsonl"
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
    _wait_for(lambda: trace.exists() and trace.read_bytes().count(b"\n") > 3)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    written = -1
    while written != (size := trace.stat().st_size):  # the child notices within moments
        written = size
        time.sleep(0.5)
    assert trace.read_bytes().count(b"\n") < 200
    job = ExperimentJob(Experiment(str(data), f"{tmp_path}/slow.py:Slow", limit=2), tmp_path / "again.jsonl")
    assert Processes(1)([job]) == [""]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_children_finish_when_stderr_is_a_terminal(data: Path, tmp_path: Path) -> None:
    """Then nothing is read from a child, and its standard input must stay open until it has ended."""
    import pty

    master, terminal = pty.openpty()
    command = [sys.executable, "-m", "mtloop", "compare", "--data", str(data), "--methods", "copy-source"]
    command += ["--limit", "4", "--metrics", "ter", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, text=True)
    os.close(terminal)
    os.close(master)
    assert done.returncode == 0
    assert "copy-source" in done.stdout


def test_a_file_of_the_current_folder_does_not_replace_a_module(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit('the wrong module')")
    monkeypatch.chdir(tmp_path)
    job = ExperimentJob(Experiment(str(data), "copy-source", limit=2), tmp_path / "a.jsonl")
    assert Processes(1)([job]) == [""]


@pytest.mark.parametrize("runner", [InProcess(), Processes(1)], ids=["in process", "processes"])
def test_an_engine_that_fails_stops_every_runner_alike(runner: Runner, data: Path, tmp_path: Path) -> None:
    """A trial must not fail with two jobs and stop the search with one."""
    (tmp_path / "fails.py").write_text(ENGINE.replace("time.sleep(0.1)", "raise ValueError('no words')"))
    job = ExperimentJob(Experiment(str(data), f"{tmp_path}/fails.py:Slow"), tmp_path / "fails.jsonl")
    with pytest.raises(MtloopError, match="no words"):
        runner([job])


def _wait_for(condition: object) -> None:
    for _ in range(600):
        if callable(condition) and condition():
            return
        time.sleep(0.1)
    raise AssertionError("the child wrote no steps within a minute")
