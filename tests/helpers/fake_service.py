"""A task service in this process, with simulated network faults.

`Service` follows the rules of the real service. `Faulty` wraps any transport and loses or replaces responses.
"""

from __future__ import annotations

import json
import random
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote

import httpx2

from mtloop.client import Client, Retry

KEY = "key-of-anna"
SOURCES = ["guten morgen", "das ist ein test", "guten morgen", "auf wiedersehen", "bis bald"]
TARGETS = ["good morning", "das ist a test", "good morning", "auf wiedersehen", "see you soon"]


@dataclass
class Run:
    """The run of one participant in a task."""

    id: str
    task: str
    key: str
    pass_number: int = 1
    position: int = 0
    rewards: list[float] = field(default_factory=list)
    submitted: dict[str, tuple[str, float]] = field(default_factory=dict)
    """Translation and reward by sentence id, over all passes."""


class Service(httpx2.BaseTransport):
    """An HTTP transport with the API of the service; all data is in memory."""

    def __init__(self, keys: tuple[str, ...] = (KEY, "key-of-ben")) -> None:
        self.keys = keys
        self.kinds = {"mock": ("mock", 99), "dev": ("dev", 3), "training": ("training", 1)}
        self.runs: dict[str, Run] = {}
        self.requests: list[tuple[str, str]] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.raw_path.decode()
        self.requests.append((request.method, path))
        if request.headers.get("x-api-key") not in self.keys:
            return problem(401, "Unauthorized", "unknown key")
        body = json.loads(request.read() or b"{}")
        for method, pattern, handler in self._routes():
            if method == request.method and (match := re.fullmatch(pattern, path)):
                return handler(request.headers["x-api-key"], body, *map(unquote, match.groups()))
        return problem(404, "Not Found", "no such page")

    def _routes(self) -> list[tuple[str, str, Callable[..., httpx2.Response]]]:
        return [
            ("GET", r"/v1/tasks", self._tasks),
            ("GET", r"/v1/tasks/([^/]+)", self._task),
            ("POST", r"/v1/tasks/([^/]+)/runs", self._start),
            ("GET", r"/v1/runs(?:\?(.*))?", self._runs),
            ("GET", r"/v1/runs/([^/?]+)", self._run),
            ("GET", r"/v1/runs/([^/]+)/next", self._next),
            ("POST", r"/v1/runs/([^/]+)/translations", self._submit),
            ("POST", r"/v1/runs/([^/]+)/passes", self._pass),
        ]

    def _tasks(self, key: str, body: Any) -> httpx2.Response:
        return json_response(200, {"tasks": [self._task_json(name) for name in self.kinds]})

    def _task(self, key: str, body: Any, name: str) -> httpx2.Response:
        return (
            json_response(200, self._task_json(name))
            if name in self.kinds
            else problem(404, "Not Found", "no such task")
        )

    def _start(self, key: str, body: Any, task: str) -> httpx2.Response:
        run = Run(f"run-{len(self.runs)}", task, key)
        self.runs[run.id] = run
        return json_response(201, self._state(run))

    def _runs(self, key: str, body: Any, query: str = "") -> httpx2.Response:
        tasks = parse_qs(query or "").get("task")
        runs = [run for run in self.runs.values() if run.key == key and (not tasks or run.task in tasks)]
        return json_response(200, {"runs": [self._state(run) for run in runs]})

    def _run(self, key: str, body: Any, name: str) -> httpx2.Response:
        run = self._run_of(key, name)
        return json_response(200, self._state(run)) if run else UNKNOWN_RUN

    def _next(self, key: str, body: Any, name: str) -> httpx2.Response:
        run = self._run_of(key, name)
        if run is None:
            return UNKNOWN_RUN
        pending = self._pending(run)
        return json_response(200, pending) if pending else problem(404, "Not Found", "all translated", "end-of-stream")

    def _submit(self, key: str, body: Any, name: str) -> httpx2.Response:
        run = self._run_of(key, name)
        if run is None:
            return UNKNOWN_RUN
        sentence, text = body["id"], body["translation"]
        if sentence in run.submitted:
            if run.submitted[sentence][0] != text:
                return problem(409, "Conflict", "it has its reward", "already-translated")
        elif (pending := self._pending(run)) is None or pending["id"] != sentence:
            return problem(409, "Conflict", "not yet", "wrong-order")
        else:
            run.submitted[sentence] = (text, reward(text, TARGETS[run.position]))
            run.rewards.append(run.submitted[sentence][1])
            run.position += 1
        return json_response(200, {"id": sentence, "reward": run.submitted[sentence][1], "next": self._pending(run)})

    def _pass(self, key: str, body: Any, name: str) -> httpx2.Response:
        run = self._run_of(key, name)
        if run is None:
            return UNKNOWN_RUN
        kind, max_passes = self.kinds[run.task]
        if run.pass_number >= max_passes or (kind != "mock" and self._pending(run)):
            return problem(409, "Conflict", "no more passes", "no-more-passes")
        run.pass_number, run.position = run.pass_number + 1, 0
        return json_response(201, self._state(run))

    def _run_of(self, key: str, name: str) -> Run | None:
        run = self.runs.get(name)
        return run if run and run.key == key else None

    def _pending(self, run: Run) -> dict[str, str] | None:
        if run.position == len(SOURCES):
            return None
        return {"id": f"{run.id}.{run.pass_number}.{run.position}", "source": SOURCES[run.position]}

    def _task_json(self, name: str) -> dict[str, Any]:
        kind, max_passes = self.kinds[name]
        return {"name": name, "kind": kind, "samples": len(SOURCES), "max_passes": max_passes, "reward": "wmt17",
                "source_language": "de", "target_language": "en", "opens": "always"}  # fmt: skip

    def _state(self, run: Run) -> dict[str, Any]:
        return {"run": run.id, "task": run.task, "pass": run.pass_number, "samples": len(SOURCES),
                "position": run.position, "cumulative_reward": sum(run.rewards), "state": "open"}  # fmt: skip


