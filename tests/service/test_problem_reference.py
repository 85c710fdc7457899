from __future__ import annotations

from pathlib import Path

from mtloop.service import connections
from mtloop.service.problems import Problem

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "problem-codes.md"


def test_the_problems_of_connections_are_listed_as_those_without_a_code() -> None:
    coded, _, others = PAGE.read_text(encoding="utf-8").partition("`about:blank`")
    sent = [one for one in vars(connections).values() if isinstance(one, Problem) and one != connections.SLOW_READER]
    assert {one.status for one in sent} == {400, 408, 414, 429, 431, 503}
    for one in sent:
        assert one.name == ""
        assert f"| {one.status} | {one.detail} |" in others
        assert one.detail not in coded
