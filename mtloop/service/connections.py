"""Limits on connections: memory, time and number. They hold before a route or a key is known.

uvicorn's parser takes any number of headers of any length and waits for ever. `ServiceProtocol` feeds it small pieces,
counts what it was fed, and stops reading while earlier requests of the connection wait for their responses.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
from collections import Counter, OrderedDict
from enum import Enum, auto
from functools import lru_cache
from typing import Any

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from mtloop.service.accounts.address_limits import client_address
from mtloop.service.problems import Problem
from mtloop.service.settings import Settings
from mtloop.service.telemetry import LOGGER

PIECE = 1024  # bytes that are parsed at once; the requests of one piece are all in memory
SWEEP_SECONDS = 1.0
SLOWEST_BODY = 16_384  # bytes in a second: a body that comes faster than this is never late
LINGER_SECONDS = 2.0  # how long a refused connection stays open, so that the client can read why
RESERVED_FILES = 64  # file descriptors for the database, the log and the listening socket
FEWEST_CONNECTIONS = 16

MALFORMED = Problem(400, "", "Bad Request", "The request is not valid HTTP/1.1.")
SLOW_HEADERS = Problem(408, "", "Request Timeout", "The headers did not arrive in time.")
SLOW_BODY = Problem(408, "", "Request Timeout", "The body did not arrive in time.")
SLOW_READER = Problem(408, "", "Request Timeout", "The client did not read the response.")
LONG_URL = Problem(414, "", "URI Too Long", "The URL is longer than this service allows.")
MANY_HEADERS = Problem(431, "", "Request Header Fields Too Large", "The request has too many headers.")
LONG_HEADERS = Problem(431, "", "Request Header Fields Too Large", "The headers are longer than this service allows.")
ADDRESS_FULL = Problem(429, "", "Too Many Requests", "Your address has too many open connections.", 10)
SERVICE_FULL = Problem(503, "", "Service Unavailable", "The service has too many open connections.", 10)


class Phase(Enum):
    """What a connection waits for."""

    IDLE = auto()  # the first byte of a request
    HEADERS = auto()
    BODY = auto()
    RESPONSE = auto()  # from the application
    END = auto()  # the client's end of a connection that was refused


class Connections:
    """The open connections of a worker. uvicorn calls it to make the protocol of a new one."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.capacity = capacity(settings.max_connections)
        self._open: dict[ServiceProtocol, str] = {}
        self._of_address: Counter[str] = Counter()
        self._waiting: OrderedDict[ServiceProtocol, None] = OrderedDict()
        self._unlogged: dict[tuple[str, Problem], list[str]] = {}
        self._sweeping = False

    def __call__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> ServiceProtocol:
        return ServiceProtocol(self, config, server_state, app_state, _loop)

    def admit(self, connection: ServiceProtocol) -> Problem | None:
        """Count a new connection, or return why it is refused."""
        address, limit = client_address(connection.client), self.settings.max_connections_per_address
        counted = limit and is_counted(connection.address, self.settings.trusted_proxies)
        if counted and self._of_address[address] >= limit:
            return ADDRESS_FULL
        if len(self._open) >= self.capacity and not self._make_room():
            return SERVICE_FULL
        self._open[connection] = address
        self._of_address[address] += 1
        self._start_sweeping(connection.loop)
        return None

    def _make_room(self) -> bool:
        """Close the connection that has waited longest for its client, so that silent clients shut nobody out."""
        if not self._waiting:
            return False
        oldest = next(iter(self._waiting))
        self.note("connections closed to make room", SERVICE_FULL, oldest)
        self.leave(oldest)
        oldest.transport.abort()
        return True

    def leave(self, connection: ServiceProtocol) -> None:
        self._waiting.pop(connection, None)
        address = self._open.pop(connection, None)
        if address is not None:
            self._of_address[address] -= 1
            if not self._of_address[address]:
                del self._of_address[address]

    def set_waiting(self, connection: ServiceProtocol, waiting: bool) -> None:
        """Say whether a connection waits for its client. The last to begin to wait is the last to be closed."""
        self._waiting.pop(connection, None)
        if waiting and connection in self._open:
            self._waiting[connection] = None

    def note(self, event: str, problem: Problem, connection: ServiceProtocol) -> None:
        """Log an event with the next sweep: one line for all alike, so that an attack does not fill the log."""
        self._unlogged.setdefault((event, problem), []).append(connection.address)
        self._start_sweeping(connection.loop)

    def _start_sweeping(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._sweeping:
            self._sweeping = True
            loop.call_later(SWEEP_SECONDS, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Check every deadline and write the log lines, once a second while there are connections."""
        now = loop.time()
        for connection in list(self._open):
            connection.check_deadlines(now)
        _check_descriptors()
        self._log_events()
        self._sweeping = False
        if self._open:
            self._start_sweeping(loop)

    def _log_events(self) -> None:
        for (event, problem), addresses in self._unlogged.items():
            fields = {"reason": problem.detail, "times": len(addresses), "address": addresses[-1]}
            LOGGER.warning(event, extra={"fields": fields})
        self._unlogged.clear()


class ServiceProtocol(HttpToolsProtocol):
    """HTTP/1.1 on one connection, within limits."""

    def __init__(self, connections: Connections, *uvicorn: Any) -> None:
        super().__init__(*uvicorn)
        self._connections, self._settings = connections, connections.settings
        self._phase, self._since = Phase.IDLE, self.loop.time()
        self._running: RequestResponseCycle | None = None
        self._unanswered = 0  # requests whose headers are complete and whose responses are not
        self._refusal: Problem | None = None
        self._unparsed: bytes | memoryview = b""
        self._header_count = self._parsed_bytes = self._body_bytes = 0
        self._progressed = False
        self._unsent, self._unsent_since = 0, self._since

    @property
    def address(self) -> str:
        return self.client[0] if self.client else ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow: HeldFlow = HeldFlow(transport)
        problem = self._connections.admit(self)
        if problem is None:
            self._enter(Phase.IDLE)
        else:
            self._phase = Phase.END
            self._write(problem)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.leave(self)
        if self._running is not None:  # uvicorn tells only the newest request
            _disconnect(self._running)
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Begin to shut down. Responses that have no end of their own end now; others are completed."""
        if (end_streams := self.app_state.get("end_streams")) is not None:
            end_streams()
        super().shutdown()

    def data_received(self, data: bytes) -> None:
        if self._phase is Phase.END:
            return
        self._unset_keepalive_if_required()
        if self._phase is Phase.IDLE:
            self._enter(Phase.HEADERS)
        self._unparsed = bytes(self._unparsed) + data if self._unparsed else data
        self._parse()

    def _parse(self) -> None:
        """Parse what has arrived, until a request has to wait for the response to an earlier one."""
        data, position = memoryview(self._unparsed), 0
        while position < len(data) and not self.pipeline and self._is_open():
            self._parse_piece(data[position : position + PIECE])
            position += PIECE
        self._unparsed = data[position:] if self._is_open() else b""
        self.flow.hold(self._is_open() and bool(self._unparsed or self.pipeline))

    def _parse_piece(self, piece: memoryview) -> None:
        self._progressed = False
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:  # no other protocol is served; the request is answered as HTTP/1.1
            self.cycle.keep_alive = False
        except httptools.HttpParserError:
            self._refuse(self._refusal or MALFORMED)
            return
        self._parsed_bytes = 0 if self._progressed else self._parsed_bytes + len(piece)
        if self._parsed_bytes > self._settings.max_header_bytes:
            self._refuse(LONG_HEADERS)

    def _is_open(self) -> bool:
        return self._phase is not Phase.END and not self.transport.is_closing()

    # Callbacks of the parser. An exception ends parsing.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_count, self._progressed = 0, True
        if self._phase is not Phase.HEADERS:
            self._enter(Phase.HEADERS)

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > self._settings.max_url_bytes:
            self._end_parsing(LONG_URL)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header. Trailers, which follow a body, count too; the application has begun and gets none of them."""
        self._header_count += 1
        if self._header_count > self._settings.max_headers:
            self._end_parsing(MANY_HEADERS)
        if self._phase is Phase.HEADERS:
            super().on_header(name, value)

    def _end_parsing(self, problem: Problem) -> None:
        self._refusal = problem
        raise ValueError(problem.detail)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if not self.pipeline:
            self._running = self.cycle
        self._unanswered += 1
        self._progressed, self._body_bytes = True, 0
        self._enter(Phase.BODY)

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._progressed = True
        self._body_bytes += len(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._enter(Phase.RESPONSE if self._unanswered else Phase.IDLE)

    def on_response_complete(self) -> None:
        self._unanswered -= 1
        self._running = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()
        self._unset_keepalive_if_required()  # the sweep closes idle connections
        if self.transport.is_closing():
            return
        if self._refusal is not None and not self._unanswered:
            self._send_refusal(self._refusal)
        elif self._phase is Phase.RESPONSE and not self._unanswered:
            self._enter(Phase.IDLE)
        self._parse()

    def _enter(self, phase: Phase) -> None:
        self._phase, self._since = phase, self.loop.time()
        running = self._unanswered - (phase is Phase.BODY)  # requests that arrived completely
        self._connections.set_waiting(self, running <= 0)

    def check_deadlines(self, now: float) -> None:
        """Close the connection if its client has kept the service waiting for too long."""
        if self._is_stuck(now):
            self._connections.note("connections closed", SLOW_READER, self)
            self.transport.abort()
        elif self.flow.read_paused or (self._unanswered and self._phase in (Phase.HEADERS, Phase.END)):
            self._since = now  # the client waits for the service
        elif now - self._since > self._allowed_seconds():
            self._end_late()

    def _is_stuck(self, now: float) -> bool:
        """Whether the client has taken nothing of a response for `send_timeout` seconds."""
        unsent = self.transport.get_write_buffer_size()
        if not unsent or unsent < self._unsent:
            self._unsent_since = now
        self._unsent = unsent
        return now - self._unsent_since > self._settings.send_timeout

    def _allowed_seconds(self) -> float:
        known = {
            Phase.HEADERS: self._settings.header_timeout,
            Phase.BODY: self._settings.body_timeout + self._body_bytes / SLOWEST_BODY,
            Phase.IDLE: self._settings.idle_timeout if self.cycle else self._settings.header_timeout,
            Phase.END: LINGER_SECONDS,
        }
        return known.get(self._phase, float("inf"))

    def _end_late(self) -> None:
        if self._phase is Phase.HEADERS:
            self._refuse(SLOW_HEADERS)
        elif self._phase is Phase.BODY:
            self._refuse(SLOW_BODY)
        else:
            self.transport.abort()

    def _refuse(self, problem: Problem) -> None:
        """Read no more. Answer earlier requests, then this one with a problem, and close the connection."""
        incomplete = self.cycle if self._phase is Phase.BODY else None
        self._refusal, self._unparsed = problem, b""
        self._enter(Phase.END)
        if incomplete is not None:
            self._drop(incomplete)
        if not self._unanswered and not self.transport.is_closing():
            self._send_refusal(problem)

    def _drop(self, incomplete: RequestResponseCycle) -> None:
        """Forget a request whose body stays incomplete. If its response has begun, no other can be sent."""
        if incomplete.response_started and not self.pipeline:
            self.transport.close()
            return
        self._unanswered -= 1
        if self.pipeline:  # the newest of those that have not begun
            self.pipeline.popleft()
        _disconnect(incomplete)

    def _send_refusal(self, problem: Problem) -> None:
        """Send a problem and discard what still arrives: closing at once could destroy the response on its way."""
        self._enter(Phase.END)
        self.flow.hold(False)
        self._write(problem)
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _write(self, problem: Problem) -> None:
        self._connections.note("connections refused", problem, self)
        response = problem.response()
        headers = [*self.server_state.default_headers, *response.raw_headers, (b"connection", b"close")]
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(STATUS_LINE[problem.status] + lines + b"\r\n" + bytes(response.body))


def _disconnect(request: RequestResponseCycle) -> None:
    """Tell the application that the client is gone. What it still sends is dropped."""
    request.disconnected = True
    request.message_event.set()


class HeldFlow(FlowControl):
    """Flow control that can be held: then the application, which asks for more of a body, does not resume reading."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__(transport)
        self._held = False

    def hold(self, held: bool) -> None:
        released, self._held = self._held and not held, held
        if held:
            self.pause_reading()
        elif released:
            self.resume_reading()

    def resume_reading(self) -> None:
        if not self._held:
            super().resume_reading()


def capacity(wanted: int) -> int:
    """The number of connections a worker takes: fewer than wanted if it may not open that many files."""
    try:
        import resource
    except ImportError:  # Windows
        return wanted
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return wanted
    return min(wanted, max(FEWEST_CONNECTIONS, files - RESERVED_FILES))


@lru_cache(maxsize=4096)
def is_counted(address: str, proxies: str) -> bool:
    """Whether an address has a limit on its connections. This machine and trusted proxies have none.

    >>> is_counted("192.0.2.1", "198.51.100.0/24"), is_counted("198.51.100.7", "198.51.100.0/24")
    (True, False)
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # a socket without an address
        return False
    return not found.is_loopback and not any(found in ipaddress.ip_network(one) for one in proxies.split(",") if one)


def _check_descriptors() -> None:
    """Log if no file can be opened: then the system refuses connections before this service sees them."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        fields = {"error": error.strerror or type(error).__name__}
        LOGGER.error("connections refused: no file descriptor is free", extra={"fields": fields})
