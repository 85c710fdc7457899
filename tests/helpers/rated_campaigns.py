"""A campaign on the service, its raters, and how they rate."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.testclient import TestClient

QUALITY = {"alpha-net": 88, "beta-net": 72, "gamma-net": 55, "delta-net": 35}
SEGMENTS = 60


def text_of(system: str, segment: int) -> str:
    """The translation of a system. Raters cannot tell from it who made it; `quality_of` can."""
    mark = list(QUALITY).index(system)
    return f"Übersetzung {segment} mit der Fassung {mark} dieses Satzes."


def quality_of(text: str) -> float:
    """The score of a translation, with noise; a damaged one is bad."""
    words = text.split()
    if len(words) != 8:
        return 3.0
    return min(100.0, max(0.0, list(QUALITY.values())[int(words[5])] + random.Random(text).gauss(0, 6)))


def campaign_body(name: str = "menu", segments: int = SEGMENTS, **fields: Any) -> dict[str, Any]:
    outputs = {system: [text_of(system, at) for at in range(segments)] for system in QUALITY}
    sources = [f"Sentence number {at}." for at in range(segments)]
    return {"name": name, "sources": sources, "outputs": outputs, "top": 1, **fields}


@dataclass
class ServedRater:
    """A rater with a link. `rate_next` answers one item, and returns what was shown; None: there is none."""

    client: TestClient
    token: str

    @property
    def url(self) -> str:
        return f"/v1/rating/{self.token}"

    def next(self) -> dict[str, Any]:
        response = self.client.get(f"{self.url}/next")
        assert response.status_code == 200, response.text
        return dict(response.json())

    def post(self, act: str, **body: Any) -> Any:
        return self.client.post(f"{self.url}/{act}", json=body)

    def rate_next(self, kind: str, judge: Callable[[str], float] = quality_of) -> dict[str, Any] | None:
        shown = self.next()
        if shown["item"] is None:
            return None
        texts = [one["text"] for one in shown["translations"]]
        response = self.post("ratings", item=shown["item"], seconds=4.5, **answer(kind, [judge(one) for one in texts]))
        assert response.status_code == 201, response.text
        return shown


def answer(kind: str, scores: list[float]) -> dict[str, Any]:
    """The answer of a rater who would give these scores."""
    if kind == "score":
        return {"scores": [round(score) for score in scores]}
    if kind == "thumbs":
        return {"thumbs": [score >= 50 for score in scores]}
    if kind == "pair":
        return {"better": None if scores[0] == scores[1] else int(scores[1] > scores[0])}
    return {"spans": [_spans(score) for score in scores]}


def _spans(score: float) -> list[dict[str, Any]]:
    span = {"start": 0, "end": 5, "category": "accuracy/mistranslation"}
    majors, minors = divmod(round((100 - score) / 4), 5)
    return [span | {"severity": "major"}] * majors + [span | {"severity": "minor"}] * minors


def create(client: TestClient, **fields: Any) -> dict[str, Any]:
    response = client.post("/v1/campaigns", json=campaign_body(**fields))
    assert response.status_code == 201, response.text
    return dict(response.json())


def add_rater(client: TestClient, name: str, campaign: str = "menu") -> ServedRater:
    response = client.post(f"/v1/campaigns/{campaign}/raters", json={"name": name})
    assert response.status_code == 201, response.text
    return ServedRater(client, response.json()["link"].removeprefix("/rate/"))


def status(client: TestClient, campaign: str = "menu") -> dict[str, Any]:
    response = client.get(f"/v1/campaigns/{campaign}/status")
    assert response.status_code == 200, response.text
    return dict(response.json())
