"""Forked children of tests: exit codes, messages, and a deadline."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from subprocess import TimeoutExpired

import pytest
from helpers.forked import run_forked


@pytest.mark.parametrize(
    ("argument", "code", "messages"), [("text", 1, "text\n"), (3, 3, ""), (None, 0, ""), (0, 0, ""), (2.5, 1, "2.5\n")]
)
def test_exit_codes_and_messages_of_sys_exit(argument: object, code: int, messages: str) -> None:
    done = run_forked(lambda: sys.exit(argument))  # type: ignore[arg-type]
    assert (done.returncode, done.stdout, done.stderr) == (code, "", messages)


def test_an_error_is_written_with_its_traceback() -> None:
    done = run_forked(lambda: int("x"))
    assert done.returncode == 1
    assert "ValueError" in done.stderr


def test_a_child_that_hangs_is_killed_at_the_deadline() -> None:
    def work() -> None:
        print(os.getpid(), flush=True)
        time.sleep(60)

    started = time.monotonic()
    with pytest.raises(TimeoutExpired) as caught:
        run_forked(work, timeout=0.5)
    assert time.monotonic() - started < 20
    assert caught.value.output
    with pytest.raises(ProcessLookupError):
        os.kill(int(caught.value.output), 0)


PARENT = """
import sys, torch
from helpers.forked import run_forked

def multiply():
    torch.set_num_threads(2)
    (torch.ones(512, 512) @ torch.ones(512, 512)).tanh().sum().item()

multiply()
sys.exit(run_forked(multiply, timeout=10).returncode)
"""


def test_a_child_does_not_wait_for_the_threads_of_its_parent() -> None:
    """OpenMP's threads do not exist in a forked child, but it waits for them if the parent has used several."""
    program = [sys.executable, "-c", PARENT]
    assert subprocess.run(program, cwd=Path(__file__).parent, timeout=60, check=False).returncode == 0
