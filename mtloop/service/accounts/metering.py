"""What every request costs: it is counted for a participant if its key or session is valid, else for its address.

A request with a valid link of a rater counts for the link.

A key or session that was valid before is charged when the request arrives, whatever comes of it. All others are charged
when they are found to be valid. One that is revoked is still charged for `KNOWN_SECONDS` at most. A refused request of
a participant costs more than one that is served.

An address has two counters: one for what is refused, one for public pages and whatever else is served to everyone.
Above them it gets 429 for anything but valid keys, sessions and links, so that a broken script does not lock out others
who share its address. Too many refused requests do not close the public pages. If the key may be in the body, this is
decided when the response begins, whatever the request was refused for.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mtloop.service.accounts.address_limits import AddressLimits, client_address
from mtloop.service.accounts.body_budget import BodyBudget
from mtloop.service.accounts.keys import COOKIE, HEADER, hash_key
from mtloop.service.accounts.limits import REFUSED_COST, RateLimits
from mtloop.service.accounts.models import Caller
from mtloop.service.accounts.valid_credentials import ValidCredentials
from mtloop.service.cache import LRUCache
from mtloop.service.problems import ProblemError, too_many

MAX_CREDENTIALS = 20_000
KNOWN_SECONDS = 5  # so long a key or session counts as valid after it was looked up
NEVER_REFUSED = ("/healthz", "/readyz")  # a probe must not fail because of requests from its address
PUBLIC = ("/", "/login", "/openapi.json")  # pages for everyone, with what is in these folders:
PUBLIC_FOLDERS = ("/tasks/", "/assets/")
SIGN_IN = ("POST", "/login")
LINK_FOLDERS = ("/v1/rating/", "/rate/")  # what follows is the secret of a link
KEY_IN_BODY = "mtloop.key_in_body"  # set in a scope: the key may be in the body, as that of a sign-in
_CALLER = "mtloop.caller"  # where a request's scope holds its `Caller`


class Metering:
    """Counts requests. Each worker process has one."""

    def __init__(
        self,
        limits: RateLimits,
        failures: AddressLimits,
        anonymous: AddressLimits,
        links: AddressLimits,
        valid: ValidCredentials,
        bodies: BodyBudget,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits, self._failures, self._anonymous, self._links = limits, failures, anonymous, links
        self._valid, self._bodies, self._clock = valid, bodies, clock
        # by hash of a key or session: its participant, and when it was looked up
        self._known: LRUCache[str, tuple[int, float]] = LRUCache(MAX_CREDENTIALS)

    async def arrive(self, caller: Caller, signs_in: bool = False) -> None:
        """Charge a request whose key or session was valid before. Raise 429 for others from a refused address.

        A sign-in has its key in the body: whether it is refused is found when the key is read.
        """
        participant_id = await self._known_participant(caller.credential)
        if participant_id is not None:
            await self._charge(caller, participant_id)
        elif not signs_in:
            await self.check_address(caller, caller.credential)

    async def _known_participant(self, credential: str) -> int | None:
        """Whose key or session it is, if it was valid before and has not been revoked since."""
        known = self._known.get(credential)
        if known is None:
            return None
        participant_id, looked_up = known
        if self._clock() >= looked_up + KNOWN_SECONDS:
            if not await self._valid.hold(credential):
                self.forget(credential)
                return None
            self.remember(credential, participant_id)
        return participant_id

    async def check_address(self, caller: Caller, credential: str) -> None:
        """Raise 429 if the address is above its limit, unless the key, session or link is valid."""
        wait = self._anonymous.wait(caller.address)
        if not caller.public:
            wait = max(wait, self._failures.wait(caller.address))
        if wait and not await self._valid.hold(credential):
            raise ProblemError(too_many(wait))

    async def refusal(self, caller: Caller) -> ProblemError | None:
        """The 429 for a caller who turned out to have no valid key, if the address is above its limit."""
        try:
            if not caller.known:
                await self.check_address(caller, "")
        except ProblemError as error:
            return error
        return None

    def remember(self, credential: str, participant_id: int) -> None:
        """A key or session is valid."""
        self._known.update({credential: (participant_id, self._clock())})

    async def admit(self, caller: Caller, credential: str, participant_id: int) -> None:
        """Charge a request with a valid key or session to its owner, if it has not been charged yet."""
        self.remember(credential, participant_id)
        await self._charge(caller, participant_id)

    async def _charge(self, caller: Caller, participant_id: int) -> None:
        if caller.participant_id is None:
            caller.participant_id = participant_id
            self.release_body(caller)
            await self._limits.charge(participant_id)

    def admit_link(self, caller: Caller, link: str) -> None:
        """A request has the valid link of a rater. Raise 429 if there were too many with this link."""
        if wait := self._links.wait(link):
            raise ProblemError(too_many(wait))
        caller.link = link
        self.release_body(caller)

    def hold_body(self, caller: Caller, size: int) -> None:
        """Count bytes of a body that arrived. Raise 429 if too many arrive from callers that are not known."""
        if not caller.known:
            self._bodies.take(caller.address, size)
            caller.body_bytes += size

    def release_body(self, caller: Caller) -> None:
        """The caller is known, or the request is done."""
        self._bodies.give_back(caller.address, caller.body_bytes)
        caller.body_bytes = 0

    def forget(self, credential: str) -> None:
        """A key is not valid any more."""
        self._known.remove(credential)

    def settle(self, caller: Caller, status: int) -> None:
        """Count a request for its address, or what a refusal costs its participant, unless there were too many."""
        refused = 400 <= status < 500
        if status == 429:
            return
        if caller.link:
            self._links.count(caller.link, REFUSED_COST if refused else 1)
        elif caller.participant_id is None:
            counter = self._failures if refused and not caller.public else self._anonymous
            counter.count(caller.address)
        elif refused:
            self._limits.charge_refused(caller.participant_id)

    async def close(self) -> None:
        """Give back what this worker has taken from allowances and not used."""
        await self._limits.give_back()


def caller_of(request: Request) -> Caller:
    """Who sends a request."""
    found = request.scope[_CALLER]
    assert isinstance(found, Caller)
    return found


class MeteringMiddleware:
    """Counts every request; `metering` finds the counters of the application that a request came to."""

    def __init__(
        self,
        app: ASGIApp,
        metering: Callable[[Request], Metering],
        handle_error: Callable[[Request, Exception], Awaitable[Response]],
    ) -> None:
        self._app, self._metering, self._handle_error = app, metering, handle_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        if scope["path"] in NEVER_REFUSED:
            await self._app(scope, receive, send)
            return
        caller = scope[_CALLER] = Caller(client_address(scope.get("client")), _credential(request), _is_public(scope))
        metering = self._metering(request)
        try:
            signs_in = (scope["method"], scope["path"]) == SIGN_IN or bool(scope.get(KEY_IN_BODY))
            await metering.arrive(caller, signs_in)
        except Exception as error:
            await (await self._handle_error(request, error))(scope, receive, send)
            return

        too_late: ProblemError | None = None

        async def receive_within_budget() -> Message:
            message = await receive()
            metering.hold_body(caller, len(message.get("body", b"")))
            return message

        async def send_and_count(message: Message) -> None:
            nonlocal too_late
            if message["type"] == "http.response.start":
                too_late = await metering.refusal(caller) if signs_in and message["status"] != 429 else None
                if too_late is not None:
                    await (await self._handle_error(request, too_late))(scope, receive, send)
                    return
                metering.settle(caller, message["status"])
            if too_late is None:
                await send(message)

        try:
            await self._app(scope, receive_within_budget, send_and_count)
        finally:
            metering.release_body(caller)


def _is_public(scope: Scope) -> bool:
    path: str = scope["path"]
    return scope["method"] == "GET" and (path in PUBLIC or path.startswith(PUBLIC_FOLDERS))


def _credential(request: Request) -> str:
    """The hash of the link, the key, or else the session, that a request was sent with."""
    text = _link(request.scope["path"]) or request.headers.get(HEADER, "") or request.cookies.get(COOKIE, "")
    return hash_key(text) if text else ""


def _link(path: str) -> str:
    """The secret of a link in an address.

    >>> _link("/v1/rating/0123/next"), _link("/rate/0123"), _link("/v1/tasks")
    ('0123', '0123', '')
    """
    folder = next((one for one in LINK_FOLDERS if path.startswith(one)), None)
    return "" if folder is None else path.removeprefix(folder).partition("/")[0]
