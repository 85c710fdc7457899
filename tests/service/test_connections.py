"""Attacks on connections, before any route: memory, time, number. The service is a process of its own."""

from __future__ import annotations

import asyncio
import json
import re
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from helpers.serving import serving
from helpers.tiers import slow
from hypothesis import given, settings
from hypothesis import strategies as st

from mtloop.service import Settings, connections
from mtloop.service.connections import PIECE, Connections, capacity
from mtloop.service.server import listen

HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
REQUEST = HEAD + b"\r\n"
CHUNKED = b"POST /login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
SHORT = {"HEADER_TIMEOUT": "1", "BODY_TIMEOUT": "1", "IDLE_TIMEOUT": "1", "SEND_TIMEOUT": "2", "MAX_CONNECTIONS": "40"}
MEGABYTES = 25  # by which an attack may enlarge the service
needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")


@dataclass(frozen=True)
class Running:
    """A service with short deadlines."""

    port: int
    pid: int
    log: Path

    def connect(self) -> closing[socket.socket]:
        return closing(socket.create_connection(("127.0.0.1", self.port), timeout=30))

    def peak(self) -> int:
        """The most memory that the service has used, in megabytes."""
        text = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        return int(re.findall(r"VmHWM:\s+(\d+)", text)[0]) // 1024

    def answers(self) -> bool:
        """Whether a new client is served. If not, wait for a moment."""
        with self.connect() as client, suppress(ConnectionError):
            client.sendall(HEAD + b"Connection: close\r\n\r\n")
            if statuses(read_to_end(client)) == [200]:
                return True
        time.sleep(0.1)
        return False

    def wait_for_log(self, text: str) -> None:
        for _ in range(300):
            if text in self.log.read_text(encoding="utf-8"):
                return
            time.sleep(0.1)
        raise AssertionError(f"not logged: {text}")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("service")
    with pytest.MonkeyPatch.context() as environment:
        for name, value in (SHORT | {"OPEN_METRICS": "yes"}).items():
            environment.setenv(f"MTLOOP_{name}", value)
        with serving(folder / "data") as (port, process, log):
            yield Running(port, process.pid, log)


def read_to_end(client: socket.socket) -> bytes:
    """Everything that the service sends until it closes the connection."""
    found = b""
    with suppress(ConnectionResetError):
        while chunk := client.recv(65536):
            found += chunk
    return found


