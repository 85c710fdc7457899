"""Authorisation for runs: which run and task a request is about, and whether they are the participant's own.

Workers cache runs and tasks. The cache version in the database tells them when the cache is stale.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from starlette.requests import Request

from mtloop.service.accounts.access import Access, key_hash
from mtloop.service.accounts.models import KeyOwner, Participant
from mtloop.service.cache import LRUCache
from mtloop.service.problems import UNKNOWN_RUN, UNKNOWN_TASK, ProblemError
from mtloop.service.tasks.models import Run, SharedTask
from mtloop.service.tasks.store import TaskStore

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
TOKEN = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class AuthorisedRun:
    """A run and its owner, as they were at a cache version."""

    owner: KeyOwner
    run: Run
    task: SharedTask

    @property
    def participant(self) -> Participant:
        return self.owner.participant

    @property
    def version(self) -> int:
        return self.owner.version


class RunAccess:
    """Finds the run that a request names. Each worker process has one."""

    def __init__(self, access: Access, store: TaskStore, size: int = 10_000) -> None:
        self._access, self._store = access, store
        self._cache: LRUCache[tuple[str, str], AuthorisedRun] = LRUCache(size)

    async def run(self, request: Request, token: str) -> AuthorisedRun:
        """The participant's own run, from the cache where possible."""
        key = (key_hash(request), token)
        found = self._cache.get(key)
        if found is None or found.owner.expired(time.time()):  # an expired key may have been renewed
            found = await self._look_up(request, *key)
            self._cache.update({key: found})
        else:
            await self._access.admit(request, key[0], found.owner)
        return found

    async def fresh_run(self, request: Request, token: str) -> AuthorisedRun:
        """The participant's own run, read from the database."""
        return await self._look_up(request, key_hash(request), token)

    async def task(self, name: str) -> SharedTask:
        found = await self._store.task(name) if NAME.fullmatch(name) else None
        if found is None:
            raise ProblemError(UNKNOWN_TASK)
        return found

    def clear_cache(self) -> None:
        self._cache.clear()

    async def _look_up(self, request: Request, hashed: str, token: str) -> AuthorisedRun:
        owner = await self._access.key_owner(request, hashed)  # first: what is read later is at least as new
        run = await self._store.run(token) if TOKEN.fullmatch(token) else None
        if run is None or run.participant_id != owner.participant.id:
            raise ProblemError(UNKNOWN_RUN)
        task = await self._store.task_by_id(run.task_id)
        if task is None:
            raise ProblemError(UNKNOWN_RUN)
        return AuthorisedRun(owner, run, task)
