"""Measure the speed of the service (next source, translation, one durable reward), against an empty FastAPI app.

    python benchmarks/service.py                         SQLite and a temporary PostgreSQL
    python benchmarks/service.py --databases sqlite --participants 16 --rounds 5
    python benchmarks/service.py --deep 1000000          also: latency at this position, against position 1,000
    python benchmarks/service.py --import 1300000        also: time and memory to create a task of this size

All servers run all the time. Every round measures the no-op application and then each database, with the same requests
from the same load generator. Ratios are computed within a round; the median over the rounds is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from helpers.postgres import Postgres, binaries

from mtloop.service.accounts.keys import hash_key, new_key
from mtloop.service.server import listen
from mtloop.service.settings import Settings
from mtloop.service.storage import Storage
from mtloop.service.tasks.creation import TaskFile, create_task
from mtloop.service.tasks.models import RunProgress, Submission
from mtloop.service.tasks.sealed_ids import PassPosition

SOURCE = "Turn the handle of drawer {n} to the left until you hear it click, then pull it towards you gently."
REFERENCE = (
    "Drehen Sie den Griff der Schublade {n} nach links, bis er einrastet, und ziehen Sie sie dann leicht heraus."
)
TRANSLATION = "Drehen Sie den Griff von Schublade 7 nach links, bis es klickt, dann ziehen Sie ihn vorsichtig zu sich."
MEASUREMENTS_PER_POSITION = 12


class Translation(BaseModel):
    id: str
    translation: str


def noop() -> FastAPI:
    """Return an application with the same two routes and response shapes, and nothing behind them."""
    app = FastAPI()
    sentence = {"id": "4sVUp0Ozo8fQ7hOPeVDXFw", "source": SOURCE.format(n=1)}

    @app.get("/v1/runs/{run}/next")
    async def next_source(run: str) -> dict[str, str]:
        return sentence

    @app.post("/v1/runs/{run}/translations")
    async def translate(run: str, body: Translation) -> dict[str, Any]:
        return {"id": body.id, "reward": 0.5, "next": sentence}

    return app


@dataclass(frozen=True)
class Result:
    """Loops per second, and latencies in milliseconds."""

    loops: float
    p50: float
    p99: float

    @classmethod
    def of(cls, latencies: list[float], seconds: float) -> Result:
        ordered = sorted(latencies)
        percentiles = [ordered[int(len(ordered) * share)] * 1000 for share in (0.5, 0.99)]
        return cls(len(ordered) / seconds, *percentiles)


class Connection:
    """One keep-alive HTTP connection with minimal overhead, because the load generator shares the cores."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str) -> None:
        self._reader, self._writer, self._key = reader, writer, key

    @classmethod
    async def open(cls, port: int, key: str) -> Connection:
        return cls(*await asyncio.open_connection("127.0.0.1", port), key)

    async def request(self, method: str, path: str, body: dict[str, str] | None = None) -> Any:
        content = b"" if body is None else json.dumps(body).encode()
        request = f"{method} {path} HTTP/1.1\r\nhost: x\r\nx-api-key: {self._key}\r\ncontent-length: {len(content)}\r\n"
        self._writer.write(request.encode() + b"content-type: application/json\r\n\r\n" + content)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        text = await self._reader.readexactly(length)
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            raise RuntimeError(f"{method} {path}: {text.decode()}")
        return json.loads(text)

    def close(self) -> None:
        self._writer.close()


async def measure(port: int, participants: list[tuple[str, str]], seconds: float, warm: float = 1.0) -> Result:
    """Run the loop of all participants, (key, run) each, in parallel: get the next source, post its translation."""
    begin = time.perf_counter() + warm
    end = begin + seconds
    latencies: list[float] = []

    async def participate(key: str, run: str) -> None:
        connection = await Connection.open(port, key)
        while (start := time.perf_counter()) < end or not latencies:
            sentence = await connection.request("GET", f"/v1/runs/{run}/next")
            body = {"id": sentence["id"], "translation": TRANSLATION}
            await connection.request("POST", f"/v1/runs/{run}/translations", body)
            if start >= begin:
                latencies.append(time.perf_counter() - start)
        connection.close()

    await asyncio.gather(*(participate(key, run) for key, run in participants))
    return Result.of(latencies, seconds)


