"""Every route of projects: without a key, with another's key, with too weak a role."""

from __future__ import annotations

import re

import pytest
from fastapi.routing import APIRoute
from helpers.shared_task import TaskServer
from starlette.testclient import TestClient

from mtloop.service.app import ROUTERS
from mtloop.service.project_log.models import Role

ANYBODY = {("POST", "/v1/projects"), ("GET", "/v1/projects")}  # anybody with a key
ROLES = {
    ("GET", "/v1/projects/{project}"): Role.TRANSLATE,
    ("PATCH", "/v1/projects/{project}"): Role.ORGANISE,
    ("GET", "/v1/projects/{project}/glossary"): Role.TRANSLATE,
    ("PATCH", "/v1/projects/{project}/glossary"): Role.ORGANISE,
    ("DELETE", "/v1/projects/{project}"): Role.ORGANISE,
    ("GET", "/v1/projects/{project}/members"): Role.ORGANISE,
    ("PUT", "/v1/projects/{project}/members/{participant}"): Role.ORGANISE,
    ("DELETE", "/v1/projects/{project}/members/{participant}"): Role.ORGANISE,
    ("POST", "/v1/projects/{project}/translate"): Role.TRANSLATE,
    ("POST", "/v1/projects/{project}/confirm"): Role.CONFIRM,
    ("POST", "/v1/projects/{project}/rate"): Role.CONFIRM,
    ("POST", "/v1/projects/{project}/corrections/{number}/undo"): Role.CONFIRM,
    ("POST", "/v1/projects/{project}/corrections/{number}/redo"): Role.CONFIRM,
    ("POST", "/v1/projects/{project}/corrections/{number}/review"): Role.ORGANISE,
    ("GET", "/v1/projects/{project}/corrections"): Role.TRANSLATE,
    ("GET", "/v1/projects/{project}/corrections/{number}"): Role.TRANSLATE,
    ("POST", "/v1/projects/{project}/import"): Role.CONFIRM,
    ("GET", "/v1/projects/{project}/jobs/{first}-{last}"): Role.TRANSLATE,
    ("GET", "/v1/projects/{project}/export"): Role.CONFIRM,
    ("GET", "/v1/projects/{project}/delta"): Role.CONFIRM,
    ("POST", "/v1/projects/{project}/fork"): Role.CONFIRM,
    ("GET", "/v1/projects/{project}/statistics"): Role.TRANSLATE,
    ("GET", "/v1/projects/{project}/changes"): Role.TRANSLATE,
    ("PUT", "/v1/projects/{project}/webhook"): Role.ORGANISE,
    ("DELETE", "/v1/projects/{project}/webhook"): Role.ORGANISE,
    ("GET", "/v1/projects/{project}/webhook"): Role.ORGANISE,
    ("POST", "/v1/projects/{project}/documents"): Role.CONFIRM,
    ("GET", "/v1/projects/{project}/documents"): Role.TRANSLATE,
    ("GET", "/v1/projects/{project}/documents/{document}"): Role.TRANSLATE,
    ("DELETE", "/v1/projects/{project}/documents/{document}"): Role.ORGANISE,
    ("GET", "/v1/projects/{project}/documents/{document}/file"): Role.TRANSLATE,
    ("GET", "/v1/projects/{project}/documents/{document}/units"): Role.TRANSLATE,
    ("GET", "/v1/projects/{project}/documents/{document}/changes"): Role.TRANSLATE,
    ("POST", "/v1/projects/{project}/documents/{document}/suggestions"): Role.TRANSLATE,
    ("POST", "/v1/projects/{project}/documents/{document}/units/{index}/complete"): Role.TRANSLATE,
    ("PUT", "/v1/projects/{project}/documents/{document}/units/{index}/draft"): Role.CONFIRM,
    ("POST", "/v1/projects/{project}/documents/{document}/units/{index}/confirm"): Role.CONFIRM,
    ("POST", "/v1/projects/{project}/documents/{document}/units/{index}/undo"): Role.CONFIRM,
}
VALUES = {"project": "manual", "participant": "bob", "number": "1", "first": "1", "last": "1"}
VALUES |= {"document": "0" * 32, "index": "0"}


