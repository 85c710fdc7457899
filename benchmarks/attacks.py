"""Attack the service and the readers of files, and print for each attack the number before and now.

    python benchmarks/attacks.py                    sizes of a minute or two
    python benchmarks/attacks.py --full             the sizes at which the numbers before were seen; takes an hour
    python benchmarks/attacks.py --only 1a,7b,PO    some attacks

The script starts real servers on 127.0.0.1, with SQLite in a temporary folder, and attacks them over real sockets. The
title of an attack has the size that is run, and "before" the size at which its number was seen: that of --full. The
numbers are those of the version that was attacked first; in the rows 8b, 8c, form, signs, fields, campaign and bodies
those of the version before these rows were added. "now" is measured. Linux only: memory is read from /proc. "Others" is
a participant who asks for /healthz, for a sentence, and for a reward, all the time.

Most attacks run without a limit on requests, so that the limit does not hide what they look for. The guesses of rows 8,
8b and 8c, the bodies and the passes of row 3b run with the limits that a server has by default. What a time depends on
is asserted by tests: test_connections.py (memory, connections of an address), test_equal_work.py (held-out sentences),
test_metering.py (guesses, the clock), test_link_limits.py (raters), test_body_budget.py and test_long_bodies.py
(bodies), test_request_fields.py (forms), test_document_files.py and test_full_collections.py (uploads),
test_parallel_creation.py (practice), test_long_work.py (campaigns), test_readiness.py (also a PostgreSQL that only
reads), all in tests/service.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import http.client
import io
import json
import logging
import lzma
import os
import re
import resource
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Self

from mtloop.service.accounts.keys import hash_key, new_key
from mtloop.service.accounts.limits import DAY, RateLimits
from mtloop.service.database import Database
from mtloop.service.problems import ProblemError
from mtloop.service.readiness import Readiness
from mtloop.service.server import listen
from mtloop.service.settings import Settings, driver
from mtloop.service.storage import Storage
from mtloop.service.tasks.creation import TaskFile, create_task

SOURCES = [f"Open drawer number {n} of the cabinet." for n in range(40)]
REFERENCES = [f"Öffnen Sie die Schublade {n} des Schranks." for n in range(40)]
REQUEST = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
JSON = {"content-type": "application/json"}
FORM = {"content-type": "application/x-www-form-urlencoded"}
SERVER_ERROR = re.compile(r'"status": ?500')
REFUSED = re.compile("connections closed to make room|no file descriptor is free")
MEGABYTE = 1 << 20
MAX_RUNS = MAX_PASSES = 300  # after so many an attack by practice has what it wants
MAX_DOTS = 30  # translations of dots, fewer than a pass has sentences
LIMITED = {name: Settings.model_fields[name].default for name in ("rate", "quota")}


@dataclass(frozen=True)
class Sizes:
    """How large the attacks are. The defaults take a minute or two."""

    header_lines: int = 200_000
    endless_megabytes: int = 8
    pipelined: int = 20_000
    steps: int = 30
    connections: int = 300
    guesses: int = 2_800
    stored_passes: int = 3_000
    dots: int = 20
    sign_ins: int = 40
    unknown_elements: int = 2_000_000
    entries: int = 100_000
    variants: int = 5_000
    mutations: int = 100
    form_bytes: int = 4_000_000
    fields: int = 300_000
    keyless_bodies: int = 30
    segments: int = 5_000
    timing: tuple[str, ...] = ("--others", "100", "--blocks", "8", "--passes", "2", "--repeats", "3")


SMALL = Sizes(
    *(2_000, 1, 500, 8, 60, 480, 60, 2, 12, 20_000, 1_000, 1_100, 6),
    *(100_000, 1_000, 4, 100),
    timing=("--small",),
)
FULL = Sizes(
    *(16_000_000, 512, 200_000, 40, 1_200, 32_000, 300_000, 200, 200, 40_000_000, 300_000, 20_000, 750),
    *(4_000_000, 300_000, 90, 20_000),
    timing=(),
)


class Connection:
    """One connection with its requests."""

    def __init__(self, port: int, key: str = "", timeout: float = 30) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self._key = {"x-api-key": key} if key else {}

    def request(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Return status and body of a response. A body that is no text is sent as JSON."""
        content = body if isinstance(body, str | None) else json.dumps(body)
        self._http.request(method, path, content, self._key | JSON | (headers or {}))
        self.response = self._http.getresponse()
        return self.response.status, self.response.read()

    def json(self, method: str, path: str, body: object = None) -> Any:
        """Return the body of a response that must be a success."""
        status, content = self.request(method, path, body)
        if status not in (200, 201):
            raise RuntimeError(f"{method} {path}: {status} {content[:200]!r}")
        return json.loads(content)

    def close(self) -> None:
        self._http.close()


@dataclass
class Server:
    """A running server with its database, its log, and the keys of a participant, an organiser and a bystander."""

    folder: Path
    port: int
    key: str
    organiser: str
    other: str
    process: subprocess.Popen[bytes]
    connections: list[Connection] = field(default_factory=list)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    @property
    def database(self) -> Path:
        return self.folder / "data" / "mtloop.db"

    def connect(self, key: str | None = None, timeout: float = 30) -> Connection:
        self.connections.append(Connection(self.port, self.key if key is None else key, timeout))
        return self.connections[-1]

    @contextmanager
    def opened_database(self) -> Iterator[sqlite3.Connection]:
        """Open the file of the server; commit at the end."""
        with closing(sqlite3.connect(self.database, timeout=30)) as database, database:
            yield database

    def close(self) -> None:
        for connection in self.connections:
            connection.close()

    def reset_peak(self) -> None:
        for pid in family(self.process.pid):
            Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="utf-8")

    def peak(self) -> int:
        """The most memory in MB since `reset_peak`, of the process and its children together."""
        statuses = [Path(f"/proc/{pid}/status").read_text(encoding="utf-8") for pid in family(self.process.pid)]
        return sum(int(found[1]) for one in statuses if (found := re.search(r"VmHWM:\s+(\d+)", one))) >> 10


