"""Manage tasks, projects and participants: what `mtloop task`, `project` and `participant` do on a database.

The service need not be running.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any, TypeVar

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.types import JSON
from mtloop.service.accounts.keys import expiry_time, hash_key, new_key
from mtloop.service.audit.models import Actor, AuditEntry
from mtloop.service.database import damage_explained, is_outage
from mtloop.service.problems import ProblemError
from mtloop.service.project_log.event_log import Configured
from mtloop.service.project_log.models import Role, TranslationProject
from mtloop.service.projects.allowed_engines import chosen_pair, configuration
from mtloop.service.projects.correction_files import EXPORTS, exported
from mtloop.service.settings import FILE, Settings
from mtloop.service.storage import Storage
from mtloop.service.tasks.creation import TaskFile, create_task
from mtloop.service.tasks.export import write_trace
from mtloop.service.tasks.models import SharedTask
from mtloop.service.tasks.run_access import NAME

T = TypeVar("T")


@dataclass(frozen=True)
class Administration:
    """What is in the database that the settings name. Each call opens the database and closes it.

    Only `create_task`, `create_project` and `add_participant` create a missing database. Call it outside an event loop.
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
        self._run(lambda storage: storage.tasks.change_task(name, None, **changes))
        return self.task(name)

    def delete_task(self, name: str) -> None:
        """Delete a task with all its runs and rewards."""
        self._run(lambda storage: storage.tasks.delete_task(name))

    def write_trace(self, run: str, out: Path, pass_number: int | None = None) -> None:
        """Export one pass of a run (None: the last) as a trace, with the references."""
        if out.exists():
            raise InputError("already exists; choose another name", path=out)
        self._run(lambda storage: _export(storage, run, out, pass_number))

    def create_project(
        self,
        name: str,
        owner: str | None = None,
        *,
        model: str = "",
        method: str = "",
        settings: Mapping[str, JSON] | None = None,
        review: bool = False,
        languages: tuple[str, str] = ("", ""),
    ) -> TranslationProject:
        """Create a project. `owner` is the participant who may organise it. Every model and method is allowed here.

        Without a model or a method it is the first one of the settings.
        """
        if not NAME.fullmatch(name):
            raise InputError(f"name {name!r}: expected at most 80 letters, digits, dots, dashes or underscores")
        chosen = {"models": model or self.settings.models, "methods": method or self.settings.methods}
        allowed = self.settings.model_copy(update=chosen)
        try:
            configured, found = configuration(allowed, model, method, settings or {}, review)
            pair = chosen_pair(allowed, languages, found)
        except ProblemError as error:
            raise InputError(error.problem.detail) from None
        return self._run(lambda storage: _create_project(storage, name, owner, configured, pair), new=True)

    def projects(self) -> list[TranslationProject]:
        """Return all projects, by name."""
        return self._run(_all_projects)

    def project(self, name: str) -> TranslationProject:
        """Return a project. Raise UnknownName, with the known names, if it does not exist."""
        return self._run(lambda storage: _find_project(storage, name))

    def delete_project(self, name: str) -> None:
        """Delete a project with everything that belongs to it."""
        self._run(lambda storage: storage.projects.delete(name))

    def export_project(self, name: str, out: Path) -> None:
        """Write the corrections of a project that count to a file. Its suffix, .tmx or .tsv, names the format."""
        kind = out.suffix.lower().removeprefix(".")
        if kind not in EXPORTS:
            raise InputError(f"cannot be written; expected {' or '.join('.' + one for one in EXPORTS)}", path=out)
        if out.exists():
            raise InputError("already exists; choose another name", path=out)
        content = self._run(lambda storage: _exported(storage, name, kind))
        out.write_bytes(content)

    def forget_snapshots(self, name: str) -> int:
        """Delete the snapshots of a project, and return how many there were. Its log stays."""
        return self._run(lambda storage: _forget_snapshots(storage, name))

    def members(self, name: str) -> dict[str, Role]:
        """Return the role of each member of a project."""
        return self._run(lambda storage: _members(storage, name))

    def set_member(self, name: str, participant: str, role: Role | None) -> None:
        """Give a participant a role in a project; None: take it away."""
        self._run(lambda storage: _set_member(storage, name, participant, role))

    def add_participant(self, name: str, organiser: bool = False, expires: str = "never") -> str:
        """Add a participant and return the API key, which is not stored. `expires` is 12h, 90d, 8w, a date or never."""
        if not NAME.fullmatch(name):
            raise InputError(f"name {name!r}: expected at most 80 letters, digits, dots, dashes or underscores")
        key = new_key()
        until = expiry_time(expires, time())
        self._run(lambda storage: storage.accounts.add_participant(name, hash_key(key), organiser, until), new=True)
        return key

    def rotate_key(self, name: str, expires: str = "never") -> str:
        """Revoke all API keys of a participant, and return a new one."""
        key = new_key()
        until = expiry_time(expires, time())
        self._run(lambda storage: storage.accounts.rotate_key(name, hash_key(key), until))
        return key

    def revoke_keys(self, name: str) -> int:
        """Revoke all API keys of a participant, and return how many were valid."""
        return self._run(lambda storage: storage.accounts.revoke_keys(name))

    def renew_keys(self, name: str, expires: str) -> int:
        """Set when the API keys of a participant expire, and return how many keys there are."""
        until = expiry_time(expires, time())
        return self._run(lambda storage: storage.accounts.renew_keys(name, until))

    def keys(self, name: str | None = None) -> list[dict[str, Any]]:
        """Return the keys of all participants or of one: the first digits of the hash, and the times."""
        return self._run(lambda storage: storage.accounts.key_list(name))

    def audit(self, limit: int, after: int | None = None) -> list[AuditEntry]:
        """Return entries of the audit log, the newest first; with `after` those that follow this id in the list."""
        return self._run(lambda storage: storage.audit.entries(limit, after))

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