def routes() -> set[tuple[str, str]]:
    found = (route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute))
    return {(m, route.path) for route in found for m in route.methods if route.path.startswith("/v1/projects")}


def path_of(template: str) -> str:
    return re.sub(r"{(\w+)}", lambda name: VALUES[name[1]], template)


def test_the_table_names_all_routes() -> None:
    assert routes() == ROLES.keys() | ANYBODY


@pytest.fixture(scope="module")
def keys(project_home: TaskServer, ann: TestClient) -> dict[str, str]:
    """The keys of participants with each role, of a stranger, and none."""
    assert ann.post("/v1/projects", json={"name": "manual"}).status_code == 201
    found = {"none": "", "stranger": project_home.participant("eve"), "bob": project_home.participant("bob")}
    for role in Role:
        found[role] = project_home.participant(f"with-{role}")
        response = ann.put(f"/v1/projects/manual/members/with-{role}", json={"role": role})
        assert response.status_code == 204, response.text
    return found


@pytest.mark.parametrize(("method", "path"), sorted(ROLES | dict.fromkeys(ANYBODY)))
def test_a_route_needs_a_key_and_a_role(ann: TestClient, keys: dict[str, str], method: str, path: str) -> None:
    def status(who: str) -> int:
        headers = {"x-api-key": keys[who]} if keys[who] else {"x-api-key": ""}
        return ann.request(method, path_of(path), headers=headers).status_code

    assert status("none") == 401
    if (method, path) in ANYBODY:
        return
    assert status("stranger") == 404
    for role in Role:
        if not role.includes(ROLES[method, path]):
            assert status(role) == 403, role
        elif method == "GET" and not path.endswith("/changes"):
            allowed = (404,) if "{number}" in path or "{document}" in path else ()  # number 1 is no correction
            assert status(role) not in {401, 403, 404} - set(allowed), role


def test_the_last_organiser_stays(ann: TestClient, keys: dict[str, str]) -> None:
    assert ann.post("/v1/projects", json={"name": "lonely"}).status_code == 201
    ann_member = "/v1/projects/lonely/members/ann"
    for response in (ann.delete(ann_member), ann.put(ann_member, json={"role": "confirm"})):
        assert (response.status_code, response.json()["type"]) == (409, "urn:mtloop:last-organiser")
    assert ann.get("/v1/projects/lonely").json()["role"] == "organise"
    assert ann.put(ann_member, json={"role": "organise"}).status_code == 204
    assert ann.put("/v1/projects/lonely/members/bob", json={"role": "organise"}).status_code == 204
    assert ann.delete(ann_member).status_code == 204
    assert ann.get("/v1/projects/lonely", headers={"x-api-key": keys["bob"]}).json()["role"] == "organise"


def test_a_role_that_is_taken_away_ends_at_once(ann: TestClient, keys: dict[str, str]) -> None:
    headers = {"x-api-key": keys[Role.TRANSLATE]}
    assert ann.get("/v1/projects/manual", headers=headers).json()["role"] == "translate"
    assert ann.delete("/v1/projects/manual/members/with-translate").status_code == 204
    assert ann.get("/v1/projects/manual", headers=headers).status_code == 404
    assert ann.get("/v1/projects", headers=headers).json() == {"projects": [], "next": None}
    assert ann.put("/v1/projects/manual/members/with-translate", json={"role": "translate"}).status_code == 204


def test_the_members_come_in_parts(ann: TestClient, keys: dict[str, str]) -> None:
    everybody = ann.get("/v1/projects/manual/members").json()
    assert list(everybody["members"]) == ["ann", "with-confirm", "with-organise", "with-translate"]
    assert everybody["next"] is None
    found, after = dict[str, str](), ""
    while after is not None:
        part = ann.get("/v1/projects/manual/members", params={"after": after, "limit": 2}).json()
        assert len(part["members"]) <= 2
        found, after = found | part["members"], part["next"]
    assert found == everybody["members"]
