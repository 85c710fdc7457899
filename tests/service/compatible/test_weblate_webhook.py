"""Weblate's webhook add-on: who may teach, what is learned, and what is refused."""

from __future__ import annotations

import base64
import hmac
import json
import logging
import time
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import httpx2
import pytest
from helpers.shared_task import TaskServer
from starlette.testclient import TestClient

from mtloop.service import Settings
from mtloop.service.accounts.keys import hash_key
from mtloop.service.storage import Storage
from mtloop.service.telemetry import LOGGER

SOURCE, TARGET = "Open the drawer of the cabinet.", "Öffnen Sie die Schublade des Schranks."
UNIT = "/translate/manual/app/de/?checksum=0123456789abcdef"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, tiny_model: str) -> TaskServer:
    folder = tmp_path_factory.mktemp("weblate")
    return TaskServer(Settings(folder=folder / "data", models=tiny_model, engine_linger=1), folder)


@pytest.fixture(scope="module")
def ann(home: TaskServer) -> Iterator[TestClient]:
    with home.serve(home.participant("ann")) as client:
        yield client


@pytest.fixture
def secret(ann: TestClient) -> Iterator[str]:
    """The secret of a new project, `manual`."""
    assert ann.post("/v1/projects", json={"name": "manual"}).status_code == 201
    yield ann.put("/v1/projects/manual/webhook").json()["secret"]
    ann.delete("/v1/projects/manual")


def change(**fields: Any) -> dict[str, Any]:
    body = {"change_id": 7, "action": "Translation changed", "timestamp": "2026-11-18T12:00:00+00:00", "url": UNIT}
    body |= {"source": [SOURCE], "target": [TARGET], "translation": "de", "project": "manual", "component": "app"}
    return body | fields


def signed(secret: str, delivery: str, body: str, when: float | None = None) -> dict[str, str]:
    """The headers of a delivery, as the package `standardwebhooks` makes them for Weblate."""
    moment = time.time() if when is None else when
    text = f"{delivery}.{int(moment // 1)}.{body}".encode()
    signature = base64.b64encode(hmac.new(base64.b64decode(secret), text, sha256).digest()).decode()
    return {"webhook-id": delivery, "webhook-timestamp": str(moment), "webhook-signature": f"v1,{signature}"}


def deliver(
    client: TestClient, secret: str, delivery: str, when: float | None = None, project: str = "manual", **fields: Any
) -> httpx2.Response:
    body = json.dumps(change(**fields))
    headers = signed(secret, delivery, body, when) | {"content-type": "application/json", "x-api-key": ""}
    response: httpx2.Response = client.post(f"/weblate/{project}", content=body, headers=headers)
    return response


def corrections(client: TestClient, state: str = "learned") -> list[tuple[str, str]]:
    found = client.get("/v1/projects/manual/corrections", params={"state": state}).json()["corrections"]
    return [(one["source"], one["translation"]) for one in found]


def test_a_changed_string_is_learned_and_replaced(ann: TestClient, secret: str) -> None:
    answer = deliver(ann, secret, "1")
    assert (answer.status_code, answer.json()) == (200, {"taught": 1, "skipped": None})
    translated = ann.post("/v1/projects/manual/translate", json={"text": SOURCE}).json()
    assert translated["translations"][0]["translation"] == TARGET
    better = "Öffnen Sie bitte die Schublade des Schranks."
    assert deliver(ann, secret, "2", action="Translation approved", target=[better]).json()["taught"] == 1
    assert corrections(ann) == [(SOURCE, better)]
    assert corrections(ann, "replaced") == [(SOURCE, TARGET)]
    (one,) = ann.get("/v1/projects/manual/corrections", params={"state": "learned"}).json()["corrections"]
    assert (one["external_id"], one["document"], one["participant"]) == (UNIT, "manual/app", "ann")


