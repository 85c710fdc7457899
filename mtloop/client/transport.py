"""Send HTTP requests with retries. No other module of the client uses HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from mtloop.client.failures import Refused, ResponseLost, Unreachable
from mtloop.client.retry import Retry, parse_retry_after
from mtloop.core import serialisation
from mtloop.core.errors import InputError, PicklableError, SerialisationError, need
from mtloop.core.types import JSON

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
NOT_EXECUTED = {429, 503}  # the service rejected the request before executing it
MAYBE_EXECUTED = {408, 500, 502, 504}  # the service may have executed the request
LIBRARIES = ("httpx2", "httpx")  # httpx2 is the successor of httpx, with the same interface


class RetryableError(PicklableError):
    """A failure that a retry may solve. `maybe_executed`: the service may have executed the request."""

    def __init__(self, reason: str, *, maybe_executed: bool, retry_after: float | None = None) -> None:
        self.reason, self.maybe_executed, self.retry_after = reason, maybe_executed, retry_after
        super().__init__(reason)


class Transport:
    """Send JSON requests to one service, with one API key."""

    def __init__(self, http: httpx2.Client, key: str | None, retry: Retry) -> None:
        self.http, self.retry = http, retry
        self._headers = {"accept": "application/json"} | ({} if key is None else {"x-api-key": checked_key(key)})
        self._library = library_of(http)
        self._out_of_step = False

    @property
    def address(self) -> str:
        return str(self.http.base_url)

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, JSON] | None = None,
        *,
        repeatable: bool = True,
        is_answer: Callable[[Mapping[str, JSON]], bool] = lambda body: True,
    ) -> dict[str, JSON]:
        """Send a request, and repeat it for at most `retry.give_up_after` seconds. Return the body of the response.

        A request that must not be executed twice is not `repeatable`. It is sent again only if it certainly was not
        executed; otherwise ResponseLost is raised, and the caller must find out. A response that `is_answer` refuses
        belongs to another request, such as a late duplicate from a proxy. The response to this one then counts as lost.
        """
        sent, kind = (None, "") if body is None else (serialisation.dumps(body), "application/json")

        def exchange() -> dict[str, JSON]:
            response = _body(self._send(method, path, sent, kind))
            if is_answer(response):
                return response
            self._out_of_step = True
            raise RetryableError("the response belongs to another request", maybe_executed=True)

        return self._repeated(exchange, repeatable=repeatable)

    def request_bytes(
        self, method: str, path: str, content: bytes | None = None, content_type: str = "", *, timeout: float
    ) -> bytes:
        """Send bytes, such as a file, and return the bytes of the response. The request must be safe to repeat.

        `timeout`: the time limit of one attempt, in seconds.
        """
        return self._repeated(
            lambda: _content(self._send(method, path, content, content_type, timeout=timeout)), repeatable=True
        )

    def lines(self, path: str, headers: Mapping[str, str], timeout: float) -> Iterator[str]:
        """Yield the lines of a response that the service sends bit by bit.

        They end without an error when the connection ends, or when no line comes for `timeout` seconds.
        """
        sent = self._headers | {"accept": "text/event-stream", **headers}
        try:
            with self.http.stream("GET", path, headers=sent, timeout=timeout) as response:
                if response.status_code != 200:
                    response.read()
                    _content(response)
                yield from response.iter_lines()
        except (RetryableError, self._library.TransportError):
            return

    def _repeated(self, exchange: Callable[[], T], *, repeatable: bool) -> T:
        """Call `exchange` until it succeeds, for at most `retry.give_up_after` seconds."""
        start, attempt = self.retry.clock(), 0
        while True:
            try:
                return exchange()
            except RetryableError as error:
                if error.maybe_executed and not repeatable:
                    raise ResponseLost(f"{self.address}: {error.reason}") from error
                wait = self.retry.wait(attempt, error.retry_after)
                if self.retry.clock() - start + wait > self.retry.give_up_after:
                    raise self._timeout(error) from error
                self.retry.on_wait(error.reason, wait)
                self.retry.sleep(wait)
            attempt += 1

    def _send(self, method: str, path: str, content: bytes | None, content_type: str, **options: Any) -> Any:
        """Send a request once. It is the last on a connection that is out of step: one with a response too many."""
        headers = self._headers | ({"connection": "close"} if self._out_of_step else {})
        self._out_of_step = False
        if content is not None:
            headers |= {"content-type": content_type}
        try:
            return self.http.request(method, path, content=content, headers=headers, **options)
        except (self._library.ConnectError, self._library.ConnectTimeout, self._library.PoolTimeout) as error:
            raise RetryableError(_message(error), maybe_executed=False) from error
        except (self._library.UnsupportedProtocol, self._library.InvalidURL) as error:
            raise InputError(f"{self.address!r} is not a service address: {error}") from error
        except self._library.TransportError as error:
            raise RetryableError(_message(error), maybe_executed=True) from error

    def _timeout(self, error: RetryableError) -> Unreachable:
        if error.retry_after is not None:
            return Unreachable(
                f"{self.address} asks to wait {error.retry_after:.0f} s ({error.reason}); try again later"
            )
        return Unreachable(
            f"{self.address} was not available within {self.retry.give_up_after:.0f} s ({error.reason}); is it running?"
        )


def checked_key(key: str) -> str:
    """Return the key. Raise InputError if it cannot be sent in a header."""
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        message = "the API key is empty or has invalid characters"
        raise InputError(f"{message}; use the key that `mtloop participant add` printed")
    return key


def open_http(url: str, timeout: float | None) -> httpx2.Client:
    """Return an HTTP client with a connection pool for the service at `url`."""
    library = need("httpx2", "client")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        http: httpx2.Client = library.Client(base_url=url, timeout=timeout)
    except (ValueError, library.InvalidURL) as error:
        raise InputError(f"{url!r} is not a service address: {error}") from error
    if not valid:
        raise InputError(f"{url!r} is not a service address; expected http://HOST:PORT or https://HOST")
    return http


def library_of(http: object) -> ModuleType:
    """Return the library of an HTTP client. Its exception classes are needed."""
    for kind in type(http).__mro__:
        if (root := kind.__module__.partition(".")[0]) in LIBRARIES:
            return need(root, "client")
    raise InputError(f"expected a URL or an httpx2.Client, not a {type(http).__name__}")


def _content(response: Any) -> bytes:
    """Return the bytes of a response. Raise an error that fits its status if the request failed."""
    status, retry_after = response.status_code, parse_retry_after(response.headers.get("retry-after"))
    if status in NOT_EXECUTED or status in MAYBE_EXECUTED:
        reason = f"{status} {response.reason_phrase}".strip()
        raise RetryableError(reason, maybe_executed=status in MAYBE_EXECUTED, retry_after=retry_after)
    if not 200 <= status < 300:
        raise _refusal(response)
    return bytes(response.content)


def _body(response: Any) -> dict[str, JSON]:
    content = _content(response)
    if response.status_code == 204:
        return {}
    try:
        return serialisation.loads(content)
    except SerialisationError as error:
        raise Unreachable(f"{response.url} is not an mtloop service; its response is invalid: {error}") from error


def _refusal(response: Any) -> Refused:
    """Return the error described by the response, or only its status if it has no problem document."""
    try:
        problem = serialisation.loads(response.content)
    except SerialisationError:
        problem = {}
    kind, title, detail = (str(problem.get(name) or "") for name in ("type", "title", "detail"))
    if (moved := response.headers.get("location")) is not None:
        detail = f"the service is at {moved}; use that address"  # a redirect is not followed: it would leak the key
    return Refused(response.status_code, kind, title or response.reason_phrase, detail, response.text)


def _message(error: Exception) -> str:
    return str(error) or type(error).__name__
