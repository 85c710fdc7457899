"""Statistics of a project: the metrics of `mtloop score`, on the project's own corrections."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from helpers.tiny_marian import demo_pairs
from starlette.testclient import TestClient

from mtloop.core.types import Proposal, Segment, Step, Truth
from mtloop.metrics.registry import MetricOptions, make_metric
from mtloop.service.project_log.correction_store import StoredCorrection
from mtloop.service.project_log.event_log import Confirmed
from mtloop.service.projects import statistics_routes
from mtloop.service.projects.statistics import measure

PAIRS = list(demo_pairs())
NAMES = ["ter", "r0", "r1", "rer", "near-better", "near-worse", "flips"]
TAUGHT = [  # source, proposal, translation, base translation
    ("Log in to the account", "Melden Sie sich ab", "Melden Sie sich am Konto an", "Logge in dem Konto"),
    ("Log out of the account", "Melden Sie sich am Konto an", "Melden Sie sich vom Konto ab", "Logge aus dem Konto"),
    ("Close the account", "Schließen Sie das Konto", "Schließen Sie das Konto", "Nah die Rechnung"),
    ("Open the account", "Öffnen Sie die Rechnung", "Öffnen Sie das Konto", "Offen die Rechnung"),
] * 30


def corrections(rows: list[tuple[str, str, str, str | None]]) -> list[StoredCorrection]:
    return [
        StoredCorrection(number, Confirmed(source, translation, proposal), "learned", 60.0 * number, "ann", base)
        for number, (source, proposal, translation, base) in enumerate(rows, start=2)
    ]


def steps(rows: list[tuple[str, str, str, str]], column: int) -> list[Step]:
    return [
        Step(index, Proposal(Segment(str(index + 2), row[0]), row[column]), truth=Truth((row[2],)))
        for index, row in enumerate(rows)
    ]


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {metric["name"]: metric for metric in found["metrics"]}


def test_values_are_those_of_the_metrics() -> None:
    found = measure(corrections(list(TAUGHT)), ("en", "de"))
    assert (found["corrections"], found["measured"], found["without_base"]) == (120, 120, 0)
    options = MetricOptions("de", "en", baseline=steps(TAUGHT, 3))
    metrics = by_name(found)
    assert list(metrics) == NAMES
    for name, metric in metrics.items():
        expected = make_metric(name, options).score(steps(TAUGHT, 1)).to_json()
        assert {key: metric[key] for key in expected} == expected
        if name in NAMES[:4]:
            assert metric["base"] == make_metric(name, options).score(steps(TAUGHT, 3)).to_json()
        else:
            assert metric["base"] is None
    assert metrics["flips"]["numerator"] == 1
    assert metrics["near-better"]["numerator"] >= 1


def test_points_are_blocks_in_time() -> None:
    ter = by_name(measure(corrections(list(TAUGHT)), ("en", "de")))["ter"]
    assert [(point["corrections"], point["number"]) for point in ter["points"]] == [(50, 51), (100, 101), (120, 121)]
    assert ter["points"][0]["time"] == "1970-01-01T00:51:00Z"
    options = MetricOptions("de")
    for point, block in zip(ter["points"], (TAUGHT[:50], TAUGHT[50:100], TAUGHT[100:]), strict=True):
        assert point["value"] == pytest.approx(make_metric("ter", options).score(steps(block, 1)).value)
        assert point["base"] == pytest.approx(make_metric("ter", options).score(steps(block, 3)).value)


def test_a_correction_without_a_proposal_teaches_words_but_is_not_measured() -> None:
    imported = ("A drawer", "", "Eine Schublade", None)
    rows = [imported, ("A drawer and a cabinet", "Schublade", "Schublade Schrank", "Fach Schrank")]
    found = measure(corrections(rows), ("en", "de"))
    assert (found["corrections"], found["measured"], found["without_base"]) == (2, 1, 0)
    metrics = by_name(found)
    assert (metrics["r0"]["numerator"], metrics["r0"]["denominator"]) == (0, 1)  # Schrank is new
    assert (metrics["r1"]["numerator"], metrics["r1"]["denominator"]) == (1, 1)  # Schublade was taught by the file
    assert metrics["rer"]["value"] is None
    assert metrics["ter"]["denominator"] == 2
    assert (metrics["r0"]["base"]["numerator"], metrics["r1"]["base"]["numerator"]) == (1, 0)


def test_without_a_base_translation_nothing_is_compared() -> None:
    found = measure(corrections([("A drawer", "Fach", "Schublade", None)]), ("en", "de"))
    assert found["without_base"] == 1
    metrics = by_name(found)
    assert metrics["ter"]["value"] == 100
    assert metrics["ter"]["base"]["value"] is None
    assert metrics["ter"]["points"][0]["base"] is None
    assert metrics["flips"]["value"] is None


def test_the_base_stands_beside_the_project_for_the_same_corrections_only() -> None:
    """While some wait for the base model, a block has its score if it and all before it are translated."""
    rows = [(*row[:3], None if 60 <= index < 70 else row[3]) for index, row in enumerate(TAUGHT)]
    found = measure(corrections(rows), ("en", "de"))
    assert found["without_base"] == 10
    whole = by_name(measure(corrections(list(TAUGHT)), ("en", "de")))
    for name, metric in by_name(found).items():
        if name in NAMES[:4]:
            assert metric["value"] == whole[name]["value"]
            assert metric["base"]["value"] is None
            assert [point["value"] for point in metric["points"]] == [point["value"] for point in whole[name]["points"]]
            bases = [point["base"] for point in metric["points"]]
            assert bases == [whole[name]["points"][0]["base"], None, None]
        else:
            assert metric["base"] is None
            assert metric["denominator"] <= whole[name]["denominator"]


def test_a_language_without_stop_words_has_no_measure_of_words() -> None:
    assert list(by_name(measure(corrections(list(TAUGHT[:4])), ("", "")))) == ["ter", *NAMES[4:]]


def test_nothing_is_measured_in_a_new_project(ann: TestClient) -> None:
    assert ann.post("/v1/projects", json={"name": "empty"}).status_code == 201
    response = ann.get("/v1/projects/empty/statistics")
    assert response.status_code == 200, response.text
    assert (response.json()["corrections"], response.json()["measured"]) == (0, 0)
    for metric in response.json()["metrics"]:
        assert metric["value"] is None
        assert metric["points"] == []
    assert ann.get("/v1/projects/empty/statistics?last=0").status_code == 422


def test_base_translations_are_computed_once(ann: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics_routes, "MAX_BASE", 3)
    assert ann.post("/v1/projects", json={"name": "measured"}).status_code == 201
    proposals = []
    for index, (source, target) in enumerate(PAIRS[:5]):
        body = {"text": source, "format": "html" if index == 4 else "text"}
        answer = ann.post("/v1/projects/measured/translate", json=body).json()
        proposals.append(answer["translations"][0]["translation"] or "Nichts")  # the tiny model may say nothing
        confirmed = {"source": source, "translation": target, "proposal": proposals[-1], "format": body["format"]}
        response = ann.post("/v1/projects/measured/confirm", json=confirmed | {"proof": False})
        assert response.status_code == 200, response.text
    missing = [ann.get("/v1/projects/measured/statistics").json()["without_base"] for _ in range(2)]
    assert missing == [2, 0]
    monkeypatch.setattr(statistics_routes, "MAX_BASE", 0)  # nothing is left to compute
    found = ann.get("/v1/projects/measured/statistics").json()
    assert (found["measured"], found["without_base"]) == (5, 0)
    metrics = by_name(found)
    rows = [(source, text, target, "") for (source, target), text in zip(PAIRS[:5], proposals, strict=True)]
    expected = make_metric("ter", MetricOptions("de")).score(steps(rows, 1)).to_json()
    assert {key: metrics["ter"][key] for key in expected} == expected
    assert metrics["ter"]["base"]["denominator"] == expected["denominator"]
    first = by_name(ann.get("/v1/projects/measured/statistics?last=1").json())
    assert first["ter"]["points"][0]["number"] == 6


def test_a_client_that_leaves_stops_the_base_model(ann: TestClient) -> None:
    assert ann.post("/v1/projects", json={"name": "left"}).status_code == 201
    body = {"source": PAIRS[0][0], "translation": PAIRS[0][1], "proposal": "x", "wait": "durable"}
    assert ann.post("/v1/projects/left/confirm", json=body).status_code == 200
    application: Any = ann.app
    sent: list[dict[str, Any]] = []

    async def leave() -> bool:
        """Ask for statistics, and leave when the engine is asked. Return whether its call was dropped."""
        begun, dropped = asyncio.Event(), asyncio.Event()

        async def call(*_: Any, **__: Any) -> None:
            begun.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                dropped.set()
                raise

        async def receive() -> dict[str, str]:
            await begun.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        headers = [(b"x-api-key", str(ann.headers["x-api-key"]).encode())]
        scope = {"type": "http", "method": "GET", "path": "/v1/projects/left/statistics", "query_string": b""}
        scope |= {"headers": headers, "http_version": "1.1", "scheme": "http", "server": ("testserver", 80)}
        with pytest.MonkeyPatch.context() as changed:
            changed.setattr(application.state.service.engines, "call", call)
            await application(scope, receive, send)
            await asyncio.wait_for(dropped.wait(), 10)
        return dropped.is_set()

    assert ann.portal is not None
    assert ann.portal.call(leave)
    assert sent[0]["status"] == 499
