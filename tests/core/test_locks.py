"""Locks between real processes: waiting, killed holders, removed lock files."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mtloop.core import locks
from mtloop.core.errors import TraceError
from mtloop.core.locks import locked, try_lock, try_write_lock
from mtloop.core.trace import Header, Trace, TraceWriter
from mtloop.core.types import Proposal, Segment, Step

HOLD = """
import sys, time
from pathlib import Path
from mtloop.core.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""
WRITE = """
import sys, time
from mtloop.core.trace import Header, TraceWriter
with TraceWriter(sys.argv[1], Header(), exclusive=True):
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def holder(program: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds a lock; it is killed at the end of the block."""
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_process_waits_until_the_first_is_killed(tmp_path: Path) -> None:
    path, waiting = tmp_path / "out" / ".lock", threading.Event()
    with holder(HOLD, path) as first:
        assert try_lock(path) is None
        threading.Thread(target=lambda: (waiting.wait(30), first.kill())).start()
        with locked(path, on_wait=waiting.set):
            assert waiting.is_set()
            assert first.wait() != 0
    assert not path.exists()  # the lock file is removed with the lock, also one that a killed process left


def test_a_free_lock_is_taken_without_waiting(tmp_path: Path) -> None:
    with locked(tmp_path / "lock", on_wait=lambda: pytest.fail("it waited")) as lock:
        assert try_lock(lock.path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_lock_on_a_file_that_is_removed_meanwhile_is_taken_on_the_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, take = tmp_path / "lock", locks._take

    def removed_first(file: object) -> bool:
        monkeypatch.setattr(locks, "_take", take)
        path.unlink()  # what the last holder does
        return take(file)  # type: ignore[arg-type]

    monkeypatch.setattr(locks, "_take", removed_first)
    first = try_lock(path)
    assert first is not None
    assert try_lock(path) is None
    first.release()


@pytest.mark.parametrize("windows", [False, True])
def test_a_trace_is_locked_for_writers_and_open_to_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, windows: bool
) -> None:
    monkeypatch.setattr(locks, "WINDOWS", windows)
    path = tmp_path / "run.jsonl"
    with TraceWriter(path, Header(), exclusive=True) as trace:
        trace.write(Step(0, Proposal(Segment("1", "a"), "b")))
        assert len(Trace.read(path).steps) == 1
        assert [file.name for file in sorted(tmp_path.iterdir())] == ["run.jsonl", *["run.jsonl.lock"] * windows]
        with pytest.raises(TraceError, match=r"run\.jsonl: is being written by another process; wait for it"):
            TraceWriter(path, Header(), exclusive=True)
    assert list(tmp_path.iterdir()) == [path]
    with TraceWriter(path, Header(), exclusive=True) as trace:
        assert len(trace.past) == 1


def test_a_killed_writer_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with holder(WRITE, path) as writer:
        with pytest.raises(TraceError, match="is being written by another process"):
            TraceWriter(path, Header(), exclusive=True)
        writer.kill()
        writer.wait()
        with TraceWriter(path, Header(), exclusive=True) as trace:
            assert trace.past == []
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("number", [37, 38, 95], ids=["ENOLCK", "ENOSYS", "EOPNOTSUPP"])
@pytest.mark.parametrize("lock", [try_lock, try_write_lock])
def test_a_file_system_without_locks_grants_every_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, lock: Callable[[Path], locks.FileLock | None]
) -> None:
    def refuse(file: object, how: int) -> None:
        raise OSError(number, "no locks here")

    monkeypatch.setattr("fcntl.flock", refuse)
    first, second = lock(tmp_path / "run.jsonl"), lock(tmp_path / "run.jsonl")
    assert first is not None
    assert second is not None
    first.release()
    second.release()
