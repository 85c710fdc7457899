"""What takes long in a large campaign: it is done once, and not in the event loop, where all requests would wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from helpers.rated_campaigns import add_rater, create
from starlette.testclient import TestClient

from mtloop.selection.campaign_plan import CampaignPlan
from mtloop.selection.item_selection import ItemSelection
from mtloop.service.campaigns import campaign_export
from mtloop.service.campaigns.campaign_bodies import NewCampaignBody
from mtloop.service.campaigns.campaign_log import CampaignLog
from mtloop.service.campaigns.models import CampaignEvent, CampaignGone
from mtloop.service.campaigns.store import CampaignStore
from mtloop.service.http import MAX_VALUES


def is_in_event_loop() -> bool:
    """Whether the caller runs in an event loop, and not in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the long functions that were called. None may be called in the event loop."""
    found = list[str]()

    def note(owner: type, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            assert not is_in_event_loop(), name
            found.append(name)
            return work(*arguments)

        return noted

    for owner, name in ((CampaignLog, "state"), (ItemSelection, "rounds_left"), (CampaignPlan, "to_json")):
        monkeypatch.setattr(owner, name, note(owner, name, getattr(owner, name)))
    monkeypatch.setattr(CampaignPlan, "from_json", staticmethod(note(CampaignPlan, "plan", CampaignPlan.from_json)))
    return found


def test_a_new_campaign_is_validated_and_written_outside_the_event_loop(
    organiser: TestClient, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    places, validate = list[bool](), NewCampaignBody.model_validate_json

    def noted(raw: bytes) -> NewCampaignBody:
        places.append(is_in_event_loop())
        return validate(raw)

    monkeypatch.setattr(NewCampaignBody, "model_validate_json", noted)
    lines = ["a"] * (MAX_VALUES // 2)
    body = {"name": "long", "sources": lines, "outputs": {"one": lines, "two": lines}}
    assert organiser.post("/v1/campaigns", json=body).json()["segments"] == len(lines)
    assert places == [False]
    assert calls == ["to_json"]


def test_a_whole_log_is_replayed_outside_the_event_loop(organiser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    create(organiser)
    rater = add_rater(organiser, "rita")
    for _ in range(3):
        rater.rate_next("score")
    before = organiser.get("/v1/campaigns/menu/status").json()
    added, add = list[tuple[bool, int]](), CampaignLog._add

    def noted(log: CampaignLog, event: CampaignEvent) -> None:
        added.append((is_in_event_loop(), event.number))
        add(log, event)

    monkeypatch.setattr(CampaignLog, "_add", noted)
    monkeypatch.setattr("mtloop.service.campaigns.campaign_calls.FEW_EVENTS", 5)
    organiser.app.state.service.campaigns.forget(1)  # type: ignore[attr-defined]
    assert organiser.get("/v1/campaigns/menu/status").json() == before
    assert added == [(False, number) for number in range(1, 7)]
    rater.rate_next("score")
    assert added[6:] == [(True, 7), (True, 8)]


def test_a_log_that_is_read_in_a_thread_does_not_change(organiser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rating that comes during an export broke it: the log changed while it was read."""
    create(organiser)
    rater = add_rater(organiser, "rita")
    rater.rate_next("score")
    given = list[CampaignLog]()
    read = campaign_export.exported

    def noted(log: CampaignLog, form: str) -> str:
        given.append(log)
        return read(log, form)

    monkeypatch.setattr("mtloop.service.campaigns.campaign_routes.exported", noted)
    assert len(organiser.get("/v1/campaigns/menu/export").text.splitlines()) == 2
    rater.rate_next("score")
    assert [len(log.answers) for log in given] == [1]


def test_the_page_of_a_rater_reads_the_plan_once(organiser: TestClient, calls: list[str]) -> None:
    create(organiser, policy="ucb1")
    rater = add_rater(organiser, "rita")
    for _ in range(2):
        assert organiser.get(f"/rate/{rater.token}").status_code == 200
        rater.next()
    assert calls.count("plan") == 1


def test_a_state_is_computed_once_after_each_event(organiser: TestClient, calls: list[str]) -> None:
    """The progress after a rating and the next item follow from the same state."""
    create(organiser, policy="ucb1")
    rater = add_rater(organiser, "rita")
    rater.rate_next("score")
    calls.clear()
    rater.rate_next("score")
    assert calls.count("state") == 2  # after the item that was given, and after its rating
    first = rater.next()
    calls.clear()
    assert rater.next() == first
    assert calls == ["rounds_left"]


def test_the_page_of_a_campaign_that_is_deleted_meanwhile(
    organiser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(organiser)
    rater = add_rater(organiser, "rita")

    async def gone(self: CampaignStore, campaign_id: int) -> str:
        raise CampaignGone

    monkeypatch.setattr(CampaignStore, "plan", gone)
    assert organiser.get(f"/rate/{rater.token}").status_code == 404
    assert organiser.get("/rate/unknown").status_code == 404
    assert organiser.get(f"/rate/{'x' * 300}").status_code == 404