def statuses(responses: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", responses)]


ATTACKS = {
    "short header lines": (HEAD, b"a:\r\n" * 5000, 431),
    "a long header value": (HEAD + b"a: ", b"b" * 20_000, 431),
    "a long header name": (HEAD, b"b" * 20_000, 431),
    "a long URL": (b"GET /", b"b" * 20_000, 414),
    "empty lines": (b"", b"\r\n" * 10_000, 431),
    "trailers": (CHUNKED + b"0\r\n", b"a:\r\n" * 5000, 431),
    "a long trailer": (CHUNKED + b"0\r\na: ", b"b" * 20_000, 431),
    "a long chunk extension": (CHUNKED + b"1;a=", b"b" * 20_000, 431),
}


@needs_proc
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_endless_request_is_refused_and_not_kept(service: Running, attack: str) -> None:
    start, endless, status = ATTACKS[attack]
    before = service.peak()
    with service.connect() as client:
        client.sendall(start)
        with suppress(OSError):  # refused while it sends
            for _ in range(1000):
                client.sendall(endless)
        assert statuses(read_to_end(client)) == [status]
    assert service.peak() < before + MEGABYTES


@needs_proc
def test_requests_that_are_not_answered_yet_are_not_read(service: Running) -> None:
    before = service.peak()
    with service.connect() as client:
        client.settimeout(60)
        with suppress(ConnectionError):  # the service closes the connection
            for _ in range(200):
                client.sendall(REQUEST * 1000)
        service.wait_for_log("The client did not read the response.")
    assert service.peak() < before + MEGABYTES


def test_the_limits_themselves_are_allowed(service: Running) -> None:
    with service.connect() as client:
        client.sendall(b"GET /healthz?" + b"q" * 8000 + b" HTTP/1.1\r\n")
        client.sendall(b"".join(b"a%d: %s\r\n" % (number, b"v" * 200) for number in range(99)))
        client.sendall(b"Connection: close\r\n\r\n")
        assert statuses(read_to_end(client)) == [200]


def test_a_refusal_says_why_and_is_logged(service: Running) -> None:
    with service.connect() as client:
        client.sendall(HEAD + b"a:\r\n" * 101)
        head, _, body = read_to_end(client).partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert json.loads(body) == {
        "type": "about:blank",
        "title": "Request Header Fields Too Large",
        "status": 431,
        "detail": "The request has too many headers.",
    }
    service.wait_for_log("The request has too many headers.")


def test_a_refusal_comes_after_the_responses_to_earlier_requests(service: Running) -> None:
    with service.connect() as client:
        client.sendall(REQUEST * 40 + b"GARBAGE\r\n\r\n")
        assert statuses(read_to_end(client)) == [200] * 40 + [400]


LATE = {
    "no byte": (b"", []),
    "half a header": (HEAD, [408]),
    "half a body": (b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nkey=", [408]),
    "half a body that nobody reads": (b"POST /no HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nkey=", [404]),
    "no second request": (REQUEST, [200]),
    "half a second request": (REQUEST + HEAD, [200, 408]),
    "half a body, then silence": (REQUEST + CHUNKED + b"1\r\nk", [200, 408]),
}
QUICK = {"half a header", "half a body", "half a second request"}


@pytest.mark.parametrize("late", [late if late in QUICK else slow(late) for late in LATE])
def test_a_client_that_keeps_the_service_waiting_loses_its_connection(service: Running, late: str) -> None:
    sent, expected = LATE[late]
    with service.connect() as client:
        client.sendall(sent)
        assert statuses(read_to_end(client)) == expected


def test_silent_connections_do_not_shut_others_out(service: Running) -> None:
    with ExitStack() as opened:
        silent = [opened.enter_context(service.connect()) for _ in range(60)]
        assert service.answers()
        assert silent
    service.wait_for_log("connections closed to make room")


def test_a_client_that_leaves_is_no_error(service: Running) -> None:
    """Its request has the status 499 in log and metrics."""
    with service.connect() as client:
        client.sendall(b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nkey=")
    service.wait_for_log('"route": "/login", "status": 499')
    with service.connect() as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        text = read_to_end(client)
    assert b'route="/login",status="499"' in text
    assert b'status="500"' not in text
    assert "internal error" not in service.log.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="changes the limits of another process")
def test_a_lack_of_file_descriptors_is_logged_and_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MTLOOP_HEADER_TIMEOUT", "3")
    with serving(tmp_path / "data") as (port, process, log):
        running = Running(port, process.pid, log)
        used = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (used + 10, used + 10))
        with ExitStack() as opened:
            for _ in range(40):
                opened.enter_context(running.connect())
            running.wait_for_log("no file descriptor is free")
        assert any(running.answers() for _ in range(300))


def test_fewer_file_descriptors_mean_fewer_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 4096))
    assert (capacity(900), capacity(100)) == (192, 100)


