"""A small shared task with its service, and the requests of a participant."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from starlette.testclient import TestClient

from mtloop.service import Settings, create_app
from mtloop.service.accounts.keys import hash_key, new_key
from mtloop.service.accounts.limits import steady_time
from mtloop.service.storage import Storage
from mtloop.service.tasks.creation import TaskFile, create_task

T = TypeVar("T")
SOURCES = [f"Open drawer number {n} of the cabinet." for n in range(1, 21)]
REFERENCES = [f"Öffnen Sie die Schublade {n} des geheimen Schranks." for n in range(1, 21)]
TRANSLATIONS = [f"Öffnen Sie Schublade {n} des Schranks." for n in range(1, 21)]


def write_data(folder: Path, sources: list[str] = SOURCES, references: list[str] = REFERENCES) -> dict[str, Path]:
    """Write the source and reference files; return their paths as keyword arguments of a task."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "en.txt").write_text("\n".join(sources) + "\n", encoding="utf-8")
    (folder / "de.txt").write_text("\n".join(references) + "\n", encoding="utf-8")
    return {"source": folder / "en.txt", "reference": folder / "de.txt"}


@cache
def empty_database() -> bytes:
    """A new SQLite file with the schema. Copying it is faster than migrating a new one for each test."""

    async def migrate(folder: Path) -> None:
        storage = Storage.connect(Settings(folder=folder).url)
        await storage.migrate()
        await storage.close()

    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(migrate(Path(name)))).result()
        return (Path(name) / "mtloop.db").read_bytes()


@dataclass
class TaskServer:
    """A database and its service: `with_storage` accesses the database, `serve` starts the service."""

    settings: Settings
    folder: Path

    def with_storage(self, work: Callable[[Storage], Awaitable[T]]) -> T:
        """Call `work` with an open storage and return its result."""
        self._write_database()

        async def call() -> T:
            storage = Storage.connect(self.settings.url)
            try:
                await storage.migrate()
                return await work(storage)
            finally:
                await storage.close()

        with ThreadPoolExecutor(1) as thread:  # a test that drives a browser already runs an event loop in this thread
            return thread.submit(lambda: asyncio.run(call())).result()

    def task(self, name: str = "tiny", kind: str = "mock", **options: Any) -> None:
        """Create a task. By default it may have the sentences of another one."""
        options = {"allow_overlap": True} | options
        data = {} if "data" in options or "source" in options else write_data(self.folder)
        self.with_storage(lambda storage: create_task(storage.tasks, TaskFile(name=name, kind=kind, **data, **options)))  # type: ignore[arg-type]

    def participant(self, name: str = "me", organiser: bool = False) -> str:
        """Add a participant and return the API key."""
        key = new_key()
        self.with_storage(lambda storage: storage.accounts.add_participant(name, hash_key(key), organiser))
        return key

    def _write_database(self) -> None:
        """Write the file of a new SQLite database."""
        file = self.settings.folder / "mtloop.db"
        if not self.settings.database and not file.exists():
            with suppress(OSError):  # the service says what is wrong with a folder
                self.settings.folder.mkdir(0o700, parents=True, exist_ok=True)
                file.touch(0o600)
                file.write_bytes(empty_database())

    @contextmanager
    def serve(self, key: str = "") -> Iterator[TestClient]:
        self._write_database()
        headers = {"x-api-key": key} if key else {}
        with TestClient(create_app(self.settings), headers=headers, raise_server_exceptions=False) as client:
            stop_minutes(client.app)
            yield client


def stop_minutes(*apps: Any) -> None:
    """Stop the clock of the rate limits: no new minute begins and renews an allowance while a test counts requests."""
    now = steady_time()
    for app in apps:
        app.state.service.metering._limits._clock = lambda: now


def start(client: TestClient, task: str = "tiny", **body: str) -> str:
    """Start a run and return its id."""
    response = client.post(f"/v1/tasks/{task}/runs", json=body)
    assert response.status_code == 201, response.text
    return str(response.json()["run"])


def pending(client: TestClient, run: str) -> dict[str, str]:
    """Return the next sentence of a run."""
    response = client.get(f"/v1/runs/{run}/next")
    assert response.status_code == 200, response.text
    return dict(response.json())


def submit(client: TestClient, run: str, id_: str, text: str) -> Any:
    return client.post(f"/v1/runs/{run}/translations", json={"id": id_, "translation": text})


def translate_all(client: TestClient, run: str, translate: Callable[[str], str] = str.upper) -> list[float]:
    """Translate all remaining sentences of a run and return the rewards."""
    sentence: dict[str, str] | None = pending(client, run)
    rewards = []
    while sentence is not None:
        response = submit(client, run, sentence["id"], translate(sentence["source"]))
        assert response.status_code == 200, response.text
        rewards.append(float(response.json()["reward"]))
        sentence = response.json()["next"]
    return rewards
