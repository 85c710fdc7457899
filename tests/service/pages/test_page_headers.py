"""What every page of the service has: a policy that allows our own files only, no inline code, a safe cookie."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.shared_task import TaskServer, start
from starlette.testclient import TestClient

from mtloop.service.accounts.keys import COOKIE
from mtloop.service.pages.page_texts import COOKIE as LANGUAGE_COOKIE
from mtloop.service.pages.rendering import FOLDER, asset_url, security_policy

HOSTILE = "<script>alert(1)</script>"
PATHS = (
    *("/", "/login", "/nowhere", "/tasks/dev", "/tasks/none", "/runs", "/projects", "/projects/none"),
    *("/organiser", "/organiser/campaigns", "/organiser/campaigns/none", "/rate/wrong"),
)
INLINE = re.compile(
    r"<script(?![^>]*(?: src=|application/json))|<style|\son[a-z]+=|\sstyle=|javascript:", re.IGNORECASE
)


@pytest.mark.parametrize("role", ["nobody", "participant", "organiser"])
def test_every_page_allows_our_own_files_only(lite: TaskServer, role: str) -> None:
    lite.task("dev", "dev")
    key = lite.participant("ann", role == "organiser")
    with lite.serve(key) as client:
        run = start(client, "dev", name=HOSTILE)
        client.headers.pop("x-api-key")
        if role != "nobody":
            client.post("/login", data={"key": key})
        for path in (*PATHS, f"/runs/{run}"):
            page = client.get(path, headers={"accept": "text/html"})
            assert page.headers["content-security-policy"] == security_policy(), path
            assert page.headers["x-content-type-options"] == "nosniff", path
            assert not INLINE.findall(page.text), path
            assert HOSTILE not in page.text
    assert "'unsafe" not in security_policy()


@pytest.mark.parametrize("secure", [False, True])
def test_no_script_and_no_other_site_gets_the_cookie_of_a_session(lite: TaskServer, secure: bool) -> None:
    key = lite.participant("ann")
    lite = TaskServer(lite.settings.model_copy(update={"secure": secure}), lite.folder)
    with lite.serve() as client:
        session = _flags(client, "/login", key)
        assert session.pop(COOKIE)
        assert session == {"httponly": "", "samesite": "strict", "path": "/", "max-age": "43200"} | (
            {"secure": ""} if secure else {}
        )
        language = client.get("/login?lang=de").headers["set-cookie"].lower()
        assert language.startswith(f"{LANGUAGE_COOKIE}=de;")
        assert {"httponly", "samesite=lax"} <= set(language.split("; "))


def _flags(client: TestClient, path: str, key: str) -> dict[str, str]:
    answer = client.post(path, data={"key": key}, follow_redirects=False)
    parts = (part.partition("=") for part in answer.headers["set-cookie"].split("; "))
    return {name if name == COOKIE else name.lower(): value.lower() for name, _, value in parts}


def test_scripts_and_styles_are_served_with_their_type(lite: TaskServer) -> None:
    """`nosniff` makes a browser refuse a file of another type."""
    names = [path.name for path in Path(FOLDER).iterdir()]
    with lite.serve() as client:
        for name in names:
            kind = "text/css" if name.endswith(".css") else "text/javascript"
            assert client.get(asset_url(name)).headers["content-type"] == f"{kind}; charset=utf-8"
