"""Killed servers and stopped databases: nothing acknowledged is lost, no reward is given twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE
from typing import Any

import httpx2
import pytest
from helpers.free_ports import free_port
from helpers.postgres import Postgres, binaries
from helpers.recompute import check_run
from helpers.shared_task import TaskServer
from helpers.tiers import slow

from mtloop.service import Settings

PARTICIPANTS = 4
SENTENCES = 100_000


@dataclass
class Participant:
    """Translates until it is stopped, retries every failure, and stores every reward it receives."""

    url: str
    key: str
    run: str = ""
    rewards: dict[str, float] = field(default_factory=dict)
    duplicates: int = 0
    done: threading.Event = field(default_factory=threading.Event)

    def take_part(self) -> None:
        with httpx2.Client(base_url=self.url, headers={"x-api-key": self.key}, timeout=10) as client:
            self.run = self._request(client, "POST", "/v1/tasks/big/runs", json={})["run"]
            sentence = self._request(client, "GET", f"/v1/runs/{self.run}/next")
            while not self.done.is_set():
                body = {"id": sentence["id"], "translation": f"Schublade {len(self.rewards)}"}
                response = self._request(client, "POST", f"/v1/runs/{self.run}/translations", json=body)
                self._add_reward(response)
                sentence = response["next"]

    def _add_reward(self, response: Any) -> None:
        if response["id"] in self.rewards:
            self.duplicates += 1
        self.rewards[response["id"]] = response["reward"]

    def _request(self, client: httpx2.Client, method: str, path: str, **body: Any) -> Any:
        """Return the body of the response. Retry while the service is unavailable."""
        for _ in range(600):
            try:
                response = client.request(method, path, **body)
            except httpx2.TransportError:
                time.sleep(0.05)
                continue
            if response.status_code < 300:
                return response.json()
            assert response.status_code == 503, response.text
            time.sleep(0.05)
        raise AssertionError("the service did not come back")


FORKING_SERVER = """
import os, sys
import aiosqlite, asyncpg, httptools, sacrebleu, uvloop
import mtloop.service.app
from mtloop.service.server import serve
from mtloop.service.settings import Settings
print("ready", flush=True)
for line in sys.stdin:
    child = os.fork()
    if not child:
        os.dup2(2, 1)  # the test reads the standard output of the parent only
        serve(Settings.read())
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Server:
    """`mtloop serve`, forked from a process with all imports done, because the test starts it twenty times."""

    def __init__(self, settings: Settings, log: Path) -> None:
        environment = os.environ | settings.environment()
        with log.open("ab") as errors:
            self._parent = subprocess.Popen(
                [sys.executable, "-c", FORKING_SERVER],
                env=environment,
                stdin=PIPE,
                stdout=PIPE,
                stderr=errors,
                text=True,
            )
        assert self._read_line() == "ready"
        self.start()

    def start(self) -> None:
        assert self._parent.stdin is not None
        self._parent.stdin.write("\n")
        self._parent.stdin.flush()
        self._child = int(self._read_line())

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Send SIGTERM and return the exit status."""
        code = self._end(signal.SIGTERM)
        self._parent.communicate()
        return code

    def _end(self, signal_: signal.Signals) -> int:
        os.kill(self._child, signal_)
        return int(self._read_line())

    def _read_line(self) -> str:
        assert self._parent.stdout is not None
        return self._parent.stdout.readline().strip()


@contextmanager
def participating(task_server: TaskServer, port: int) -> Iterator[list[Participant]]:
    url, names = f"http://127.0.0.1:{port}", [f"p{number}" for number in range(PARTICIPANTS)]
    participants = [Participant(url, task_server.participant(name)) for name in names]
    threads = [threading.Thread(target=participant.take_part) for participant in participants]
    for thread in threads:
        thread.start()
    try:
        yield participants
    finally:
        for participant in participants:
            participant.done.set()
        for thread in threads:
            thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


def big_task(task_server: TaskServer) -> None:
    sources = [f"Drawer {n}" for n in range(SENTENCES // 20)]
    path = task_server.folder / "big.tsv"
    path.write_text("source\ttarget\n" + "".join(f"{s}\tSchublade {n}\n" for n, s in enumerate(sources)), "utf-8")
    task_server.task("big", "dev", data=path, held_out=50, blocks=20)


def await_progress(participants: list[Participant], count: int) -> None:
    """Wait until `count` more rewards have been received."""
    expected = sum(len(participant.rewards) for participant in participants) + count
    deadline = time.monotonic() + 120
    while sum(len(participant.rewards) for participant in participants) < expected:
        assert time.monotonic() < deadline, "no progress"
        time.sleep(0.01)


def check(task_server: TaskServer, participants: list[Participant]) -> None:
    """Every received reward is stored exactly once, and all sums equal the rows."""
    for participant in participants:
        assert participant.duplicates == 0
        run = participant.run
        rows = task_server.with_storage(lambda storage, run=run: check_run(storage.tasks, run))  # type: ignore[misc]
        rewards = task_server.with_storage(lambda storage, run=run: _rewards(storage.tasks, run))  # type: ignore[misc]
        assert rows == len(rewards) == len(participant.rewards)
        assert list(participant.rewards.values()) == rewards


async def _rewards(store: Any, token: str) -> list[float]:
    run = await store.run(token)
    return [row.reward async for chunk in store.submissions(run, 1) for row in chunk]


@pytest.fixture
def durable() -> Iterator[Postgres]:
    if binaries() is None:
        pytest.skip("no PostgreSQL to stop")
    server = Postgres(durable=True)
    yield server
    server.remove()


@contextmanager
def serving(task_server: TaskServer) -> Iterator[tuple[Server, int]]:
    port = free_port()
    server = Server(
        task_server.settings.model_copy(update={"port": port, "rate": 0, "quota": 0}), task_server.folder / "log"
    )
    try:
        yield server, port
    finally:
        assert server.stop() == 0


@pytest.mark.parametrize("kills", [2, slow(20)])
def test_killed_at_random_moments(lite: TaskServer, kills: int) -> None:
    big_task(lite)
    rng = random.Random(2017)
    with serving(lite) as (server, port), participating(lite, port) as participants:
        for _ in range(kills):
            await_progress(participants, 1)
            time.sleep(rng.uniform(0, 0.15))
            server.kill()
            server.start()
        await_progress(participants, 1)
    assert sum(len(participant.rewards) for participant in participants) > kills
    check(lite, participants)


@pytest.mark.slow
def test_killed_with_a_postgresql_that_is_stopped_immediately(durable: Postgres, tmp_path: Path) -> None:
    task_server = TaskServer(Settings(database=durable.create()), tmp_path)
    big_task(task_server)
    rng = random.Random(2017)
    with serving(task_server) as (server, port), participating(task_server, port) as participants:
        for round_ in range(4):
            await_progress(participants, 5)
            time.sleep(rng.uniform(0, 0.15))
            if round_ % 2:
                server.kill()
                server.start()
            else:
                durable.stop("immediate")
                durable.start()
        await_progress(participants, 1)
    check(task_server, participants)
