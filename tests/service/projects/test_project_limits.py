"""What a participant may ask of a project: no file of the server, no endless work, no endless storage."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from helpers.project_server import wait_until
from helpers.raw_events import append_events
from helpers.shared_task import TaskServer
from helpers.tiny_marian import demo_pairs
from starlette.testclient import TestClient

from mtloop.core.errors import InputError
from mtloop.methods.registry import all_methods, find_method
from mtloop.service.accounts.keys import hash_key, new_key
from mtloop.service.problems import ProblemError
from mtloop.service.project_log.event_log import Configured
from mtloop.service.projects import correction_routes, project_calls, project_routes
from mtloop.service.projects.project_bodies import MAX_TERMS, RateBody
from mtloop.service.projects.setting_limits import MOST, check_limits
from mtloop.service.settings import METHODS, Settings
from mtloop.service.state import Service

FILES = {"tensors_file", "lexicon", "general_data"}
SETTINGS = {setting.name: setting for method in all_methods().values() for setting in method.settings.values()}


@pytest.fixture(scope="module")
def client(ann: TestClient) -> TestClient:
    assert ann.post("/v1/projects", json={"name": "manual"}).status_code == 201
    return ann


def test_a_prefix_is_no_text_of_its_own() -> None:
    here = cast(Service, SimpleNamespace(settings=Settings(max_texts=2, max_text=10)))
    project_calls.check_texts(here, ["a", "b"], "prefix")
    with pytest.raises(ProblemError) as many:
        project_calls.check_texts(here, ["a", "b", "c"])
    assert many.value.problem.detail == "text: at most 2 texts in one request"
    with pytest.raises(ProblemError) as long:
        project_calls.check_texts(here, ["12345678"], "12345")
    assert long.value.problem.status == 413
    project_calls.check_size(here, "source", "a", "b")


def test_every_text_setting_has_choices_or_names_a_file() -> None:
    for method in all_methods().values():
        for setting in method.settings.values():
            if isinstance(setting.default, str) and not setting.choices:
                assert setting.names_file, f"{method.name}: {setting.name}: mark it with NAMES_FILE if it names a file"
            assert setting.names_file == (setting.name in FILES)


def test_every_whole_number_has_a_limit_that_allows_its_default() -> None:
    numbers = {name for name, setting in SETTINGS.items() if type(setting.default) is int}
    assert numbers == MOST.keys()
    for method in all_methods().values():
        check_limits(method.defaults)


def test_the_default_methods_are_neural_and_need_no_file() -> None:
    for name in METHODS.split(","):
        method = find_method(name)
        assert method.name == name
        assert method.engine.name == "neural"
        assert method.learns_from or name == "baseline"
        assert not method.needs_references
    assert "domain-adaptation" not in METHODS


@pytest.mark.parametrize(
    "body",
    [
        {"method": "fixed", "settings": {"tensors_file": "/etc/passwd"}},
        {"method": "nmt-el", "settings": {"tensors_file": "/etc/passwd"}},
        {"method": "nmt-oracle"},
        {"method": "wnmt-el", "settings": {"lexicon": "/etc"}},
        {"method": "domain-adaptation", "settings": {"general_data": "/etc/passwd"}},
        {"method": "lasso+memory"},
    ],
)
def test_files_and_other_methods_are_refused(client: TestClient, body: dict[str, Any]) -> None:
    for response in (
        client.post("/v1/projects", json={"name": "files", **body}),
        client.patch("/v1/projects/manual", json=body),
    ):
        assert response.status_code == 403, response.text
        assert response.json()["type"] == "urn:mtloop:not-allowed-here"
    assert client.get("/v1/projects/files").status_code == 404


def test_the_parts_of_a_method_may_have_any_order(client: TestClient) -> None:
    body = {"name": "order", "method": "copy+memory+lora", "settings": {"max_updates": "2"}}
    made = client.post("/v1/projects", json=body).json()
    assert (made["method"], made["settings"]) == ("lora+memory+copy", {"max_updates": 2})


@pytest.mark.parametrize(
    "settings",
    [
        {"max_updates": 10**9},
        {"max_updates": -(10**9)},
        {"rank": 10**6},
        {"beam_size": 10**6},
        {"seed": 10**40},
        {"learning_rate": 1e300},
        {"learning_rate": "inf"},
        {"learning_rate": "nan"},
        {"learning_rate": "9" * 5000},
        {"x" * 150: 1},
        {"neighbours": 0},
        {"neighbours": None},
        {"max_updates": -1},
        {"memory_temperature": 0},
        {"learning_rate": -1},
    ],
)
def test_values_that_cannot_work_are_refused_in_one_short_line(client: TestClient, settings: dict[str, Any]) -> None:
    for response in (
        client.post("/v1/projects", json={"name": "values", "settings": settings}),
        client.patch("/v1/projects/manual", json={"settings": settings}),
    ):
        assert response.status_code == 422, response.text
        detail = response.json()["detail"]
        assert "\n" not in detail
        assert "9" * 41 not in detail
        assert "x" * 41 not in detail
    assert client.get("/v1/projects/manual").json()["settings"] == {}


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "9" * 5000])
def test_numbers_that_json_does_not_have(client: TestClient, number: str) -> None:
    raw = '{"name": "values", "settings": {"learning_rate": ' + number + "}}"
    response = client.post("/v1/projects", content=raw, headers={"content-type": "application/json"})
    assert response.status_code == 422, response.text
    assert "9" * 41 not in response.text


def test_a_method_that_misses_a_file_of_its_model_is_refused_without_the_path(client: TestClient) -> None:
    response = client.post("/v1/projects", json={"name": "values", "method": "fixed"})
    assert (response.status_code, response.json()["detail"]) == (422, "method fixed does not work with these settings")


def test_an_unknown_field_is_not_quoted_completely(client: TestClient) -> None:
    response = client.post("/v1/projects", json={"name": "values", "x" * 5000: 1})
    assert response.status_code == 422
    assert "x" * 41 not in response.text


@pytest.mark.parametrize("terms", [{"": "x"}, {"a": ""}, {" ": " "}, {"a" * 100: "\t"}])
def test_a_glossary_that_cannot_be_read_is_refused(client: TestClient, terms: dict[str, str]) -> None:
    response = client.patch("/v1/projects/manual", json={"glossary": terms})
    assert response.status_code == 422, response.text
    assert response.json()["detail"].startswith("glossary: a term needs a text in both languages")
    assert "a" * 41 not in response.text
    assert client.post("/v1/projects/manual/translate", json={"text": "Hello."}).status_code == 200


def test_terms_are_added_to_a_glossary(client: TestClient) -> None:
    """Of many that are added at once none is lost."""
    assert client.post("/v1/projects", json={"name": "added"}).status_code == 201
    path = "/v1/projects/added/glossary"

    def add(**terms: str) -> int:
        return client.patch(path, json={"terms": terms}).status_code

    assert client.patch("/v1/projects/added", json={"glossary": {"pane": "Bereich"}}).status_code == 200
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda number: add(**{f"drawer {number}": "Fach"}), range(8))) == {204}
    assert client.get(path).json()["terms"] == {"pane": "Bereich", **{f"drawer {n}": "Fach" for n in range(8)}}
    state = client.get("/v1/projects/added").json()["state"]
    assert add(pane="Leiste") == add(pane="Leiste") == 204
    assert client.get(path).json()["terms"]["pane"] == "Leiste"
    assert client.get("/v1/projects/added").json()["state"] == state + 1, "the same again is nothing new"


@pytest.mark.parametrize(
    ("terms", "detail"),
    [
        ({" ": "Fach"}, "glossary: a term needs a text in both languages, found ' ' and 'Fach'"),
        ({f"drawer {number}": "Fach" for number in range(MAX_TERMS)}, "glossary: at most 10,000 terms"),
        ({}, "terms: "),
    ],
    ids=["no text", "too many", "none"],
)
def test_terms_that_cannot_be_added_change_nothing(client: TestClient, terms: dict[str, str], detail: str) -> None:
    client.post("/v1/projects", json={"name": "refused"})
    client.patch("/v1/projects/refused", json={"glossary": {"pane": "Bereich"}})
    response = client.patch("/v1/projects/refused/glossary", json={"terms": terms})
    assert response.status_code == 422
    assert response.json()["detail"].startswith(detail)
    assert client.get("/v1/projects/refused/glossary").json() == {"terms": {"pane": "Bereich"}}


def test_a_glossary_is_shown(client: TestClient) -> None:
    assert client.post("/v1/projects", json={"name": "terms"}).status_code == 201
    assert client.get("/v1/projects/terms/glossary").json() == {"terms": {}}
    for terms in ({"drawer": "Schublade"}, {"pane": "Bereich", "list box": "Listenfeld"}, {}):
        assert client.patch("/v1/projects/terms", json={"glossary": terms}).status_code == 200
        assert client.get("/v1/projects/terms/glossary").json() == {"terms": terms}


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ({"review": True}, Configured("", "memory")),
        ({"method": "memory"}, Configured("", "lora+memory+copy", review=True)),
    ],
)
def test_two_organisers_at_once_lose_nothing(
    client: TestClient,
    project_home: TaskServer,
    monkeypatch: pytest.MonkeyPatch,
    mine: dict[str, Any],
    theirs: Configured,
) -> None:
    name = f"both-{theirs.method.partition('+')[0]}"
    assert client.post("/v1/projects", json={"name": name}).status_code == 201
    changed, calls = project_routes._changed, list[Any]()

    async def slow(here: Any, old: Any, body: Any) -> Configured | None:
        configured = await changed(here, old, body)
        if not calls:  # the other one is faster
            calls.append(old)
            await append_events(here.storage, old.id, [replace(theirs, model=old.model)])
        return configured

    monkeypatch.setattr(project_routes, "_changed", slow)
    answer = client.patch(f"/v1/projects/{name}", json=mine).json()
    assert (answer["method"], answer["review"], answer["state"]) == ("memory", True, 3)


@pytest.fixture(scope="module")
def full(project_home: TaskServer) -> Iterator[TestClient]:
    """The client of a participant of a service with low limits."""
    settings = project_home.settings.model_copy(update={"max_projects": 2, "max_corrections": 3})
    server = TaskServer(settings, project_home.folder)
    with server.serve(server.participant("carla")) as client:
        yield client


def test_a_participant_creates_some_projects(full: TestClient, project_home: TaskServer) -> None:
    def status(path: str, name: str, key: str = "") -> int:
        headers = {"x-api-key": key} if key else {}
        response = full.post(path, json={"name": name}, headers=headers)
        assert response.status_code == 201 or response.json()["type"] == "urn:mtloop:no-more-projects"
        return response.status_code

    assert [status("/v1/projects", name) for name in ("c1", "c2", "c3")] == [201, 201, 409]
    assert status("/v1/projects/c1/fork", "c3") == 409
    assert full.delete("/v1/projects/c2").status_code == 204
    assert status("/v1/projects/c1/fork", "c3") == 201
    assert status("/v1/projects", "c4") == 409
    boss = project_home.participant("boss", organiser=True)
    assert [status("/v1/projects", f"b{n}", boss) for n in range(4)] == [201] * 4


def test_a_project_takes_some_corrections(full: TestClient) -> None:
    full.delete("/v1/projects/c3")
    assert full.post("/v1/projects", json={"name": "small"}).status_code == 201

    def confirm(number: int) -> int:
        body = {"source": f"Drawer {number}.", "translation": f"Schublade {number}.", "wait": "durable"}
        return full.post("/v1/projects/small/confirm", json=body).status_code

    assert [confirm(n) for n in range(3)] == [200, 200, 409]
    assert confirm(1) == 200  # the same again is nothing new
    rows = "source\ttarget\nOpen the pane.\tÖffnen Sie den Bereich.\n"
    headers = {"content-type": "text/tab-separated-values"}
    path = "/v1/projects/small/import?format=tsv"
    response = full.post(path, content=rows.encode(), headers=headers)
    assert (response.status_code, response.json()["type"]) == (409, "urn:mtloop:no-more-corrections")
    assert full.patch("/v1/projects/small", json={"glossary": {"a": "b"}}).status_code == 409
    assert full.patch("/v1/projects/small/glossary", json={"terms": {"a": "b"}}).status_code == 409
    undone = [full.post("/v1/projects/small/corrections/2/undo") for _ in range(2)]  # an undo needs no room
    assert [(one.status_code, one.json()) for one in undone] == [(200, {"number": 4})] * 2
    redone = full.post("/v1/projects/small/corrections/2/redo")
    assert (redone.status_code, redone.json()) == (200, {"number": 5})
    assert [row["state"] for row in full.get("/v1/projects/small/corrections").json()["corrections"]] == ["learned"] * 2
    about = [full.post(f"/v1/projects/small/corrections/2/{what}") for what in ("undo", "redo") * 5]
    assert [one.status_code for one in about[:6]] == [200] * 6
    assert about[-1].status_code == 409  # undo and redo do not fill a log for ever
    assert full.post("/v1/projects/small/translate", json={"text": "Hello."}).status_code == 200


def test_a_full_project_takes_a_repeated_rating(full: TestClient) -> None:
    full.delete("/v1/projects/small")
    assert full.post("/v1/projects", json={"name": "rated", "method": "nmt-el"}).status_code == 201
    texts = ["Save it.", "Open it.", "Close it."]
    answer = full.post("/v1/projects/rated/translate", json={"text": texts}).json()
    tokens = [one["proposal"] for one in answer["translations"]]

    def rate(token: str, value: float = 1.0) -> tuple[int, int | None]:
        response = full.post("/v1/projects/rated/rate", json={"proposal": token, "value": value})
        return response.status_code, response.json().get("number")

    assert [rate(token) for token in tokens] == [(200, 2), (200, 3), (409, None)]
    assert rate(tokens[1]) == (200, 3)  # the same again is nothing new
    assert rate(tokens[2], 0.5) == (409, None)  # the proposal is kept
    full.delete("/v1/projects/rated")


def test_an_import_stops_at_the_limit(full: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_calls, "ROWS_PER_TRANSACTION", 1)
    nudged = []
    application: Any = full.app
    engines = application.state.service.engines
    monkeypatch.setattr(engines, "nudge", lambda project_id, number: nudged.append(number))
    full.delete("/v1/projects/small")
    assert full.post("/v1/projects", json={"name": "file"}).status_code == 201
    rows = "source\ttarget\n" + "".join(f"Open drawer {n}.\tÖffnen Sie Schublade {n}.\n" for n in range(5))
    headers = {"content-type": "text/tab-separated-values"}
    response = full.post("/v1/projects/file/import?format=tsv", content=rows.encode(), headers=headers)
    assert (response.status_code, response.json()["type"]) == (409, "urn:mtloop:no-more-corrections")
    assert response.json()["detail"].endswith("2 new ones of this file are stored (job 2-3); 3 pairs are not.")
    assert full.get("/v1/projects/file").json()["state"] == 3
    assert nudged == [3]
    assert full.get("/v1/projects/file/jobs/2-3").json()["corrections"] == 2


def test_a_slow_upload_lets_others_work(
    client: TestClient, project_home: TaskServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A participant sends two files at once. Meanwhile there are statistics, and somebody else imports a file."""
    assert client.post("/v1/projects", json={"name": "slow"}).status_code == 201
    bob = {"x-api-key": project_home.participant("bob")}
    assert client.put("/v1/projects/slow/members/bob", json={"role": "confirm"}).status_code == 204
    receive, coming, complete = correction_routes.receive_body, list[str](), threading.Event()

    async def slow(request: Any, *arguments: Any) -> None:
        if request.headers["x-api-key"] != bob["x-api-key"]:
            coming.append("one")
            while not complete.is_set():
                await asyncio.sleep(0.01)
        await receive(request, *arguments)

    def send(text: str, **headers: str) -> int:
        rows = f"source\ttarget\nOpen the {text}.\tÖffnen Sie {text}.\n"
        headers |= {"content-type": "text/tab-separated-values"}
        path = "/v1/projects/slow/import?format=tsv"
        return client.post(path, content=rows.encode(), headers=headers).status_code

    monkeypatch.setattr(correction_routes, "receive_body", slow)
    with ThreadPoolExecutor(2) as threads:
        sent = [threads.submit(send, text) for text in ("drawer", "pane")]
        try:
            wait_until(lambda: len(coming) == 2)
            assert client.get("/v1/projects/slow/statistics").status_code == 200
            assert send("window", **bob) == 202
            assert send("door") == 429
        finally:
            complete.set()
        assert [one.result() for one in sent] == [202, 202]
    assert send("door") == 202