@contextmanager
def listening(application: Any, **options: Any) -> Iterator[tuple[Callable[[], socket.socket], Connections]]:
    """An application behind the limits, in a thread."""
    limits = Connections(Settings(**options))
    config = uvicorn.Config(application, http=limits, lifespan="off", log_config=None, ws="none")  # type: ignore[arg-type]
    server = uvicorn.Server(config)
    with listen("127.0.0.1", 0) as listener:
        address = listener.getsockname()
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield lambda: socket.create_connection(address, timeout=30), limits
        finally:
            server.should_exit = True
            thread.join(30)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the path, the number of headers and the body of the request."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    text = b"%s %d %s\n" % (scope["path"].encode(), len(scope["headers"]), body)
    headers = [(b"content-length", b"%d" % len(text))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def as_request(number: int, body: bytes, chunked: bool) -> bytes:
    start = b"POST /%d HTTP/1.1\r\nHost: x\r\n" % number
    if not chunked:
        return start + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    return start + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nx-api-key: late\r\n\r\n"


BODIES = st.lists(st.tuples(st.text("ab", max_size=3000).map(str.encode), st.booleans()), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def echoing() -> Iterator[Callable[[], socket.socket]]:
    with listening(echo) as (connect, _):
        yield connect


@settings(max_examples=40, deadline=None)
@given(bodies=BODIES, cuts=st.lists(st.integers(1, 4 * PIECE), min_size=1, max_size=10))
def test_requests_are_answered_in_order_however_they_are_cut(
    echoing: Callable[[], socket.socket], bodies: list[tuple[bytes, bool]], cuts: list[int]
) -> None:
    """Trailers do not become headers of a request that has begun."""
    stream = b"".join(as_request(number, *body) for number, body in enumerate(bodies))
    with closing(echoing()) as client:
        for cut in cuts:
            client.sendall(stream[:cut])
            stream = stream[cut:]
        client.sendall(stream + b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answers = re.findall(rb"\r\n\r\n(.*)\n", read_to_end(client))
    assert answers == [b"/%d 2 %s" % (number, body) for number, (body, _) in enumerate(bodies)] + [b"/last 2 "]


class Blocking:
    """An application that answers when it is told to."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Semaphore(0), threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.begun.release()
        await asyncio.to_thread(self.may_end.wait, 30)
        await echo(scope, receive, send)


def test_the_requests_of_one_piece_wait_and_no_others() -> None:
    application = Blocking()
    with listening(application) as (connect, limits), closing(connect()) as client:
        client.sendall(REQUEST * 2000)
        assert application.begun.acquire(timeout=30)
        (connection,) = limits._open
        for _ in range(20):
            assert len(connection.pipeline) <= PIECE // len(REQUEST) + 1
            time.sleep(0.01)
        application.may_end.set()
        found = b""
        while found.count(b"/healthz") < 2000:
            found += client.recv(65536)


@pytest.mark.parametrize(("size", "expected"), [slow(1 << 15, 200), (1, 408)])
def test_a_body_may_take_as_long_as_it_makes_progress(size: int, expected: int) -> None:
    """Both send for longer than `body_timeout`. Only one of them sends fast enough."""
    with listening(echo, body_timeout=1) as (connect, _), closing(connect()) as client:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        client.sendall(head + b"Content-Length: %d\r\n\r\n" % (8 * size))
        with suppress(ConnectionError):
            for _ in range(8):
                client.sendall(b" " * size)
                time.sleep(0.5)
        assert statuses(read_to_end(client)) == [expected]


def test_a_full_service_answers_503_and_goes_on() -> None:
    application = Blocking()
    with listening(application, max_connections=2) as (connect, _), ExitStack() as opened:
        busy = [opened.enter_context(closing(connect())) for _ in range(2)]
        for client in busy:
            client.sendall(HEAD + b"Connection: close\r\n\r\n")
            assert application.begun.acquire(timeout=30)
        refused = read_to_end(opened.enter_context(closing(connect())))
        assert statuses(refused) == [503]
        assert b"retry-after: 10" in refused
        application.may_end.set()
        assert [statuses(read_to_end(client)) for client in busy] == [[200], [200]]
        last = opened.enter_context(closing(connect()))
        last.sendall(HEAD + b"Connection: close\r\n\r\n")
        assert statuses(read_to_end(last)) == [200]


def test_an_address_may_have_so_many_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "is_counted", lambda *_: True)  # else this machine has no limit
    with listening(echo, max_connections_per_address=2) as (connect, _):
        with closing(connect()) as first, closing(connect()) as second:
            with closing(connect()) as third:
                assert statuses(read_to_end(third)) == [429]
            first.sendall(HEAD + b"Connection: close\r\n\r\n")
            assert statuses(read_to_end(first)) == [200]
            assert second
        with closing(connect()) as fourth:
            fourth.sendall(HEAD + b"Connection: close\r\n\r\n")
            assert statuses(read_to_end(fourth)) == [200]
