"""Time the server's translate and confirm against the same calls in this process; the memory of many projects.

    python benchmarks/projects.py                           the demo document
    python benchmarks/projects.py --data FILE.tsv.xz [--calls 500] [--projects 200]

The server is one web process, which computes nothing, and one engine, which computes a call in one thread. The other
side is this process with one thread. Only one of them computes at a time. Four parts:

- Each segment is translated and confirmed on the server, then in this process: propose, learn, and the translations of
  the proof before and after. Both have the same translations, or the script ends.
- Many projects with a few corrections each, more than the engine keeps ready. The others leave their snapshot in a
  cache with a budget. The memory of the engine should grow by snapshots alone, whose bytes its /metrics say.
- A server that starts anew, without a cache, and projects that are not in memory: each translates a sentence that it
  has not seen. Some have a few corrections, one has many, and leaves the memory before it is asked again. The floor is
  reading the snapshot from the database into a new learner; the same translation by a warm project is beside it.
- The size of a project by method: its snapshot after some lessons, made in this process.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from mtloop.core import PostEdit, Proposal, Reward, Segment
from mtloop.data import read
from mtloop.methods.defaults import DEFAULT_METHOD
from mtloop.service.administration import Administration
from mtloop.service.engines.answers_of_learners import learn_with_proof
from mtloop.service.engines.base_models import BaseModels, LearnerMaker
from mtloop.service.engines.hosted_project import IDLE_SECONDS
from mtloop.service.engines.snapshots import pack, unpack
from mtloop.service.project_log.event_log import Configured, LoggedLesson
from mtloop.service.projects.learning_kinds import learns_from_ratings
from mtloop.service.server import listen
from mtloop.service.settings import METHODS, Settings
from mtloop.service.storage import Storage

T = TypeVar("T")
DEMO = Path(__file__).parents[1] / "mtloop" / "demo" / "manual.en-de.tsv"
READY = 8  # learners that the engine keeps ready
CORRECTIONS = 5  # of each of the many projects
COLD = 20  # projects that are asked for the first time
LARGE, LARGE_AGAIN = "large", 5  # the project with many corrections, and how often it is asked after it left the memory
BUDGET = Settings().engine_cache_bytes


@dataclass
class Times:
    """Seconds of the same call on the server and here."""

    server: list[float] = field(default_factory=list)
    here: list[float] = field(default_factory=list)

    def line(self, name: str, share: float) -> str:
        there, here = quantile(self.server, share), quantile(self.here, share)
        count = len(self.here)
        return (
            f"{name:<14} p{share * 100:.0f} of {count}: server {there * 1000:7.1f} ms, "
            f"in this process {here * 1000:7.1f} ms, ratio {there / here:.2f}"
        )


@dataclass
class ColdTimes(Times):
    """Beside them the seconds of the same call when the project is in memory."""

    warm: list[float] = field(default_factory=list)


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv)
    targets = {segment.source: truth.references[0] for segment, truth in read(options.data)}
    known = list(targets.items())  # no pair twice: a server learns the same confirmation once
    pairs, many = known[: options.calls], known[: min(options.corrections, len(known) - COLD)]
    new = [source for source, _ in known[-COLD:]]
    models = BaseModels()
    maker = models.maker(Configured(options.model, options.method))
    maker.prepare_thread()
    names = [f"p{number}" for number in range(options.projects)]
    print(f"{options.method}, {len(pairs)} segments; the server: one web process, one engine; here: one process\n")
    with tempfile.TemporaryDirectory() as folder:
        with server(Path(folder), options.model, BUDGET) as running:
            compare_calls(running.client, maker, options.method, pairs)
            fill_engine(running, options.method, names, pairs)
            import_corrections(running.client, options.method, many)
        with server(Path(folder), options.model, 0) as running:
            ask_cold_projects(running, maker, names, new, len(many))
    print_sizes(models, options.model, options.methods.split(","), pairs[: options.lessons])


def compare_calls(client: httpx2.Client, maker: LearnerMaker, method: str, pairs: Sequence[tuple[str, str]]) -> None:
    create(client, "calls", method)
    learner, translating, confirming = maker.make(), Times(), Times()
    for source, target in pairs:
        segment = Segment("", source, {"syntax": "plain"})
        seconds, answer = timed(partial(post, client, "/projects/calls/translate", text=source))
        translating.server.append(seconds)
        seconds, proposal = timed(partial(learner.propose, segment))
        translating.here.append(seconds)
        proposed = answer["translations"][0]["translation"]
        assert proposed == proposal.text, "the server and this process differ"
        body = {"source": source, "translation": target, "proposal": proposed}
        confirming.server.append(timed(partial(post, client, "/projects/calls/confirm", **body))[0])
        confirming.here.append(timed(partial(learn_here, learner, segment, target))[0])
    print(translating.line("translate", 0.5))
    print(translating.line("translate", 0.95))
    print(confirming.line("confirm", 0.5))
    print(confirming.line("confirm", 0.95))


def learn_here(learner: Any, segment: Segment, target: str) -> None:
    learner.propose(segment)
    learn_with_proof(learner, LoggedLesson(0, Proposal(segment, ""), PostEdit(target), ""))


def fill_engine(running: RunningServer, method: str, names: Sequence[str], pairs: Sequence[tuple[str, str]]) -> None:
    """Create projects, more than the engine keeps ready, and print how its memory grows."""
    points = sorted({max(READY + 1, len(names) * part // 4) for part in range(1, 5)})
    memory, cached = dict[int, int](), dict[int, float]()
    for number, name in enumerate(names, 1):
        create(running.client, name, method)
        for source, target in pairs[:CORRECTIONS]:
            body = {"source": source, "translation": target, "proof": False}
            post(running.client, f"/projects/{name}/confirm", **body)
        if number in points:
            time.sleep(2)  # a project that leaves is saved in the background
            memory[number], cached[number] = running.memory(), running.snapshot_bytes()
    size = statistics.median(asyncio.run(snapshot_sizes(running.settings)))
    print(f"\n{len(names)} projects with {CORRECTIONS} corrections each, {READY} learners ready")
    print(f"snapshot       {size / 1e6:7.2f} MB (median); the budget for all is {BUDGET / 1e6:.0f} MB")
    for number, found in memory.items():
        bytes_ = cached[number]
        print(f"engine         {found / 1e6:7.0f} MB with {number:3} projects, snapshots {bytes_ / 1e6:4.0f} MB")
    first, last = min(memory), max(memory)
    added = max(size, cached[last] - cached[first])
    print(f"growth         {(memory[last] - memory[first]) / added:7.2f} of what the snapshots add")


def import_corrections(client: httpx2.Client, method: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Create the large project, and wait until it has learned all corrections."""
    create(client, LARGE, method)
    rows = "\n".join(["source\ttarget", *("\t".join(pair) for pair in pairs)])
    kind = {"content-type": "text/tab-separated-values"}
    answer = client.post(f"/projects/{LARGE}/import", params={"format": "tsv"}, content=rows.encode(), headers=kind)
    assert answer.status_code < 300, answer.text
    while post(client, f"/projects/{LARGE}/translate", text="x")["rebuilding"]:
        time.sleep(0.5)
    time.sleep(IDLE_SECONDS + 2)  # then it is saved


