"""Whose request it is. Workers remember keys, runs and tasks; the epoch tells them when that is out of date."""

from __future__ import annotations

import re
from dataclasses import dataclass

from starlette.requests import Request

from mtloop.service.accounts.keys import LONGEST, hash_key
from mtloop.service.cache import Cache
from mtloop.service.problems import NO_KEY, NOT_ORGANISER, UNKNOWN_RUN, UNKNOWN_TASK, ProblemError
from mtloop.service.tasks.models import Participant, Run, SharedTask
from mtloop.service.tasks.store import Store

HEADER = "x-api-key"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
TOKEN = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Known:
    """A run that the owner of a key asks for, as it was in an epoch."""

    participant: Participant
    run: Run
    task: SharedTask
    epoch: int


class Access:
    """One for each worker process."""

    def __init__(self, store: Store, remembered: int = 10_000) -> None:
        self._store = store
        self._known: Cache[tuple[str, str], Known] = Cache(remembered)

    async def participant(self, request: Request) -> Participant:
        """Who holds the key; looked up each time, a revoked one is unknown at once."""
        return (await self._holder(_key_hash(request)))[0]

    async def organiser(self, request: Request) -> Participant:
        """The same, for what only organisers do; others learn not even that it exists."""
        participant = await self.participant(request)
        if not participant.organiser:
            raise ProblemError(NOT_ORGANISER)
        return participant

    async def run(self, request: Request, token: str) -> Known:
        """The asker's own run; remembered until the epoch ends."""
        key = (_key_hash(request), token)
        known = self._known.get(key)
        if known is None:
            known = await self._look_up(*key)
            self._known.update({key: known})
        return known

    async def task(self, name: str) -> SharedTask:
        found = await self._store.task(name) if NAME.fullmatch(name) else None
        if found is None:
            raise ProblemError(UNKNOWN_TASK)
        return found

    def forget(self) -> None:
        self._known.clear()

    async def fresh_run(self, request: Request, token: str) -> Known:
        """The same, looked up now: for requests that are not many."""
        return await self._look_up(_key_hash(request), token)

    async def _holder(self, key_hash: str) -> tuple[Participant, int]:
        found = await self._store.participant(key_hash)
        if found is None:
            raise ProblemError(NO_KEY)
        return found

    async def _look_up(self, key_hash: str, token: str) -> Known:
        participant, epoch = await self._holder(key_hash)  # first: what is read later is at least as new
        run = await self._store.run(token) if TOKEN.fullmatch(token) else None
        if run is None or run.participant_id != participant.id:
            raise ProblemError(UNKNOWN_RUN)
        task = await self._store.task_of(run.task_id)
        if task is None:
            raise ProblemError(UNKNOWN_RUN)
        return Known(participant, run, task, epoch)


def _key_hash(request: Request) -> str:
    key = request.headers.get(HEADER, "")
    if not 0 < len(key) <= LONGEST:
        raise ProblemError(NO_KEY)
    return hash_key(key)
