"""No response, page or log line contains a reference, a key or a text of another participant."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import pytest
from helpers.shared_task import SOURCES, TRANSLATIONS, TaskServer, pending, start, submit, translate_all
from starlette.testclient import TestClient

from mtloop.service.middleware import HEADERS
from mtloop.service.telemetry import LOGGED, JsonFormatter

SECRET = [f"Geheimnis{n}wort öffnet die Lade nicht" for n in range(1, 21)]
OTHER_TEXT = "Fremdtext der anderen"
WORDS = re.compile(r"Geheimnis\d+wort|öffnet die Lade nicht", re.IGNORECASE)
LINK = re.compile(r'(?:href|action|src|data-live)="(/[^"]*)"')


class Crawler:
    """Follows every link of the pages, and sends a request to every route of the OpenAPI description."""

    def __init__(self, client: TestClient) -> None:
        self._client, self.seen, self.texts = client, set[str](), list[str]()

    def crawl(self, path: str) -> None:
        if path in self.seen:
            return
        self.seen.add(path)
        response = self.request("GET", path)
        if response.headers["content-type"].startswith("text/html"):
            for link in LINK.findall(response.text):
                self.crawl(link)

    def request(self, method: str, path: str, **body: Any) -> Any:
        response = self._client.request(method, path, **body)
        self.texts.append(f"{path} {response.text} {response.headers}")
        return response

    def request_all_routes(self, names: dict[str, str], bodies: list[Any]) -> None:
        description = self.request("GET", "/openapi.json").json()
        for path, methods in description["paths"].items():
            for name, value in names.items():
                path = path.replace(f"{{{name}}}", value)
            for method in methods:
                for body in bodies:
                    self.request(method.upper(), path, json=body)


@pytest.fixture
def logged() -> Any:
    """The formatted log lines."""
    lines: list[str] = []

    class ListHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(JsonFormatter().format(record))

    handler, loggers = ListHandler(), [logging.getLogger(name) for name in LOGGED]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    yield lines
    for logger in loggers:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)


def test_no_response_or_log_line_contains_a_reference(task_server: TaskServer, logged: list[str]) -> None:
    (task_server.folder / "secret").mkdir()
    (task_server.folder / "secret" / "en.txt").write_text("\n".join(SOURCES) + "\n")
    (task_server.folder / "secret" / "de.txt").write_text("\n".join(SECRET) + "\n", encoding="utf-8")
    files = {"source": task_server.folder / "secret" / "en.txt", "reference": task_server.folder / "secret" / "de.txt"}
    for name, kind in (("tiny", "mock"), ("dev", "dev"), ("train", "training")):
        task_server.task(name, kind, **files, held_out=3, blocks=2, oracle=files["reference"])
    mine, theirs = task_server.participant("me"), task_server.participant("them")
    task_server.settings = task_server.settings.model_copy(update={"rate": 0})  # most requests are refused
    with task_server.serve(theirs) as client:
        other = start(client, "dev", name="theirs")
        submit(client, other, pending(client, other)["id"], OTHER_TEXT)
        client.headers["x-api-key"] = mine
        crawler = Crawler(client)
        runs = {name: start(client, name) for name in ("tiny", "dev", "train")}
        for name, run in runs.items():
            translate_all(client, run, lambda source: source[:9])
            sentence = {"id": "AAAA", "translation": TRANSLATIONS[0]}
            crawler.request_all_routes(
                {"task": name, "run": run}, [{}, sentence, {"results_open": True}, {"name": 3}, [], "x"]
            )
            crawler.request_all_routes({"task": name, "run": other}, [sentence])
        client.post("/login", data={"key": mine})
        for path in (
            "/",
            "/login",
            f"/runs/{other}",
            "/organiser",
            "/organiser/activity",
            "/metrics",
            "/readyz",
            "/docs",
        ):
            crawler.crawl(path)
    assert {f"/runs/{run}" for run in runs.values()} < crawler.seen
    assert "/tasks/train/board" in crawler.seen
    for text in crawler.texts + logged:
        assert not WORDS.search(text), text[:200]
        assert OTHER_TEXT not in text
        assert theirs not in text
    for line in logged:
        assert mine not in line
        assert not any(source in line for source in SOURCES)
        assert isinstance(json.loads(line), dict)
    assert sum('"event": "request"' in line for line in logged) > 100


def test_the_log_of_an_error_contains_no_texts(lite: TaskServer, logged: list[str], monkeypatch: Any) -> None:
    lite.task()
    with lite.serve(lite.participant()) as client:
        run = start(client)
        first = pending(client, run)

        async def broken(*_: object) -> None:
            raise RuntimeError(f"{SECRET[0]} {TRANSLATIONS[0]}")

        monkeypatch.setattr("mtloop.service.tasks.store.RewardTransaction.insert_submissions", broken)
        response = submit(client, run, first["id"], TRANSLATIONS[0])
    assert response.status_code == 500
    assert response.json()["type"] == "urn:mtloop:internal-error"
    assert any('"error": "RuntimeError"' in line for line in logged)
    assert not any(SECRET[0] in line or TRANSLATIONS[0] in line for line in [*logged, response.text])


def test_every_response_has_security_headers(lite: TaskServer) -> None:
    lite.task()
    with lite.serve() as client:
        for path in ("/", "/login", "/v1/tasks", "/openapi.json", "/healthz", "/metrics", "/nowhere", "/tasks/tiny"):
            headers = client.get(path).headers
            for name in HEADERS:
                assert name in headers, (path, name)
            assert "unsafe-inline" not in headers["content-security-policy"]
            assert "unsafe-eval" not in headers["content-security-policy"]
            assert "blob:" not in headers["content-security-policy"]
            assert "nonce" not in headers["content-security-policy"]
            assert "server" not in headers
        page = client.get("/").text
    for script in re.findall(r"<script[^>]*>", page):
        assert "src=" in script or "application/json" in script
    assert " onclick" not in page


def test_cookies_are_strict_and_forms_of_other_origins_are_refused(lite: TaskServer) -> None:
    key = lite.participant("boss", organiser=True)
    lite.task("train", "training")
    with lite.serve() as client:
        response = client.post("/login", data={"key": key}, follow_redirects=False)
        cookie = response.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert key not in cookie
        elsewhere = {"origin": "https://elsewhere.example"}
        change = {"change": "open"}
        assert client.post("/organiser/tasks/train", data=change, headers=elsewhere).status_code == 404
        assert (
            "urn:mtloop:results-hidden"
            in client.get("/v1/tasks/train/leaderboard", headers={"x-api-key": lite.participant("p")}).text
        )
        ours = {"origin": "http://testserver"}
        assert (
            client.post("/organiser/tasks/train", data=change, headers=ours, follow_redirects=False).status_code == 303
        )
        lite.with_storage(lambda storage: storage.accounts.revoke_keys("boss"))
        assert client.get("/organiser").status_code == 404