def ask_cold_projects(
    running: RunningServer, maker: LearnerMaker, names: Sequence[str], new: Sequence[str], corrections: int
) -> None:
    """Time translations of projects that are not in the memory of an engine, and reading their snapshots."""
    few, many, last = ColdTimes(), ColdTimes(), names[-1]

    def ask(name: str, number: int) -> float:
        return timed(partial(post, running.client, f"/projects/{name}/translate", text=new[number % len(new)]))[0]

    def ask_cold(times: ColdTimes, name: str, number: int) -> None:
        times.server.append(ask(name, number))
        times.here.append(asyncio.run(read_snapshot(running.settings, name, maker)))
        times.warm.append(ask(name, number))

    ask(last, 0)  # loads the base model
    for number, name in enumerate(names[:COLD]):
        ask_cold(few, name, number)
    for number in range(LARGE_AGAIN):
        ask_cold(many, LARGE, number)
        for name in names[: READY + 1]:
            ask(name, number)  # now the large one has left
    for count, times in ((CORRECTIONS, few), (corrections, many)):
        warm = statistics.median(times.warm)
        print(times.line("cold project", 0.5), f"({count} corrections; a warm one: {warm * 1000:.1f} ms)")


def print_sizes(models: BaseModels, model: str, methods: Sequence[str], pairs: Sequence[tuple[str, str]]) -> None:
    """Print the bytes of a project by method, after a few lessons and after all of them."""
    counts = sorted({min(CORRECTIONS, len(pairs)), len(pairs)})
    titles = " ".join(f"{f'{count} lessons':>14}" for count in counts)
    print(f"\nkB of a project  {titles}")
    for method in methods:
        sizes = snapshot_bytes(models.maker(Configured(model, method)), method, pairs, counts)
        print(f"{method:<16} {' '.join(f'{size / 1e3:14.1f}' for size in sizes)}", flush=True)


def snapshot_bytes(
    maker: LearnerMaker, method: str, pairs: Sequence[tuple[str, str]], counts: Sequence[int]
) -> Iterator[int]:
    """Yield the size of a learner's snapshot after each of these numbers of lessons."""
    learner: Any = maker.make()
    for number, (source, target) in enumerate(pairs, 1):
        segment = Segment(str(number), source, {"syntax": "plain"})
        if learns_from_ratings(method):
            learner.learn(learner.propose(segment), Reward(0.5))
        else:
            learner.learn(Proposal(segment, ""), PostEdit(target))
        if number in counts:
            yield len(pack(learner))


