"""Official system scores of WMT."""

from __future__ import annotations

import pytest

from mtloop.core.errors import InputError
from mtloop.data import read_ranking, read_ratings

WMT20 = "RAW.SCR Z.SCR N SYS N.ALL \n70.5 0.1 12 b.2 20 \n60 0.3 11 HUMAN-A 21 \n80 -0.2 10 a.1 22 \n"
WMT19 = "LP SYSTEM HUMAN BLEU LP TER\nen-de b.2 0.1 0.3 2.2 0.5\nen-de a.1 0.25 0.2 2.1 0.6\n"


def test_ranked_by_z(write) -> None:
    path = write("sys.csv", WMT20)
    assert list(read_ranking(path).items()) == [("HUMAN-A", 0.3), ("b.2", 0.1), ("a.1", -0.2)]
    assert list(read_ranking(path, score="raw")) == ["a.1", "b.2", "HUMAN-A"]


def test_column_human(write) -> None:
    assert read_ranking(write("sys.csv", WMT19)) == {"a.1": 0.25, "b.2": 0.1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("SYS SID RAW.SCR Z.SCR N \na 1 2 3 4 \n", ":1: the columns are SYS, SID, .* expected RAW.SCR Z.SCR N SYS"),
        (WMT20 + "1 2 3\n", ":5: expected 5 cells, found 3"),
        (WMT20 + "1 NaN 3 c 5\n", ":5: score 'NaN' is not a finite number"),
        (WMT20 + "1 2 3 a.1 5\n", ":5: system 'a.1' already has a score"),
    ],
)
def test_refused(content: str, message: str, write) -> None:
    path = write("sys.csv", content)
    with pytest.raises(InputError, match=f"^{path}{message}"):
        read_ranking(path)


def test_an_unknown_score(write) -> None:
    with pytest.raises(InputError, match="there is no score 'zz'; did you mean 'z'"):
        read_ranking(write("sys.csv", WMT20), score="zz")


@pytest.mark.parametrize("content", [WMT20, WMT19])
def test_read_ratings_refuses_a_ranking(content: str, write) -> None:
    with pytest.raises(InputError, match="one score per system, not ratings of segments; use read_ranking"):
        read_ratings(write("sys.csv", content))


def test_any_column_can_be_ranked_and_an_unknown_column_lists_the_existing_ones(write) -> None:
    path = write("sys.csv", WMT20)
    assert list(read_ranking(path, column="N.ALL")) == ["a.1", "HUMAN-A", "b.2"]
    assert list(read_ranking(write("old.csv", WMT19), column="TER")) == ["a.1", "b.2"]
    with pytest.raises(InputError, match=r"no column 'SCR'; the file has: RAW\.SCR"):
        read_ranking(path, column="SCR")
