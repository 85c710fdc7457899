"""Translate, confirm, learn, undo: the life of a project over HTTP, with engines in their own process."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from helpers.shared_task import TaskServer
from helpers.tiny_marian import demo_pairs
from starlette.testclient import TestClient

from mtloop.service import Settings

PAIRS = list(demo_pairs())


def post(ann: TestClient, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
    response = ann.post(f"/v1/projects{path}", json=body)
    assert response.status_code == status, response.text
    return dict(response.json())


def translation(ann: TestClient, text: str) -> str:
    return str(post(ann, "/manual/translate", text=text)["translations"][0]["translation"])


def test_a_correction_is_known_at_once_and_undone(ann: TestClient) -> None:
    source, target = PAIRS[0]
    post(ann, "", 201, name="manual")
    before = translation(ann, source)
    assert before != target
    answer = post(ann, "/manual/confirm", source=source, translation=target, proposal=before)
    assert answer["new"]
    assert answer["learned"]["rejected"] is None
    assert answer["proof"]["before"] == before
    after = post(ann, "/manual/translate", text=source)
    assert after["translations"][0]["translation"] == target
    assert after["translations"][0]["repeated"]
    assert after["translations"][0]["corrections"][0]["number"] == answer["number"]
    assert after["state"] == answer["number"] == 2
    again = post(ann, "/manual/confirm", source=source, translation=target)
    assert again["number"] == answer["number"]
    assert not again["new"]
    post(ann, "/manual/corrections/2/undo")
    wait_until(lambda: not post(ann, "/manual/translate", text=source)["rebuilding"])
    assert translation(ann, source) == before


def test_corrections_are_shown_as_they_were_written(ann: TestClient) -> None:
    """The engine knows them with %1 and %2 in place of the placeholders."""
    post(ann, "", 201, name="written", method="memory")
    source, target = "Hello {name}, you have {n} messages.", "Hallo {name}, Sie haben {n} Nachrichten."
    assert post(ann, "/written/confirm", source=source, translation=target)["refused"] is None
    for text in (source, [source, source]):
        for answer in post(ann, "/written/translate", text=text)["translations"]:
            (one,) = answer["corrections"]
            assert (one["source"], one["translation"]) == (source, target)
            assert one["words"] == ["Hallo", "Sie", "haben", "Nachrichten."]


def wait_until(done: Any) -> None:
    for _ in range(200):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError("nothing happened within ten seconds")


def test_metrics_have_the_figures_of_engines(tmp_path: Path, tiny_model: str) -> None:
    """Only an engine that runs has some: asking for them starts none."""
    home = TaskServer(Settings(folder=tmp_path / "data", models=tiny_model, engine_linger=1), tmp_path)
    with home.serve(home.participant("olga", organiser=True)) as olga:
        assert 'mtloop_engine_lessons_total{engine="0"}' not in olga.get("/metrics").text
        post(olga, "", 201, name="measured")
        post(olga, "/measured/confirm", source=PAIRS[0][0], translation=PAIRS[0][1])
        text = olga.get("/metrics").text
    assert 'mtloop_engine_lessons_total{engine="0"} ' in text
    assert 'mtloop_engine_snapshot_bytes{engine="0"} ' in text
