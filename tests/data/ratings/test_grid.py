"""`Ratings`: a grid of scores with missing values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mtloop.core.errors import UnknownName
from mtloop.core.types import Segment, Truth
from mtloop.data import Ratings
from mtloop.data.ratings.builder import HUMAN, RatingsBuilder


@pytest.fixture
def ratings() -> Ratings:
    builder = RatingsBuilder()
    builder.add(HUMAN, "OPPO.1", "1", 80.0)
    builder.add(HUMAN, "HUMAN-A", "2", 90.0)
    builder.add("chrF", "OPPO.1", "2", 0.5)
    builder.sources["1"], builder.references["1"], builder.documents["1"] = "Save.", ("Sichern.",), "help"
    builder.hypotheses["OPPO.1"]["1"] = "Retten."
    return builder.ratings()


def test_a_cell_without_a_score_is_nan(ratings: Ratings) -> None:
    assert ratings.systems == ("OPPO.1", "HUMAN-A")
    assert ratings.segments == ("1", "2")
    np.testing.assert_array_equal(ratings.scores, [[80, math.nan], [math.nan, 90]])
    assert ratings.coverage == 0.5


def test_segment_scores(ratings: Ratings) -> None:
    assert ratings.segment_scores("2") == {"HUMAN-A": 90.0}


def test_unknown_names(ratings: Ratings) -> None:
    with pytest.raises(UnknownName, match="there is no segment '3'; known: 1, 2"):
        ratings.segment_scores("3")
    with pytest.raises(UnknownName, match=r"there is no system 'OPO.1'; .*known: HUMAN-A, OPPO.1"):
        ratings.only(["OPO.1"])


def test_stream(ratings: Ratings) -> None:
    assert list(ratings.stream()) == [
        (Segment("1", "Save.", {"document": "help"}), Truth(("Sichern.",), {"OPPO.1": 80.0})),
        (Segment("2", ""), Truth((), {"HUMAN-A": 90.0})),
    ]


def test_without_humans(ratings: Ratings) -> None:
    machines = ratings.without_humans()
    assert machines.systems == ("OPPO.1",)
    np.testing.assert_array_equal(machines.metrics["chrF"], [[math.nan, 0.5]])
    assert machines.hypotheses == {"OPPO.1": {"1": "Retten."}}


def test_grids_cannot_be_changed(ratings: Ratings) -> None:
    with pytest.raises(ValueError, match="read-only"):
        ratings.scores[0, 0] = 0


def test_several_scores_of_a_cell_are_averaged() -> None:
    builder = RatingsBuilder()
    for value in (1.0, 2.0, 6.0):
        builder.add(HUMAN, "a", "1", value)
    assert builder.ratings().segment_scores("1") == {"a": 3.0}
    assert builder.ratings().notes == ("1 cells have more than one human score; the mean was used",)
