"""A server with projects in processes of its own, whose web and engine processes a test may kill."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import sqlalchemy as sa

from mtloop.core.loop import run
from mtloop.core.protocols import Learner
from mtloop.core.record import newest_snapshot
from mtloop.core.serialisation import decode
from mtloop.core.types import PostEdit, Proposal, Segment, Truth
from mtloop.experiments.run import run as run_experiment
from mtloop.service import Settings
from mtloop.service.engines.base_models import BaseModels
from mtloop.service.engines.hosted_project import set_terms
from mtloop.service.project_log.event_log import EventLog
from mtloop.service.project_log.tables import project_proposals
from mtloop.service.projects.confirmation_rules import REASONS, TOO_MANY
from mtloop.service.storage import Storage
from mtloop.translation.translator import UsesTerms

METHODS: list[tuple[str, dict[str, float]]] = [
    ("lora+memory+copy", {}),
    ("lora+memory+copy", {"learning_rate": 0.01}),
    ("memory", {}),
    ("lora", {"max_updates": 1}),
]


@dataclass
class ProjectServer:
    """`mtloop serve` on a free port."""

    settings: Settings
    log: Path
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.settings.port}"

    def web_processes(self) -> list[int]:
        """The workers: children of the server that have the socket (not the resource tracker)."""
        own = self.process.pid
        children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
        return [int(one) for one in children if "spawn_main" in _command(int(one))]

    def engine_processes(self) -> list[int]:
        """The engines that are alive. They log their id when they start."""
        started = [entry for entry in self.log_entries() if entry.get("event") == "engine started"]
        return [entry["pid"] for entry in started if "engine_server" in _command(entry["pid"])]

    def log_entries(self) -> list[dict[str, Any]]:
        entries = []
        for line in self.log.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                entries.append(json.loads(line))
        return entries

    def kill_one(self, kind: str, chance: random.Random) -> None:
        """Kill an engine or a web process, as soon as there is one."""
        find = {"engine": self.engine_processes, "web": self.web_processes}[kind]
        wait_until(find)
        with suppress(ProcessLookupError, IndexError):  # it ended meanwhile
            os.kill(chance.choice(find()), signal.SIGKILL)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


@contextmanager
def project_server(settings: Settings, log: Path) -> Iterator[ProjectServer]:
    """Run a server with these settings."""
    environment = os.environ | settings.environment() | {"OMP_NUM_THREADS": "1"}
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "mtloop", "serve"], stderr=errors, stdout=subprocess.DEVNULL, env=environment
        )
    server = ProjectServer(settings, log, process)
    try:
        wait_until(lambda: _is_ready(server.url), 60)
        yield server
    finally:
        process.terminate()
        process.wait(60)
        wait_until(lambda: not server.engine_processes(), settings.engine_linger + 30)


def _is_ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/readyz", timeout=5).status_code == 200
    except httpx2.TransportError:
        return False


def wait_until(done: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"nothing happened within {seconds} seconds"
        time.sleep(0.05)


@dataclass
class Sent:
    """A confirmation that was acknowledged, and what was decided about it later."""

    project: str
    number: int
    source: str
    target: str
    external_id: str
    waits: bool
    refused: bool  # it was one of too many in a second
    accepted: bool = False
    undone: bool = False

    @property
    def may_count(self) -> bool:
        return not self.undone and not self.refused and (self.accepted or not self.waits)


@dataclass
class Translator:
    """Works on projects until it is told to stop, and repeats every call until it is answered.

    Its confirmations are those of its own document. So it knows which of them count, whatever others do.
    """

    url: str
    key: str
    projects: Sequence[str]
    reviewed: str  # a project whose confirmations wait for a review
    rated: str  # a project that learns from ratings
    pairs: Sequence[tuple[str, str]]
    imports: Sequence[tuple[str, str]]  # pairs that it does not confirm
    seed: int
    confirmed: dict[tuple[str, int], Sent] = field(default_factory=dict)
    imported: set[tuple[str, str, str]] = field(default_factory=set)  # project, source, translation
    ratings: dict[int, float] = field(default_factory=dict)  # those that were not taken back
    glossaries: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def document(self) -> str:
        return f"document {self.seed}"

    def counting(self, project: str) -> Counter[tuple[str, str]]:
        """The texts of its corrections that count in a project. One external id counts once."""
        mine = [one for (name, _), one in sorted(self.confirmed.items()) if name == project and one.may_count]
        named = {one.external_id: one for one in mine if one.external_id}
        counting = [*named.values(), *(one for one in mine if not one.external_id)]
        found = Counter((one.source, one.target) for one in counting)
        return found + Counter((source, target) for name, source, target in self.imported if name == project)

    def work(self) -> None:
        chance = random.Random(self.seed)
        actions = {
            self._translate: 30,
            self._confirm: 40,
            self._undo: 8,
            self._redo: 6,
            self._review: 8,
            self._rate: 5,
            self._undo_rating: 2,
            self._import: 2,
            self._set_glossary: 1,
            self._set_method: 1,
        }
        with httpx2.Client(base_url=f"{self.url}/v1", headers={"x-api-key": self.key}, timeout=60) as client:
            for action in actions:  # each at least once
                self._act(action, client, chance)
            while not self.done.is_set():
                self._act(chance.choices(list(actions), list(actions.values()))[0], client, chance)

    def _act(
        self, action: Callable[[httpx2.Client, random.Random], None], client: httpx2.Client, chance: random.Random
    ) -> None:
        action(client, chance)
        self.calls[action.__name__] += 1

    def _translate(self, client: httpx2.Client, chance: random.Random) -> None:
        post(client, f"/projects/{chance.choice(self.projects)}/translate", text=chance.choice(self.pairs)[0])

    def _confirm(self, client: httpx2.Client, chance: random.Random) -> None:
        project, (source, target) = chance.choice([*self.projects, self.reviewed]), chance.choice(self.pairs)
        body = {"source": source, "translation": f"{target} {self.seed}" if chance.random() < 0.3 else target}
        body |= {"external_id": f"{self.seed} {source[:100]}"} if chance.random() < 0.3 else {}
        body |= {"document": self.document, "wait": chance.choice(["learned", "learned", "durable"])}
        answer = post(client, f"/projects/{project}/confirm", **body)
        texts = source, body["translation"], body.get("external_id", "")
        refused = answer["refused"] == REASONS[TOO_MANY]
        sent = Sent(project, answer["number"], *texts, project == self.reviewed, refused)
        known = self.confirmed.setdefault((project, sent.number), sent)
        assert (known.source, known.target, known.external_id) == texts, "an answer about another confirmation"

    def _undo(self, client: httpx2.Client, chance: random.Random) -> None:
        if one := self._chosen(chance):
            post(client, f"/projects/{one.project}/corrections/{one.number}/undo")
            one.undone = True

    def _redo(self, client: httpx2.Client, chance: random.Random) -> None:
        if (one := self._chosen(chance, undone=True)) and self._decide(client, one, "redo"):
            one.undone = False

    def _review(self, client: httpx2.Client, chance: random.Random) -> None:
        accepted = chance.random() < 0.7
        if (one := self._chosen(chance, waits=True)) and self._decide(client, one, "review", accepted=accepted):
            one.accepted = accepted

    def _decide(self, client: httpx2.Client, one: Sent, what: str, **body: Any) -> bool:
        """Let a correction count again. False: an equal one counts already."""
        answer = send(client, "POST", f"/projects/{one.project}/corrections/{one.number}/{what}", (409,), json=body)
        if answer.status_code == 409:
            assert (one.source, one.target) in self.counting(one.project), "refused without a reason"
        return answer.status_code == 200

    def _chosen(self, chance: random.Random, **fields: bool) -> Sent | None:
        found = [one for one in self.confirmed.values() if all(getattr(one, key) == fields[key] for key in fields)]
        return chance.choice(found) if found else None

    def _rate(self, client: httpx2.Client, chance: random.Random) -> None:
        found = post(client, f"/projects/{self.rated}/translate", text=chance.choice(self.pairs)[0])
        value = chance.choice([0.0, 0.5, 1.0])
        proposal = found["translations"][0]["proposal"]
        self.ratings[post(client, f"/projects/{self.rated}/rate", proposal=proposal, value=value)["number"]] = value

    def _undo_rating(self, client: httpx2.Client, chance: random.Random) -> None:
        if self.ratings:
            number = chance.choice(list(self.ratings))
            post(client, f"/projects/{self.rated}/corrections/{number}/undo")
            del self.ratings[number]

    def _import(self, client: httpx2.Client, chance: random.Random) -> None:
        project, pairs = chance.choice(self.projects), chance.sample(list(self.imports), 3)
        rows = [("source", "target", "document"), *((*pair, self.document) for pair in pairs)]
        content = "".join("\t".join(row) + "\n" for row in rows).encode()
        headers = {"content-type": "text/tab-separated-values"}
        path = f"/projects/{project}/import?format=tsv"
        assert send(client, "POST", path, content=content, headers=headers).status_code == 202
        self.imported |= {(project, *pair) for pair in pairs}

    def _set_glossary(self, client: httpx2.Client, chance: random.Random) -> None:
        project, terms = chance.choice(self.projects), {"file": f"Akte {chance.randint(0, 99)}"}
        assert send(client, "PATCH", f"/projects/{project}", json={"glossary": terms}).status_code == 200
        self.glossaries.append((project, terms))

    def _set_method(self, client: httpx2.Client, chance: random.Random) -> None:
        project, (method, settings) = chance.choice(self.projects), chance.choice(METHODS)
        body = {"method": method, "settings": settings}
        assert send(client, "PATCH", f"/projects/{project}", json=body).status_code == 200


def post(client: httpx2.Client, path: str, **body: Any) -> dict[str, Any]:
    """The answer to a call, which is repeated while the server is unavailable."""
    return dict(send(client, "POST", path, json=body).json())


def send(client: httpx2.Client, method: str, path: str, allowed: Sequence[int] = (), **content: Any) -> httpx2.Response:
    """A response that is a success or has an allowed status. The call is repeated while the server is unavailable."""
    for _ in range(1200):
        try:
            response = client.request(method, path, **content)
        except httpx2.TransportError:
            time.sleep(0.05)
            continue
        if response.status_code < 300 or response.status_code in allowed:
            return response
        assert response.status_code == 503, response.text
        time.sleep(0.05)
    raise AssertionError("the service did not come back")


def logs_of(settings: Settings) -> dict[str, EventLog]:
    """The log of every project in a database."""

    async def read() -> dict[str, EventLog]:
        storage = Storage.connect(settings.url)
        found = {}
        for project, _ in await storage.projects.list_for(None, limit=1000):
            log = found[project.name] = EventLog()
            while events := await storage.projects.events_after(project.id, log.number):
                for number, event in events:
                    log.append(number, event)
        await storage.close()
        return found

    return asyncio.run(read())


def learner_of(log: EventLog, models: BaseModels, rejected: dict[int, str] | None = None) -> Learner:
    """A learner in this process that ran over the corrections of a log, as `mtloop run` does; with its glossary.

    The reasons for which it rejected corrections are put into `rejected`, by number.
    """
    assert log.configured is not None
    maker = models.maker(log.configured)
    learner = maker.make()
    lessons = [lesson for lesson in log.lessons if isinstance(lesson.feedback, PostEdit)]
    stream = [
        (lesson.proposal.segment, Truth((lesson.feedback.text,)))
        for lesson in lessons
        if isinstance(lesson.feedback, PostEdit)
    ]

    def judge(proposal: Proposal, truth: Truth | None) -> PostEdit:
        assert truth is not None
        return PostEdit(truth.references[0])

    for lesson, step in zip(lessons, run(stream, learner, judge), strict=True):
        if rejected is not None and step.learned is not None and step.learned.rejected is not None:
            rejected[lesson.number] = step.learned.rejected
    if log.glossary:
        assert isinstance(learner, UsesTerms)
        set_terms(learner, log.glossary, maker)
    return learner


def results_of(settings: Settings, project: str, log: EventLog) -> dict[int, str | None]:
    """What the database says about the lessons of a log: why each was rejected, if it was. Some may be missing."""

    async def read() -> dict[int, str | None]:
        storage = Storage.connect(settings.url)
        found = await storage.projects.find(project)
        assert found is not None
        numbers = [lesson.number for lesson in log.lessons]
        results = {number: await storage.projects.learned(found.id, number) for number in numbers}
        await storage.close()
        return {number: result["rejected"] for number, result in results.items() if result is not None}

    return asyncio.run(read())


def delta_at_home(tsv: bytes, log: EventLog, folder: Path) -> bytes:
    """The delta that `mtloop run` makes of exported corrections, with the method and settings of a log."""
    assert log.configured is not None
    data, trace = folder / "corrections.tsv", folder / "run.jsonl"
    data.write_bytes(tsv)
    method, settings = log.configured.method, dict(log.configured.settings)
    run_experiment(data, method, settings=settings, model=log.configured.model, out=trace)
    newest = newest_snapshot(trace.with_name("run.state"))
    assert newest is not None
    return (newest / "delta.safetensors").read_bytes()


def rating_learner_of(log: EventLog, models: BaseModels) -> Learner:
    """A learner in this process that learned every rating of a log."""
    assert log.configured is not None
    learner = models.maker(log.configured).make()
    for lesson in log.lessons:
        assert learner.learn(lesson.proposal, lesson.feedback).rejected is None
    return learner


def open_proposals(settings: Settings) -> dict[str, Proposal]:
    """The proposals of all projects that can be rated, by name."""

    async def read() -> dict[str, Proposal]:
        storage = Storage.connect(settings.url)
        async with storage.database.writing() as connection:
            rows = await connection.execute(sa.select(project_proposals.c.token, project_proposals.c.body))
            found = {row.token: decode(Proposal, row.body) for row in rows}
        await storage.close()
        return found

    return asyncio.run(read())


def texts_at_home(learner: Learner, sources: Sequence[str]) -> list[str]:
    return [learner.propose(Segment("", source, {"syntax": "plain"})).text for source in sources]
