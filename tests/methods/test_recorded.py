from __future__ import annotations

import pytest

from mtloop.core import InputError, Segment
from mtloop.methods.recorded import Recorded


def test_by_position_and_by_id() -> None:
    assert Recorded(["eins", "zwei"]).propose(Segment("2", "two")).text == "zwei"
    assert Recorded({"a": "eins"}, name="mine").propose(Segment("a", "one")).system == "mine"


def test_a_segment_without_a_recorded_translation() -> None:
    with pytest.raises(InputError, match="mine has no translation of segment '3'"):
        Recorded(["eins"], name="mine").propose(Segment("3", "three"))
