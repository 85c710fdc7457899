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
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import PIPE
from typing import Any

import httpx2
import pytest
from helpers.postgres import Postgres, binaries
from helpers.recompute import check_run
from helpers.shared_task import TaskServer

from mtloop.service import Settings
from mtloop.service.server import listen

KILLS = 20
PARTICIPANTS = 4
SENTENCES = 100_000


@dataclass
class Participant:
    """Translates until it is stopped, retries every failure, and notes every reward it receives."""

    url: str
    key: str
    run: str = ""
    told: dict[str, float] = field(default_factory=dict)
    doubled: int = 0
    done: threading.Event = field(default_factory=threading.Event)

    def take_part(self) -> None:
        with httpx2.Client(base_url=self.url, headers={"x-api-key": self.key}, timeout=10) as client:
            self.run = self._answer(client, "POST", "/v1/tasks/big/runs", json={})["run"]
            sentence = self._answer(client, "GET", f"/v1/runs/{self.run}/next")
            while not self.done.is_set():
                body = {"id": sentence["id"], "translation": f"Schublade {len(self.told)}"}
                answer = self._answer(client, "POST", f"/v1/runs/{self.run}/translations", json=body)
                self._remember(answer)
                sentence = answer["next"]

    def _remember(self, answer: Any) -> None:
        if answer["id"] in self.told:
            self.doubled += 1
        self.told[answer["id"]] = answer["reward"]

    def _answer(self, client: httpx2.Client, method: str, path: str, **body: Any) -> Any:
        """The answer, however often one has to ask."""
        for _ in range(600):
            try:
                answer = client.request(method, path, **body)
            except httpx2.TransportError:
                time.sleep(0.05)
                continue
            if answer.status_code < 300:
                return answer.json()
            assert answer.status_code == 503, answer.text
            time.sleep(0.05)
        raise AssertionError("the service did not come back")


NURSERY = """
import os, sys
import aiosqlite, asyncpg, httptools, sacrebleu, uvloop
import mtloop.service.app
from mtloop.service.server import serve
from mtloop.service.settings import Settings
print("ready", flush=True)
for line in sys.stdin:
    child = os.fork()
    if not child:
        os.dup2(2, 1)  # what it prints is not ours to read
        serve(Settings.read())
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Server:
    """`mtloop serve`, forked from a process that has imported everything, because the test starts it twenty times."""

    def __init__(self, settings: Settings, log: Path) -> None:
        environment = os.environ | settings.environment()
        with log.open("ab") as errors:
            self._nursery = subprocess.Popen(
                [sys.executable, "-c", NURSERY], env=environment, stdin=PIPE, stdout=PIPE, stderr=errors, text=True
            )
        assert self._said() == "ready"
        self.start()

    def start(self) -> None:
        assert self._nursery.stdin is not None
        self._nursery.stdin.write("\n")
        self._nursery.stdin.flush()
        self._child = int(self._said())

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask it to leave; its exit status."""
        code = self._end(signal.SIGTERM)
        self._nursery.communicate()
        return code

    def _end(self, how: signal.Signals) -> int:
        os.kill(self._child, how)
        return int(self._said())

    def _said(self) -> str:
        assert self._nursery.stdout is not None
        return self._nursery.stdout.readline().strip()


@contextmanager
def crowd(task_server: TaskServer, port: int) -> Iterator[list[Participant]]:
    people = [Participant(f"http://127.0.0.1:{port}", task_server.participant(f"p{n}")) for n in range(PARTICIPANTS)]
    threads = [threading.Thread(target=one.take_part) for one in people]
    for thread in threads:
        thread.start()
    try:
        yield people
    finally:
        for one in people:
            one.done.set()
        for thread in threads:
            thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


def big_task(task_server: TaskServer) -> None:
    sources = [f"Drawer {n}" for n in range(SENTENCES // 20)]
    path = task_server.folder / "big.tsv"
    path.write_text("source\ttarget\n" + "".join(f"{s}\tSchublade {n}\n" for n, s in enumerate(sources)), "utf-8")
    task_server.task("big", "dev", data=path, held_out=50, blocks=20)


def await_progress(people: list[Participant], count: int) -> None:
    """Wait until `count` more rewards have been received."""
    wanted = sum(len(one.told) for one in people) + count
    deadline = time.monotonic() + 120
    while sum(len(one.told) for one in people) < wanted:
        assert time.monotonic() < deadline, "no progress"
        time.sleep(0.01)


def check(task_server: TaskServer, people: list[Participant]) -> None:
    """Every received reward is stored exactly once, and all sums equal the rows."""
    for one in people:
        assert one.doubled == 0
        rows = task_server.with_storage(lambda storage, one=one: check_run(storage.tasks, one.run))  # type: ignore[misc]
        rewards = task_server.with_storage(lambda storage, one=one: _rewards(storage.tasks, one.run))  # type: ignore[misc]
        assert rows == len(rewards) == len(one.told)
        assert list(one.told.values()) == rewards


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


def free_port() -> int:
    with listen("127.0.0.1", 0) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def serving(task_server: TaskServer) -> Iterator[tuple[Server, int]]:
    port = free_port()
    server = Server(replace(task_server.settings, port=port, rate=0, quota=0), task_server.folder / "log")
    try:
        yield server, port
    finally:
        assert server.stop() == 0


def test_killed_at_twenty_random_moments(lite: TaskServer) -> None:
    big_task(lite)
    rng = random.Random(2017)
    with serving(lite) as (server, port), crowd(lite, port) as people:
        for _ in range(KILLS):
            await_progress(people, 1)
            time.sleep(rng.uniform(0, 0.15))
            server.kill()
            server.start()
        await_progress(people, 1)
    assert sum(len(one.told) for one in people) > KILLS
    check(lite, people)


def test_killed_over_a_postgresql_that_is_stopped_at_once(durable: Postgres, tmp_path: Path) -> None:
    task_server = TaskServer(Settings(database=durable.create()), tmp_path)
    big_task(task_server)
    rng = random.Random(2017)
    with serving(task_server) as (server, port), crowd(task_server, port) as people:
        for round_ in range(4):
            await_progress(people, 5)
            time.sleep(rng.uniform(0, 0.15))
            if round_ % 2:
                server.kill()
                server.start()
            else:
                durable.stop("immediate")
                durable.start()
        await_progress(people, 1)
    check(task_server, people)
