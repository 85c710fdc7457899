"""Suggestions of the engine for the units of a document."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.file_samples import po, tsv, xliff1
from helpers.tiny_marian import demo_pairs
from starlette.testclient import TestClient

from mtloop.text.glossary import Glossary

PAIRS = [pair for pair in demo_pairs() if "\t" not in "".join(pair)][:6]


@pytest.fixture(scope="module")
def path(ann: TestClient) -> str:
    """A document of six units; the last one is the first again."""
    assert ann.post("/v1/projects", json={"name": "manual", "method": "memory"}).status_code == 201
    assert ann.patch("/v1/projects/manual", json={"glossary": {"and": "und"}}).status_code == 200
    content = tsv([(source, "") for source, _ in [*PAIRS, PAIRS[0]]])
    made = ann.post("/v1/projects/manual/documents", params={"name": "menu.tsv"}, content=content)
    assert made.status_code == 201, made.text
    return f"/v1/projects/manual/documents/{made.json()['document']}"


def suggestions(client: TestClient, path: str, *units: int, **body: Any) -> list[dict[str, Any]]:
    response = client.post(f"{path}/suggestions", json={"units": units, **body})
    assert response.status_code == 200, response.text
    return list(response.json()["suggestions"])


def test_a_confirmation_changes_a_later_suggestion_and_its_undo_changes_it_back(ann: TestClient, path: str) -> None:
    (before,) = suggestions(ann, path, 6)
    assert (before["index"], before["repeated"]) == (6, False)
    body = {"text": PAIRS[0][1], "version": 0, "suggestion": before["translation"]}
    answer = ann.post(f"{path}/units/0/confirm", json=body)
    assert answer.status_code == 200, answer.text
    (after,) = suggestions(ann, path, 6)
    assert (after["translation"], after["repeated"]) == (PAIRS[0][1], True)
    assert after["corrections"][0]["number"] == answer.json()["number"]
    assert after["corrections"][0]["words"] == PAIRS[0][1].split()
    assert "".join(part["text"] for part in after["parts"]) == PAIRS[0][1]
    (base,) = suggestions(ann, path, 6, base=True)
    assert (base["translation"], base["repeated"], base["corrections"]) == (before["translation"], False, [])
    version = answer.json()["unit"]["version"]
    assert ann.post(f"{path}/units/0/undo", json={"version": version}).status_code == 200
    assert suggestions(ann, path, 6)[0]["translation"] == before["translation"]


def test_several_units_come_in_the_order_of_the_request(ann: TestClient, path: str) -> None:
    found = suggestions(ann, path, 4, 2, 2, 99)
    assert [one["index"] for one in found] == [4, 2]


def test_terms_of_the_glossary(ann: TestClient, path: str) -> None:
    found = suggestions(ann, path, *range(7))
    for one in found:
        source = ann.get(f"{path}/units?after={one['index'] - 1}&limit=1").json()["units"][0]["source"]
        expected = [{"source": "and", "target": "und"}] if "and" in source.replace(",", " ").split() else []
        assert one["terms"] == expected


def test_suggestions_do_not_make_the_glossary_anew(ann: TestClient, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of many terms takes a while."""
    first = suggestions(ann, path, *range(7))

    def refuse(*arguments: object) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr(Glossary, "of", refuse)
    assert suggestions(ann, path, *range(7)) == first
    assert any(one["terms"] for one in first)


def test_a_translation_begins_with_the_prefix(ann: TestClient, path: str) -> None:
    response = ann.post(f"{path}/units/1/complete", json={"prefix": "Die Datei"})
    assert response.status_code == 200, response.text
    assert response.json()["translation"].startswith("Die Datei")


def test_units_of_xml_keep_their_tags(ann: TestClient, path: str) -> None:
    content = xliff1('<trans-unit id="1"><source>Open <g id="1">it</g> &amp; go</source></trans-unit>')
    made = ann.post("/v1/projects/manual/documents", params={"name": "a.xlf"}, content=content).json()
    (found,) = suggestions(ann, f"/v1/projects/manual/documents/{made['document']}", 0)
    assert [part["id"] for part in found["parts"] if part["kind"] == "tag"] == [1, 2]
    assert not {check["name"] for check in found["checks"]} & {"tags", "XML"}


def test_corrections_are_shown_as_they_were_written(ann: TestClient) -> None:
    """The engine knows them with %1 in place of the placeholder."""
    assert ann.post("/v1/projects", json={"name": "written", "method": "memory"}).status_code == 201
    source, text = "<b>%s</b> files and {name} were deleted.", "<b>%s</b> Dateien und {name} wurden gelöscht."
    made = ann.post(
        "/v1/projects/written/documents", params={"name": "a.tsv"}, content=tsv([(source, ""), (source, "")])
    )
    path = f"/v1/projects/written/documents/{made.json()['document']}"
    assert ann.post(f"{path}/units/0/confirm", json={"text": text, "version": 0}).status_code == 200
    (found,) = suggestions(ann, path, 1)
    assert [(one["source"], one["translation"]) for one in found["corrections"]] == [(source, text)]
    assert found["corrections"][0]["words"] == ["Dateien", "und", "wurden", "gelöscht."]


def test_a_suggestion_has_percent_signs_as_the_program_needs_them(ann: TestClient) -> None:
    """So has a completion, and `msgfmt -c` takes both as they are. The message without a flag keeps its sign."""
    assert ann.post("/v1/projects", json={"name": "formatted", "method": "memory"}).status_code == 201
    entries = 'msgctxt "text"\nmsgid "%d percent"\nmsgstr ""\n\n#, c-format\nmsgid "%d percent"\nmsgstr ""\n'
    made = ann.post("/v1/projects/formatted/documents", params={"name": "a.po"}, content=po(entries))
    path = f"/v1/projects/formatted/documents/{made.json()['document']}"
    first, *_ = units = [unit["index"] for unit in ann.get(f"{path}/units").json()["units"]]
    assert ann.post(f"{path}/units/{first}/confirm", json={"text": "%d % voll", "version": 0}).status_code == 200
    texts = [one["translation"] for one in suggestions(ann, path, *units)]
    assert texts == ["%d % voll", "%d %% voll"]
    for prefix in ("%d ", "%d % "):
        answer = ann.post(f"{path}/units/{units[1]}/complete", json={"prefix": prefix}).json()
        assert answer["translation"].startswith(prefix)