async def _find_project(storage: Storage, name: str) -> TranslationProject:
    if (found := await storage.projects.find(name)) is None:
        raise UnknownName("project", name, [project.name for project in await _all_projects(storage)])
    return found


async def _all_projects(storage: Storage) -> list[TranslationProject]:
    found = list[TranslationProject]()
    while part := await storage.projects.list_for(None, found[-1].name if found else ""):
        found += [project for project, _ in part]
    return found


async def _create_project(
    storage: Storage, name: str, owner: str | None, configured: Configured, languages: tuple[str, str]
) -> TranslationProject:
    number = None if owner is None else await _participant(storage, owner)
    return await storage.projects.create(name, languages, configured, owner=number)


async def _participant(storage: Storage, name: str) -> int:
    known = {one["name"]: int(one["id"]) for one in await storage.accounts.participant_list()}
    if name not in known:
        raise UnknownName("participant", name, known)
    return known[name]


async def _exported(storage: Storage, name: str, kind: str) -> bytes:
    project = await _find_project(storage, name)
    parts = exported(project, EXPORTS[kind], storage.corrections.counted(project.id))
    content = b"".join([part async for part in parts])
    await storage.audit.record(None, "project.export", name, {"format": kind})
    return content


async def _forget_snapshots(storage: Storage, name: str) -> int:
    project = await _find_project(storage, name)
    digests = list(await storage.projects.snapshots(project.id))
    await storage.projects.delete_snapshots(project.id, digests)
    await storage.audit.record(None, "project.rebuild", name, {"snapshots": len(digests)})
    return len(digests)


async def _members(storage: Storage, name: str) -> dict[str, Role]:
    return dict(await storage.projects.members(await _find_project(storage, name)))


async def _set_member(storage: Storage, name: str, participant: str, role: Role | None) -> None:
    await _participant(storage, participant)
    await storage.projects.set_member(await _find_project(storage, name), participant, role, Actor.of_process())


async def _export(storage: Storage, run: str, out: Path, pass_number: int | None) -> None:
    await write_trace(storage.tasks, run, pass_number, out)
    await storage.audit.record(None, "trace.export", run, {"pass": pass_number})


async def _with_storage(work: Callable[[Storage], Awaitable[T]], url: str) -> T:
    storage = Storage.connect(url)
    try:
        with damage_explained():
            await storage.migrate()
            return await work(storage)
    except Exception as error:
        if is_outage(error):
            reason = str(getattr(error, "orig", error)).splitlines()[0]
            raise InputError(f"the database is not reachable: {reason}") from error
        raise
    finally:
        await storage.close()
