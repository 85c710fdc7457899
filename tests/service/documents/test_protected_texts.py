"""What a text breaks forbids to confirm it; some of it only until a person insists."""

from __future__ import annotations

from collections import Counter

import pytest
from helpers.document_calls import DocumentServer
from helpers.file_samples import po, quoted, xliff1
from hypothesis import given
from hypothesis import strategies as st

from mtloop.service.documents.text_parts import parts_of

SOURCE = "Send <b>%s</b> to {name}."
XML = "Send <g id='1'>it</g> &amp; <x id='2'/> go"
GOOD, GOOD_XML = "Senden Sie <b>%s</b> an {name}.", "Sende <g id='1'>es</g> &amp; <x id='2'/> geh"


@pytest.mark.parametrize(
    ("source", "text", "named", "may_insist"),
    [
        (SOURCE, "Senden Sie <b>%s</b>.", "{name} is missing", True),
        (SOURCE, "Senden Sie <b>%s</b> an {name} {name}.", "{name} is added", True),
        (SOURCE, "Senden Sie <b>%s</b> an {name} und {other}.", "{other} is added", True),
        (SOURCE, "Senden Sie <b>%s an {name}.", "</b> is missing", True),
        (SOURCE, "", "empty", False),
        (SOURCE, "   ", "empty", False),
        (XML, GOOD_XML.replace("<x id='2'/>", ""), "<x id='2'/> is missing", True),
        (XML, GOOD_XML.replace("</g>", ""), "", False),
        (XML, GOOD_XML.replace("&amp;", "&"), "XML", False),
        (XML, GOOD_XML.replace("<x id='2'/>", "<x id='2'/><x id='2'/>"), "<x id='2'/>", False),
        (XML, f"{GOOD_XML}<bold/>", "<bold/>", False),
    ],
)
def test_a_text_that_breaks_protected_text(
    lite_documents: DocumentServer, source: str, text: str, named: str, may_insist: bool
) -> None:
    document, good = _document(lite_documents, source)
    index = document.units(filter="open")[0]["index"]
    response = document.confirm(index, text)
    assert (response.status_code, response.json()["type"]) == (422, "urn:mtloop:protected-text")
    assert named in response.json()["detail"]
    assert document.unit(index)["state"] == "open"
    forced = document.confirm(index, text, force=True)
    assert forced.status_code == (200 if may_insist else 422)
    assert document.unit(index)["state"] == ("confirmed" if may_insist else "open")
    assert document.confirm(index, good).status_code == 200
    assert document.unit(index)["checks"] == []


def _document(server: DocumentServer, source: str):  # type: ignore[no-untyped-def]
    if source == XML:
        return server.upload(xliff1(f'<trans-unit id="1"><source>{XML}</source></trans-unit>'), "a.xlf"), GOOD_XML
    return server.upload(po(f"msgid {quoted(source)}\nmsgstr {quoted('')}\n")), GOOD


def test_a_locked_unit_cannot_be_changed(lite_documents: DocumentServer) -> None:
    locked = '<trans-unit id="1" translate="no"><source>Name</source></trans-unit>'
    document = lite_documents.upload(xliff1(f'{locked}<trans-unit id="2"><source>Go</source></trans-unit>'), "a.xlf")
    answers = [document.draft(0, "x"), document.confirm(0, "x"), document.undo(0)]
    assert {(one.status_code, one.json()["type"]) for one in answers} == {(409, "urn:mtloop:unit-locked")}
    assert document.confirm(2, "x", 0).json()["type"] == "urn:mtloop:unknown-document"


def test_a_script_in_a_segment_is_text(lite_documents: DocumentServer) -> None:
    script = "<script>alert(1)</script>"
    document = lite_documents.upload(f"source\ttarget\n{script} is bad\t\n".encode(), "a.tsv")
    response = document.call("GET", "/units")
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.json()["units"][0]["source"] == f"{script} is bad"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": "x"},
        {"text": "x", "version": -1},
        {"text": "x", "version": "0"},
        {"text": "x\x00", "version": 0},
        {"text": "x", "version": 0, "who": "me"},
        {"text": 1, "version": 0},
        {"text": "x", "version": 2**40},
    ],
)
def test_wrong_bodies(lite_documents: DocumentServer, body: dict[str, object]) -> None:
    document = lite_documents.upload(b"Go\n", "a.txt")
    for method, path in (("POST", "confirm"), ("PUT", "draft")):
        response = document.call(method, f"/units/0/{path}", json=body)
        assert response.status_code == 422, response.text
    assert document.call("POST", "/suggestions", json={"units": list(range(21))}).status_code == 422
    assert document.call("POST", "/suggestions", json={"units": []}).status_code == 422
    assert document.call("GET", "/units", params={"search": "x\x00"}).status_code == 422


@given(st.lists(st.sampled_from(["Save", " ", "{name}", "%s", "<b>", "</b>", "&amp;", "&", "<x id='1'/>", "%1", "é"])))
def test_parts_are_the_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    for syntax in ("plain", "xml"):
        parts = parts_of(text, syntax)
        assert "".join(part["text"] for part in parts) == text
        ids = [part["id"] for part in parts if part["kind"] != "text"]
        assert ids == list(range(1, len(ids) + 1))
        again = parts_of(text, syntax, text)
        assert again == parts
        assert Counter(part["kind"] for part in parts if not part["text"]) == {}
