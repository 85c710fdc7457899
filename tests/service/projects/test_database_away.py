"""The database goes away: calls get 503, and afterwards all is as if nothing had been."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from helpers.postgres import Postgres, binaries
from helpers.project_server import learner_of, logs_of, texts_at_home, wait_until
from helpers.shared_task import TaskServer
from helpers.tiny_marian import demo_pairs

from mtloop.service import Settings
from mtloop.service.engines.base_models import BaseModels

PAIRS = list(demo_pairs())[:40]


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    if binaries() is None:
        pytest.skip("no PostgreSQL to test with")
    server = Postgres(durable=True)
    yield server
    server.remove()


def test_a_database_that_comes_back(own_postgres: Postgres, tmp_path: Path, tiny_model: str) -> None:
    settings = Settings(database=own_postgres.create(), models=tiny_model, engine_linger=1)
    server = TaskServer(settings, tmp_path)
    with server.serve(server.participant()) as client:

        def status(path: str, **body: str) -> int:
            return client.post(f"/v1/projects{path}", json=body).status_code

        assert status("", name="manual") == 201
        first, second = ({"source": source, "translation": target} for source, target in PAIRS[:2])
        assert status("/manual/confirm", **first) == 200
        own_postgres.stop()
        assert status("/manual/translate", text=PAIRS[0][0]) == 503
        assert status("/manual/confirm", **second) == 503
        assert status("", name="other") == 503
        own_postgres.start()
        wait_until(lambda: status("/manual/confirm", **second) == 200)
        answers = client.post("/v1/projects/manual/translate", json={"text": [source for source, _ in PAIRS[:2]]})
        assert [one["translation"] for one in answers.json()["translations"]] == [target for _, target in PAIRS[:2]]
        assert answers.json()["state"] == 3  # settings and two corrections: nothing was stored twice


@pytest.mark.slow
def test_a_database_that_stops_while_lessons_are_learned(
    own_postgres: Postgres, tmp_path: Path, tiny_model: str
) -> None:
    settings = Settings(database=own_postgres.create(), models=tiny_model, engine_linger=1)
    server = TaskServer(settings, tmp_path)
    sources = [source for source, _ in PAIRS[:5]] + ["Something else."]
    with server.serve(server.participant()) as client:

        def post(path: str, **body: object) -> Any:
            return client.post(f"/v1/projects{path}", json=body)

        def texts() -> list[str]:
            found = post("/manual/translate", text=sources).json()
            return [one["translation"] for one in found["translations"]]

        def is_ready() -> bool:
            answer = post("/manual/translate", text="A")
            return answer.status_code == 200 and not answer.json()["rebuilding"]

        assert post("", name="manual").status_code == 201
        assert post("/manual/translate", text="A").status_code == 200  # the engine runs
        for source, target in PAIRS:
            assert post("/manual/confirm", source=source, translation=target, wait="durable").status_code == 200
        with ThreadPoolExecutor(1) as thread:
            translating = thread.submit(post, "/manual/translate", text="A")  # it learns the lessons first
            own_postgres.stop("immediate")
            assert translating.result().status_code in (200, 503)
        own_postgres.start()
        wait_until(is_ready, 60)
        served = texts()
        rows = client.get("/v1/projects/manual/corrections?limit=500").json()["corrections"]
        assert [(row["source"], row["translation"]) for row in rows] == PAIRS[::-1]
        log = logs_of(settings)["manual"]
    assert len(log.lessons) == len(PAIRS)
    assert served == texts_at_home(learner_of(log, BaseModels()), sources)
