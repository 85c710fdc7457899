"""Requests of other tools in the form of this service: the key in one header, an address of its own for each API.

| a client sends | it becomes |
|---|---|
| `Authorization: DeepL-Auth-Key KEY` or `Bearer KEY`, `MMT-ApiKey: KEY` | `x-api-key: KEY` |
| `?api_key=KEY`, `?auth_key=KEY` | `x-api-key: KEY` |
| `/key/KEY/translate` | `/translate`, with `x-api-key: KEY` |
| `/key/KEY` by POST | the same: OmegaT sends texts to the address as it is written |
| `/translate/`, `//translate` | `/translate` |
| `/translate` with the header `MMT-ApiKey` | `/modernmt/translate` |
| `X-HTTP-Method-Override: GET`, to ModernMT | the method GET |

A key may be written as KEY:PROJECT. The project is kept for `opened_project`.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from mtloop.service.accounts.keys import HEADER
from mtloop.service.accounts.metering import KEY_IN_BODY
from mtloop.service.compatible.request_fields import MAX_FIELDS

PROJECT = "mtloop.project"  # where a request's scope holds the project that its key names
PREFIXES = ("/libretranslate", "/deepl", "/modernmt", "/openai")
ROOT_FOLDERS = ("/v2/", "/v3/", "/v1/chat/", "/v1/models/", "/download_file/", "/key/", "/weblate/")
ROOT_PATHS = frozenset(
    ("/translate", "/languages", "/detect", "/suggest", "/frontend/settings", "/spec", "/translate_file", "/v1/models")
)
HEALTH = "/health"  # clients of LibreTranslate ask for it beside their other addresses
TRANSLATE = "/translate"
UNKNOWN = "/key/"  # below the prefix of an API, where nothing is
LIBRETRANSLATE, MODERNMT, MODERNMT_KEY = "/libretranslate", "/modernmt", "mmt-apikey"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_IN_PATH = re.compile(r"(?P<before>(?:/libretranslate|/deepl|/openai)?)/key/(?P<key>[^/]+)(?P<after>(?:/.*)?)")
_SLASHES = re.compile("/{2,}")
_AUTHORISATION = re.compile(r"(?:DeepL-Auth-Key|Bearer)\s+(\S+)", re.IGNORECASE)
_QUERY_NAMES = ("api_key", "apiKey", "auth_key")


class RequestRewriting:
    """A middleware that rewrites requests to compatible APIs. All others pass unchanged."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope.update(rewritten(scope))  # in place: the middleware around this one logs the route
        await self._app(scope, receive, send)


def rewritten(scope: Scope) -> Scope:
    """The scope of a request, in the form of this service."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    path = _SLASHES.sub("/", scope["path"])
    if MODERNMT_KEY in headers and not path.startswith(PREFIXES):
        path = MODERNMT + path
    path = _without_slash(path)
    if not is_compatible(path):
        return scope if path != HEALTH else {**scope, "path": path, "raw_path": path.encode()}
    path, key = _without_key(path, scope["method"])
    key = key or _given_key(headers, scope["query_string"])
    new = {**scope, "path": path, "raw_path": path.encode(), KEY_IN_BODY: not key}
    if path.startswith(f"{MODERNMT}/"):
        new["method"] = _method(scope["method"], headers.get("x-http-method-override", ""))
    key, _, new[PROJECT] = key.partition(":")
    others = [(name, value) for name, value in scope["headers"] if name != HEADER.encode()]
    new["headers"] = [*others, (HEADER.encode(), key.encode("latin-1", "replace"))] if key else others
    return new


def is_compatible(path: str) -> bool:
    """Whether an address belongs to a compatible API.

    >>> is_compatible("/v2/translate"), is_compatible("/deepl/v2/translate"), is_compatible("/v1/projects")
    (True, True, False)
    """
    return path in ROOT_PATHS or path.startswith(ROOT_FOLDERS) or path.startswith(tuple(f"{one}/" for one in PREFIXES))


def _without_slash(path: str) -> str:
    """An address of a compatible API without a slash at its end: some clients and proxies add one."""
    shorter = path.rstrip("/")
    return shorter if shorter == HEALTH or is_compatible(shorter) else path


def _without_key(path: str, method: str) -> tuple[str, str]:
    """An address without the key in it, and the key. No key in an address opens the native API: logs keep addresses."""
    found = _IN_PATH.fullmatch(path)
    if found is None:
        return path, ""
    inner = found["before"] + found["after"]
    if inner in ("", LIBRETRANSLATE) and method == "POST":
        inner += TRANSLATE
    return (
        (inner, unquote(found["key"]))
        if is_compatible(inner) or inner == HEALTH
        else ((found["before"] or LIBRETRANSLATE) + UNKNOWN, "")
    )


def _given_key(headers: dict[str, str], query: bytes) -> str:
    """The key in a header or in the query."""
    authorisation = _AUTHORISATION.fullmatch(headers.get("authorization", "").strip())
    found = headers.get(HEADER) or headers.get(MODERNMT_KEY) or (authorisation[1] if authorisation else "")
    if found:
        return found
    try:
        fields = parse_qs(query.decode("latin-1"), max_num_fields=MAX_FIELDS)
    except ValueError:  # whoever reads the fields says so
        return ""
    return next((fields[name][0] for name in _QUERY_NAMES if name in fields), "")


def _method(method: str, override: str) -> str:
    return override.upper() if override.upper() in METHODS else method
