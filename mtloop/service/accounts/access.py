"""Authentication: which participant a request comes from. Every request with a valid key or session is charged once.

Pages call the API without a key: then the session cookie says who it is. A request that may change something needs the
header `x-mtloop-page: 1` too. Only a script of this service's own pages can send it with the cookie, because a browser
asks the server before it sends such a header to another origin, and this service does not allow it.
"""

from __future__ import annotations

import time
from urllib.parse import urlsplit

from starlette.requests import Request

from mtloop.service.accounts.keys import COOKIE, HEADER, MAX_KEY_LENGTH, hash_key
from mtloop.service.accounts.metering import Metering, caller_of
from mtloop.service.accounts.models import KeyOwner, Participant
from mtloop.service.accounts.store import AccountStore
from mtloop.service.audit.models import Actor
from mtloop.service.problems import EXPIRED_KEY, NOT_ORGANISER, UNKNOWN_KEY, ProblemError

PAGE_HEADER = "x-mtloop-page"
_READING = ("GET", "HEAD")


class Access:
    """Finds the owner of the key in a request. It reads the database each time; `RunAccess` has a cache."""

    def __init__(self, store: AccountStore, metering: Metering) -> None:
        self._store, self._metering = store, metering

    async def participant(self, request: Request) -> Participant:
        """The owner of the key. Without a key: whoever is signed in, if the request comes from a page."""
        found = await self.signed_in(request) if may_use_session(request) else None
        return found or (await self.key_owner(request, key_hash(request))).participant

    async def key_of(self, request: Request) -> str:
        """The hash of the key that a request was sent with, or with which its session began."""
        token = request.cookies.get(COOKIE, "")
        found = await self._store.session_key(hash_key(token)) if may_use_session(request) else None
        return found or key_hash(request)

    async def organiser(self, request: Request) -> Participant:
        """An organiser. Others get 404, so that they do not learn that the route exists."""
        participant = await self.participant(request)
        if not participant.organiser:
            raise ProblemError(NOT_ORGANISER)
        return participant

    async def key_owner(self, request: Request, hashed: str) -> KeyOwner:
        """The owner of a key, read from the database."""
        found = await self._store.key_owner(hashed)
        if found is None:
            self._metering.forget(hashed)
            raise ProblemError(UNKNOWN_KEY)
        await self.admit(request, hashed, found)
        return found

    async def admit(self, request: Request, hashed: str, owner: KeyOwner) -> None:
        """Charge the request to the owner of its key. Raise a problem if the key has expired."""
        if owner.expired(time.time()):
            self._metering.forget(hashed)
            raise ProblemError(EXPIRED_KEY)
        await self._metering.admit(caller_of(request), hashed, owner.participant.id)

    async def sign_in(self, request: Request, key: str) -> Participant:
        """The owner of a key that was typed on the page."""
        hashed = checked_hash(key)
        await self._metering.check_address(caller_of(request), hashed)
        return (await self.key_owner(request, hashed)).participant

    async def signed_in(self, request: Request) -> Participant | None:
        """Whose session the cookie names. None without a valid session."""
        token = request.cookies.get(COOKIE, "")
        if not token:
            return None
        hashed = hash_key(token)
        found = await self._store.session(hashed)
        if found is None:
            self._metering.forget(hashed)
            return None
        await self._metering.admit(caller_of(request), hashed, found.id)
        return found


def may_use_session(request: Request) -> bool:
    """Whether a request to the API has no key and comes from a page, so that its session cookie counts."""
    if request.headers.get(HEADER) or not request.cookies.get(COOKIE) or not request.url.path.startswith("/v1/"):
        return False
    origin = request.headers.get("origin")
    is_own = origin is None or urlsplit(origin).netloc == request.headers.get("host", "")
    return request.method in _READING or (request.headers.get(PAGE_HEADER) == "1" and is_own)


def actor_of(request: Request, participant: Participant) -> Actor:
    """Who acts with a request to the API, for the audit log: with a key, or on a page."""
    return Actor(participant.name, "page" if may_use_session(request) else "api")


def key_hash(request: Request) -> str:
    """The hash of the key that a request was sent with."""
    return checked_hash(request.headers.get(HEADER, ""))


def checked_hash(key: str) -> str:
    """The hash of a key. A key that cannot be valid raises the problem 401."""
    if not 0 < len(key) <= MAX_KEY_LENGTH:
        raise ProblemError(UNKNOWN_KEY)
    return hash_key(key)
