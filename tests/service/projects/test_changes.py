"""Server-sent events: a client learns that the state of a project changed."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from helpers.raw_events import append_events
from helpers.serving import serving
from helpers.shared_task import TaskServer

from mtloop.service import Settings
from mtloop.service.accounts.keys import hash_key, new_key
from mtloop.service.problems import ProblemError
from mtloop.service.project_log import change_watch
from mtloop.service.project_log.change_watch import ChangeWatch, Watcher
from mtloop.service.project_log.event_log import Configured, GlossaryChanged
from mtloop.service.project_log.watch_store import WatchedState
from mtloop.service.projects import change_routes
from mtloop.service.projects.change_routes import change_events
from mtloop.service.storage import Storage


@dataclass(frozen=True)
class Home:
    """A server with the keys of two participants; `process` is the server."""

    port: int
    keys: dict[str, str]
    process: subprocess.Popen[bytes]

    def call(self, method: str, path: str, body: Any = None, who: str = "ann") -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"x-api-key": self.keys[who], "content-type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        response.read()
        connection.close()
        return response.status

    def change(self, project: str, number: int) -> None:
        """Add one event to a project."""
        assert self.call("PATCH", f"/v1/projects/{project}", {"glossary": {"term": f"word {number}"}}) == 200

    def watch(self, project: str, who: str = "ann", **headers: str) -> Stream:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", f"/v1/projects/{project}/changes", headers={"x-api-key": self.keys[who], **headers})
        OPEN.append(Stream(connection, connection.getresponse()))
        return OPEN[-1]


@dataclass(frozen=True)
class Stream:
    """A stream of events that is being read."""

    connection: http.client.HTTPConnection
    response: http.client.HTTPResponse

    def read(self) -> dict[str, str] | None:
        """The next event or comment. None: the stream is over."""
        fields: dict[str, str] = {}
        while line := self.response.readline().decode():
            name, colon, value = line.rstrip("\n").partition(":")
            if not colon and fields:
                return fields
            fields[name or "comment"] = value.strip()
        return None

    def state(self) -> int:
        """The number of the next event, which must be one about the state."""
        event = self.read()
        assert event is not None
        assert event["event"] == "state"
        assert json.loads(event["data"]) == {"state": int(event["id"])}
        return int(event["id"])

    def start(self) -> Stream:
        assert self.response.status == 200
        assert self.response.headers["content-type"].startswith("text/event-stream")
        assert self.read() == {"retry": "3000"}
        return self

    def close(self) -> None:
        self.response.close()
        self.connection.close()


OPEN: list[Stream] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


@contextmanager
def started(folder: Path, *options: str) -> Iterator[Home]:
    """A server on a folder, with three projects."""
    server = TaskServer(Settings(folder=folder / "data"), folder)
    keys = {name: server.participant(name) for name in ("ann", "bob")}
    with serving(folder / "data", *options) as (port, process, _):
        home = Home(port, keys, process)
        for name in ("manual", "shop", "old"):
            assert home.call("POST", "/v1/projects", {"name": name}) == 201
        yield home


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with started(tmp_path_factory.mktemp("changes")) as found:
        yield found


def test_each_change_is_told(home: Home) -> None:
    stream, other = home.watch("manual").start(), home.watch("shop").start()
    before = stream.state()
    assert other.state() == 1
    home.change("manual", 1)
    assert stream.state() == before + 1
    home.change("manual", 2)
    home.change("shop", 1)
    assert stream.state() == before + 2
    assert other.state() == 2
    stream.close()
    again = home.watch("manual", **{"last-event-id": str(before)}).start()
    assert again.state() == before + 2
    again.close()
    same = home.watch("manual", **{"last-event-id": str(before + 2)}).start()
    home.change("manual", 3)
    assert same.state() == before + 3
    same.close()
    strange = home.watch("manual", **{"last-event-id": "yesterday"}).start()
    assert strange.state() == before + 3
    strange.close()
    other.close()


def test_a_stream_ends_with_the_role_and_with_the_project(home: Home) -> None:
    assert home.call("PUT", "/v1/projects/old/members/bob", {"role": "translate"}) == 204
    mine, others = home.watch("old").start(), home.watch("old", "bob").start()
    assert mine.state() == others.state() == 1
    assert home.call("DELETE", "/v1/projects/old/members/bob") == 204
    assert others.read() == {"event": "refused", "data": "{}"}
    assert others.read() is None
    assert home.watch("old", "bob").response.status == 404
    assert home.call("DELETE", "/v1/projects/old") == 204
    assert mine.read() == {"event": "deleted", "data": "{}"}
    assert mine.read() is None


def test_a_participant_has_a_limit_and_clients_that_leave_do_not_count(home: Home) -> None:
    streams = [home.watch("manual") for _ in range(change_watch.MAX_STREAMS + 1)]
    assert [stream.response.status for stream in streams] == [200] * change_watch.MAX_STREAMS + [429]
    assert json.loads(streams[-1].response.read())["type"] == "urn:mtloop:too-many-streams"
    for stream in streams:
        stream.close()
    for _ in range(200):
        last = home.watch("manual")
        status = last.response.status
        last.close()
        if status == 200:
            return
        time.sleep(0.05)
    raise AssertionError("streams that were closed still count")


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_does_not_wait_for_streams(tmp_path: Path, workers: str) -> None:
    with started(tmp_path, "--workers", workers, "--shutdown-timeout", "600") as home:
        streams = [home.watch("manual").start() for _ in range(3)]
        assert [stream.state() for stream in streams] == [1, 1, 1]
        home.process.send_signal(signal.SIGTERM)
        assert home.process.wait(60) == 0  # it would wait for ten minutes
        for stream in streams:
            assert stream.read() is None


@pytest.mark.slow
def test_a_stream_outlives_the_timeouts_of_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {"HEADER": 2, "BODY": 2, "IDLE": 0.5, "SEND": 0.5}.items():
        monkeypatch.setenv(f"MTLOOP_{name}_TIMEOUT", str(seconds))
    with started(tmp_path) as home:
        stream = home.watch("manual").start()
        assert stream.state() == 1
        time.sleep(5)  # connections are checked once a second
        home.change("manual", 1)
        assert stream.state() == 2


def test_a_silent_stream_sends_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_routes, "KEEP_ALIVE_SECONDS", 0.01)

    async def read() -> list[str]:
        watcher = Watcher(1, 1, "key", 7)
        events = change_events(watcher, 7)
        found = [await anext(events) for _ in range(3)]
        watcher.tell(8)
        found.append(await anext(events))
        watcher.stop(change_watch.STOPPED)
        return found + [event async for event in events]

    comment = ": still here\n\n"
    assert asyncio.run(read()) == ["retry: 3000\n\n", comment, comment, 'id: 8\nevent: state\ndata: {"state": 8}\n\n']


def test_one_look_serves_all_and_an_outage_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_watch, "POLL_SECONDS", 0.0)
    looks: list[tuple[set[int], set[str]]] = []

    class Store:
        async def look(self, project_ids: set[int], key_hashes: set[str]) -> WatchedState:
            looks.append((project_ids, key_hashes))
            if len(looks) == 1:
                raise OSError("the database is away")
            return WatchedState({1: 5, 2: 9}, frozenset({(1, "a"), (2, "a")}), frozenset({"o"}))

    async def watch() -> list[tuple[int, str]]:
        changes = ChangeWatch(Store())  # type: ignore[arg-type]
        watchers = [changes.open(*one) for one in ((1, 1, "a", 4), (2, 1, "a", 9), (2, 2, "o", 8), (3, 2, "o", 1))]
        watchers.append(changes.open(2, 3, "b", 9))
        await asyncio.gather(*(watchers[index].wait(30) for index in (0, 2, 3, 4)))
        await changes.close()
        return [(one.number, one.end) for one in watchers]

    stopped = change_watch.STOPPED
    assert asyncio.run(watch()) == [(5, stopped), (9, stopped), (9, stopped), (1, stopped), (9, stopped)]
    assert looks[0] == ({1, 2, 3}, {"a", "b", "o"})


def test_a_look_tells_who_may_see_what(settings: Settings) -> None:
    server = TaskServer(settings, Path())
    server.participant("ann")
    organiser = server.participant("olga", organiser=True)

    async def look(storage: Storage) -> tuple[WatchedState, int]:
        key, late = hash_key(new_key()), hash_key(new_key())
        bob = await storage.accounts.add_participant("bob", key)
        eve = await storage.accounts.add_participant("eve", late, expires=time.time() - 1)
        for one in (bob, eve):
            made = await storage.projects.create(f"of-{one.name}", ("en", "de"), Configured("m", "lora"), owner=one.id)
        await append_events(storage, made.id, [GlossaryChanged({})])
        found = await storage.watches.look({made.id, made.id - 1, 99}, {key, late, hash_key(organiser), "x"})
        assert found.allows(made.id - 1, key)
        assert not found.allows(made.id, key)
        assert not found.allows(made.id, late)
        assert found.allows(made.id, hash_key(organiser))
        await storage.accounts.revoke_keys("bob")
        assert not (await storage.watches.look({made.id - 1}, {key})).allows(made.id - 1, key)
        return found, made.id

    found, number = server.with_storage(look)
    assert found.numbers == {number - 1: 1, number: 2}


def test_too_many_streams_are_refused() -> None:
    async def open_many() -> None:
        changes = ChangeWatch(None)  # type: ignore[arg-type]
        changes.stop()
        watchers = [changes.open(1, 1, "a", 1) for _ in range(change_watch.MAX_STREAMS)]
        assert all(one.end == change_watch.STOPPED for one in watchers)
        with pytest.raises(ProblemError):
            changes.open(1, 1, "a", 1)
        changes.open(1, 2, "a", 1)
        changes.leave(watchers[0])
        changes.open(1, 1, "a", 1)

    asyncio.run(open_many())