@contextmanager
def serving(command: list[str], environment: dict[str, str], port: int) -> Iterator[None]:
    """Run a server process until the block ends."""
    process = subprocess.Popen([sys.executable, *command], env=os.environ | environment, stdout=DEVNULL, stderr=DEVNULL)
    try:
        asyncio.run(_wait_until_listening(port))
        yield
    finally:
        process.terminate()
        process.wait()


async def _wait_until_listening(port: int) -> None:
    for _ in range(300):
        try:
            connection = await Connection.open(port, "")
            await connection.request("GET", "/openapi.json")  # the socket listens before the application has started
        except (OSError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.1)
            continue
        connection.close()
        return
    raise RuntimeError("the server does not start")


def serve_noop(port: int) -> None:
    import uvicorn

    config = uvicorn.Config(noop, factory=True, log_config=None, access_log=False, timeout_keep_alive=30)
    uvicorn.Server(config).run(sockets=[listen("127.0.0.1", port)])


def free_port() -> int:
    with listen("127.0.0.1", 0) as probe:
        return int(probe.getsockname()[1])


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Storage]:
    storage = Storage.connect(settings.url)
    await storage.migrate()
    yield storage
    await storage.close()


async def prepare(settings: Settings, sentences: int, participants: int, folder: Path) -> list[tuple[str, str]]:
    """Create a training task and its participants; return (key, run) for each."""
    async with opened(settings) as storage:
        await create_task(storage.tasks, task_file(folder, sentences))
        return [await _add_participant(storage, number) for number in range(participants)]


async def _add_participant(storage: Storage, number: int) -> tuple[str, str]:
    key = new_key()
    participant = await storage.accounts.add_participant(f"p{number}", hash_key(key))
    task = await storage.tasks.task("bench")
    assert task is not None
    run = await storage.tasks.add_run(task, participant, "")
    assert run is not None
    return key, run.token


def task_file(folder: Path, sentences: int) -> TaskFile:
    source, reference = folder / "en.txt", folder / "de.txt"
    for path, text in ((source, SOURCE), (reference, REFERENCE)):
        with path.open("w", encoding="utf-8") as file:
            file.writelines(text.format(n=number) + "\n" for number in range(sentences))
    return TaskFile(name="bench", kind="training", source=source, reference=reference)


async def advance(settings: Settings, participants: list[tuple[str, str]], position: int) -> None:
    """Move every run to a position; the first run also gets all rows before it."""
    async with opened(settings) as storage:
        for number, (_, token) in enumerate(participants):
            run = await storage.tasks.run(token)
            assert run is not None
            rows = position if number == 0 else 0  # rows of one run are enough to make the table large
            for start in range(0, rows, 10_000):
                positions = range(start, min(start + 10_000, rows))
                given = [Submission(run.id, PassPosition(1, index), TRANSLATION, 0.5, 0.5) for index in positions]
                async with storage.tasks.reward_transaction() as transaction:
                    await transaction.insert_submissions(given)
            async with storage.tasks.reward_transaction() as transaction:
                await transaction.update_progress({run.id: RunProgress(1, position, position * 0.5, position * 0.5)})


def compare(settings: dict[str, Settings], args: argparse.Namespace, folder: Path) -> None:
    """Measure the no-op and the databases in turn, so that other load on the machine affects all of them."""
    participants = {
        name: asyncio.run(prepare(one, args.sentences, args.participants, folder)) for name, one in settings.items()
    }
    participants["no-op"] = [("k", "r")] * args.participants
    results: dict[str, list[Result]] = {name: [] for name in ("no-op", *settings)}
    with ExitStack() as running:
        ports = {"no-op": free_port()}
        running.enter_context(serving([__file__, "--serve-noop", str(ports["no-op"])], {}, ports["no-op"]))
        for name, one in settings.items():
            ports[name] = running.enter_context(service(one))
        for _ in range(args.rounds):
            for name, found in results.items():
                found.append(asyncio.run(measure(ports[name], participants[name], args.seconds, warm=0.3)))
    print(f"{args.participants} participants, {args.rounds} rounds of {args.seconds:g} s; loop = GET next + POST")
    print(f"{'':12}{'loops/s':>10}{'p50 ms':>10}{'p99 ms':>10}{'of no-op':>10}")
    for name, found in results.items():
        ratio = statistics.median(a.loops / b.loops for a, b in zip(found, results["no-op"], strict=True))
        middle = [statistics.median(getattr(one, field) for one in found) for field in ("loops", "p50", "p99")]
        print(f"{name:12}{middle[0]:10.0f}{middle[1]:10.1f}{middle[2]:10.1f}{ratio:10.2f}", flush=True)


