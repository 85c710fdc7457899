"""Requests of other clients become requests of this service."""

from __future__ import annotations

from typing import Any

import pytest

from mtloop.service.accounts.metering import KEY_IN_BODY
from mtloop.service.compatible.request_rewriting import PROJECT, rewritten

KEY = "mtl_secret"


def rewrite(path: str, query: str = "", method: str = "POST", **headers: str) -> dict[str, Any]:
    sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {"type": "http", "method": method, "path": path, "query_string": query.encode()}
    return dict(rewritten(scope | {"headers": sent}))


def key_of(scope: dict[str, Any]) -> str:
    found = [value.decode() for name, value in scope["headers"] if name == b"x-api-key"]
    assert len(found) <= 1
    return found[0] if found else ""


@pytest.mark.parametrize(
    ("path", "query", "headers", "expected"),
    [
        ("/translate", "", {"x_api_key": KEY}, "/translate"),
        ("/translate", f"api_key={KEY}", {}, "/translate"),
        ("/translate", f"apiKey={KEY}", {}, "/translate"),
        ("/v2/translate", f"auth_key={KEY}", {}, "/v2/translate"),
        ("/v2/usage", "", {"authorization": f"DeepL-Auth-Key {KEY}"}, "/v2/usage"),
        ("/v1/chat/completions", "", {"authorization": f"bearer {KEY}"}, "/v1/chat/completions"),
        ("/translate", "", {"mmt_apikey": KEY}, "/modernmt/translate"),
        ("/modernmt/languages", "", {"mmt_apikey": KEY}, "/modernmt/languages"),
        (f"/key/{KEY}/translate", "", {}, "/translate"),
        (f"/libretranslate/key/{KEY}/languages", "", {}, "/libretranslate/languages"),
        (f"/deepl/key/{KEY}/v2/translate", "", {}, "/deepl/v2/translate"),
        ("/translate/", "", {"x_api_key": KEY}, "/translate"),
        ("/deepl/v2/translate//", "", {"x_api_key": KEY}, "/deepl/v2/translate"),
        ("/translate/", "", {"mmt_apikey": KEY}, "/modernmt/translate"),
        (f"/libretranslate/key/{KEY}/translate/", "", {}, "/libretranslate/translate"),
        ("//translate", "", {"x_api_key": KEY}, "/translate"),
        ("//translate", "", {"mmt_apikey": KEY}, "/modernmt/translate"),
        ("//modernmt//languages", "", {"mmt_apikey": KEY}, "/modernmt/languages"),
        ("/deepl//v2//translate", "", {"x_api_key": KEY}, "/deepl/v2/translate"),
        ("/openai/v1//chat/completions", "", {"x_api_key": KEY}, "/openai/v1/chat/completions"),
        (f"/libretranslate//key/{KEY}//translate", "", {}, "/libretranslate/translate"),
        (f"/libretranslate/key/{KEY}", "", {}, "/libretranslate/translate"),
        (f"/key/{KEY}/", "", {}, "/translate"),
    ],
)
def test_a_key_is_found_wherever_it_is(path: str, query: str, headers: dict[str, str], expected: str) -> None:
    scope = rewrite(path, query, **headers)
    assert (scope["path"], scope["raw_path"], key_of(scope), scope[PROJECT]) == (expected, expected.encode(), KEY, "")
    assert not scope[KEY_IN_BODY]


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/translate", {"x_api_key": f"{KEY}:manual"}),
        (f"/libretranslate/key/{KEY}:manual/translate", {}),
        (f"/libretranslate/key/{KEY}%3Amanual/translate", {}),
        ("/v2/translate", {"authorization": f"DeepL-Auth-Key {KEY}:manual"}),
    ],
)
def test_a_key_may_name_a_project(path: str, headers: dict[str, str]) -> None:
    scope = rewrite(path, **headers)
    assert (key_of(scope), scope[PROJECT]) == (KEY, "manual")


def test_without_a_key_it_may_be_in_the_body() -> None:
    scope = rewrite("/libretranslate/translate", x_api_key="", authorization="Basic abc")
    assert key_of(scope) == ""
    assert scope[KEY_IN_BODY]


def test_the_key_of_the_address_replaces_that_of_the_header() -> None:
    assert key_of(rewrite(f"/key/{KEY}/translate", x_api_key="mtl_other")) == KEY


def test_other_requests_pass_unchanged() -> None:
    inside = "/v1/projects", "/v1//projects", "/v1/projects/", "/v1/projects/key/translate"
    for path in (*inside, "/", "/translated", "/deeplearning", "/keys"):
        scope = rewrite(path, f"api_key={KEY}", authorization=f"Bearer {KEY}")
        assert (scope["path"], key_of(scope)) == (path, "")
        assert PROJECT not in scope


def test_the_method_may_be_in_a_header_of_modernmt_only() -> None:
    assert rewrite("/translate", mmt_apikey=KEY, x_http_method_override="get")["method"] == "GET"
    assert rewrite("/translate", mmt_apikey=KEY, x_http_method_override="trace")["method"] == "POST"
    assert rewrite("/translate", x_http_method_override="GET")["method"] == "POST"


@pytest.mark.parametrize("path", ["/v1/projects", "/v1/keys", "/login", "/healthz"])
def test_a_key_in_the_address_does_not_open_the_native_api(path: str) -> None:
    scope = rewrite(f"/key/{KEY}{path}")
    assert (scope["path"], key_of(scope)) == ("/libretranslate/key/", "")


def test_a_key_at_the_end_of_an_address_opens_nothing_else() -> None:
    for path in (f"/key/{KEY}", f"/key/{KEY}/", f"/key/{KEY}//", f"/libretranslate/key/{KEY}"):
        scope = rewrite(path, method="GET")
        assert (scope["path"], key_of(scope)) == ("/libretranslate/key/", "")
    scope = rewrite(f"/deepl/key/{KEY}")
    assert (scope["path"], key_of(scope)) == ("/deepl/key/", "")


def test_clients_of_libretranslate_may_ask_for_the_health_beside_their_other_addresses() -> None:
    assert rewrite(f"/key/{KEY}/health")["path"] == "/health"


def test_a_query_with_too_many_fields_has_no_key() -> None:
    assert key_of(rewrite("/translate", "a=b&" * 2_000 + f"api_key={KEY}")) == ""