async def snapshot_sizes(settings: Settings) -> list[int]:
    """The bytes of the newest snapshot of each of the many projects."""
    storage = Storage.connect(settings.url)
    sizes = []
    for project, _ in await storage.projects.list_for(None, limit=100_000):
        known = await storage.projects.snapshots(project.id)
        if project.name.startswith("p") and known:
            newest = max(known, key=lambda one: known[one].lessons)
            sizes.append(len(await storage.projects.read_snapshot(project.id, newest) or b""))
    await storage.close()
    return sizes or [0]


async def read_snapshot(settings: Settings, name: str, maker: LearnerMaker) -> float:
    """The seconds that a snapshot needs from the database into a new learner."""
    storage = Storage.connect(settings.url)
    project = await storage.projects.find(name)
    assert project is not None
    known = await storage.projects.snapshots(project.id)
    digest = max(known, key=lambda one: known[one].lessons)
    start = time.perf_counter()
    data = await storage.projects.read_snapshot(project.id, digest)
    assert data is not None
    unpack(data, maker.make())
    seconds = time.perf_counter() - start
    await storage.close()
    return seconds


@dataclass(frozen=True)
class RunningServer:
    """A server with one web process and one engine, a client of it, and its log."""

    settings: Settings
    client: httpx2.Client
    log: Path

    def memory(self) -> int:
        """The bytes that the engine has in memory. Its id is in the log."""
        started = [json.loads(line) for line in self.log.read_text().splitlines() if "engine started" in line]
        status = Path(f"/proc/{started[-1]['pid']}/status").read_text()
        kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
        return int(kilobytes) * 1024

    def snapshot_bytes(self) -> float:
        """The bytes of the snapshots in the cache of the engine."""
        lines = self.client.get(self.client.base_url.join("/metrics")).text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("mtloop_engine_snapshot_bytes"))


@contextmanager
def server(folder: Path, model: str, cache_bytes: int) -> Iterator[RunningServer]:
    """A server on the database of this folder. Its engine keeps snapshots in a cache of so many bytes."""
    with listen("127.0.0.1", 0) as probe:
        port = int(probe.getsockname()[1])
    limits = {"rate": 0, "quota": 0, "max_projects": 0, "engine_linger": 1}
    engine = {"engine_learners": READY, "engine_cache_bytes": cache_bytes}
    settings = Settings(folder=folder / "data", models=model, port=port, **limits, **engine)
    key = Administration(settings).add_participant(f"ann{cache_bytes}", organiser=True)
    log = folder / f"log{cache_bytes}"
    environment = os.environ | settings.environment()
    with log.open("ab") as file:
        process = subprocess.Popen([sys.executable, "-m", "mtloop", "serve"], env=environment, stdout=file, stderr=file)
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}/v1", headers={"x-api-key": key}, timeout=600) as client:
            wait_for(client)
            yield RunningServer(settings, client, log)
    finally:
        process.terminate()
        process.wait(60)
        wait_for_engine(log)


def wait_for_engine(log: Path) -> None:
    """The engine ends by itself, saves its projects and closes the database."""
    for _ in range(600):
        if "engine stopped" in log.read_text():
            return
        time.sleep(0.1)
    raise SystemExit("the engine did not stop")


def wait_for(client: httpx2.Client) -> None:
    for _ in range(600):
        try:
            client.get("/projects")
        except httpx2.TransportError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the server did not start")


def create(client: httpx2.Client, name: str, method: str) -> None:
    body = {"name": name, "method": method, "source_language": "en", "target_language": "de"}
    post(client, "/projects", **body)


def post(client: httpx2.Client, path: str, **body: Any) -> Any:
    response = client.post(path, json=body)
    if response.status_code >= 300:
        raise SystemExit(f"{path}: {response.status_code} {response.text}")
    return response.json()


def timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEMO)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--method", default=DEFAULT_METHOD)
    parser.add_argument("--calls", type=int, help="segments to translate and confirm (default: 500)")
    parser.add_argument("--projects", type=int, help="number of projects (default: 200)")
    parser.add_argument("--corrections", type=int, help="corrections of the large project (default: 1,000)")
    parser.add_argument("--methods", default=METHODS, help="methods whose snapshots are measured, comma-separated")
    parser.add_argument("--lessons", type=int, help="lessons of these snapshots (default: 50)")
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    options = parser.parse_args(argv)
    calls, projects, lessons, corrections = (4, READY + 3, 2, 8) if options.small else (500, 200, 50, 1000)
    options.corrections = corrections if options.corrections is None else options.corrections
    options.calls = calls if options.calls is None else options.calls
    options.projects = projects if options.projects is None else options.projects
    options.lessons = lessons if options.lessons is None else options.lessons
    return options


if __name__ == "__main__":
    main()