@contextmanager
def service(settings: Settings) -> Iterator[int]:
    """Run the service with a database; yield its port."""
    port = free_port()
    environment = settings.model_copy(update={"port": port, "rate": 0, "quota": 0}).environment()
    with serving(["-m", "mtloop", "serve"], environment, port):
        yield port


def depth_latency(name: str, settings: Settings, args: argparse.Namespace, folder: Path) -> None:
    """Print the latency at position 1,000 and at `--deep`."""
    participants = asyncio.run(prepare(settings, args.deep + args.sentences, 8, folder))
    found: dict[int, list[float]] = {1_000: [], args.deep: []}
    asyncio.run(advance(settings, participants[:4], 1_000))
    asyncio.run(advance(settings, participants[4:], args.deep))
    with service(settings) as port:
        for _ in range(MEASUREMENTS_PER_POSITION):  # in turn, so that other load on the machine affects both
            for position, some in ((1_000, participants[:4]), (args.deep, participants[4:])):
                found[position].append(asyncio.run(measure(port, some, 1.0, warm=0.2)).p50)
    near, deep = (statistics.median(found[position]) for position in (1_000, args.deep))
    ratio = statistics.median(b / a for a, b in zip(found[1_000], found[args.deep], strict=True))
    print(f"{name}: p50 {near:.2f} ms at 1,000, {deep:.2f} ms at {args.deep:,}: {ratio:.2f} times (4 participants)")


def importing(name: str, settings: Settings, count: int, folder: Path) -> None:
    """Create a task in a separate process; print its time and, where the system tells it, its peak memory."""
    task_file(folder, count)
    target = ["--database", settings.database] if settings.database else ["--folder", str(settings.folder)]
    files = ["--source", str(folder / "en.txt"), "--reference", str(folder / "de.txt")]
    start = time.perf_counter()
    command = [sys.executable, "-m", "mtloop", "task", "create", f"big{count}", "--kind", "training", *files, *target]
    subprocess.run(command, check=True, stdout=DEVNULL)
    seconds = time.perf_counter() - start
    print(f"{name}: {count:,} sentences imported in {seconds:.0f} s{peak_memory()}")


def peak_memory() -> str:
    """The most memory that a child process has used, as text; empty on Windows, which has no `resource` module."""
    try:
        import resource
    except ImportError:
        return ""
    unit = 1024 if sys.platform == "linux" else 1024**2  # macOS counts bytes, Linux kilobytes
    return f", at most {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit:.0f} MB"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--databases", default="sqlite,postgresql")
    parser.add_argument("--participants", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sentences", type=int, default=200_000, help="of the task (default: %(default)s)")
    parser.add_argument("--deep", type=int, default=0)
    parser.add_argument("--import", type=int, default=0, dest="count")
    parser.add_argument("--serve-noop", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    args = parser.parse_args(argv)
    if args.small:
        args.databases, args.participants, args.seconds, args.rounds, args.sentences = "sqlite", 2, 0.2, 1, 5000
    if args.serve_noop:
        serve_noop(args.serve_noop)
        return
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        server = Postgres(durable=True) if "postgresql" in args.databases and binaries() else None
        try:
            run_benchmarks(args, folder, server)
        finally:
            if server is not None:
                server.remove()


def run_benchmarks(args: argparse.Namespace, folder: Path, server: Postgres | None) -> None:
    def fresh(label: str) -> dict[str, Settings]:
        chosen: dict[str, Settings] = {}
        if "sqlite" in args.databases:
            chosen["sqlite"] = Settings(folder=folder / label)
        if server is not None:
            chosen["postgresql"] = Settings(database=server.create())
        return chosen

    compare(fresh("compare"), args, folder)
    for name, settings in fresh("deep").items() if args.deep else ():
        depth_latency(name, settings, args, folder)
    for count in (args.count // 10, args.count) if args.count else ():
        for name, settings in fresh(f"import{count}").items():
            importing(name, settings, count, folder)


if __name__ == "__main__":
    main()