def test_a_replay_is_refused_and_changes_nothing(ann: TestClient, secret: str) -> None:
    body = json.dumps(change())
    headers = signed(secret, "1", body)
    assert ann.post("/weblate/manual", content=body, headers=headers).status_code == 200
    better = "Öffnen Sie bitte die Schublade des Schranks."
    assert deliver(ann, secret, "2", target=[better]).status_code == 200
    again = ann.post("/weblate/manual", content=body, headers=headers)
    assert (again.status_code, again.json()["type"]) == (409, "urn:mtloop:repeated-delivery")
    assert corrections(ann) == [(SOURCE, better)]


def test_a_delivery_that_failed_may_be_repeated(ann: TestClient, secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*args: object) -> None:
        raise OSError("disk full")

    store = ann.app.state.service.storage.corrections  # type: ignore[attr-defined]
    with monkeypatch.context() as failing:
        failing.setattr(type(store), "add", fail)
        assert deliver(ann, secret, "1").status_code >= 500
    assert corrections(ann) == []
    assert deliver(ann, secret, "1").json() == {"taught": 1, "skipped": None}


def test_of_a_delivery_that_comes_twice_at_the_same_time_one_is_refused(
    ann: TestClient, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def not_yet(*args: object) -> bool:
        return False

    clients = ann.app.state.service.storage.clients  # type: ignore[attr-defined]
    monkeypatch.setattr(type(clients), "has_delivery", not_yet)
    assert [deliver(ann, secret, "1").status_code for _ in range(2)] == [200, 409]
    assert corrections(ann) == [(SOURCE, TARGET)]


def test_a_delivery_is_noted_once_and_not_for_a_project_that_is_gone(home: TaskServer, secret: str) -> None:
    async def note(storage: Storage) -> list[bool]:
        project = await storage.projects.find("manual")
        assert project is not None
        ids = (project.id, project.id, project.id + 1_000)
        return [await storage.clients.add_delivery(id, "1", 60) for id in ids]

    assert home.with_storage(note) == [True, False, False]


def test_plural_forms(ann: TestClient, secret: str) -> None:
    sources = ["%d drawer is open.", "%d drawers are open."]
    targets = ["%d Schublade ist offen.", "%d Schubladen sind offen.", ""]
    assert deliver(ann, secret, "1", source=sources, target=targets).json()["taught"] == 2
    assert sorted(corrections(ann)) == list(zip(sources, targets, strict=False))
    assert deliver(ann, secret, "2", source=sources, target=targets[1:2], url=f"{UNIT}0").json()["taught"] == 1
    assert corrections(ann).count((sources[1], targets[1])) == 2  # a language with one form


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"action": "Automatically translated"}, "only translations that people changed"),
        ({"action": "Marked for edit"}, "only translations that people changed"),
        ({"translation": "fr"}, "the project translates en-de"),
        ({"translation": ""}, "the project translates en-de"),
        ({"target": [""]}, "no translation"),
        ({"source": []}, "no translation"),
        ({"target": [SOURCE]}, "a copy of the source"),
    ],
)
def test_what_is_skipped(ann: TestClient, secret: str, fields: dict[str, Any], reason: str) -> None:
    answer = deliver(ann, secret, "1", **fields)
    assert (answer.status_code, answer.json()["taught"]) == (200, 0)
    assert reason in answer.json()["skipped"]
    assert corrections(ann) == []


@pytest.mark.parametrize(
    ("own", "sent", "taught"),
    [
        ("de-AT", "de_DE", 0),
        ("de-Latn", "de_Cyrl", 0),
        ("de-AT", "de_AT", 1),
        ("de-AT", "de", 1),
        ("de", "de_AT", 1),
    ],
)
def test_another_variant_of_the_language_is_skipped(ann: TestClient, own: str, sent: str, taught: int) -> None:
    """Weblate sends the changes of all languages to the address of each project."""
    body = {"name": "manual", "source_language": "en", "target_language": own}
    assert ann.post("/v1/projects", json=body).status_code == 201
    secret = ann.put("/v1/projects/manual/webhook").json()["secret"]
    answer = deliver(ann, secret, "1", translation=sent).json()
    learned = corrections(ann)
    ann.delete("/v1/projects/manual")
    assert (answer["taught"], len(learned)) == (taught, taught)
    assert taught or answer["skipped"] == f"the project translates en-{own}"


