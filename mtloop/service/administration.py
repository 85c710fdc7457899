"""Manage tasks and participants: what `mtloop task` and `mtloop participant` do. The service need not be running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mtloop.core.errors import InputError
from mtloop.service.accounts.keys import hash_key, new_key
from mtloop.service.database import is_outage
from mtloop.service.settings import FILE, Settings
from mtloop.service.storage import Storage
from mtloop.service.tasks.creation import TaskFile, create_task
from mtloop.service.tasks.export import write_trace
from mtloop.service.tasks.models import SharedTask
from mtloop.service.tasks.run_access import NAME

T = TypeVar("T")


@dataclass(frozen=True)
class Administration:
    """The tasks and participants in the database that the settings name. Each call opens the database and closes it.

    Only `create_task` and `add_participant` create a missing database. Call it outside an event loop.
    """

    settings: Settings

    def create_task(self, task: TaskFile, report: Callable[[int], object] = lambda count: None) -> SharedTask:
        """Read the data of a task into the database; `report` gets the number of sentences so far."""
        self._run(lambda storage: create_task(storage.tasks, task, report), new=True)
        return self.task(task.name)

    def task(self, name: str) -> SharedTask:
        """Return a task. Raise InputError if there is no task of this name."""
        return self._run(lambda storage: _find_task(storage, name))

    def activity(self) -> list[dict[str, Any]]:
        """Return all tasks with their numbers of runs and translated sentences."""
        return self._run(lambda storage: storage.tasks.activity())

    def change_task(self, name: str, **changes: bool) -> SharedTask:
        """Set `results_open` or `stopped` of a task, and return the task."""
        self._run(lambda storage: storage.tasks.change_task(name, **changes))
        return self.task(name)

    def delete_task(self, name: str) -> None:
        """Delete a task with all its runs and rewards."""
        self._run(lambda storage: storage.tasks.delete_task(name))

    def write_trace(self, run: str, out: Path, pass_number: int | None = None) -> None:
        """Export one pass of a run (None: the last) as a trace, with the references."""
        if out.exists():
            raise InputError("already exists; choose another name", path=out)
        self._run(lambda storage: write_trace(storage.tasks, run, pass_number, out))

    def add_participant(self, name: str, organiser: bool = False) -> str:
        """Add a participant and return the API key, which is not stored."""
        if not NAME.fullmatch(name):
            raise InputError(f"name {name!r}: expected at most 80 letters, digits, dots, dashes or underscores")
        key = new_key()
        self._run(lambda storage: storage.accounts.add_participant(name, hash_key(key), organiser), new=True)
        return key

    def rotate_key(self, name: str) -> str:
        """Revoke all API keys of a participant, and return a new one."""
        key = new_key()
        self._run(lambda storage: storage.accounts.rotate_key(name, hash_key(key)))
        return key

    def revoke_keys(self, name: str) -> int:
        """Revoke all API keys of a participant, and return how many were valid."""
        return self._run(lambda storage: storage.accounts.revoke_keys(name))

    def participants(self) -> list[dict[str, Any]]:
        """Return all participants with their numbers of valid keys and of runs."""
        return self._run(lambda storage: storage.participant_list())

    def _run(self, work: Callable[[Storage], Awaitable[T]], *, new: bool = False) -> T:
        """Open the database, migrate its schema, run `work`, and close it."""
        settings = self.settings
        if not new and not settings.database and not (settings.folder / FILE).exists():
            raise InputError("this folder contains no database; check --folder", path=settings.folder)
        return asyncio.run(_with_storage(work, settings.url))


async def _find_task(storage: Storage, name: str) -> SharedTask:
    await storage.tasks.require_task(name)
    found = await storage.tasks.task(name)
    assert found is not None
    return found


async def _with_storage(work: Callable[[Storage], Awaitable[T]], url: str) -> T:
    storage = Storage.connect(url)
    try:
        await storage.migrate()
        return await work(storage)
    except Exception as error:
        if is_outage(error):
            reason = str(getattr(error, "orig", error)).splitlines()[0]
            raise InputError(f"the database is not reachable: {reason}") from error
        raise
    finally:
        await storage.close()
