"""Campaigns over HTTP: three raters with overlap to the stop, every policy and kind, what raters never see."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest
from helpers.postgres import both_databases
from helpers.rated_campaigns import QUALITY, ServedRater, add_rater, answer, create, quality_of, status, text_of
from starlette.testclient import TestClient

from mtloop.data.ratings.rating_files import read_ratings
from mtloop.selection.policies.registry import POLICIES
from mtloop.service.campaigns import campaign_bodies
from mtloop.service.pages import organised_campaigns


@both_databases
def test_three_raters_with_overlap_rate_until_the_rule_stops(organiser: TestClient) -> None:
    create(organiser, overlap=2, min_per_rater=5, references=[f"Referenz {at}" for at in range(60)])
    raters = [add_rater(organiser, name) for name in ("kim", "lee", "mia")]
    rated = 0
    while [shown for one in raters if (shown := one.rate_next("score"))]:
        rated += 1
        assert rated < 200
    found = status(organiser)
    assert found["verdict"] == {"best": ["alpha-net"], "confidence": 0.95, "within": 0.01}
    assert found["undecided"] == found["could_change"] == []
    assert found["total"] < 60 * 4 * 2 / 2
    assert found["agreement"]["units"] > 10
    assert found["agreement"]["alpha"] == pytest.approx(1.0)
    assert [pair["raters"] for pair in found["agreement"]["pairs"]] == [["kim", "lee"], ["kim", "mia"], ["lee", "mia"]]
    work = organiser.get("/v1/campaigns/menu/raters").json()["raters"]
    assert [one["name"] for one in work] == ["kim", "lee", "mia"]
    assert all(one["ratings"] >= 5 and one["seconds"] == 4.5 and one["spread"] > 5 for one in work)
    assert sum(one["ratings"] for one in work) == found["total"]
    by_text: dict[tuple[int, str], set[str]] = {}
    for one in organiser.get("/v1/campaigns/menu/ratings", params={"limit": 500}).json()["ratings"]:
        raters_of = by_text.setdefault((one["segment"], one["translations"][0]["text"]), set())
        assert one["rater"] not in raters_of, "nobody rates a translation twice"
        raters_of.add(one["rater"])
    assert max(map(len, by_text.values())) == 2


def test_what_would_still_change_the_answer(organiser: TestClient) -> None:
    """In mid-campaign: after the first of two raters, every translation still needs the second one."""
    create(organiser, segments=5, overlap=2)
    kim, lee = (add_rater(organiser, name) for name in ("kim", "lee"))
    while kim.rate_next("score"):
        pass
    found = status(organiser)
    assert (found["verdict"], found["total"], found["left"]) == (None, 20, 20)
    rows = found["could_change"]
    assert [one["system"] for one in rows] == ["alpha-net", "beta-net", "gamma-net", "delta-net"]
    assert [one["in_top"] for one in rows] == [True, False, False, False]
    means = found["means"]
    assert [one["lead"] for one in rows] == pytest.approx(
        [means["alpha-net"] - means["beta-net"], *(means[one["system"]] - means["alpha-net"] for one in rows[1:])]
    )
    assert [one["left"] for one in rows] == [5] * 4
    assert lee.rate_next("score")
    assert status(organiser)["left"] == sum(one["left"] for one in status(organiser)["could_change"]) == 19
    while lee.rate_next("score"):
        pass
    ended = status(organiser)
    assert ended["verdict"] is not None or (ended["left"], lee.next()["item"]) == (0, None)


@pytest.mark.parametrize("kind", ["score", "thumbs", "pair", "mqm"])
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_drives_a_campaign_of_every_kind(organiser: TestClient, policy: str, kind: str) -> None:
    create(organiser, policy=policy, kind=kind, segments=40)
    rater = add_rater(organiser, "kim")
    rated = 0
    while rated < 40 and rater.rate_next(kind):
        rated += 1
    assert rated == 40 or status(organiser)["verdict"] is not None
    found = status(organiser)
    ratings = found["ratings"]
    assert sum(ratings.values()) >= rated
    best = max((system for system in ratings if ratings[system] >= 3), key=found["means"].__getitem__)
    assert best in ("alpha-net", "beta-net")
    assert set(found["weights"]) == set(QUALITY)


def test_a_policy_without_a_stopping_rule_takes_every_segment_once(organiser: TestClient) -> None:
    create(organiser, policy="ucb1", segments=12, overlap=2)
    kim, lee, mia = (add_rater(organiser, name) for name in ("kim", "lee", "mia"))
    assert kim.next()["progress"] == {"done": 0, "left": 11, "target": 0}
    for rater in (kim, lee):
        for _ in range(12):
            assert rater.rate_next("score")
        assert rater.next() == {"item": None, "reason": "finished", "progress": {"done": 12, "left": 0, "target": 0}}
    assert mia.next()["item"] is None
    assert status(organiser)["agreement"]["alpha"] == pytest.approx(1.0)


def test_translations_side_by_side_are_shuffled_for_each_rater(organiser: TestClient) -> None:
    create(organiser, side_by_side=True, overlap=5)
    orders = set()
    for name in ("a", "b", "c", "d", "e"):
        shown = add_rater(organiser, name).next()
        assert [one["option"] for one in shown["translations"]] == [0, 1, 2, 3]
        orders.add(tuple(one["text"] for one in shown["translations"]))
    assert len({frozenset(order) for order in orders}) == 1
    assert len(orders) > 1


FORBIDDEN = re.compile("|".join([*QUALITY, '"mean', "verdict", "weights", "confidence", "undecided", '"best']))


@pytest.mark.parametrize("kind", ["score", "pair", "mqm"])
def test_no_answer_to_a_rater_names_a_system_a_mean_or_the_verdict(organiser: TestClient, kind: str) -> None:
    create(organiser, kind=kind, instructions="Look closely.", attention_checks=0.2)
    rater = add_rater(organiser, "kim")
    organiser.headers.pop("x-api-key")
    texts = [organiser.get(rater.url).text]
    for _ in range(30):
        shown = organiser.get(f"{rater.url}/next")
        texts.append(shown.text)
        if shown.json()["item"] is None:
            break
        scores = [quality_of(one["text"]) for one in shown.json()["translations"]]
        texts.append(rater.post("ratings", item=shown.json()["item"], **answer(kind, scores)).text)
    texts += [rater.post("undo").text, rater.post("ratings", item="0" * 32, better=0).text, rater.post("skip").text]
    assert not [found for text in texts if (found := FORBIDDEN.search(text))]
    assert "Look closely." in texts[0]


def test_undo_takes_back_the_last_act_and_the_item_comes_again(organiser: TestClient) -> None:
    create(organiser)
    rater = add_rater(organiser, "kim")
    first = rater.next()
    assert rater.next() == first
    assert rater.post("skip", item=first["item"]).status_code == 201
    second = rater.next()
    assert second["item"] != first["item"]
    rater.post("ratings", item=second["item"], scores=[20])
    third = rater.next()
    assert rater.post("undo").json()["progress"]["done"] == 0
    assert rater.next() == second | {"progress": third["progress"] | {"done": 0}}
    assert rater.post("undo").status_code == 201  # the skip
    assert rater.next()["item"] == first["item"]
    assert rater.post("undo").json()["type"] == "urn:mtloop:nothing-to-undo"
    for item, score in ((first, 50), (second, 60), (third, 70)):
        assert rater.next()["item"] == item["item"]
        assert rater.post("ratings", item=item["item"], scores=[score]).status_code == 201
    listed = organiser.get("/v1/campaigns/menu/ratings").json()["ratings"]
    assert [(one["answer"], one["retracted"] is None) for one in listed] == [
        ({"scores": [20.0]}, False),
        ({"scores": [50.0]}, True),
        ({"scores": [60.0]}, True),
        ({"scores": [70.0]}, True),
    ]


def test_the_same_rating_twice_is_one_and_another_is_refused(organiser: TestClient) -> None:
    create(organiser)
    rater = add_rater(organiser, "kim")
    item = rater.next()["item"]
    for seconds in (3, 4):
        assert rater.post("ratings", item=item, scores=[40], seconds=seconds).json()["progress"]["done"] == 1
    assert rater.post("ratings", item=item, scores=[41]).json()["type"] == "urn:mtloop:rated-already"
    assert rater.post("skip", item=item).status_code == 409
    assert status(organiser)["total"] == 1


def test_attention_checks_find_who_does_not_read(organiser: TestClient) -> None:
    create(organiser, attention_checks=0.2, policy="ewaf")
    careful, careless = add_rater(organiser, "careful"), add_rater(organiser, "careless")
    for _ in range(60):
        careful.rate_next("score")
        careless.rate_next("score", lambda text: 80.0)
    work = {one["name"]: one for one in organiser.get("/v1/campaigns/menu/raters").json()["raters"]}
    assert (work["careful"]["checks_failed"], work["careless"]["checks_passed"]) == (0, 0)
    assert work["careful"]["checks_passed"] > 3
    assert work["careless"]["checks_failed"] > 3
    checks = sum(one["checks_passed"] + one["checks_failed"] for one in work.values())
    assert status(organiser)["total"] == 120 - checks, "a check does not count for a system"


def test_the_export_holds_what_was_shown(organiser: TestClient, tmp_path: Any) -> None:
    create(organiser, documents=[f"d{at // 10}" for at in range(60)])
    rater = add_rater(organiser, "kim")
    shown = [rater.rate_next("score") for _ in range(12)]
    rater.post("undo")
    lines = [json.loads(line) for line in export(organiser, "jsonl").splitlines()]
    assert len(lines) == 12
    assert lines[-1]["retracted"]
    for line, item in zip(lines, shown, strict=True):
        assert item is not None
        assert line["source"] == item["source"] == f"Sentence number {line['segment'] - 1}."
        assert [one["text"] for one in line["translations"]] == [item["translations"][0]["text"]]
        (system,) = line["translations"][0]["systems"]
        assert line["translations"][0]["text"] == text_of(system, line["segment"] - 1)
        assert line["document"] == f"d{(line['segment'] - 1) // 10}"
        assert (line["rater"], line["seconds"]) == ("kim", 4.5)
    table = export(organiser, "tsv")
    assert len(table.splitlines()) == 12
    file = tmp_path / "ratings.tsv"
    file.write_text(table, encoding="utf-8")
    assert set(read_ratings(file).systems) == set(QUALITY)


def export(client: TestClient, form: str) -> str:
    response = client.get("/v1/campaigns/menu/export", params={"format": form})
    assert response.status_code == 200, response.text
    return str(response.text)


def test_select_serves_the_best_system_while_the_campaign_runs(organiser: TestClient) -> None:
    create(organiser)
    rater = add_rater(organiser, "kim")
    while rater.rate_next("score"):
        pass
    by_number = organiser.get("/v1/campaigns/menu/best", params={"segment": 7}).json()
    assert by_number == {"segment": 7, "text": text_of("alpha-net", 6), "system": "alpha-net"}
    assert organiser.post("/v1/campaigns/menu/best", json={"source": "Sentence number 6."}).json() == by_number
    for response in (
        organiser.get("/v1/campaigns/menu/best", params={"segment": 61}),
        organiser.post("/v1/campaigns/menu/best", json={"source": "Another sentence."}),
    ):
        assert response.json()["type"] == "urn:mtloop:unknown-segment"


@pytest.mark.parametrize("policy", POLICIES)
def test_the_best_system_is_served_whatever_the_policy_tries_next(organiser: TestClient, policy: str) -> None:
    create(organiser, policy=policy, segments=24)
    assert best_systems(organiser, [1]) == {"alpha-net"}, "without ratings: the first by name"
    rater = add_rater(organiser, "kim")
    for _ in range(8):
        assert rater.rate_next("score", lambda text: 100 - quality_of(text))  # the worst system is now the best
        found = status(organiser)
        rated = [system for system, count in found["ratings"].items() if count]
        assert best_systems(organiser, range(1, 25)) == {max(rated, key=found["means"].__getitem__)}


def best_systems(client: TestClient, segments: Iterable[int]) -> set[str]:
    """The systems that are served for these segments."""
    served = [client.get("/v1/campaigns/menu/best", params={"segment": at}).json() for at in segments]
    assert all(one["text"] == text_of(one["system"], one["segment"] - 1) for one in served)
    return {one["system"] for one in served}


def test_the_document_around_is_shown(organiser: TestClient) -> None:
    create(organiser, documents=[f"d{at // 2}" for at in range(60)])
    shown = add_rater(organiser, "kim").next()
    at = int(shown["source"].split()[-1].rstrip("."))
    other = f"Sentence number {at - 1 if at % 2 else at + 1}."
    assert shown["before"] + shown["after"] == [other]
    assert bool(shown["before"]) == bool(at % 2)


def test_stop_renew_delete(organiser: TestClient) -> None:
    made = create(organiser)
    assert made["instructions"].startswith("Read the source")
    rater = add_rater(organiser, "kim")
    item = rater.next()["item"]
    assert organiser.patch("/v1/campaigns/menu", json={"stopped": True}).json()["stopped"] is True
    assert rater.next()["reason"] == "stopped"
    assert rater.post("ratings", item=item, scores=[1]).json()["type"] == "urn:mtloop:campaign-stopped"
    organiser.patch("/v1/campaigns/menu", json={"stopped": False})
    assert rater.next()["item"] == item
    again = organiser.post("/v1/campaigns/menu/raters", json={"name": "kim"})
    assert again.json()["type"] == "urn:mtloop:rater-exists"
    renewed = organiser.post("/v1/campaigns/menu/raters", json={"name": "kim", "renew": True}).json()
    assert organiser.get(f"{rater.url}/next").json()["type"] == "urn:mtloop:unknown-rating-link"
    fresh = ServedRater(organiser, renewed["link"].removeprefix("/rate/"))
    assert fresh.next()["item"] == item
    assert organiser.get("/v1/campaigns").json()["campaigns"][0]["name"] == "menu"
    assert organiser.delete("/v1/campaigns/menu").status_code == 204
    assert organiser.get("/v1/campaigns/menu").json()["type"] == "urn:mtloop:unknown-campaign"
    assert organiser.get(f"{fresh.url}/next").status_code == 404


def test_the_raters_of_a_campaign_come_in_parts(organiser: TestClient) -> None:
    create(organiser)
    names = [f"r{number}" for number in range(5)]
    raters = [add_rater(organiser, name) for name in names]
    for number, rater in enumerate(raters):
        for _ in range(number % 3):
            rater.rate_next("score")
    listed, after = list[dict[str, Any]](), 0
    while after is not None:
        part = organiser.get("/v1/campaigns/menu/raters", params={"after": after, "limit": 2}).json()
        assert len(part["raters"]) <= 2
        listed, after = listed + part["raters"], part["next"]
    assert [(one["name"], one["ratings"]) for one in listed] == list(zip(names, [0, 1, 2, 0, 1], strict=True))
    assert organiser.get("/v1/campaigns/menu/raters").json() == {"raters": listed, "next": None}
    assert organiser.get("/v1/campaigns/menu/raters", params={"limit": 0}).status_code == 422


def test_the_page_and_the_status_of_many_raters_are_short(
    organiser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(organised_campaigns, "ROWS", 2)
    monkeypatch.setattr(campaign_bodies, "MAX_PAIRS", 2)
    create(organiser, overlap=4)
    for name in ("r1", "r2", "r3", "r4"):
        add_rater(organiser, name).rate_next("score")
    assert len(status(organiser)["agreement"]["pairs"]) == 2
    organiser.post("/login", data={"key": organiser.headers["x-api-key"]})
    for path in ("/organiser/campaigns/menu", "/organiser/campaigns/menu/progress"):
        first, rest = organiser.get(path).text, organiser.get(path, params={"after": 2}).text
        shown = [re.findall(r'data-renew="(\w+)"', page) for page in (first, rest)]
        assert shown == [["r1", "r2"], ["r3", "r4"]]
        assert ("?after=2" in first, "?after=" in rest) == (True, False)
        assert organiser.get(path, params={"after": "x"}).text == first