def family(pid: int) -> list[int]:
    """Return a process and the processes that it started."""
    found = [pid]
    for one in found:
        with suppress(OSError):
            children = Path(f"/proc/{one}/task/{one}/children").read_text(encoding="utf-8")
            found += map(int, children.split())
    return found


@contextmanager
def serving(
    *, descriptors: int = 4096, workers: int = 1, temporary: Path | None = None, **settings: Any
) -> Iterator[Server]:
    """Run a server with five mock tasks and three people."""
    with tempfile.TemporaryDirectory() as name, listen("127.0.0.1", 0) as probe:
        folder, port = Path(name), int(probe.getsockname()[1])
        probe.close()
        chosen = Settings(folder=folder / "data", port=port, workers=workers, **{"rate": 0, "quota": 0} | settings)
        keys = asyncio.run(prepare(chosen, folder))
        temporary = temporary or folder / "tmp"
        temporary.mkdir(exist_ok=True)
        environment = os.environ | chosen.environment() | {"OMP_NUM_THREADS": "1", "TMPDIR": str(temporary)}
        command = f"ulimit -n {descriptors}; exec {sys.executable} -m mtloop serve"
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(["sh", "-c", command], env=environment, stdout=log, stderr=log)
        server = Server(folder, port, *keys, process)
        try:
            wait_until_ready(port)
            yield server
        finally:
            server.close()
            process.terminate()
            process.wait(60)


async def prepare(settings: Settings, folder: Path) -> list[str]:
    """Create the tasks and people; return the keys of the participant, the organiser and the bystander."""
    texts = {"source": SOURCES, "reference": REFERENCES}
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / f"short-{name}").write_text(f"{lines[0]} Now.\n", encoding="utf-8")
    storage, keys = Storage.connect(settings.url), [new_key() for _ in range(3)]
    await storage.migrate()
    try:
        files: dict[str, Any] = {name: folder / name for name in texts}
        await create_task(storage.tasks, TaskFile("all", "mock", reward="bleu", held_out=5, blocks=3, **files))
        again: dict[str, Any] = {"allow_overlap": True} | files
        noisy: dict[str, Any] = {"noise": {"variance": 1.0}, "oracle": files["reference"], "held_out": 5, "blocks": 3}
        await create_task(storage.tasks, TaskFile("noisy", "mock", **noisy, **again))
        await create_task(storage.tasks, TaskFile("calm", "mock", max_passes=0, max_runs=0, **again))
        short: dict[str, Any] = {name: folder / f"short-{name}" for name in texts}
        await create_task(storage.tasks, TaskFile("one", "mock", **short))
        await create_task(storage.tasks, TaskFile("two", "mock", allow_overlap=True, **short))
        for number, key in enumerate(keys):
            await storage.accounts.add_participant(f"person{number}", hash_key(key), number == 1)
    finally:
        await storage.close()
    return keys


def wait_until_ready(port: int) -> None:
    for _ in range(900):
        with suppress(OSError, http.client.HTTPException), closing(Connection(port, timeout=5)) as connection:
            if connection.request("GET", "/readyz")[0] == 200:
                return
        time.sleep(0.1)
    raise RuntimeError("the service does not start")


