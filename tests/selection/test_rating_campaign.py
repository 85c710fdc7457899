"""Rating campaigns: the next item, several raters, undo, the format of the plan."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mtloop.core import InputError
from mtloop.core.trace import Event, Header, Trace
from mtloop.selection.campaign_plan import CampaignPlan
from mtloop.selection.raters import Rating, standardise
from mtloop.selection.rating_campaign import Campaign
from mtloop.selection.rating_item import RatingItem
from mtloop.selection.rating_log import FolderRatingLog

EXPORT = "export its ratings with the version that made it, or create it again"
QUALITY = {"ours": 85, "theirs": 75, "third": 65, "fourth": 40, "fifth": 30}


class ListRatingLog:
    """A rating log in memory."""

    def __init__(self) -> None:
        self.by_rater: dict[str, list[Event]] = {}

    def events(self) -> dict[str, Trace]:
        return {rater: Trace(Header(), tuple(events)) for rater, events in self.by_rater.items()}

    def append(self, rater: str, event: Event) -> None:
        self.by_rater.setdefault(rater, []).append(event)


def plan(segments: int = 80, **settings: int) -> CampaignPlan:
    outputs = {name: tuple(f"{name} {i}" for i in range(segments)) for name in QUALITY}
    return CampaignPlan(tuple(f"source {i}" for i in range(segments)), outputs, **settings)


def score_of(item: RatingItem, shift: float = 0) -> float:
    noise = random.Random(item.text).gauss(0, 10)
    return min(100, max(0, QUALITY[item.systems[0]] + noise + shift))


def test_raters_find_the_best_three_and_the_campaign_stops() -> None:
    campaign = Campaign(plan(), ListRatingLog())
    ratings = 0
    while (item := campaign.next("kim")) is not None:
        campaign.rate("kim", item, score_of(item))
        ratings += 1
    status = campaign.status()
    assert status.verdict is not None
    assert set(status.verdict.best) == {"ours", "theirs", "third"}
    assert ratings == status.total < 5 * 80 / 2
    assert status.undecided == ()


def test_no_cell_is_shown_twice_and_a_segment_is_finished_first() -> None:
    campaign = Campaign(plan(), ListRatingLog())
    shown = []
    for _ in range(10):
        item = campaign.next("kim")
        assert item is not None
        shown.append(item)
        campaign.rate("kim", item, 50)
    assert len({item.text for item in shown}) == 10
    assert [item.segment for item in shown] == [shown[0].segment] * 5 + [shown[5].segment] * 5


def test_equal_outputs_of_several_systems_are_rated_once() -> None:
    same = CampaignPlan(("s",), {"a": ("x",), "b": ("x",), "c": ("y",)}, top=1)
    campaign = Campaign(same, ListRatingLog())
    rated = []
    while (item := campaign.next("kim")) is not None:
        rated.append(item.systems)
        campaign.rate("kim", item, 70)
    assert sorted(rated) == [("a", "b"), ("c",)]
    assert campaign.status().ratings == {"a": 1, "b": 1, "c": 1}


def test_skip_is_for_this_rater_only_and_undo_brings_it_back() -> None:
    campaign = Campaign(plan(), ListRatingLog())
    first = campaign.next("kim")
    assert first is not None
    campaign.skip("kim", first)
    second = campaign.next("kim")
    assert second is not None
    assert second.text != first.text
    assert campaign.next("lee") == first
    campaign.rate("kim", second, 30)
    assert campaign.status().total == 1
    taken = campaign.undo("kim")
    assert taken is not None
    assert campaign.status().total == 0
    assert campaign.next("kim") == second
    skipped = campaign.undo("kim")  # of a skip too
    assert skipped is not None
    assert skipped.proposal.text == first.text
    assert campaign.next("kim") == first
    assert campaign.undo("kim") is None
    assert campaign.undo("nobody") is None


def test_two_raters_do_not_get_the_same_translation() -> None:
    campaign = Campaign(plan(), ListRatingLog())
    item = campaign.next("kim")
    assert item is not None
    other = campaign.next("lee", busy=[(item.segment, name) for name in item.systems])
    assert other is not None
    assert other.text != item.text


def test_ratings_of_a_strict_rater_are_standardised_after_enough_ratings() -> None:
    campaign = Campaign(plan(min_ratings=10), ListRatingLog())
    for i in range(40):
        rater, shift = ("strict", -25) if i % 2 else ("kind", 10)
        item = campaign.next(rater)
        assert item is not None
        campaign.rate(rater, item, score_of(item, shift))
    assert {name: rater.ratings for name, rater in campaign.status().raters.items()} == {"kind": 20, "strict": 20}
    means = campaign.status().means
    assert sorted(means, key=lambda name: -means[name])[:3] == ["ours", "theirs", "third"]


def test_standardising_waits_for_enough_and_keeps_the_scale() -> None:
    few = [Rating("a", str(i), ("x",), 0.1 * i) for i in range(5)]
    assert standardise(few) == [rating.value for rating in few]
    flat = [Rating("a", str(i), ("x",), 0.9) for i in range(20)] + [Rating("b", str(i), ("x",), 0.1) for i in range(20)]
    assert standardise(flat) == pytest.approx([0.5] * 40)
    assert standardise([]) == []


def test_a_folder_has_one_trace_per_rater_and_reads_changes_of_other_processes(tmp_path: Path) -> None:
    with FolderRatingLog(tmp_path, "x") as here, FolderRatingLog(tmp_path, "x") as there:
        ours, theirs = Campaign(plan(), here), Campaign(plan(), there)
        for campaign, rater in [(ours, "kim"), (theirs, "lee"), (ours, "kim"), (theirs, "kim"), (ours, "kim")]:
            item = campaign.next(rater)
            assert item is not None
            campaign.rate(rater, item, 60)
        assert ours.status() == theirs.status()
        assert {name: rater.ratings for name, rater in ours.status().raters.items()} == {"kim": 4, "lee": 1}
    with pytest.raises(InputError, match="another run"), FolderRatingLog(tmp_path, "other campaign") as wrong:
        Campaign(plan(), wrong).rate("kim", item, 50)


@pytest.mark.parametrize("score", [-1, 100.5, float("nan")])
def test_a_score_outside_0_to_100_is_refused(score: float) -> None:
    campaign = Campaign(plan(), ListRatingLog())
    item = campaign.next("kim")
    assert item is not None
    with pytest.raises(InputError, match="from 0 to 100"):
        campaign.rate("kim", item, score)


@pytest.mark.parametrize("name", ["", "../kim", ".kim", "a b", "k" * 65])
def test_the_name_of_a_rater_must_be_a_valid_file_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="rater"):
        Campaign(plan(), FolderRatingLog(tmp_path, "x")).next(name)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CampaignPlan((), {"a": (), "b": ()}, top=1), "no segments"),
        (
            lambda: CampaignPlan(("s",), {"a": ("x",)}, top=1),
            r"^a campaign compares systems; expected at least 2, got 1$",
        ),
        (
            lambda: CampaignPlan(("s",), {"a": ("x",), "b": ("y",)}, top=3),
            "top is 3, but there are only 2 systems; choose a smaller top",
        ),
        (lambda: CampaignPlan(("s",), {"a": ("x",), "b": ()}, top=1), "b has 0 lines"),
        (lambda: CampaignPlan(("s",), {"a": ("x",), "b": ("y",)}, ("r", "r"), top=1), "the reference has 2 lines"),
        (lambda: CampaignPlan(("s",), {"a": ("x",), "b": ("y",)}, top=1, confidence=2), "between 0 and 1"),
        (lambda: CampaignPlan.from_json("{}"), "not a campaign"),
    ],
)
def test_an_invalid_campaign_raises_a_clear_error(make: Callable[[], CampaignPlan], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_a_plan_survives_json_and_has_a_format_number() -> None:
    text = plan(3).to_json()
    assert json.loads(text)["format"] == 2
    assert CampaignPlan.from_json(text) == plan(3)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (None, rf"^this campaign was made by an older mtloop \(format 1\); {EXPORT}$"),
        (1, rf"^this campaign was made by an older mtloop \(format 1\); {EXPORT}$"),
        (4, r"^this campaign was made by a newer mtloop \(format 4\); upgrade mtloop$"),
    ],
)
def test_a_plan_of_another_format_is_refused(number: int | None, message: str) -> None:
    table = json.loads(plan(3).to_json())
    del table["format"]
    with pytest.raises(InputError, match=message):
        CampaignPlan.from_json(json.dumps(table if number is None else {"format": number, **table}))
