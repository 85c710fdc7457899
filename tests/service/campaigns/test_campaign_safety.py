"""Many raters at once, a killed server, wrong links, wrong input: nothing is lost, doubled or half-written."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers.postgres import both_databases
from helpers.rated_campaigns import ServedRater, add_rater, campaign_body, create, status
from helpers.serving import serving
from helpers.shared_task import TaskServer
from starlette.testclient import TestClient

from mtloop.service import Settings


@both_databases
def test_raters_at_once_lose_and_double_nothing(organiser: TestClient) -> None:
    create(organiser, segments=30, policy="ewaf")
    raters = [add_rater(organiser, f"r{number}") for number in range(4)]
    acknowledged: Counter[str] = Counter()

    def work(rater: ServedRater) -> None:
        for _ in range(12):
            shown = rater.rate_next("score")
            assert shown is not None
            acknowledged[shown["translations"][0]["text"]] += 1

    threads = [threading.Thread(target=work, args=(rater,)) for rater in raters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    listed = organiser.get("/v1/campaigns/menu/ratings", params={"limit": 500}).json()["ratings"]
    assert Counter(one["translations"][0]["text"] for one in listed) == acknowledged
    assert len(listed) == len(acknowledged) == 48, "with overlap 1 nobody rates what another one rates"


def call(port: int, path: str, key: str = "", **body: Any) -> dict[str, Any]:
    headers = {"content-type": "application/json"} | ({"x-api-key": key} if key else {})
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1{path}", data, headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return dict(json.load(response))


def test_a_killed_server_has_every_rating_that_it_acknowledged(tmp_path: Path) -> None:
    settings = Settings(folder=tmp_path / "data")
    key = TaskServer(settings, tmp_path).participant("olga", organiser=True)
    with serving(settings.folder) as (port, process, _):
        call(port, "/campaigns", key, **campaign_body())
        link = call(port, "/campaigns/menu/raters", key, name="kim")["link"].replace("/rate", "/rating")
        for score in (10, 20, 30):
            item = call(port, f"{link}/next")["item"]
            call(port, f"{link}/ratings", item=item, scores=[score])
        pending = call(port, f"{link}/next")
        process.kill()
        process.wait()
    with serving(settings.folder) as (port, _, _):
        listed = call(port, "/campaigns/menu/ratings", key)["ratings"]
        assert [one["answer"]["scores"] for one in listed] == [[10.0], [20.0], [30.0]]
        assert call(port, f"{link}/next") == pending
        assert call(port, f"{link}/ratings", item=pending["item"], scores=[40])["progress"]["done"] == 4


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sources": ["one"]}, "lines, the source 1; expected the same"),
        ({"outputs": {"a": ["x"] * 60}}, "expected at least 2"),
        ({"top": 4}, "choose a smaller top"),
        ({"policy": "rase"}, "race"),
        ({"settings": {"speed": 3}}, "speed"),
        ({"settings": {"top": 3}}, "top is a field of the campaign"),
        ({"confidence": 2}, "between 0 and 1"),
        ({"attention_checks": 0.5}, "attention_checks"),
        ({"kind": "stars"}, "kind"),
        ({"policy": "ucb1", "side_by_side": True}, "choose race or ewaf"),
        ({"documents": ["d"]}, "documents has 1 lines"),
        ({"color": "red"}, "color"),
        ({"name": "a/b"}, "name"),
    ],
)
def test_a_wrong_campaign_is_refused_in_one_line(organiser: TestClient, fields: dict[str, Any], message: str) -> None:
    response = organiser.post("/v1/campaigns", json=campaign_body() | fields)
    assert response.status_code == 422
    assert message in response.json()["detail"]
    assert "\n" not in response.json()["detail"]
    assert organiser.get("/v1/campaigns").json()["campaigns"] == []


def test_a_wrong_rating_is_refused_and_nothing_is_stored(organiser: TestClient) -> None:
    create(organiser)
    rater, other = add_rater(organiser, "kim"), add_rater(organiser, "lee")
    item = rater.next()["item"]
    for body in ({"scores": [101]}, {"scores": []}, {"better": 0}, {"scores": [1], "thumbs": [True]}, {}):
        assert rater.post("ratings", item=item, **body).status_code == 422
    assert other.post("ratings", item=item, scores=[5]).json()["type"] == "urn:mtloop:unknown-item"
    assert organiser.get("/v1/rating/wrong/next").json()["type"] == "urn:mtloop:unknown-rating-link"
    assert status(organiser)["total"] == 0
    assert rater.next()["item"] == item


def test_only_organisers_see_campaigns(organiser: TestClient, task_server: TaskServer) -> None:
    create(organiser)
    key = task_server.participant("pat")
    for path in ("", "/menu", "/menu/raters", "/menu/status", "/menu/ratings", "/menu/export"):
        assert organiser.get(f"/v1/campaigns{path}", headers={"x-api-key": key}).status_code == 404
    best = organiser.get("/v1/campaigns/menu/best?segment=1", headers={"x-api-key": key})
    assert set(best.json()) == {"segment", "text"}
