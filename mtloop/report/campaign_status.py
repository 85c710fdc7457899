"""The status of a rating campaign: a table of the systems, a line per rater, and the result as a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from mtloop.core.plural import pluralise
from mtloop.core.types import JSON
from mtloop.report.stop_sentence import describe_stop
from mtloop.report.table import Table
from mtloop.selection.campaign_state import CampaignStatus


def status_table(status: CampaignStatus) -> Table:
    """The systems from best to worst, then the raters, then the result."""
    systems = sorted(status.means, key=lambda name: (-status.means[name], name))
    raters = list(_rater_lines(status))
    return Table(
        ("system", "mean", "ratings", "undecided"),
        [_cells(status, name) for name in systems],
        [_record(status, name) for name in systems],
        notes=[*raters, *([""] if raters else []), verdict_line(status)],
    )


def status_json(status: CampaignStatus) -> dict[str, JSON]:
    """The status as plain JSON, with means on 0-100."""
    stop = status.verdict
    return {
        "systems": {name: _system_json(status, name) for name in status.means},
        "raters": {
            name: {
                "ratings": rater.ratings,
                "mean": 100 * rater.mean,
                "standard_deviation": 100 * rater.standard_deviation,
            }
            for name, rater in status.raters.items()
        },
        "ratings": status.total,
        "stop": None
        if stop is None
        else {"best": list(stop.best), "confidence": stop.confidence, "within": stop.within},
    }


def verdict_line(status: CampaignStatus) -> str:
    """The result of the campaign so far, as one sentence."""
    stop = status.verdict
    if not status.stops:
        return (
            f"{pluralise(status.total, 'rating')} so far; this policy has no stopping rule, so you decide when to stop"
        )
    if stop is None and not status.left and status.total:
        order = sorted(status.means, key=lambda name: -status.means[name])
        means = ", ".join(f"{name} {100 * status.means[name]:.1f}" for name in order)
        ratings = pluralise(status.total, "rating")
        return f"not decided after {ratings}; no translation of an undecided system is left to rate; means: {means}"
    if stop is None:
        undecided = pluralise(len(status.undecided), "system")
        return f"not decided yet after {pluralise(status.total, 'rating')}; {undecided} still undecided"
    return f"stop: {describe_stop(stop, stop.best)}"


def _system_json(status: CampaignStatus, name: str) -> dict[str, JSON]:
    return {
        "mean": 100 * status.means[name],
        "ratings": status.ratings[name],
        "undecided": name in status.undecided,
    }


def _record(status: CampaignStatus, name: str) -> dict[str, JSON]:
    return {"system": name, **_system_json(status, name)}


def _cells(status: CampaignStatus, name: str) -> list[str]:
    ratings = status.ratings[name]
    mean = f"{100 * status.means[name]:.1f}" if ratings else "-"
    return [name, mean, str(ratings), "yes" if name in status.undecided else "no"]


def _rater_lines(status: CampaignStatus) -> Iterator[str]:
    for name, rater in status.raters.items():
        mean, deviation = 100 * rater.mean, 100 * rater.standard_deviation
        ratings = pluralise(rater.ratings, "rating")
        yield f"rater {name}: {ratings}, mean {mean:.1f}, standard deviation {deviation:.1f}"
