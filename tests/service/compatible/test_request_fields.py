"""The fields of a request, whichever way a client sends them."""

from __future__ import annotations

import asyncio
import json
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import pytest
from starlette.requests import Request
from starlette.types import Message

from mtloop.service.compatible import request_fields
from mtloop.service.compatible.request_fields import MAX_FIELDS, RequestFields, UploadedFile, read_fields
from mtloop.service.http import CLIENT_GONE, LONG_BODY, MAX_VALUES
from mtloop.service.problems import ProblemError

FORM = "application/x-www-form-urlencoded"
LIMIT = 1_000


def read(
    body: bytes = b"", kind: str = "", query: str = "", chunk: int = LIMIT, leaves: bool = False, **limits: int
) -> RequestFields:
    """The fields of a request whose body comes in chunks. A client that leaves does so before the end of it."""

    def messages() -> Iterator[Message]:
        for start in range(0, len(body), chunk):
            yield {"type": "http.request", "body": body[start : start + chunk], "more_body": True}
        yield {"type": "http.disconnect"} if leaves else {"type": "http.request", "body": b"", "more_body": False}

    waiting = messages()

    async def receive() -> Message:
        return next(waiting)

    headers = [(b"content-type", kind.encode())] if kind else []
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    scope |= {"query_string": query.encode(), "server": ("testserver", 80), "scheme": "http"}
    return asyncio.run(read_fields(Request(scope, receive), **{"max_bytes": LIMIT} | limits))


def multipart(*parts: tuple[str, str, str]) -> tuple[bytes, str]:
    """A multipart form with (name, file name or "", text), and its content type."""
    rows = []
    for name, file, text in parts:
        named = f'; filename="{file}"' if file else ""
        rows.append(f'--xyz\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n{text}\r\n')
    return ("".join(rows) + "--xyz--\r\n").encode(), "multipart/form-data; boundary=xyz"


def problem(fields: Any, *arguments: Any) -> str:
    with pytest.raises(ProblemError) as caught:
        fields(*arguments)
    assert caught.value.problem.status in (413, 422)
    return caught.value.problem.detail


def test_the_same_fields_in_every_kind_of_body() -> None:
    texts = ["ä\nb", "c"]
    sent = [
        (json.dumps({"q": texts, "target": "de"}).encode(), "application/json; charset=utf-8"),
        (b"q=%C3%A4%0D%0Ab&q=c&target=de", FORM),
        (b"q[]=%C3%A4%0D%0Ab&q%5B%5D=c&target=de", FORM),
        multipart(("q", "", "ä\r\nb"), ("q", "", "c"), ("target", "", "de")),
    ]
    for body, kind in sent:
        for chunk in (1, LIMIT):
            fields = read(body, kind, chunk=chunk)
            assert fields.texts("q") == texts
            assert fields.text("target") == "de"
            assert fields.is_list("q")
    assert read(query="q=%C3%A4%0Ab&q=c&target=de").texts("q") == texts


def test_the_body_wins_over_the_query_and_json_needs_no_header() -> None:
    fields = read(b'{"q": "body"}', query="q=query&source=en")
    assert (fields.text("q"), fields.text("source")) == ("body", "en")
    assert "q" in fields
    assert "file" not in fields


def test_numbers_names_and_missing_fields() -> None:
    fields = read(b'{"n": 3, "flag": true, "names": ["a, b", "c"], "nothing": null, "one": "1"}', "application/json")
    assert (fields.number("n"), fields.number("one"), fields.number("missing", 7)) == (3, 1, 7)
    assert (fields.text("n"), fields.text("flag"), fields.text("nothing", "x")) == ("3", "true", "x")
    assert fields.names("names") == ["a", "b", "c"]
    assert fields.texts("missing") == []
    assert not fields.is_list("one")


def test_a_file_of_a_form() -> None:
    body, kind = multipart(("file", "a b.po", "msgid"), ("target", "", "de"))
    fields = read(body, kind)
    assert fields.file("file") == UploadedFile("a b.po", b"msgid")
    assert fields.file("other") is None
    assert fields.text("target") == "de"


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b"{", "application/json", "not valid JSON"),
        (b"[1]", "application/json", "expected a JSON object"),
        (b"[" * 900, "application/json", "not valid JSON"),
        (b"q=%ff", FORM, "expected JSON, or a form"),
        (b"\xff", "", "expected JSON, or a form"),
        (b"q=" + b"a" * LIMIT, FORM, "larger than this service allows"),
        (b"--other", "multipart/form-data; boundary=xyz", "not a valid multipart form"),
        (b"--xyz", "multipart/form-data", "not a valid multipart form"),
        (multipart(("q", "", "a" * LIMIT))[0], "multipart/form-data; boundary=xyz", "larger than this service allows"),
        (multipart(("file", "a\x00.po", "a"))[0], "multipart/form-data; boundary=xyz", "file name: NUL"),
        (
            multipart(("file", r"\\ud800.po", "a"))[0],
            "multipart/form-data; charset=unicode_escape; boundary=xyz",
            "file name: lone surrogates",
        ),
    ],
)
def test_bodies_that_cannot_be_read(body: bytes, kind: str, message: str) -> None:
    assert message in problem(read, body, kind)