class Faulty(httpx2.BaseTransport):
    """Injects `faults` into the next requests, one per request and in order; later requests succeed.

    `before`: the request never arrives. `after`: the request is processed, but the response is lost (timeout). `later`:
    the connection is reset. A number: a response with this status. A response: that response. None: no fault.
    """

    def __init__(self, inner: httpx2.BaseTransport, *faults: str | int | httpx2.Response | None) -> None:
        self.inner, self.faults = inner, deque(faults)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        match self.faults.popleft() if self.faults else None:
            case "before":
                raise httpx2.ConnectError("refused", request=request)
            case "after":
                self.inner.handle_request(request)
                raise httpx2.ReadTimeout("timed out", request=request)
            case "later":
                raise httpx2.ReadError("reset", request=request)
            case int(status):
                return problem(status, "", "not now")
            case httpx2.Response() as response:
                return response
        return self.inner.handle_request(request)


class RandomFaults(httpx2.BaseTransport):
    """Injects a random fault into half of all requests, determined by the seed."""

    def __init__(self, inner: httpx2.BaseTransport, seed: int) -> None:
        self.inner, self.rng = inner, random.Random(seed)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        fault = self.rng.choice([None, None, None, None, "before", "after", "later", 503])
        return Faulty(self.inner, *([fault] if fault else [])).handle_request(request)


@dataclass
class FakeClock:
    """A clock that advances only by calls of `sleep`."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def retry(self, **settings: Any) -> Retry:
        return Retry(sleep=self.sleep, clock=lambda: self.now, rng=random.Random(1), **settings)


def client_of(
    transport: httpx2.BaseTransport, key: str | None = KEY, time: FakeClock | None = None, **retry: Any
) -> Client:
    http = httpx2.Client(transport=transport, base_url="http://service.test")
    return Client(http, key, retry=(time or FakeClock()).retry(**retry))


def reward(translation: str, reference: str) -> float:
    """Return the share of reference words with the same word at the same position of the translation."""
    pairs = zip(translation.split(), reference.split(), strict=False)
    return sum(word == expected for word, expected in pairs) / len(reference.split())


def json_response(status: int, body: Any) -> httpx2.Response:
    return httpx2.Response(status, json=body)


def problem(status: int, title: str, detail: str, name: str = "", **headers: str) -> httpx2.Response:
    body = {"type": f"urn:mtloop:{name}" if name else "about:blank", "title": title, "status": status, "detail": detail}
    headers = {"content-type": "application/problem+json"} | headers
    return httpx2.Response(status, content=json.dumps(body), headers=headers)


UNKNOWN_RUN = problem(404, "Not Found", "no such run", "unknown-run")


@contextmanager
def served(transport: httpx2.BaseTransport, duplicates: bool = False) -> Iterator[str]:
    """Serve a transport on a real socket and yield its URL; a transport error closes the connection.

    `duplicates`: before the answer to a translation, the last one on the same connection is sent again.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        lock = Lock()
        last: httpx2.Response | None = None

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            request = httpx2.Request(
                self.command, f"http://service.test{self.path}", headers=dict(self.headers), content=body
            )
            try:
                with self.lock:
                    response = transport.handle_request(request)
            except httpx2.TransportError:
                self.close_connection = True
                return
            if duplicates and self.path.endswith("/translations"):
                if self.last is not None:
                    self.answer(self.last)
                self.last = response
            self.answer(response)

        def answer(self, response: httpx2.Response) -> None:
            self.send_response(response.status_code)
            for name in ("content-type", "retry-after"):
                if name in response.headers:
                    self.send_header(name, response.headers[name])
            self.send_header("content-length", str(len(response.read())))
            self.end_headers()
            self.wfile.write(response.read())

        do_POST = do_GET  # noqa: N815

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
