"""Authentication: which participant a request comes from."""

from __future__ import annotations

from starlette.requests import Request

from mtloop.service.accounts.keys import MAX_KEY_LENGTH, hash_key
from mtloop.service.accounts.models import Participant
from mtloop.service.accounts.store import AccountStore
from mtloop.service.problems import NOT_ORGANISER, UNKNOWN_KEY, ProblemError

HEADER = "x-api-key"


class Access:
    """Finds the owner of the key in a request. It reads the database each time; `RunAccess` has a cache."""

    def __init__(self, store: AccountStore) -> None:
        self._store = store

    async def participant(self, request: Request) -> Participant:
        return (await self.key_owner(key_hash(request)))[0]

    async def organiser(self, request: Request) -> Participant:
        """An organiser. Others get 404, so that they do not learn that the route exists."""
        participant = await self.participant(request)
        if not participant.organiser:
            raise ProblemError(NOT_ORGANISER)
        return participant

    async def key_owner(self, hashed: str) -> tuple[Participant, int]:
        """The owner of a key, and the cache version at which this was read."""
        found = await self._store.participant(hashed)
        if found is None:
            raise ProblemError(UNKNOWN_KEY)
        return found


def key_hash(request: Request) -> str:
    """The hash of the key that a request was sent with."""
    key = request.headers.get(HEADER, "")
    if not 0 < len(key) <= MAX_KEY_LENGTH:
        raise ProblemError(UNKNOWN_KEY)
    return hash_key(key)