@pytest.mark.parametrize(
    ("value", "message"),
    [(["a", 1], "a list of texts"), ({"a": 1}, "a list of texts"), ("a\x00", "NUL"), ("\ud800", "surrogates")],
)
def test_values_that_are_no_texts(value: Any, message: str) -> None:
    fields = read(json.dumps({"q": value}).encode(), "application/json")
    assert message in problem(fields.texts, "q")


def test_values_that_are_no_numbers_or_no_single_text() -> None:
    fields = read(b'{"n": "many", "q": ["a"]}', "application/json")
    assert "whole number" in problem(fields.number, "n")
    assert "expected one text" in problem(fields.text, "q")


def test_a_field_beside_a_large_file_is_small() -> None:
    body, kind = multipart(("file", "a.po", "a" * 500), ("target", "", "de"))
    fields = read(body, kind, max_field=20)
    assert (len(fields.files["file"].content), fields.text("target")) == (500, "de")
    body, kind = multipart(("file", "a.po", "a"), ("target", "", "d" * 21))
    assert "too large fields" in problem(lambda: read(body, kind, max_field=20))


@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=xyz", "application/json"])
def test_a_client_that_leaves(kind: str) -> None:
    body = multipart(("file", "a.po", "a" * 500))[0][:100]
    with pytest.raises(ProblemError) as caught:
        read(body, kind, leaves=True)
    assert caught.value.problem == CLIENT_GONE


def test_a_long_json_body() -> None:
    text = "a" * LONG_BODY
    body = json.dumps({"q": text}).encode()
    assert read(body, "application/json", max_bytes=2 * LONG_BODY).text("q") == text
    assert "not valid JSON" in problem(lambda: read(body[:-1], "application/json", max_bytes=2 * LONG_BODY))


@pytest.mark.parametrize(("kind", "parser"), [(FORM, "_form"), ("application/json", "_json")])
def test_a_long_body_is_parsed_in_a_thread(monkeypatch: pytest.MonkeyPatch, kind: str, parser: str) -> None:
    """In the event loop it would let all other requests wait: a form of escapes takes very long."""
    threads, parse = list[bool](), getattr(request_fields, parser)

    def noted(raw: bytes) -> dict[str, Any]:
        threads.append(threading.current_thread() is threading.main_thread())
        return dict(parse(raw))

    monkeypatch.setattr(request_fields, parser, noted)
    for length in (1, LONG_BODY):
        body = b"q=" + b"%61" * length if kind == FORM else json.dumps({"q": "a" * length}).encode()
        assert read(body, kind, chunk=LONG_BODY, max_bytes=4 * LONG_BODY).text("q") == "a" * length
    assert threads == [True, False]


def test_a_json_body_of_very_many_values_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    body, most = b'{"q": [%s]}', 1 << 20
    fields = read(body % b",".join([b'"a, b"'] * (MAX_VALUES - 2)), "application/json", chunk=most, max_bytes=most)
    assert len(fields.texts("q")) == MAX_VALUES - 2
    monkeypatch.setattr(json, "loads", None)
    for value in (b"1", b'"\\""', b"[]", b"{}"):
        many = body % b",".join([value] * (MAX_VALUES + 1))
        assert "values" in problem(lambda many=many: read(many, "application/json", chunk=most, max_bytes=most))


def test_too_many_fields_in_the_query() -> None:
    assert len(read(query="&".join(["q=a"] * MAX_FIELDS)).texts("q")) == MAX_FIELDS
    assert "query: at most 2,000 fields" in problem(lambda: read(query="&".join(["q=a"] * (MAX_FIELDS + 1))))


@pytest.mark.parametrize("text", [b"%61", b"%", b"%ff", b"%2", b"aa%61", b"+%", b"%2561", "\u00e4%C3%A4".encode()])
def test_a_form_of_escapes_takes_little_memory(text: bytes) -> None:
    """Anyone may send one: before the key, which is a field of it."""
    raw = b"q=" + text * ((1 << 20) // len(text))
    expected = parse_qsl(raw[: 100 * len(text)].decode())[0][1]
    tracemalloc.start()
    try:
        if text == b"%ff":
            assert "expected JSON, or a form" in problem(request_fields._form, raw)
        else:
            assert request_fields._form(raw)["q"].startswith(expected[:-2])
        assert tracemalloc.get_traced_memory()[1] < 8 * len(raw)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "form", ["q", "q=", "=a", "&&q=a&", "q=a=b", "a=1;b=2", "q=%zz%4", "q=a+b%2B%20c", "q=%00%F0%9F%98%80"]
)
def test_a_form_is_read_as_urllib_reads_it(form: str) -> None:
    assert request_fields._form(form.encode()) == dict(parse_qsl(form, keep_blank_values=True))


def test_too_many_fields_in_a_form() -> None:
    assert len(request_fields._form(b"&".join([b"q=a"] * MAX_FIELDS))["q"]) == MAX_FIELDS
    assert "body: at most 2,000 fields" in problem(request_fields._form, b"&".join([b"q=a"] * (MAX_FIELDS + 1)))


def test_a_field_with_and_without_brackets() -> None:
    assert read(b"q=a&q[]=b&q=c", FORM).texts("q") == ["a", "b", "c"]
    assert read(b"q[]=a", FORM).is_list("q")
