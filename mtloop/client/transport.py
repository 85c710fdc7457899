"""One request, sent until it is answered or patience ends: the only place that knows HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mtloop.client.failures import Lost, Refused, Unreachable
from mtloop.client.retry import Retry, seconds_asked
from mtloop.core import serialisation
from mtloop.core.errors import InputError, WireError, need
from mtloop.core.types import JSON

if TYPE_CHECKING:
    import httpx2

TURNED_AWAY = {429, 503}  # said before anything was done
IN_DOUBT = {408, 500, 502, 504}  # something may have been done
LIBRARIES = ("httpx2", "httpx")  # the same interface, one the successor of the other


class Again(Exception):
    """A try that failed in a way that another may not. `done` says whether the request may have been carried out."""

    def __init__(self, why: str, *, done: bool, asked: float | None = None) -> None:
        self.why, self.done, self.asked = why, done, asked
        super().__init__(why)


class Transport:
    """Sends JSON to one service, with one key."""

    def __init__(self, http: httpx2.Client, key: str | None, retry: Retry) -> None:
        self.http, self.retry = http, retry
        self._headers = {"accept": "application/json"} | ({} if key is None else {"x-api-key": checked_key(key)})
        self._library = library_of(http)

    @property
    def address(self) -> str:
        return str(self.http.base_url)

    def request(
        self, method: str, path: str, body: Mapping[str, JSON] | None = None, *, repeatable: bool = True
    ) -> dict[str, JSON]:
        """The answer to a request, asked for again until it comes.

        One that must not be carried out twice is not `repeatable`: it is sent again only where it surely was not
        carried out, else `Lost` leaves it to the caller to find out.
        """
        start, attempt = self.retry.clock(), 0
        while True:
            try:
                return self._send(method, path, body)
            except Again as again:
                if again.done and not repeatable:
                    raise Lost(f"{self.address}: {again.why}") from again
                wait = self.retry.wait(attempt, again.asked)
                if self.retry.clock() - start + wait > self.retry.patience:
                    raise self._given_up(again) from again
                self.retry.notice(again.why, wait)
                self.retry.sleep(wait)
            attempt += 1

    def _send(self, method: str, path: str, body: Mapping[str, JSON] | None) -> dict[str, JSON]:
        content, headers = None, self._headers
        if body is not None:
            content, headers = serialisation.dumps(body), headers | {"content-type": "application/json"}
        try:
            response = self.http.request(method, path, content=content, headers=headers)
        except (self._library.ConnectError, self._library.ConnectTimeout, self._library.PoolTimeout) as error:
            raise Again(_said(error), done=False) from error
        except (self._library.UnsupportedProtocol, self._library.InvalidURL) as error:
            raise InputError(f"{self.address!r} is no address of a service: {error}") from error
        except self._library.TransportError as error:
            raise Again(_said(error), done=True) from error
        return _answer(response)

    def _given_up(self, again: Again) -> Unreachable:
        if again.asked is not None:
            return Unreachable(f"{self.address} asks to wait {again.asked:.0f} s ({again.why}); come back later")
        return Unreachable(
            f"{self.address} gave no answer in {self.retry.patience:.0f} s ({again.why}); is it running?"
        )


def checked_key(key: str) -> str:
    """A key that can stand in a header."""
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(
            "the API key is empty or holds what no key holds; it is one line as `participant add` printed it"
        )
    return key


def open_http(url: str, timeout: float) -> httpx2.Client:
    """A connection pool to the service at `url`."""
    library = need("httpx2", "client")
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        http: httpx2.Client = library.Client(base_url=url, timeout=timeout)
    except (ValueError, library.InvalidURL) as error:
        raise InputError(f"{url!r} is no address of a service: {error}") from error
    if not sound:
        raise InputError(f"{url!r} is no address of a service; one looks like http://HOST:PORT or https://HOST")
    return http


def library_of(http: object) -> ModuleType:
    """The library whose client this is, for the errors that it raises."""
    for kind in type(http).__mro__:
        if (root := kind.__module__.partition(".")[0]) in LIBRARIES:
            return need(root, "client")
    raise InputError(f"expected a URL or an httpx2.Client, not a {type(http).__name__}")


def _answer(response: Any) -> dict[str, JSON]:
    status, after = response.status_code, seconds_asked(response.headers.get("retry-after"))
    if status in TURNED_AWAY or status in IN_DOUBT:
        why = f"{status} {response.reason_phrase}".strip()
        raise Again(why, done=status in IN_DOUBT, asked=after)
    if not 200 <= status < 300:
        raise _refusal(response)
    try:
        return serialisation.loads(response.content)
    except WireError as error:
        raise Unreachable(f"{response.url} is no mtloop service: its answer is {error}") from error


def _refusal(response: Any) -> Refused:
    """The problem as the service describes it; from anything else, its status alone."""
    try:
        problem = serialisation.loads(response.content)
    except WireError:
        problem = {}
    kind, title, detail = (str(problem.get(name) or "") for name in ("type", "title", "detail"))
    if (moved := response.headers.get("location")) is not None:
        detail = f"the service is at {moved}; use that address"  # the key goes nowhere it was not meant for
    return Refused(response.status_code, kind, title or response.reason_phrase, detail, response.text)


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