def test_a_variant_of_the_language_and_a_long_address_are_learned(ann: TestClient, secret: str) -> None:
    assert deliver(ann, secret, "1", translation="de_AT", url=f"/{'x' * 300}").json()["taught"] == 1
    assert deliver(ann, secret, "2", target="Schublade öffnen.", url=f"/{'x' * 300}").json()["taught"] == 1
    assert corrections(ann) == [(SOURCE, "Schublade öffnen.")]


def test_who_is_refused(ann: TestClient, secret: str) -> None:
    other = base64.b64encode(b"another secret").decode()
    now, body = time.time(), json.dumps(change())
    refused = [
        deliver(ann, other, "1"),
        deliver(ann, secret, "1", when=now - 310),
        deliver(ann, secret, "1", when=now + 310),
        deliver(ann, secret, "1", project="unknown"),
        deliver(ann, secret, ""),
        deliver(ann, secret, "x" * 201),
        ann.post("/weblate/manual", content=body),
        ann.post("/weblate/manual", content=body, headers=signed(secret, "1", body) | {"webhook-signature": ""}),
        ann.post("/weblate/manual", content=body, headers=signed(secret, "1", body) | {"webhook-timestamp": "nan"}),
        ann.post("/weblate/manual", content=f"{body} ", headers=signed(secret, "1", body)),
    ]
    assert {(one.status_code, one.text) for one in refused} == {(401, refused[0].text)}
    assert "wrong-signature" in refused[0].text
    right, wrong = (signed(one, "1", body) for one in (secret, other))
    several = " ".join(["v1a,AAAA", "v1,??", wrong["webhook-signature"], right["webhook-signature"]])
    one_is_right = ann.post("/weblate/manual", content=body, headers=right | {"webhook-signature": several})
    assert one_is_right.status_code == 200
    assert ann.delete("/v1/projects/manual/webhook").status_code == 204
    without = deliver(ann, secret, "2")
    assert (without.status_code, without.text) == (401, refused[0].text)


def test_a_body_that_is_no_change(ann: TestClient, secret: str) -> None:
    for number, body in enumerate(("[]", "{", '{"action": 1}', '{"action": "Translation changed", "source": [1]}')):
        answer = ann.post("/weblate/manual", content=body, headers=signed(secret, f"{number}", body))
        assert (answer.status_code, answer.json()["type"]) == (422, "urn:mtloop:invalid-request")


def test_a_right_signature_passes_where_wrong_ones_are_stopped(home: TaskServer, ann: TestClient, secret: str) -> None:
    strict = home.settings.model_copy(update={"failures": 5})
    with TaskServer(strict, home.folder).serve() as weblate:
        wrong = [deliver(weblate, "AAAA", f"{number}").status_code for number in range(7)]
        assert wrong == [401] * 5 + [429] * 2
        assert deliver(weblate, secret, "1").json()["taught"] == 1


def test_the_webhook_acts_for_who_set_it(home: TaskServer, ann: TestClient, secret: str) -> None:
    key = home.participant("ben")
    ann.put("/v1/projects/manual/members/ben", json={"role": "organise"})
    bens = ann.put("/v1/projects/manual/webhook", headers={"x-api-key": key}).json()
    assert bens["address"] == "/weblate/manual"
    assert deliver(ann, secret, "1").status_code == 401  # the new secret replaced it
    assert deliver(ann, bens["secret"], "1").status_code == 200
    ann.delete("/v1/projects/manual/members/ben")
    assert deliver(ann, bens["secret"], "2").status_code == 404


