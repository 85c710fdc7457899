"""Problems on the pages: HTML for people in a browser, JSON for programs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from helpers.shared_task import TaskServer
from sqlalchemy.exc import OperationalError

from mtloop.service import problems
from mtloop.service.accounts.keys import hash_key
from mtloop.service.audit.models import Actor
from mtloop.service.http import prefers_html
from mtloop.service.pages.page_texts import messages
from mtloop.service.pages.service_pages import problem_texts
from mtloop.service.problems import NO_MORE_PASSES
from mtloop.service.project_log.event_log import Configured
from mtloop.service.project_log.models import Role
from mtloop.service.storage import Storage
from mtloop.service.tasks.store import TaskStore

GERMAN = {"accept-language": "de-AT,de;q=0.9,en;q=0.5"}
BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def test_an_expired_key_is_called_expired_at_sign_in(lite: TaskServer) -> None:
    lite.with_storage(lambda storage: storage.accounts.add_participant("me", hash_key("mtl_old"), expires=1.0))
    with lite.serve() as client:
        expired = client.post("/login", data={"key": "mtl_old"})
        unknown = client.post("/login", data={"key": "mtl_wrong"})
        assert "alert" not in client.get("/login").text
    assert (expired.status_code, unknown.status_code) == (401, 401)
    assert "This key has expired. Ask the organiser to renew it" in expired.text
    assert "not known" not in expired.text
    assert "This key is not known" in unknown.text


def test_signing_in_speaks_german(lite: TaskServer) -> None:
    """By the language of the browser, by the link on the page, and afterwards by its cookie."""
    lite.with_storage(lambda storage: storage.accounts.add_participant("me", hash_key("mtl_old"), expires=1.0))
    with lite.serve() as client:
        page = client.get("/login", headers=GERMAN)
        assert '<html lang="de">' in page.text
        assert "Mit dem API-Schlüssel, den Sie von der Leitung bekommen haben." in page.text
        assert english_words(page.text) == set()
        assert '<html lang="en">' in client.get("/login?lang=en", headers=GERMAN).text
        assert '<html lang="en">' in client.get("/login", headers=GERMAN).text, "the choice is remembered"
        client.get("/login?lang=de")
        for key, words in (
            ("mtl_old", "Dieser Schlüssel ist abgelaufen."),
            ("mtl_no", "Diesen Schlüssel gibt es nicht."),
        ):
            refused = client.post("/login", data={"key": key})
            assert refused.status_code == 401
            assert words in refused.text


def test_the_start_page_speaks_german(lite: TaskServer) -> None:
    with lite.serve() as client:
        empty = client.get("/", headers=GERMAN).text
        lite.task("tiny", "training")
        listed = client.get("/", headers=GERMAN).text
    for page, words in ((empty, "Es gibt noch keine Aufgaben."), (listed, "Ergebnisse verborgen")):
        assert '<html lang="de">' in page
        assert words in page
        assert english_words(page.replace("mtloop task create", "")) == set()


def test_who_has_a_project_finds_it_after_signing_in(lite: TaskServer) -> None:
    key, organiser = lite.participant("me"), lite.participant("committee", True)
    with lite.serve() as client:
        assert sign_in(client, key) == "/runs"
        assert sign_in(client, organiser) == "/organiser"
        lite.with_storage(create_project)
        assert sign_in(client, key) == "/projects"


async def create_project(storage: Storage) -> None:
    project = await storage.projects.create("manual", ("en", "de"), Configured("none", "memory"))
    await storage.projects.set_member(project, "me", Role.TRANSLATE, Actor("test", "cli"))


def sign_in(client: Any, key: str) -> str:
    """Where the service sends somebody who signs in."""
    return str(client.post("/login", data={"key": key}, follow_redirects=False).headers["location"])


def english_words(html: str) -> set[str]:
    """English words among the texts of a page, without the links to other languages."""
    texts = re.sub(r"<[^>]*>", " ", re.sub(r'<a href="[^"]*" lang="en".*?</a>', "", html[html.index("<body") :]))
    return set(re.findall(r"\b(?:the|you|not|sign|tasks|this|page|there|key|all|is|skip)\b", texts.lower()))


def test_problems_speak_german(lite: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise OperationalError("SELECT secret", {}, OSError("gone"))

    with lite.serve() as client:
        for path, words in (("/nowhere", "Diese Seite gibt es nicht"), ("/tasks/none", "Diese Seite gibt es nicht")):
            page = client.get(path, headers=BROWSER | GERMAN)
            assert is_page(page, 404)
            assert words in page.text
            assert english_words(page.text) == set()
        wrong = client.request("PUT", "/login", headers=BROWSER | GERMAN)
        assert is_page(wrong, 405)
        assert "nimmt diese Adresse nicht an" in wrong.text
    few = TaskServer(lite.settings.model_copy(update={"failures": 1}), lite.folder)
    with few.serve() as client:
        client.get("/nowhere")
        refused = client.get("/runs", headers=BROWSER | GERMAN)
        assert is_page(refused, 429)
        assert "Ihr Kontingent ist aufgebraucht." in refused.text
        assert english_words(refused.text) == set()
    with lite.serve() as client:
        monkeypatch.setattr(TaskStore, "task_list", fail)
        outage = client.get("/", headers=BROWSER | GERMAN)
        assert is_page(outage, 503)
        assert "Die Datenbank antwortet nicht." in outage.text
        assert outage.headers["retry-after"] == "1"
        assert client.get("/", headers=GERMAN).json()["title"] == "Database unavailable", "programs get English"


def test_a_problem_without_a_german_text_says_so() -> None:
    found = problem_texts(NO_MORE_PASSES, "de")
    assert found == {
        "title": "Das ging nicht",
        "lead": "Der Dienst meldet auf Englisch:",
        "detail": NO_MORE_PASSES.detail,
    }


def test_german_texts_are_of_known_problems() -> None:
    """A renamed problem would lose its German text unseen."""
    known = {one.name for one in vars(problems).values() if isinstance(one, problems.Problem)}
    known |= {problems.too_many(1).name, problems.invalid_request("").name, "other", "401", "403", "404", "405"}
    keys = [key.partition("_")[2].removesuffix("_one") for key in messages("problems", "de").texts]
    assert set(keys) <= known


def is_page(response: Any, status: int) -> bool:
    html = response.headers["content-type"] == "text/html; charset=utf-8" and "</html>" in response.text
    return html and "style-src" in response.headers["content-security-policy"] and response.status_code == status


def test_too_many_requests_is_a_page_in_a_browser(lite: TaskServer) -> None:
    lite = TaskServer(lite.settings.model_copy(update={"failures": 1}), lite.folder)
    with lite.serve() as client:
        assert is_page(client.get("/nowhere", headers=BROWSER), 404)
        refused = client.get("/runs", headers=BROWSER)
        assert is_page(refused, 429)
        assert "Your allowance is used up." in refused.text
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        for path, headers in (("/runs", {}), ("/v1/tasks", BROWSER)):
            response = client.get(path, headers=headers)
            assert (response.status_code, response.json()["status"]) == (429, 429)


def test_an_outage_is_a_page_in_a_browser(lite: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise OperationalError("SELECT secret", {}, OSError("gone"))

    with lite.serve() as client:
        monkeypatch.setattr(TaskStore, "task_list", fail)
        response = client.get("/", headers=BROWSER)
        assert is_page(response, 503)
        assert "The database does not answer." in response.text
        assert (response.headers["retry-after"], "secret" in response.text) == ("1", False)
        assert client.get("/").json()["type"] == "urn:mtloop:database-unavailable"


def test_an_unexpected_error_and_a_wrong_method_are_pages(lite: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise ZeroDivisionError("secret")

    with lite.serve() as client:
        wrong = client.request("PUT", "/login", headers=BROWSER)
        assert (is_page(wrong, 405), wrong.headers["allow"]) == (True, "GET, POST")
        monkeypatch.setattr(TaskStore, "task_list", fail)
        response = client.get("/", headers=BROWSER)
        assert is_page(response, 500)
        assert "secret" not in response.text


@pytest.mark.parametrize(
    "accept", ["text/html;q=0", "text/html;q=nan", "*/*", "text/html, application/problem+json", ";,"]
)
def test_others_get_json(lite: TaskServer, accept: str) -> None:
    assert not prefers_html(accept)
    with lite.serve() as client:
        assert client.get("/nowhere", headers={"accept": accept}).json()["status"] == 404


def test_the_page_of_runs_speaks_german(lite: TaskServer) -> None:
    lite.with_storage(lambda storage: storage.accounts.add_participant("me", hash_key("mtl_mine")))
    with lite.serve() as client:
        client.post("/login", data={"key": "mtl_mine"})
        page = client.get("/runs?lang=de")
        assert "Sie haben noch keine Läufe." in page.text
        assert english_words(page.text.replace("mtloop join", "").replace("POST /v1/tasks/TASK/runs", "")) == set()
        assert "You have no runs yet." in client.get("/runs?lang=en").text


@pytest.mark.parametrize(
    ("seconds", "english", "german"),
    [
        (5, "just now", "gerade eben"),
        (60, "1 minute ago", "vor 1 Minute"),
        (7200, "2 hours ago", "vor 2 Stunden"),
        (300_000, "3 days ago", "vor 3 Tagen"),
    ],
)
def test_times_speak_german(seconds: int, english: str, german: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_000_000.0)
    assert messages("service", "en").since(1_000_000.0 - seconds) == english
    assert messages("service", "de").since(1_000_000.0 - seconds) == german