class Bystander:
    """Somebody else who asks for /healthz, for a sentence and for a reward: how long does each answer take?"""

    def __init__(self, server: Server, writes: bool = True) -> None:
        self._server, self._stopped, self._writes = server, threading.Event(), writes
        self.seconds: list[float] = []
        self.failed = 0
        self._run = server.connect(server.other).json("POST", "/v1/tasks/calm/runs", {})["run"]
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Self:
        self._thread.start()
        while len(self.seconds) < 4 and self._thread.is_alive():
            time.sleep(0.01)
        self.seconds.clear()  # the first answers of a server take longer
        return self

    def __exit__(self, *error: object) -> None:
        while not self.seconds and self._thread.is_alive():
            time.sleep(0.01)
        self._stopped.set()
        self._thread.join()

    @property
    def longest(self) -> str:
        failed = f", {self.failed} of {len(self.seconds)} without success" if self.failed else ""
        return f"others wait {1000 * max(self.seconds):.0f} ms at most{failed}"

    @property
    def median(self) -> float:
        return 1000 * statistics.median(self.seconds)

    def _ask(self) -> None:
        connection = self._server.connect(self._server.other, timeout=60)
        while not self._stopped.is_set():
            try:
                self._work(connection)
            except (OSError, http.client.HTTPException):
                self.failed += 1
                connection = self._server.connect(self._server.other, timeout=60)

    def _work(self, connection: Connection) -> None:
        """Do a sentence, or begin the next pass."""
        self._timed(connection, "GET", "/healthz")
        status, content = self._timed(connection, "GET", f"/v1/runs/{self._run}/next")
        if not self._writes:
            return
        if status == 200:
            body = {"id": json.loads(content)["id"], "translation": "Schublade."}
            self._timed(connection, "POST", f"/v1/runs/{self._run}/translations", body)
        elif b"end-of-stream" in content:
            connection.json("POST", f"/v1/runs/{self._run}/passes", {})
            self.failed -= 1  # the end of a pass is no failure

    def _timed(self, connection: Connection, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        start = time.perf_counter()
        try:
            status, content = connection.request(method, path, body)
        finally:
            self.seconds.append(time.perf_counter() - start)
        self.failed += status != 200
        time.sleep(0.01)
        return status, content


def send(port: int, pieces: Iterable[bytes], patience: float = 10) -> int:
    """Send pieces of a request until the server ends it; return the status, 0 if there is none."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
        with suppress(OSError):
            for piece in pieces:
                connection.sendall(piece)
        with suppress(OSError):
            found = re.match(rb"HTTP/1\.1 (\d+)", connection.recv(4096))
            return int(found[1]) if found else 0
    return 0


def repeated(first: bytes, piece: bytes, size: int) -> Iterator[bytes]:
    """Yield a beginning and then a piece again and again, in large pieces, up to a size in bytes."""
    block = piece * (1 + 65536 // len(piece))
    yield first
    for _ in range(1 + size // len(block)):
        yield block


def header_lines(server: Server, sizes: Sizes) -> str:
    server.reset_peak()
    status = send(server.port, repeated(REQUEST[:-2], b"a:b\r\n", 5 * sizes.header_lines))
    return f"{server.peak()} MB, answer {status}"


def endless(server: Server, sizes: Sizes) -> str:
    size = sizes.endless_megabytes * MEGABYTE
    with Bystander(server) as other:
        statuses = [send(server.port, repeated(first, b"a", size)) for first in (b"GET /", REQUEST[:-2] + b"a: ")]
    return f"answers {statuses[0]} and {statuses[1]}, {other.longest}"


def pipelined(server: Server, sizes: Sizes) -> str:
    server.reset_peak()
    send(server.port, repeated(b"", REQUEST, len(REQUEST) * sizes.pipelined), patience=3)
    return f"{server.peak()} MB"


def held_out_timing(server: Server, sizes: Sizes) -> str:
    script = Path(__file__).with_name("held_out_timing.py")
    printed = subprocess.run(
        [sys.executable, str(script), *sizes.timing], capture_output=True, text=True, check=True
    ).stdout
    return "AUC " + " and ".join(
        f"{found[2]} ({found[1]}, by chance {found[3]})"
        for found in re.finditer(r"^(\w+) +AUC ([\d.]+) +by chance ([\d.]+ to [\d.]+)", printed, re.M)
    )


def overlap(server: Server, sizes: Sizes) -> str:
    files = ["--source", str(server.folder / "source"), "--reference", str(server.folder / "reference")]
    command = [sys.executable, "-m", "mtloop", "task", "create", "copy", "--kind", "training", *files]
    done = subprocess.run(
        [*command, "--folder", str(server.folder / "data")], capture_output=True, text=True, check=False
    )
    return f"a task with the same sentences: exit code {done.returncode}"


def practice(server: Server, sizes: Sizes) -> str:
    """Count the passes that one participant may make of a mock task with the default limits, in all runs."""
    me, passes = server.connect(), list[int]()
    while (started := me.request("POST", "/v1/tasks/two/runs", {}))[0] == 201 and len(passes) < MAX_RUNS:
        run = json.loads(started[1])["run"]
        passes.append(passes_of(me, run))
    return f"{max(passes)} passes a run, {len(passes)} runs: {sum(passes)} passes a participant"


def passes_of(me: Connection, run: str) -> int:
    """Translate a sentence again and again, until the run allows no other pass."""
    for number in range(1, MAX_PASSES):
        translate(me, run, 1)
        if me.request("POST", f"/v1/runs/{run}/passes", {})[0] != 201:
            return number
    return MAX_PASSES


def translate(me: Connection, run: str, count: int, text: str = "Schublade.") -> None:
    """Translate some sentences of a run."""
    for _ in range(count):
        sentence = me.json("GET", f"/v1/runs/{run}/next")
        me.json("POST", f"/v1/runs/{run}/translations", {"id": sentence["id"], "translation": text})


def polled_curves(server: Server, sizes: Sizes) -> str:
    """Ask for the curves of a noisy task after each step: how many exact scores do differences of its regrets give?"""
    me, regrets = server.connect(), dict[int, float]()
    run, held_out = me.json("POST", "/v1/tasks/noisy/runs", {})["run"], 0
    for number in range(1, sizes.steps + 1):
        translate(me, run, 1, REFERENCES[number % 7])
        (shown,) = me.json("GET", f"/v1/runs/{run}/curves")["passes"]
        held_out += bool(shown["held_out"])
        regrets |= {one["position"]: one["regret"] for one in shown["running"] if one["regret"] is not None}
    scores = exact_scores(server, run)
    found = found_scores(regrets, scores)
    return f"{found} of {len(scores)} exact scores found, {held_out} answers show held-out values"


def found_scores(regrets: Mapping[int, float], scores: Sequence[float]) -> int:
    """Count the scores that two neighbouring means of regret give. The oracle has the references: its score is 1."""
    sums = {0: 0.0} | {position: position * regret for position, regret in regrets.items()}
    return sum(
        abs(1 - (sums[position] - sums[position - 1]) - score) < 1e-9
        for position, score in enumerate(scores, start=1)
        if position in sums and position - 1 in sums
    )


def exact_scores(server: Server, run: str) -> list[float]:
    """The scores of a run before noise."""
    query = "SELECT score FROM submissions JOIN runs ON runs.id = run_id WHERE token = ? ORDER BY position"
    with server.opened_database() as database:
        return [score for (score,) in database.execute(query, [run])]


def late_duplicates(server: Server, sizes: Sizes) -> str:
    """Answer some submissions with the answer to the one before, as a broken proxy does; count wrong rewards."""
    import httpx2

    from mtloop.client.client import Client
    from mtloop.client.retry import Retry
    from mtloop.core.types import Proposal

    class Broken(httpx2.HTTPTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            response = super().handle_request(request)
            if not request.url.path.endswith("/translations"):
                return response
            answers.append(response.read())
            late = len(answers) > 1 and len(answers) % 4 == 0
            return httpx2.Response(200, content=answers[-2]) if late else response

    answers: list[bytes] = []
    texts = [" ".join(REFERENCES[n].split()[: 1 + n % 5]) for n in range(sizes.steps)]
    given, quick = dict[str, tuple[str, float]](), Retry(sleep=lambda seconds: None)
    url = f"http://127.0.0.1:{server.port}"
    with httpx2.Client(base_url=url, transport=Broken()) as broken:
        task = Client(broken, server.key, retry=quick).join("all")
        for (segment, _), text in zip(task, texts, strict=False):
            given[segment.id] = text, task.judge(Proposal(segment, text)).value
    me = server.connect()
    path = f"/v1/runs/{task.run}/translations"
    wrong = sum(
        me.json("POST", path, {"id": id_, "translation": text})["reward"] != reward
        for id_, (text, reward) in given.items()
    )
    return f"{wrong} of {len(given)} rewards wrong"


def file_modes(server: Server, sizes: Sizes) -> str:
    modes = (path.stat().st_mode & 0o777 for path in (server.database, server.database.parent))
    return "file {:04o}, folder {:04o}".format(*modes)


def half_open(server: Server, sizes: Sizes) -> str:
    """Open connections that never finish their request; count those that stay after the deadline."""
    with serving(header_timeout=1, idle_timeout=1, max_connections_per_address=0) as impatient, ExitStack() as opened:
        address = ("127.0.0.1", impatient.port)
        found = [opened.enter_context(socket.create_connection(address, timeout=5)) for _ in range(sizes.connections)]
        for number, connection in enumerate(found):
            with suppress(OSError):
                connection.sendall(REQUEST[:20] if number % 2 else b"")
        time.sleep(3)
        return f"{sum(map(is_open, found))} of {len(found)} stay after the deadline"


def is_open(connection: socket.socket) -> bool:
    """Whether the other side has not closed a connection."""
    connection.settimeout(0.01)
    try:
        return bool(connection.recv(1 << 16)) and is_open(connection)
    except TimeoutError:
        return True
    except OSError:
        return False


def few_descriptors(server: Server, sizes: Sizes) -> str:
    with serving(descriptors=256) as poor, ExitStack() as opened:
        for _ in range(300):
            with suppress(OSError):
                opened.enter_context(socket.create_connection(("127.0.0.1", poor.port), timeout=1))
        start = time.perf_counter()
        try:
            status = str(poor.connect(timeout=5).request("GET", "/healthz")[0])
        except (OSError, http.client.HTTPException):
            status = "none"
        seconds = time.perf_counter() - start
        time.sleep(1.5)  # the line is written with the next sweep
        logged = "logged" if REFUSED.search(poor.log) else "not logged"
        return f"another's answer: {status} after {seconds:.1f} s, {logged}"


def guesses(server: Server, sizes: Sizes) -> str:
    """Guess keys, sign-ins and ids of runs, and send invalid bodies: how many are not refused as too many?"""
    kinds: list[tuple[str, bool, str, str, Any, dict[str, str]]] = [
        ("keys", False, "GET", "/v1/tasks", None, {"x-api-key": "wrong" * 8}),
        ("sign-ins", False, "POST", "/login", "key=wrong", FORM),
        ("runs", True, "GET", "/v1/runs/" + "a" * 22, None, {}),
        ("bodies", True, "POST", "/v1/tasks/all/runs", "{", {}),
    ]
    each, accepted = sizes.guesses // len(kinds), []
    for name, with_key, *request in kinds:
        with serving(**LIMITED) as fresh:
            me = fresh.connect(fresh.key if with_key else "")
            count = sum(me.request(*request)[0] != 429 for _ in range(each))
            accepted.append(f"{name} {count}")
    return f"accepted of {each:,} each: {', '.join(accepted)}"


def guesses_in_bodies(server: Server, sizes: Sizes) -> str:
    """Send keys in bodies, and what is refused before a key is read: how much of it is not refused as too many?"""
    long_form = "key=" + "x" * 5_000
    kinds: list[tuple[str, str, str, str | None, dict[str, str]]] = [
        ("DeepL", "POST", "/v2/translate", "auth_key=wrong&text=a&target_lang=DE", FORM),
        ("LibreTranslate", "POST", "/detect", '{"api_key": "wrong", "q": "a"}', JSON),
        ("ModernMT", "GET", "/modernmt/translate?q=a&target=de", None, {}),
        ("unknown", "POST", "/v2/nothing", None, {}),
        ("OPTIONS", "OPTIONS", "/v2/translate", None, {}),
        ("long sign-ins", "POST", "/login", long_form, FORM),
    ]
    each, accepted = sizes.guesses // len(kinds), []
    for name, *request in kinds:
        with serving(**LIMITED) as fresh:
            me = fresh.connect("")
            accepted.append(f"{name} {sum(me.request(*request)[0] != 429 for _ in range(each))}")  # type: ignore[arg-type]
    return f"accepted of {each:,} each: {', '.join(accepted)}"


def long_form(server: Server, sizes: Sizes) -> str:
    """Send a form of escapes, which take long to read, without a key."""
    with Bystander(server) as other:
        status, _ = server.connect("").request("POST", "/translate", "q=" + "%61" * (sizes.form_bytes // 3), FORM)
    return f"answer {status}, {other.longest}"


def form_of_percent_signs(server: Server, sizes: Sizes) -> str:
    """Send a form of percent signs that are no escapes, without a key: what memory does it take?"""
    with serving(**LIMITED) as fresh:
        fresh.reset_peak()
        before = fresh.peak()
        with Bystander(fresh) as other:
            status, _ = fresh.connect("").request("POST", "/translate", "q=" + "%" * sizes.form_bytes, FORM)
        return f"answer {status}, {fresh.peak() - before} MB more, {other.longest}"


def unknown_fields(server: Server, sizes: Sizes) -> str:
    body = "{" + ",".join(f'"a{number}":0' for number in range(sizes.fields)) + "}"
    with Bystander(server) as other:
        status, _ = server.connect(server.organiser, timeout=120).request("POST", "/v1/campaigns", body)
    return f"answer {status}, {other.longest}"


def campaign_texts(server: Server, sizes: Sizes) -> str:
    lines = [f"Open drawer number {number} of the cabinet." for number in range(sizes.segments)]
    outputs = {f"system{number}": lines for number in range(20)}
    body = json.dumps({"name": "large", "sources": lines, "outputs": outputs})
    with Bystander(server) as other:
        status, _ = server.connect(server.organiser, timeout=120).request("POST", "/v1/campaigns", body)
    return f"answer {status}, {other.longest}"


def keyless_bodies(server: Server, sizes: Sizes) -> str:
    """Send large bodies at the same time without a key, all but their last bytes: what memory do they take?"""
    size = 4_000_000
    head = b"POST /translate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    with serving(**LIMITED) as fresh, ExitStack() as opened:
        fresh.reset_peak()
        before, refused = fresh.peak(), 0
        address = ("127.0.0.1", fresh.port)
        found = [
            opened.enter_context(socket.create_connection(address, timeout=5)) for _ in range(sizes.keyless_bodies)
        ]
        for connection in found:
            with suppress(OSError):
                connection.sendall(head % size + b" " * (size - 10))
        time.sleep(1)
        for connection in found:
            connection.settimeout(0.05)
            with suppress(OSError):
                refused += connection.recv(64).startswith(b"HTTP/1.1 429")
        return f"{fresh.peak() - before} MB more, {refused} of {len(found)} answered with 429"


def shared_address(server: Server, sizes: Sizes) -> str:
    """Guess links until the address is refused; then use a right one from the same address."""
    body = {"name": "shared", "sources": SOURCES, "outputs": {"one": SOURCES, "two": REFERENCES}}
    with serving(**LIMITED) as fresh:
        fresh.connect(fresh.organiser).json("POST", "/v1/campaigns", body)
        link = fresh.connect(fresh.organiser).json("POST", "/v1/campaigns/shared/raters", {"name": "rater"})["link"]
        me = fresh.connect("")
        guessed = [me.request("GET", "/v1/rating/" + "0" * 32)[0] for _ in range(200)]
        status, _ = me.request("GET", link.replace("/rate/", "/v1/rating/") + "/next")
    return f"{guessed.count(404)} of {len(guessed)} guesses accepted, the link: answer {status}"


def many_passes(server: Server, sizes: Sizes) -> str:
    me, number = server.connect(), sizes.stored_passes
    run = me.json("POST", "/v1/tasks/one/runs", {"name": "many"})["run"]
    translate(me, run, 1)
    store_passes(server, run, number)
    with Bystander(server) as other:
        curves = len(me.request("GET", f"/v1/runs/{run}/curves")[1])
        page = len(signed_in(server).request("GET", f"/runs/{run}")[1])
    return f"{number} passes: curves {curves / 1000:.0f} KB, page {page / 1000:.0f} KB, {other.longest}"


def store_passes(server: Server, run: str, count: int) -> None:
    """Write copies of the first pass of a run into the database."""
    numbers = "WITH RECURSIVE n(value) AS (SELECT 2 UNION ALL SELECT value + 1 FROM n WHERE value < ?)"
    with server.opened_database() as database:
        for table in ("passes", "curve_points"):
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            chosen = ", ".join("n.value" if name == "pass_number" else f"old.{name}" for name in columns)
            source = f"FROM {table} AS old JOIN n JOIN runs ON runs.id = old.run_id WHERE runs.token = ?"
            database.execute(f"{numbers} INSERT INTO {table} SELECT {chosen} {source}", [count, run])
        database.execute("UPDATE runs SET pass_number = ? WHERE token = ?", [count, run])


def signed_in(server: Server) -> Connection:
    """Return a connection with the cookie of a session."""
    me = server.connect("")
    me.request("POST", "/login", f"key={server.key}", FORM)
    cookie = (me.response.getheader("set-cookie") or "").partition(";")[0]
    me._key = {"cookie": cookie}
    return me


def held_lock(server: Server, sizes: Sizes) -> str:
    """Hold the lock of the database while /readyz is asked and a run is started. Others need no lock to read."""
    holder = sqlite3.connect(server.database, timeout=30, isolation_level=None)
    requests = {"/readyz": ("GET", "/readyz"), "a new run": ("POST", "/v1/tasks/one/runs", {})}
    found = []
    with closing(holder), Bystander(server, writes=False) as other:
        holder.execute("BEGIN IMMEDIATE")
        time.sleep(1.1)  # a check from before counts for a second
        for name, request in requests.items():
            start = time.perf_counter()
            status, _ = server.connect(timeout=60).request(*request)  # type: ignore[arg-type]
            found.append(f"{name}: {status} after {time.perf_counter() - start:.1f} s")
        holder.execute("ROLLBACK")
    return ", ".join([*found, other.longest])


def read_only(server: Server, sizes: Sizes) -> str:
    """Open the database of the server for reading only, and ask whether it is ready."""

    async def ready() -> bool:
        database = Database.connect(driver(f"sqlite:///file:{server.database}?mode=ro&uri=true"))
        try:
            return await Readiness(database).ready()
        finally:
            await database.close()

    return "ready" if asyncio.run(ready()) else "not ready"


FULL_DISK = """
mount -t tmpfs -o size=4m none {folder}
{python} - <<'END'
import asyncio
from pathlib import Path
from mtloop.service import readiness
from mtloop.service.storage import Storage

async def main():
    folder, readiness.VALID_SECONDS = Path("{folder}"), 0
    storage = Storage.connect(f"sqlite+aiosqlite:///{{folder}}/mtloop.db")
    await storage.migrate()
    check = readiness.Readiness(storage.database)
    before = await check.ready()
    with (folder / "filler").open("wb", buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(4096))
        except OSError:
            pass
    print("ready" if before and await check.ready() else "not ready")
    await storage.close()

asyncio.run(main())
END
"""


def full_disk(server: Server, sizes: Sizes) -> str:
    """Fill a small disk that only this script sees, and ask whether a database on it is ready."""
    return in_own_mounts(FULL_DISK)


def in_own_mounts(script: str) -> str:
    """What a shell script prints that may mount file systems, in a folder of its own."""
    own_user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as errors:
        commands = script.format(folder=folder, python=sys.executable, errors=errors.name)
        command = ["unshare", *own_user, "--mount", "sh", "-c", commands]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError("no right to mount a file system")
    return done.stdout.strip()


READ_ONLY_DISK = """
mount -t tmpfs none {folder}
mount -o remount,ro {folder}
{python} -m mtloop serve --folder {folder}/data > /dev/null 2> {errors}
echo "exit code $?, $(wc -l < {errors}) line"
"""


def read_only_disk(server: Server, sizes: Sizes) -> str:
    """Start a server on a disk that only this script sees and nobody can write."""
    return in_own_mounts(READ_ONLY_DISK)


def waiting_times(server: Server, sizes: Sizes) -> str:
    """Use the minute up, then the minute and the day. Ask when the refusal says, and a second earlier."""

    async def found() -> list[bool]:
        storage, clock = Storage.connect(f"sqlite+aiosqlite:///{server.database}"), [1e5 * DAY + 0.5]
        (*_, me) = [one["id"] for one in await storage.participant_list()]
        limits = RateLimits(storage.accounts, rate=3, quota=6, clock=lambda: clock[0])

        async def wait() -> int:
            try:
                await limits.charge(me)
            except ProblemError as refused:
                return refused.problem.retry_after or 0
            return 0

        served = []
        for _ in range(2):
            while not (said := await wait()):
                pass
            clock[0] += said - 1
            early = not await wait()
            clock[0] += 1
            served += [early, not await wait()]
        await storage.close()
        return served

    served = asyncio.run(found())
    return f"served after it: {sum(served[1::2])} of 2, a second earlier: {sum(served[::2])} of 2"


def clock_back(server: Server, sizes: Sizes) -> str:
    """Use an allowance up, set the clock of a new worker back: how many requests are served then?"""

    async def served() -> int:
        storage, count = Storage.connect(f"sqlite+aiosqlite:///{server.database}"), 0
        (me, *_) = [one["id"] for one in await storage.participant_list()]
        now = time.time()
        for back in (0, 60, 86_400):
            limits = RateLimits(storage.accounts, rate=5, quota=0, clock=lambda back=back: now - back)  # type: ignore[misc]
            for _ in range(8):
                with suppress(ProblemError):
                    await limits.charge(me)
                    count += bool(back)
        await storage.close()
        return count

    return f"{asyncio.run(served())} of 16 requests served after it"


def long_translations(server: Server, sizes: Sizes) -> str:
    me = server.connect()
    run = me.json("POST", "/v1/tasks/all/runs", {})["run"]
    with Bystander(server) as calm:
        time.sleep(0.5)
    with Bystander(server) as disturbed:
        translate(me, run, min(sizes.dots, MAX_DOTS), "." * 10_000)
    return f"another's p50 from {calm.median:.0f} to {disturbed.median:.0f} ms"


def killed_parent(server: Server, sizes: Sizes) -> str:
    with serving(workers=2) as victim:
        workers = family(victim.process.pid)[1:]
        os.kill(victim.process.pid, signal.SIGKILL)
        for _ in range(100):
            if not any(is_running(pid) for pid in workers):
                break
            time.sleep(0.1)
        left = [pid for pid in workers if is_running(pid)]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        before = set((victim.folder / "tmp").iterdir())
        for path in (victim.folder / "tmp").rglob("*"):
            os.utime(path, (0, 0))  # a service does not remove a folder that is new
        with serving(workers=2, temporary=victim.folder / "tmp"):
            folders = len(before & set((victim.folder / "tmp").iterdir()))
        return f"{len(left)} of {len(workers)} workers left, {folders} folders left after the next start"


def is_running(pid: int) -> bool:
    with suppress(OSError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return False


def aborted_sign_ins(server: Server, sizes: Sizes) -> str:
    head = b"POST /login HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n"
    before = len(SERVER_ERROR.findall(server.log))
    for _ in range(sizes.sign_ins):
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
            connection.sendall(head + b"content-length: 99\r\n\r\nkey=")
    server.connect("").request("GET", "/healthz")
    time.sleep(0.5)
    return f"{len(SERVER_ERROR.findall(server.log)) - before} of {sizes.sign_ins} counted as 500"


def run_names(server: Server, sizes: Sizes) -> str:
    me, bad = server.connect(), ["a\u202eb", "a\u200bb", "a\x07b", "a\u2066b"]
    accepted = sum(me.request("POST", "/v1/tasks/one/runs", {"name": name})[0] == 201 for name in bad)
    return f"{accepted} of {len(bad)} accepted"


def echoed_host(server: Server, sizes: Sizes) -> str:
    me = server.connect()
    me.request("GET", "/v1/tasks/", None, {"host": "evil.example"})
    location = me.response.getheader("location") or ""
    return f"answer {me.response.status}, {'the host is echoed' if 'evil' in location else 'the host is not echoed'}"


def open_metrics(server: Server, sizes: Sizes) -> str:
    status, content = server.connect("").request("GET", "/metrics")
    return f"answer {status}, {'shows tasks' if b'all' in content and status == 200 else 'shows no task'}"


def sessions(server: Server, sizes: Sizes) -> str:
    for _ in range(sizes.sign_ins):
        signed_in(server).close()
    with server.opened_database() as database:
        (count,) = database.execute("SELECT count(*) FROM sessions").fetchone()
    return f"{count} of {sizes.sign_ins} sessions kept"


def methods(server: Server, sizes: Sizes) -> str:
    me = server.connect(server.organiser)
    me.request("DELETE", "/v1/tasks/all")
    allow = me.response.getheader("allow") or ""
    empty, _ = me.request("PATCH", "/v1/tasks/all", {})
    schema = me.request("GET", "/openapi.json")[1].decode()
    nul = "NUL in the schema" if "u0000" in schema or "x00" in schema else "no NUL"
    return f"Allow: {allow}, PATCH: {empty}, {nul}"


READ = """
import re, sys, time
from pathlib import Path
from mtloop.core.errors import MtloopError
from mtloop.data import read
start = time.perf_counter()
try:
    outcome = str(read(sys.argv[1]))
except MtloopError as error:
    outcome = "refused"
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10
print(f"{peak} MB, {time.perf_counter() - start:.1f} s, {outcome}")
"""


def read_in_child(name: str, content: bytes) -> str:
    """Read a file in a process of its own; return its memory, the time and the outcome."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        packed = f"{len(content) / 1000:.0f} KB: "
        return (
            packed
            + subprocess.run(
                [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True
            ).stdout.strip()
        )


def tmx(body: str) -> bytes:
    return f'<tmx version="1.4"><header srclang="en"/><body>{body}</body></tmx>'.encode()


def pair(first: str = "") -> str:
    texts = (f'<tuv xml:lang="{language}"><seg>a</seg></tuv>' for language in ("en", "de"))
    return f"<tu>{first}{''.join(texts)}</tu>"


def packed_po(server: Server, sizes: Sizes) -> str:
    entries = "".join(f'msgid "{number}"\nmsgstr "b"\n\n' for number in range(sizes.entries))
    header = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    return read_in_child("a.po.gz", gzip.compress((header + entries).encode()))


def packed_tmx(server: Server, sizes: Sizes) -> str:
    variants = '<tuv xml:lang="en"><seg>a</seg></tuv>' * sizes.variants
    return read_in_child("a.tmx.xz", lzma.compress(tmx(pair(variants))))


def unknown_elements(server: Server, sizes: Sizes) -> str:
    return read_in_child("a.tmx", tmx("<x/>" * sizes.unknown_elements + pair()))


def tracebacks(attempts: Iterable[Callable[[], object]]) -> str:
    """Return how many attempts raise something else than an error of one line."""
    from mtloop.core.errors import MtloopError

    count = failed = 0
    for attempt in attempts:
        count += 1
        try:
            attempt()
        except MtloopError:
            pass
        except Exception:  # what a user would see as a traceback
            failed += 1
    return f"{failed} of {count}"


def small_files(server: Server, sizes: Sizes) -> str:
    """Tables of one newline, an xz with a huge dictionary, deeply nested JSON and TOML, malformed counters."""
    from safetensors.numpy import save

    from mtloop.core.trace import Trace
    from mtloop.data import read
    from mtloop.metrics.score_files import read_scores
    from mtloop.nmt.delta import Delta
    from mtloop.text.files import read_lines
    from mtloop.text.settings_files import read_toml

    facts = {"format": "2", "method": "bias", "base": "0", "counters": "[" * 50_000}
    contents: list[tuple[str, bytes, Callable[[Path], object]]] = [
        ("a.tsv", b"\n", read),
        ("a.csv", b"\n", read),
        ("a.txt.xz", huge_dictionary(), read_lines),
        ("a.json", b"[" * 50_000, read_scores),
        ("a.jsonl", b"[" * 50_000, Trace.read),
        ("a.toml", b"a = " + b"[" * 5_000, read_toml),
        ("b.toml", b"a" + b".a" * 2_000 + b" = 1", lambda path: json.dumps(read_toml(path))),
        ("a.safetensors", save({}, facts), Delta.read),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, content, _ in contents:
            (Path(folder) / name).write_bytes(content)
        return tracebacks(lambda one=one: one[2](Path(folder) / one[0]) for one in contents)  # type: ignore[misc]


def huge_dictionary() -> bytes:
    """Return an xz file that asks for 4 GB of memory."""
    packed = bytearray(lzma.compress(b"a\n", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 16}]))
    block = packed[12:20]
    block[4] = 40
    packed[12:24] = block + zlib.crc32(bytes(block)).to_bytes(4, "little")
    return bytes(packed)


def damaged_models(server: Server, sizes: Sizes) -> str:
    """Convert .bin files with a few changed bytes, and whole ones with keys and tensors that no model has."""
    import torch

    tensors = {f"model.layers.{number}.weight": torch.full((8, 8), float(number)) for number in range(40)}
    random = Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def attempt(content: bytes) -> None:
            changed = bytearray(content)
            for _ in range(random.randint(1, 4)):
                changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
            convert_content(bytes(changed), folder)

        files = [content for content in saved_by_torch(tensors) for _ in range(sizes.mutations)]
        found = tracebacks(lambda content=content: attempt(content) for content in files)  # type: ignore[misc]
        odd = [content for one in odd_models(tensors) for content in saved_by_torch(one)]
        whole = tracebacks(lambda content=content: convert_content(content, folder) for content in odd)  # type: ignore[misc]
        return f"{found}, of odd models {whole}"


def convert_content(content: bytes, folder: Path) -> None:
    """Convert a model with this file."""
    from mtloop.nmt.engine.convert import convert

    (folder / "model.bin").write_bytes(content)
    convert(folder, folder / "out")


def saved_by_torch(model: object) -> list[bytes]:
    """Return the files of a model in both formats of torch."""
    import torch

    files = [io.BytesIO(), io.BytesIO()]
    for is_archive, file in enumerate(files):
        torch.save(model, file, _use_new_zipfile_serialization=bool(is_archive))
    return [file.getvalue() for file in files]


def odd_models(tensors: dict[str, Any]) -> list[Any]:
    """Return models with sparse tensors, those whose step is 0, keys that are no text, and no tensors."""
    import torch

    first, *_ = tensors
    sparse, repeated = torch.eye(8).to_sparse(), torch.ones(1).expand(1 << 20)
    return [*({**tensors, first: one} for one in (sparse, repeated, "text", None)), {1: torch.eye(8)}, [1], 1]


@dataclass(frozen=True)
class Attack:
    """An attack: its name in the list, what it does, the number before, and what measures the number now.

    The title has the sizes that are run: `{sizes.steps}`.
    """

    name: str
    title: str
    before: str
    measure: Callable[[Server, Sizes], str] = field(repr=False)


ATTACKS = [
    Attack("1a", "{sizes.header_lines:,} header lines, anonymous", "16 million: 1,911 MB, never refused", header_lines),
    Attack("1b", "{sizes.endless_megabytes} MB of URL and header value", "endless: others wait 5,000 ms", endless),
    Attack("1c", "{sizes.pipelined:,} pipelined requests, never read", "200,000: 566 MB", pipelined),
    Attack("2", "the time of an answer tells what is held out", "AUC 1.000 (refused)", held_out_timing),
    Attack("3a", "a task with the sentences of another", "no warning", overlap),
    Attack("3b", "references by practice, default limits", "all 20 in 238 passes, no limit", practice),
    Attack("4", "curves, polled after each of {sizes.steps} steps", "the exact score to 1e-14", polled_curves),
    Attack("5", "late duplicate answers, {sizes.steps} steps", "34 of 160 rewards wrong", late_duplicates),
    Attack("6", "modes of the SQLite file", "file 0644, folder 0755", file_modes),
    Attack("7a", "{sizes.connections:,} half-open connections", "1,200 of 1,200 stay", half_open),
    Attack("7b", "300 idle ones and 256 descriptors", "the same: no answer, not logged", few_descriptors),
    Attack("8", "{sizes.guesses:,} guesses, default limits", "32,000 of 32,000 accepted", guesses),
    Attack("8b", "as many where the key is in the body", "unknown, OPTIONS, sign-ins: all", guesses_in_bodies),
    Attack("8c", "a rater behind a refused address", "the link: answer 429", shared_address),
    Attack("9", "{sizes.stored_passes:,} passes: curves and page", "300,000: 23 and 59 MB, 6,100 ms", many_passes),
    Attack("10a", "a held lock", "ready, others wait 30 s", held_lock),
    Attack("10b", "a database that can only be read", "ready", read_only),
    Attack("10c", "a full disk", "ready", full_disk),
    Attack("10d", "serve on a read-only file system", "a traceback", read_only_disk),
    Attack("retry", "requests after the time in Retry-After", "the minute's, if the day is used up too", waiting_times),
    Attack("clock", "the clock goes back by a minute, a day", "allowances are renewed", clock_back),
    Attack(
        "dots", "10,000 dots on a bleu task, {dots} times", "20 times: another's p50 2 to 188 ms", long_translations
    ),
    Attack("kill", "the parent is killed", "workers and folders stay", killed_parent),
    Attack("abort", "{sizes.sign_ins} aborted sign-ins", "40: all counted as 500", aborted_sign_ins),
    Attack("form", "a form of {sizes.form_bytes:,} bytes, no key", "4,000,000: others wait 288 ms", long_form),
    Attack(
        "signs",
        "a form of {sizes.form_bytes:,} percent signs, no key",
        "4,000,000: 722 MB more, others 1 s",
        form_of_percent_signs,
    ),
    Attack("fields", "a body of {sizes.fields:,} unknown fields", "300,000: others wait 1,351 ms", unknown_fields),
    Attack(
        "campaign", "a campaign of {sizes.segments:,} lines, 20 systems", "20,000: others wait 320 ms", campaign_texts
    ),
    Attack("bodies", "{sizes.keyless_bodies} bodies of 4 MB at once, no key", "90: 370 MB more", keyless_bodies),
    Attack("PO", "a PO file of {sizes.entries:,} entries, packed", "300,000 (1 MB): 1,300 MB", packed_po),
    Attack("TMX", "a TMX unit of {sizes.variants:,} variants, packed", "20,000 (16 KB): 7 s", packed_tmx),
    Attack("unknown", "a TMX of {sizes.unknown_elements:,} unknown elements", "40 million: 4,000 MB", unknown_elements),
    Attack("lines", "small hostile files: tracebacks", "4 of 8", small_files),
    Attack("bin", "damaged and odd .bin files: tracebacks", "488 of 1500", damaged_models),
    Attack("names", "run names with invisible characters", "4 of 4 accepted", run_names),
    Attack("slash", "the trailing slash and a forged host", "the host is echoed", echoed_host),
    Attack("metrics", "anonymous /metrics", "answer 200, shows tasks", open_metrics),
    Attack("cookies", "{sizes.sign_ins} sessions of one key", "40: no limit", sessions),
    Attack("methods", "Allow, an empty PATCH, NUL", "Allow: GET, PATCH: 204, no NUL", methods),
]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the sizes at which the numbers before were seen")
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    parser.add_argument("--only", default="", help="names of attacks, separated by commas")
    args = parser.parse_args(argv)
    sizes = FULL if args.full else SMALL if args.small else Sizes()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    logging.getLogger("mtloop.service").addHandler(logging.NullHandler())  # what is not ready here is in the table
    chosen = [attack for attack in ATTACKS if attack.name in (args.only or attack.name).split(",")]
    print(f"{'':9}{'attack':46}{'before':40}now")
    with serving() as server:
        for attack in chosen:
            title = attack.title.format(sizes=sizes, dots=min(sizes.dots, MAX_DOTS))
            print(f"{attack.name:9}{title:46}{attack.before:40}{measured(attack, server, sizes)}", flush=True)


def measured(attack: Attack, server: Server, sizes: Sizes) -> str:
    """The result of an attack. One that cannot be made does not stop the others."""
    try:
        return attack.measure(server, sizes)
    except Exception as error:
        return f"not measured: {type(error).__name__}: {' '.join(str(error).split())[:100]}"


if __name__ == "__main__":
    main()
