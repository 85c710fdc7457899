"""What projects know after a restore of the database, with a new model of the same name, and on a new platform."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from helpers.postgres import Postgres
from helpers.project_server import wait_until
from helpers.shared_task import TaskServer
from helpers.tiers import slow
from helpers.tiny_marian import demo_pairs, write_tiny
from starlette.testclient import TestClient

from mtloop.service import Settings
from mtloop.service.engines.learner_state import SNAPSHOT_EVERY
from mtloop.service.settings import FILE

PAIRS = demo_pairs()
KNOWN, NEW = PAIRS[: SNAPSHOT_EVERY + 2], [source for source, _ in PAIRS[-8:]]
LATER = PAIRS[100]


def backup(settings: Settings, folder: Path, request: pytest.FixtureRequest) -> Settings:
    """Copy the database with the commands of docs/how-to/deploy-the-service.md, while the service runs."""
    if settings.database:
        postgres: Postgres = request.getfixturevalue("postgres")
        copy = postgres.create()
        postgres.dump(settings.database, copy)
        return settings.model_copy(update={"database": copy})
    if shutil.which("sqlite3") is None:
        pytest.skip("no sqlite3 program to back up with")
    (folder / "restored").mkdir()
    command = ["sqlite3", str(settings.folder / FILE), f".backup '{folder / 'restored' / FILE}'"]
    subprocess.run(command, check=True, timeout=60)
    return settings.model_copy(update={"folder": folder / "restored"})


def post(client: TestClient, path: str, **body: Any) -> dict[str, Any]:
    response = client.post(f"/v1/projects{path}", json=body)
    assert response.is_success, response.text
    return dict(response.json())


def translations(client: TestClient) -> list[str]:
    wait_until(lambda: not post(client, "/manual/translate", text="A")["rebuilding"])
    answer = post(client, "/manual/translate", text=[*NEW, KNOWN[0][0], LATER[0]])
    return [str(one["translation"]) for one in answer["translations"]]


def snapshot_counts(server: TaskServer) -> list[int]:
    """The number of lessons of each snapshot of the first project."""
    found = server.with_storage(lambda storage: storage.projects.snapshots(1))
    return sorted(one.lessons for one in found.values())


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["sqlite", slow("postgresql")], indirect=True)
def test_a_restored_project_translates_as_before(
    task_server: TaskServer, tiny_model: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    chosen = task_server.settings.model_copy(update={"models": tiny_model, "engine_linger": 1})
    server = TaskServer(chosen, tmp_path)
    key = server.participant("ann")
    with server.serve(key) as client:
        post(client, "", name="manual")
        for source, target in KNOWN:
            post(client, "/manual/confirm", source=source, translation=target, proof=False)
        before = translations(client)
        restored = TaskServer(backup(chosen, tmp_path, request), tmp_path)
        post(client, "/manual/confirm", source=LATER[0], translation=LATER[1])
        assert translations(client)[-1] == LATER[1]
    assert SNAPSHOT_EVERY in snapshot_counts(restored)
    with restored.serve(key) as client:
        assert translations(client) == before
        assert post(client, "/manual/confirm", source=LATER[0], translation=LATER[1])["new"]
        assert translations(client)[-1] == LATER[1]


@pytest.mark.slow
def test_a_new_model_of_the_same_name_learns_all_corrections_again(lite: TaskServer, tmp_path: Path) -> None:
    """A snapshot is a delta over the model that made it. It is of no use for another one."""
    (tmp_path / "model").mkdir()
    write_tiny(tmp_path / "model")
    chosen = lite.settings.model_copy(update={"models": str(tmp_path / "model"), "engine_linger": 1})
    server = TaskServer(chosen, tmp_path)
    key = server.participant("ann")
    with server.serve(key) as client:
        post(client, "", name="manual", source_language="en", target_language="de")
        for source, target in KNOWN:
            post(client, "/manual/confirm", source=source, translation=target, proof=False)
        before = translations(client)
    write_tiny(tmp_path / "model", seed=1)
    upgraded = TaskServer(chosen.model_copy(update={"engine_learners": 1}), tmp_path)  # so it has a new engine
    with upgraded.serve(key) as client:
        after = translations(client)
        assert after[-2] == before[-2] == KNOWN[0][1]
        assert after != before
    assert snapshot_counts(upgraded)[0] == SNAPSHOT_EVERY


@pytest.mark.slow
def test_a_snapshot_of_another_platform_is_loaded_and_not_learned_again(
    lite: TaskServer, tiny_model: str, tmp_path: Path
) -> None:
    """The snapshot gets the content of another project, so that the translations show where they come from."""
    chosen = lite.settings.model_copy(update={"models": tiny_model, "engine_linger": 1})
    server = TaskServer(chosen, tmp_path)
    key = server.participant("ann")
    with server.serve(key) as client:
        for name, pairs in (("manual", KNOWN), ("other", PAIRS[100 : 100 + SNAPSHOT_EVERY])):
            post(client, "", name=name)
            for source, target in pairs:
                post(client, f"/{name}/confirm", source=source, translation=target, proof=False)
    wait_until(lambda: snapshot_counts(server)[-1] == len(KNOWN))  # the engine has saved it and ends
    with closing(sqlite3.connect(chosen.folder / FILE)) as database, database:
        (other,) = database.execute("SELECT data FROM project_snapshots WHERE project_id = 2").fetchone()
        database.execute("DELETE FROM project_snapshots WHERE lessons = ?", (len(KNOWN),))
        database.execute("UPDATE project_snapshots SET platform = 'another', data = ? WHERE project_id = 1", (other,))
    upgraded = TaskServer(chosen.model_copy(update={"engine_learners": 1}), tmp_path)  # so it has a new engine
    with upgraded.serve(key) as client:
        texts = [KNOWN[0][0], KNOWN[-1][0], PAIRS[100][0]]
        answer = post(client, "/manual/translate", text=texts)
    assert [one["repeated"] for one in answer["translations"]] == [False, True, True]
