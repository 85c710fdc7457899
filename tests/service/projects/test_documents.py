"""Translations that use the corrections of some documents only."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.tiny_marian import demo_pairs
from starlette.testclient import TestClient

PAIRS = list(demo_pairs())
PATH = "/v1/projects/manual"


@pytest.fixture(scope="module")
def project(ann: TestClient) -> TestClient:
    """A project with a correction of each of two documents."""
    assert ann.post("/v1/projects", json={"name": "manual", "method": "memory"}).status_code == 201
    for (source, target), document in zip(PAIRS, ("manual", "website"), strict=False):
        body = {"source": source, "translation": target, "document": document}
        assert ann.post(f"{PATH}/confirm", json=body).json()["refused"] is None
    return ann


def translated(client: TestClient, **fields: Any) -> list[dict[str, Any]]:
    response = client.post(f"{PATH}/translate", json={"text": [PAIRS[0][0], PAIRS[1][0]], **fields})
    assert response.status_code == 200, response.text
    return list(response.json()["translations"])


@pytest.mark.parametrize(
    ("fields", "repeated"),
    [
        ({}, [True, True]),
        ({"documents": ["manual"]}, [True, False]),
        ({"documents": ["website", "unknown"]}, [False, True]),
        ({"documents": ["manual", "website"]}, [True, True]),
        ({"documents": []}, [False, False]),
        ({"documents": None}, [True, True]),
    ],
)
def test_documents_limit_exact_matches(project: TestClient, fields: dict[str, Any], repeated: list[bool]) -> None:
    found = translated(project, **fields)
    assert [one["repeated"] for one in found] == repeated
    assert [one["translation"] == target for one, (_, target) in zip(found, PAIRS, strict=False)] == repeated


def test_similar_corrections_are_those_of_the_documents(project: TestClient) -> None:
    numbers = [one["corrections"][0]["number"] for one in translated(project)]
    found = translated(project, documents=["website"])
    assert {one["number"] for answer in found for one in answer["corrections"]} == {numbers[1]}


def test_a_limit_holds_for_its_own_request_only(project: TestClient) -> None:
    translated(project, documents=[])
    assert [one["repeated"] for one in translated(project)] == [True, True]


@pytest.mark.parametrize("documents", ["manual", [1], ["x" * 201], ["a"] * 101, ["a\x00"]])
def test_wrong_documents(project: TestClient, documents: Any) -> None:
    response = project.post(f"{PATH}/translate", json={"text": "Open it.", "documents": documents})
    assert response.status_code == 422
