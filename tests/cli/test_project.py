"""`mtloop project`, on a database and over HTTP."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from helpers.command_result import CommandResult
from helpers.served_projects import ServedProjects, serving_projects
from helpers.serving import serving

from mtloop.client import Project

Mtloop = Callable[..., CommandResult]
PAIRS = [("Open the drawer.", "Öffnen Sie die Schublade."), ("Close the drawer.", "Schließen Sie die Schublade.")]
LANGUAGES = ("--source-lang", "en", "--target-lang", "de")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProjects]:
    with serving_projects(tmp_path_factory.mktemp("projects")) as server:
        yield server


@pytest.fixture(params=["url", "folder"])
def place(request: pytest.FixtureRequest, server: ServedProjects) -> tuple[object, ...]:
    """The same projects, over HTTP and on the database."""
    return ("--url", server.url) if request.param == "url" else ("--folder", server.folder)


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory.tsv"
    path.write_text("source\ttarget\n" + "".join(f"{one}\t{other}\n" for one, other in PAIRS), encoding="utf-8")
    return path


def test_create_list_rm(mtloop: Mtloop, server: ServedProjects, place: tuple[object, ...]) -> None:
    name = f"made-{place[0]}".replace("--", "")
    owner = () if place[0] == "--url" else ("--owner", "ann", "--model", server.model)
    made = mtloop("project", "create", name, "--method", "memory", *LANGUAGES, *owner, *place)
    assert (made.code, made.out) == (0, f"{name}: en-de, memory on {server.model}\n"), made.err
    again = mtloop("project", "create", name, *LANGUAGES, *owner, *place)
    assert again.code == 2
    assert "name" in again.err
    listed = mtloop("project", "list", *place).out.splitlines()
    assert listed[0].split() == ["name", "languages", "model", "method", "events", "role"]
    assert any(line.split()[:2] == [name, "en-de"] for line in listed)
    with Project(f"{server.url}/{name}", server.key) as project:
        assert project.info().role == "organise"
    assert mtloop("project", "rm", name, "--yes", *place).out == f"{name}: deleted\n"
    gone = mtloop("project", "rm", name, "--yes", *place)
    assert gone.code == 2
    assert f"there is no project '{name}'" in gone.err


def test_import_export_stats(mtloop: Mtloop, server: ServedProjects, memory: Path, tmp_path: Path) -> None:
    server.create("imported")
    done = mtloop("project", "import", "imported", memory, "--url", server.url)
    assert done.out == "imported: 2 new, 0 known, 0 refused\n", done.err
    again = mtloop("project", "import", "imported", memory, "--no-wait", "--url", server.url)
    assert again.out == "imported: 0 new, 2 known, 0 refused\n", again.err
    for suffix in ("tsv", "tmx"):
        files = [tmp_path / f"{kind}.{suffix}" for kind in ("url", "folder")]
        assert mtloop("project", "export", "imported", "--out", files[0], "--url", server.url).code == 0
        assert mtloop("project", "export", "imported", "--out", files[1], "--folder", server.folder).code == 0
        assert files[0].read_bytes() == files[1].read_bytes()
        assert PAIRS[0][1] in files[0].read_text(encoding="utf-8")
    exists = mtloop("project", "export", "imported", "--out", memory, "--folder", server.folder)
    assert "already exists" in exists.err
    wrong = mtloop("project", "export", "imported", "--out", tmp_path / "x.docx", "--folder", server.folder)
    assert "expected .tmx or .tsv" in wrong.err
    with Project(f"{server.url}/imported", server.key) as project:
        project.confirm("Open the cabinet.", "Öffnen Sie den Schrank.", proposal="Schrank.")
    stats = mtloop("project", "stats", "imported", "--url", server.url)
    assert stats.out.startswith("imported: 3 corrections, 1 with a proposal\nmetric "), stats.err
    found = json.loads(mtloop("project", "stats", "imported", "--url", server.url, "--format", "json").out)
    assert found["measured"] == 1


def test_members(mtloop: Mtloop, server: ServedProjects, place: tuple[object, ...]) -> None:
    name = f"shared-{place[0]}".replace("--", "")
    server.create(name)
    assert mtloop("project", "members", name, *place).out == "ann\torganise\n"
    changed = mtloop("project", "members", name, "--set", "ben=confirm", *place)
    assert changed.out == "ann\torganise\nben\tconfirm\n", changed.err
    assert mtloop("project", "members", name, "--remove", "ben", *place).out == "ann\torganise\n"
    wrong = mtloop("project", "members", name, "--set", "ben=boss", *place)
    assert "with the role translate, confirm, organise, not 'ben=boss'" in wrong.err
    unknown = mtloop("project", "members", name, "--set", "eve=confirm", *place)
    assert unknown.code == 2
    assert "no" in unknown.err


def test_webhook(mtloop: Mtloop, server: ServedProjects) -> None:
    server.create("hooked")
    made = [mtloop("project", "webhook", "hooked", "--url", f"{server.url}/") for _ in range(2)]
    assert [one.out.splitlines()[0] for one in made] == [f"address: {server.url}/weblate/hooked"] * 2, made[0].err
    secrets = [one.out.splitlines()[1].removeprefix("secret: ") for one in made]
    assert [len(base64.b64decode(one, validate=True)) for one in secrets] == [32, 32]
    assert secrets[0] != secrets[1]
    assert [_delivered(server, one) for one in secrets] == [401, 200]
    shown = mtloop("project", "webhook", "hooked", "--show", "--url", server.url).out
    assert shown.startswith("hooked: made by ")
    assert shown.endswith("; works\n")
    assert mtloop("project", "webhook", "hooked", "--remove", "--url", server.url).out == "hooked: webhook removed\n"
    assert _delivered(server, secrets[1]) == 401
    assert mtloop("project", "webhook", "hooked", "--show", "--url", server.url).out == "hooked: no webhook\n"
    both = mtloop("project", "webhook", "hooked", "--show", "--remove", "--url", server.url)
    assert (both.code, "choose one" in both.err) == (2, True)
    assert "no project 'hoked'" in mtloop("project", "webhook", "hoked", "--url", server.url).err


def _delivered(server: ServedProjects, secret: str) -> int:
    """The status of the answer to a delivery with this secret."""
    body, now = b'{"action": "Comment added"}', int(time.time())
    signature = hmac.new(base64.b64decode(secret), f"1.{now}.".encode() + body, "sha256").digest()
    headers = {"webhook-id": "1", "webhook-timestamp": f"{now}"}
    headers["webhook-signature"] = f"v1,{base64.b64encode(signature).decode()}"
    return httpx2.post(f"{server.url}/weblate/hooked", content=body, headers=headers).status_code


def test_a_rebuilt_project_is_the_same(mtloop: Mtloop, server: ServedProjects) -> None:
    address = server.create("rebuilt")
    with Project(address, server.key) as project:
        project.confirm(*PAIRS[0])
        project.delta()  # saves a snapshot
        before = str(project.translate(PAIRS[1][0]))
        done = mtloop("project", "rebuild", "rebuilt", "--folder", server.folder)
        assert done.out == "rebuilt: 1 snapshot deleted; the project is learned again from its log\n", done.err
        assert str(project.translate(PAIRS[1][0])) == before
    with (
        serving(server.folder, "--models", server.model) as (port, _, _),  # its engine has no learner in memory
        Project(f"http://127.0.0.1:{port}/rebuilt", server.key) as project,
    ):
        assert str(project.translate(PAIRS[1][0])) == before
    assert (
        "there is no project 'rebild'; did you mean 'rebuilt'?"
        in mtloop("project", "rebuild", "rebild", "--folder", server.folder).err
    )


def test_where_the_projects_are(
    mtloop: Mtloop, server: ServedProjects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = mtloop("project", "list", "--url", server.url, "--folder", tmp_path)
    assert "give --url for a service, or --folder or --database for its database, not both" in both.err
    assert "give --url too" in mtloop("project", "list", "--folder", tmp_path, "--key-file", "key.txt").err
    assert "contains no database" in mtloop("project", "list", "--folder", tmp_path).err
    key = tmp_path / "key.txt"
    key.write_text(f"{server.key}\n", encoding="utf-8")
    monkeypatch.setenv("MTLOOP_KEY", "wrong")
    assert "401" in mtloop("project", "list", "--url", server.url).err
    assert mtloop("project", "list", "--url", server.url, "--key-file", key).code == 0
    monkeypatch.delenv("MTLOOP_KEY")
    assert "no API key; set MTLOOP_KEY" in mtloop("project", "list", "--url", server.url).err


def test_a_project_by_its_address(mtloop: Mtloop, server: ServedProjects, memory: Path, tmp_path: Path) -> None:
    """As translate, work and run take it."""
    address = f"{server.url}/addressed"
    assert mtloop("project", "create", address, "--method", "memory", *LANGUAGES).code == 0
    done = mtloop("project", "import", address, memory)
    assert done.out == "addressed: 2 new, 0 known, 0 refused\n", done.err
    assert mtloop("project", "members", address).out == "ann\torganise\n"
    out = tmp_path / "out.tsv"
    assert mtloop("project", "export", address, "--out", out).out == f"{out}\n"
    for place in (("--url", server.url), ("--folder", server.folder)):
        both = mtloop("project", "members", address, *place)
        assert (both.code, "give --url" in both.err) == (2, True), both.err
    alone = mtloop("project", "import", "addressed", memory)
    assert (alone.code, "give --url, or name the project http://HOST/PROJECT" in alone.err) == (2, True), alone.err
    assert mtloop("project", "rm", address, "--yes").out == "addressed: deleted\n"


def test_the_help_says_what_an_organiser_may_do_in_projects(mtloop: Mtloop) -> None:
    text = " ".join(mtloop("participant", "add", "--help").out.split())
    assert "do everything in every project: read, confirm, review, change and delete" in text


def test_what_a_project_may_not_name(mtloop: Mtloop, server: ServedProjects) -> None:
    for method in ("exec:true", "engine.py:Engine", "http://localhost/manual"):
        refused = mtloop("project", "create", "bad", "--method", method, *LANGUAGES, "--folder", server.folder)
        assert (refused.code, "does not allow" in refused.err) == (2, True), refused.err
    wrong = mtloop("project", "create", "a b", *LANGUAGES, "--folder", server.folder)
    assert "expected at most 80 letters" in wrong.err
    nobody = mtloop(
        "project", "create", "b", "--owner", "eve", "--model", server.model, *LANGUAGES, "--folder", server.folder
    )
    assert "there is no participant 'eve'; known: ann, ben" in nobody.err
