"""Which proposals a bandit learner knows as its own: at home by the run, on a server by the proposal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mtloop.bandits.draw_log import DrawLog
from mtloop.bandits.draws import DRAW_BY_ID
from mtloop.core.types import JSON, Proposal, Reward, Segment

NAMED: dict[str, JSON] = {DRAW_BY_ID: True}
AT_HOME = {"draw": 92457275674154, "rewards": 0, "tokens": [1, 2], "signature": 61793557174387}


def proposed(log: DrawLog, segment: Segment, text: str = "Ja.") -> Proposal:
    return Proposal(segment, text, log.method, memo=log.signed_memo(segment, text, {"tokens": [1, 2]}))


def rejection(log: DrawLog, proposal: Proposal) -> str | None:
    return log.rejection(proposal, Reward(0.5))


def test_at_home_a_draw_follows_from_the_run_the_rewards_and_the_source() -> None:
    """These numbers are in the traces of runs, so they must not change."""
    assert [proposed(DrawLog("nmt-el"), Segment(name, "Yes.")).memo for name in "ab"] == [AT_HOME] * 2


def test_at_home_a_proposal_of_another_run_or_after_more_rewards_is_unknown() -> None:
    ahead = DrawLog("nmt-el")
    ahead.record_reward(proposed(ahead, Segment("1", "No.")), 0.5)
    assert rejection(DrawLog("nmt-el"), proposed(ahead, Segment("2", "Yes."))) == "unknown proposal"
    assert rejection(DrawLog("nmt-el", seed=2), proposed(DrawLog("nmt-el"), Segment("2", "Yes."))) == "unknown proposal"


def test_a_draw_by_id_is_known_whatever_was_learned_before() -> None:
    ahead, other = DrawLog("nmt-el"), DrawLog("nmt-el-cv", seed=2)
    ahead.record_reward(proposed(ahead, Segment("7-1", "No.", NAMED)), 0.5)
    late = proposed(ahead, Segment("7-2", "Yes.", NAMED))
    assert rejection(other, late) is None
    other.record_reward(late, 0.5)
    assert rejection(other, late) == "rewarded before"


def test_equal_sources_with_different_ids_are_different_draws() -> None:
    log = DrawLog("nmt-el")
    twins = [proposed(log, Segment(name, "Yes.", NAMED)) for name in ("7-1", "7-2")]
    assert twins[0].memo["draw"] != twins[1].memo["draw"]
    log.record_reward(twins[0], 0.5)
    assert [rejection(log, twin) for twin in twins] == ["rewarded before", None]


@pytest.mark.parametrize(
    "change",
    [
        {"text": "Nein."},
        {"segment": Segment("7-2", "Yes.", NAMED)},
        {"segment": Segment("7-1", "No.", NAMED)},
        {"memo": {"tokens": [1]}},
        {"memo": {"signature": None}},
    ],
)
def test_a_changed_proposal_is_unknown(change: dict[str, Any]) -> None:
    log = DrawLog("nmt-el")
    proposal = proposed(log, Segment("7-1", "Yes.", NAMED))
    assert rejection(log, proposal) is None
    fields = change | {"memo": {**proposal.memo, **change.get("memo", {})}}
    assert rejection(log, replace(proposal, **fields)) == "unknown proposal"


def test_a_proposal_without_what_the_learner_needs_is_unknown() -> None:
    """Another method of the project drew it."""
    proposal = proposed(DrawLog("nmt-el"), Segment("7-1", "Yes.", NAMED))
    assert rejection(DrawLog("nmt-szo", needs={"perturbation_scale"}), proposal) == "unknown proposal"
    assert rejection(DrawLog("nmt-el-cv", needs={"tokens"}), proposal) is None