def test_a_whole_number_that_no_table_names_has_a_limit_too() -> None:
    check_limits({"steps_of_a_plugin": 100})
    with pytest.raises(InputError, match="setting steps_of_a_plugin: a project may have 10000 at most"):
        check_limits({"steps_of_a_plugin": 10**9})


@pytest.mark.parametrize(("value", "valid"), [("0", True), ("1", True), ("0.5", True), ('"1"', False), ("true", False)])
def test_a_rating_is_a_number(value: str, valid: bool) -> None:
    raw = f'{{"proposal": "{"0" * 32}", "value": {value}}}'
    if valid:
        assert RateBody.model_validate_json(raw).value == float(value)
    else:
        with pytest.raises(ValueError, match="valid number"):
            RateBody.model_validate_json(raw)


def test_limits_name_the_setting() -> None:
    with pytest.raises(InputError, match="setting rank: a project may have 256 at most"):
        check_limits({"rank": 257})
    check_limits({"rank": 256, "learning_rate": 1.0, "check_changed_words": True, "scope": "full"})


def test_two_creations_at_once_are_counted(task_server: TaskServer) -> None:
    """Of many creations at once, the allowed number succeeds, on both databases."""

    async def create(storage: Any) -> list[str]:
        who = await storage.accounts.add_participant("dora", hash_key(new_key()))

        async def one(number: int) -> str:
            try:
                made = await storage.projects.create(
                    f"p{number}", ("en", "de"), Configured("m", "lora"), owner=who.id, most=3
                )
            except Exception as error:
                return type(error).__name__
            return type(made).__name__

        return list(await asyncio.gather(*map(one, range(8))))

    results = task_server.with_storage(create)
    assert sorted(results) == ["TooManyProjects"] * 5 + ["TranslationProject"] * 3


@pytest.mark.slow
def test_a_hundred_thousand_characters_are_translated(client: TestClient) -> None:
    """A text of as many characters as a request may have. With one more it is refused in one line."""
    most = Settings().max_text
    pages = " ".join(source for source, _ in demo_pairs())
    text = " ".join([pages] * (most // len(pages) + 1))[:most]
    answer = client.post("/v1/projects/manual/translate", json={"text": text})
    assert (answer.status_code, len(text)) == (200, 100_000), answer.text
    (found,) = answer.json()["translations"]
    assert len(found["translation"]) > 1000
    refused = client.post("/v1/projects/manual/translate", json={"text": f"{text}."})
    assert refused.status_code == 413
    assert "100,001" in refused.json()["detail"]
    assert "\n" not in refused.json()["detail"]