def test_a_secret_stops_with_the_key_that_made_it(home: TaskServer, ann: TestClient, secret: str) -> None:
    """Whoever sees a key can make a secret with it. A new key stops both."""

    def new_secret(key: str) -> str:
        return str(ann.put("/v1/projects/manual/webhook", headers={"x-api-key": key}).json()["secret"])

    def state(secret: str, delivery: str) -> tuple[int, bool]:
        return deliver(ann, secret, delivery).status_code, ann.get("/v1/projects/manual/webhook").json()["works"]

    key, new = home.participant("dan"), "mtl_new"
    ann.put("/v1/projects/manual/members/dan", json={"role": "organise"})
    first = new_secret(key)
    assert state(first, "1") == (200, True)
    home.with_storage(lambda storage: storage.accounts.rotate_key("dan", hash_key(new)))
    assert state(first, "2") == (401, False)
    second = new_secret(new)
    assert state(second, "3") == (200, True)
    home.with_storage(lambda storage: storage.accounts.renew_keys("dan", time.time() - 1))
    assert state(second, "4") == (401, False)
    home.with_storage(lambda storage: storage.accounts.renew_keys("dan", None))
    assert state(second, "5") == (200, True)
    home.with_storage(lambda storage: storage.accounts.revoke_keys("dan"))
    assert state(second, "6") == (401, False)


def test_organisers_see_who_made_the_secret(home: TaskServer, ann: TestClient, secret: str) -> None:
    state = ann.get("/v1/projects/manual/webhook").json()
    assert (state["address"], state["participant"], state["works"]) == ("/weblate/manual", "ann", True)
    assert secret not in str(state)
    key = home.participant("fay")
    ann.put("/v1/projects/manual/members/fay", json={"role": "organise"})
    ann.put("/v1/projects/manual/webhook", headers={"x-api-key": key})
    ann.delete("/v1/projects/manual/members/fay")
    state = ann.get("/v1/projects/manual/webhook").json()
    assert (state["participant"], state["works"]) == ("fay", False)
    ann.delete("/v1/projects/manual/webhook")
    none = {"address": "/weblate/manual", "participant": None, "created": None, "works": False}
    assert ann.get("/v1/projects/manual/webhook").json() == none


def test_only_organisers_set_the_secret(home: TaskServer, ann: TestClient, secret: str) -> None:
    key = home.participant("eve")
    assert ann.put("/v1/projects/manual/webhook", headers={"x-api-key": key}).status_code == 404
    ann.put("/v1/projects/manual/members/eve", json={"role": "confirm"})
    assert ann.put("/v1/projects/manual/webhook", headers={"x-api-key": key}).status_code == 403
    assert ann.delete("/v1/projects/manual/webhook", headers={"x-api-key": key}).status_code == 403
    assert deliver(ann, secret, "1").status_code == 200


def test_the_audit_log_names_the_act_and_not_the_secret(home: TaskServer, ann: TestClient, secret: str) -> None:
    ann.delete("/v1/projects/manual/webhook")
    ann.delete("/v1/projects/manual/webhook")
    entries = home.with_storage(lambda storage: storage.audit.entries(3))
    assert [(one.actor, one.action, dict(one.detail)) for one in entries[:2]] == [
        ("ann", "project.webhook", {"set": False}),
        ("ann", "project.webhook", {"set": True}),
    ]
    assert secret not in str(entries)


def test_neither_secret_nor_text_is_logged(ann: TestClient, secret: str, log_lines: list[str]) -> None:
    LOGGER.setLevel(logging.INFO)
    assert deliver(ann, secret, "1").status_code == 200
    assert deliver(ann, "AAAA", "2").status_code == 401
    assert any("/weblate/" in line for line in log_lines)
    assert not any(secret in line or SOURCE in line or TARGET in line for line in log_lines)
