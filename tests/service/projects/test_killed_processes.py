"""Engines and web processes are killed at random moments: nothing acknowledged is lost, and every state is exact."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from pathlib import Path

import httpx2
import pytest
from helpers.free_ports import free_port
from helpers.learner_files import content_of
from helpers.project_server import (
    ProjectServer,
    Translator,
    delta_at_home,
    learner_of,
    logs_of,
    open_proposals,
    post,
    project_server,
    rating_learner_of,
    results_of,
    send,
    texts_at_home,
    wait_until,
)
from helpers.shared_task import TaskServer
from helpers.tiny_marian import demo_pairs

from mtloop.core.protocols import Learner
from mtloop.core.types import Reward
from mtloop.service import Settings
from mtloop.service.engines.base_models import BaseModels
from mtloop.service.project_log.event_log import Confirmed, EventLog

# The last of them is rejected by a method without a memory: the translation lacks the placeholder.
PAIRS = [*list(demo_pairs())[:30], ("Save {name} as a new copy.", "Als neue Kopie speichern.")]
IMPORTS = list(demo_pairs())[30:60]
REVIEWED, RATED = "reviewed", "rated"


def chaos(
    settings: Settings, folder: Path, model: str, projects: int, translators: int, seconds: float, kills: int
) -> None:
    """Let people work while processes are killed; then compare every project with a learner in this process."""
    server_settings = settings.model_copy(
        update={"models": model, "workers": 2, "port": free_port(), "engine_linger": 1.0, "engines": 2}
    )
    key = TaskServer(server_settings, folder).participant("ann")
    names = [f"p{number}" for number in range(projects)]
    with project_server(server_settings, folder / "log.jsonl") as server:
        with httpx2.Client(base_url=f"{server.url}/v1", headers={"x-api-key": key}, timeout=60) as client:
            for name in names:
                post(client, "/projects", name=name)
            post(client, "/projects", name=REVIEWED, review=True)
            post(client, "/projects", name=RATED, method="nmt-el")
        people = [
            Translator(server.url, key, names, REVIEWED, RATED, PAIRS, IMPORTS, seed) for seed in range(translators)
        ]
        work_and_kill(server, people, seconds, kills)
        check(server, key, names, people, folder)
        logged = server.log.read_text(encoding="utf-8")
    assert not any(text in logged for pair in PAIRS + IMPORTS for text in pair), "a log never holds a text"


def work_and_kill(server: ProjectServer, people: list[Translator], seconds: float, kills: int) -> None:
    """Kill engines and web processes in any order, after waits of any length: up to twice the mean."""
    threads = [threading.Thread(target=one.work) for one in people]
    chance = random.Random(0)
    kinds = chance.sample(["engine", "web"] * kills, kills)
    for thread in threads:
        thread.start()
    for kind in kinds:
        time.sleep(chance.uniform(0, 2 * seconds / kills))
        server.kill_one(kind, chance)
    for one in people:
        one.done.set()
    for thread in threads:
        thread.join()


def check(server: ProjectServer, key: str, names: list[str], people: list[Translator], folder: Path) -> None:
    logs, models = logs_of(server.settings), BaseModels()
    check_logs(logs, people)
    sources = [source for source, _ in PAIRS[:6]] + ["Something else.", "Save the file."]
    with httpx2.Client(base_url=f"{server.url}/v1", headers={"x-api-key": key}, timeout=60) as client:
        for name in (*names, REVIEWED):
            rejected = dict[int, str]()
            at_home = texts_at_home(learner_of(logs[name], models, rejected), sources)
            wait_until(lambda name=name: not post(client, f"/projects/{name}/translate", text="A")["rebuilding"], 120)
            served = [post(client, f"/projects/{name}/translate", text=source) for source in sources]
            assert [one["translations"][0]["translation"] for one in served] == at_home
            check_results(server.settings, name, logs[name], rejected)
            check_delta(client, name, logs[name], folder)
        check_rated(server.settings, client, rating_learner_of(logs[RATED], models), sources)


def check_results(settings: Settings, name: str, log: EventLog, rejected: dict[int, str]) -> None:
    """Each lesson has the result that it has at home, as soon as the engine has saved the project."""
    expected = {lesson.number: rejected.get(lesson.number) for lesson in log.lessons}
    wait_until(lambda: results_of(settings, name, log) == expected, 60)


def check_delta(client: httpx2.Client, name: str, log: EventLog, folder: Path) -> None:
    """What the project learned is what `mtloop run` learns from its exported corrections, to the last bit."""
    if not log.lessons:
        return
    tsv = send(client, "GET", f"/projects/{name}/export?format=tsv").content
    own = folder / name
    own.mkdir()
    served = send(client, "GET", f"/projects/{name}/delta").content
    assert content_of(served) == content_of(delta_at_home(tsv, log, own))


def check_rated(settings: Settings, client: httpx2.Client, at_home: Learner, sources: list[str]) -> None:
    """The project that is rated draws what a learner in this process draws: the same tokens, as likely as there."""
    wait_until(lambda: not post(client, f"/projects/{RATED}/translate", text="A")["rebuilding"], 120)
    served = [post(client, f"/projects/{RATED}/translate", text=source)["translations"][0] for source in sources]
    drawn = open_proposals(settings)
    for one in served:
        proposal = drawn[one["proposal"]]
        assert at_home.propose(proposal.segment) == proposal
        assert proposal.text == one["translation"]


def check_logs(logs: dict[str, EventLog], people: list[Translator]) -> None:
    """The lessons are those that people sent and did not take back: none is lost, and none is there twice."""
    for one in people:
        for (project, number), sent in one.confirmed.items():
            event = logs[project].event(number)
            assert isinstance(event, Confirmed), "acknowledged and lost"
            assert (event.source, event.translation) == (sent.source, sent.target)
        for project, log in logs.items():
            events = [log.event(lesson.number) for lesson in log.lessons]
            live = [event for event in events if isinstance(event, Confirmed) and event.document == one.document]
            assert Counter((event.source, event.translation) for event in live) == one.counting(project)
    ratings = {number: value for one in people for number, value in one.ratings.items()}
    rated = {lesson.number: lesson.feedback for lesson in logs[RATED].lessons}
    assert rated == {number: Reward(value) for number, value in ratings.items()}
    for project, log in logs.items():
        sent_terms = [terms for one in people for name, terms in one.glossaries if name == project]
        assert log.glossary in (sent_terms or [{}])


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["sqlite", "postgresql"], indirect=True)
def test_a_few_kills(settings: Settings, tmp_path: Path, tiny_model: str) -> None:
    chaos(settings, tmp_path, tiny_model, projects=2, translators=2, seconds=3, kills=2)


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["sqlite", "postgresql"], indirect=True)
def test_a_minute_of_kills_with_fifty_projects(settings: Settings, tmp_path: Path, tiny_model: str) -> None:
    chaos(settings, tmp_path, tiny_model, projects=50, translators=6, seconds=60, kills=20)
