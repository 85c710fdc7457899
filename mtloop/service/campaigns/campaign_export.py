"""The ratings of a campaign as files: JSON lines with everything, and a table for `mtloop select --ratings`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mtloop.selection.rating_item import RatingItem
from mtloop.selection.rating_kinds import mqm_score, read_spans
from mtloop.service.campaigns.campaign_bodies import ratings_json
from mtloop.service.campaigns.campaign_log import CampaignLog

COLUMNS = ("system", "segment", "source", "score", "rater", "hypothesis", "document", "time", "seconds")
MEDIA_TYPES = {"tsv": "text/tab-separated-values; charset=utf-8", "jsonl": "application/x-ndjson"}


def exported(log: CampaignLog, form: str) -> str:
    """The ratings as a file. The table has the ratings that count, one line for each system."""
    lines = _json_lines(log) if form == "jsonl" else _table(log)
    return "".join(line + "\n" for line in lines)


def _json_lines(log: CampaignLog) -> Iterator[str]:
    return (json.dumps(one, ensure_ascii=False) for one in ratings_json(log))


def _table(log: CampaignLog) -> Iterator[str]:
    yield "\t".join(COLUMNS)
    for one in ratings_json(log):
        if one["check"] is None and one["retracted"] is None:
            item = log.items[log.answers[one["number"]].of or 0].item
            yield from _rows(one, item, _scores(one))


def _rows(one: Mapping[str, Any], item: RatingItem, scores: list[float]) -> Iterator[str]:
    counted = item.choice.asked if item.choice else ()
    for shown, score in zip(item.translations, scores, strict=True):
        for system in (name for name in shown.systems if name in counted):
            seconds = "" if one["seconds"] is None else f"{one['seconds']:g}"
            cells = [system, str(one["segment"]), one["source"], f"{score:g}", one["rater"]]
            yield "\t".join(map(_cell, [*cells, shown.text, one["document"], one["time"], seconds]))


def _scores(one: Mapping[str, Any]) -> list[float]:
    """The scores as raters gave them: 0 to 100, minus the penalty (MQM), or 0 to 1 (thumbs and pairs)."""
    if one["kind"] == "score":
        return list(one["answer"]["scores"])
    if one["kind"] == "mqm":
        marked = zip(one["answer"]["spans"], one["translations"], strict=True)
        return [mqm_score(read_spans(spans, shown["text"])) for spans, shown in marked]
    return list(one["values"])


def _cell(text: str) -> str:
    return " ".join(text.split())
