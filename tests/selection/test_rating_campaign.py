"""Campaigns: what is shown next, several raters, undo."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mtloop.core import InputError
from mtloop.core.trace import Event, Header, Trace
from mtloop.selection.raters import Rating, standardised
from mtloop.selection.rating_campaign import Campaign, CampaignPlan, RatingItem
from mtloop.selection.rating_log import FolderRatingLog

QUALITY = {"ours": 85, "theirs": 75, "third": 65, "fourth": 40, "fifth": 30}


class ListLedger:
    """Storage that is no file: the engine must not care."""

    def __init__(self) -> None:
        self.kept: dict[str, list[Event]] = {}

    def events(self) -> dict[str, Trace]:
        return {rater: Trace(Header(), tuple(events)) for rater, events in self.kept.items()}

    def append(self, rater: str, event: Event) -> None:
        self.kept.setdefault(rater, []).append(event)


def plan(segments: int = 80, **settings: int) -> CampaignPlan:
    outputs = {name: tuple(f"{name} {i}" for i in range(segments)) for name in QUALITY}
    return CampaignPlan(tuple(f"source {i}" for i in range(segments)), outputs, **settings)


def opinion(task: RatingItem, shift: float = 0) -> float:
    noise = random.Random(task.text).gauss(0, 10)
    return min(100, max(0, QUALITY[task.systems[0]] + noise + shift))


def test_raters_find_the_best_three_and_the_campaign_stops() -> None:
    campaign = Campaign(plan(), ListLedger())
    ratings = 0
    while (task := campaign.next("kim")) is not None:
        campaign.rate("kim", task, opinion(task))
        ratings += 1
    standing = campaign.standing()
    assert standing.verdict is not None
    assert set(standing.verdict.best) == {"ours", "theirs", "third"}
    assert ratings == standing.total < 5 * 80 / 2
    assert standing.asked == ()


def test_no_cell_is_shown_twice_and_a_segment_is_finished_first() -> None:
    campaign = Campaign(plan(), ListLedger())
    shown = []
    for _ in range(10):
        task = campaign.next("kim")
        assert task is not None
        shown.append(task)
        campaign.rate("kim", task, 50)
    assert len({task.text for task in shown}) == 10
    assert [task.segment for task in shown] == [shown[0].segment] * 5 + [shown[5].segment] * 5


def test_what_several_systems_said_alike_is_rated_once() -> None:
    same = CampaignPlan(("s",), {"a": ("x",), "b": ("x",), "c": ("y",)}, top=1)
    campaign = Campaign(same, ListLedger())
    tasks = []
    while (task := campaign.next("kim")) is not None:
        tasks.append(task.systems)
        campaign.rate("kim", task, 70)
    assert sorted(tasks) == [("a", "b"), ("c",)]
    assert campaign.standing().ratings == {"a": 1, "b": 1, "c": 1}


def test_skip_is_for_this_rater_only_and_undo_brings_it_back() -> None:
    campaign = Campaign(plan(), ListLedger())
    first = campaign.next("kim")
    assert first is not None
    campaign.skip("kim", first)
    second = campaign.next("kim")
    assert second is not None
    assert second.text != first.text
    assert campaign.next("lee") == first
    campaign.rate("kim", second, 30)
    assert campaign.standing().total == 1
    taken = campaign.undo("kim")
    assert taken is not None
    assert campaign.standing().total == 0
    assert campaign.next("kim") == second
    assert campaign.undo("kim") is None
    assert campaign.undo("nobody") is None


def test_two_raters_do_not_get_the_same_translation() -> None:
    campaign = Campaign(plan(), ListLedger())
    task = campaign.next("kim")
    assert task is not None
    other = campaign.next("lee", busy=[(task.segment, name) for name in task.systems])
    assert other is not None
    assert other.text != task.text


def test_a_strict_rater_is_known_after_enough_ratings() -> None:
    campaign = Campaign(plan(enough=10), ListLedger())
    for i in range(40):
        rater, shift = ("strict", -25) if i % 2 else ("kind", 10)
        task = campaign.next(rater)
        assert task is not None
        campaign.rate(rater, task, opinion(task, shift))
    assert {name: habit.ratings for name, habit in campaign.standing().raters.items()} == {"kind": 20, "strict": 20}
    means = campaign.standing().means
    assert sorted(means, key=lambda name: -means[name])[:3] == ["ours", "theirs", "third"]


def test_standardising_waits_for_enough_and_keeps_the_scale() -> None:
    few = [Rating("a", str(i), ("x",), 0.1 * i) for i in range(5)]
    assert standardised(few) == [rating.value for rating in few]
    flat = [Rating("a", str(i), ("x",), 0.9) for i in range(20)] + [Rating("b", str(i), ("x",), 0.1) for i in range(20)]
    assert standardised(flat) == pytest.approx([0.5] * 40)
    assert standardised([]) == []


def test_a_folder_holds_a_trace_a_rater_and_sees_what_others_write(tmp_path: Path) -> None:
    with FolderRatingLog(tmp_path, "x") as here, FolderRatingLog(tmp_path, "x") as there:
        ours, theirs = Campaign(plan(), here), Campaign(plan(), there)
        for campaign, rater in [(ours, "kim"), (theirs, "lee"), (ours, "kim"), (theirs, "kim"), (ours, "kim")]:
            task = campaign.next(rater)
            assert task is not None
            campaign.rate(rater, task, 60)
        assert ours.standing() == theirs.standing()
        assert {name: habit.ratings for name, habit in ours.standing().raters.items()} == {"kim": 4, "lee": 1}
    with pytest.raises(InputError, match="another run"), FolderRatingLog(tmp_path, "other campaign") as wrong:
        Campaign(plan(), wrong).rate("kim", task, 50)


@pytest.mark.parametrize("score", [-1, 100.5, float("nan")])
def test_a_score_outside_0_to_100_is_refused(score: float) -> None:
    campaign = Campaign(plan(), ListLedger())
    task = campaign.next("kim")
    assert task is not None
    with pytest.raises(InputError, match="from 0 to 100"):
        campaign.rate("kim", task, score)


@pytest.mark.parametrize("name", ["", "../kim", ".kim", "a b", "k" * 65])
def test_a_raters_name_must_do_as_a_file_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="rater"):
        Campaign(plan(), FolderRatingLog(tmp_path, "x")).next(name)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CampaignPlan((), {"a": (), "b": ()}, top=1), "no segments"),
        (lambda: CampaignPlan(("s",), {"a": ("x",)}, top=1), "more systems"),
        (lambda: CampaignPlan(("s",), {"a": ("x",), "b": ()}, top=1), "b has 0 lines"),
        (lambda: CampaignPlan(("s",), {"a": ("x",), "b": ("y",)}, ("r", "r"), top=1), "the reference has 2 lines"),
        (lambda: CampaignPlan(("s",), {"a": ("x",), "b": ("y",)}, top=1, confidence=2), "between 0 and 1"),
        (lambda: CampaignPlan.from_json("{}"), "no campaign"),
    ],
)
def test_a_campaign_that_cannot_be_is_one_clear_line(make: Callable[[], CampaignPlan], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
