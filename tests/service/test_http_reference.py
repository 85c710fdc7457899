"""docs/reference/http-api.md lists every route, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from mtloop.service import Settings, create_app

PAGE = Path(__file__).parents[2] / "docs/reference/http-api.md"
ROUTE = re.compile(r"`(GET|POST|PUT|PATCH|DELETE) (/v1/[^`]*)`")


def test_the_page_lists_every_route() -> None:
    paths = create_app(Settings()).openapi()["paths"]
    routes = {(method.upper(), path) for path, one in paths.items() for method in one if path.startswith("/v1/")}
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert {found for line in rows for found in ROUTE.findall(line)} == routes
