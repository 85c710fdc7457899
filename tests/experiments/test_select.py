"""`select` from Python: what it takes, what its result gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.ratings import make_recording, write_ratings

from mtloop.core.errors import InputError
from mtloop.core.trace import Trace
from mtloop.data import Ratings, read_ratings
from mtloop.experiments.select import select


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.tsv"
    write_ratings(path, make_recording([0.85, 0.75, 0.65, 0.4, 0.3], 60, coverage=0.8))
    return path


def test_a_file_and_ratings_that_were_read_give_the_same(ratings: Path) -> None:
    from_file = select(ratings, ["ewaf", "exp3"], runs=3)
    assert from_file.to_json() == select(read_ratings(ratings), ["ewaf", "exp3"], runs=3).to_json()
    assert from_file.to_json() == select(str(ratings), ["ewaf", "exp3"], runs=3, orders="each").to_json()
    assert from_file.to_json() != select(ratings, ["ewaf", "exp3"], runs=3, seed=2).to_json()


def test_ratings_made_by_hand() -> None:
    scores = np.array([[90.0, 80.0, 85.0], [40.0, np.nan, 30.0]])
    result = select(Ratings(("good", "bad"), ("1", "2", "3"), scores), "thompson", missing="skip", runs=2)
    assert result.plan.gold.best == ["good", "bad"]
    assert result.notes == ("scale da", "gold ranking: mean human score")


def test_the_result_is_a_short_table_html_and_a_data_frame(ratings: Path) -> None:
    result = select(ratings, ["ewaf", "race"], missing="skip", runs=2, orders="one")
    assert str(result).startswith("gold: s0, s1, s2; ")
    assert ">distinct</th>" in result._repr_html_()
    frame = result.to_pandas()
    assert frame["policy"].tolist() == ["ewaf", "race"]
    assert frame["distinct_runs"].tolist() == [1, 1]
    assert frame["stops_exactly_right"].tolist()[0] == 0
    assert frame["final_exactly_right"].tolist() == [sum(each.effort.final_exactly_right) for each in result.results]
    assert set(frame.columns) > {"final_right_within_tie", "stops_right_within_tie", "settled_exactly"}
    assert result.checkpoints.to_pandas()["top3_at_60"].tolist() == [
        each.checkpoints[-1].top3 for each in result.results
    ]


def test_charts_and_files(ratings: Path, tmp_path: Path) -> None:
    result = select(ratings, ["ewaf", "race:top=1"], missing="skip", runs=2)
    assert result.plot()._repr_png_().startswith(b"\x89PNG")
    assert "race:top=1" in repr(result.plot("race:top=1"))
    assert result.plot("ewaf").save(tmp_path / "weights.svg").read_text().startswith("<?xml")
    with pytest.raises(InputError, match="this result has no policy 'exp3'; known: ewaf, race:top=1"):
        result.plot("exp3")
    with pytest.raises(InputError, match=r"expected \.png or \.svg"):
        result.plot().save(tmp_path / "weights.gif")
    result.write(tmp_path / "later")
    select(ratings, ["ewaf", "race:top=1"], missing="skip", runs=2, out=tmp_path / "now")
    names = {"effort.png", "ewaf-skip.png", "ewaf-skip.jsonl", "race-top=1-skip.png", "race-top=1-skip.jsonl"}
    assert {path.name for path in (tmp_path / "later").iterdir()} == names
    for path in (tmp_path / "later").iterdir():
        assert path.read_bytes() == (tmp_path / "now" / path.name).read_bytes()
    assert Trace.read(tmp_path / "now" / "ewaf-skip.jsonl").header.config["ratings"] == "ratings.tsv"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policies": []}, "no policy is named"),
        ({"policies": ["exp33"]}, "did you mean 'exp3'"),
        ({"orders": "both"}, "orders is 'both'; expected 'each' or 'one'"),
        ({"runs": "3"}, "runs is '3'; expected a whole number"),
        ({"runs": 2.5}, "runs is 2.5; expected a whole number"),
        ({"runs": "3", "seed": None}, "runs is '3'; expected a whole number; also: seed is None"),
        ({"decimals": -1}, "decimals is -1; expected 0 or more"),
        ({"tie": "1"}, "tie is '1'; expected a number"),
        ({"tie": float("nan")}, "expected 0 or more"),
        ({"missing": None}, "missing is None; expected text"),
        ({"exclude": "HUMAN*"}, "exclude is 'HUMAN*'; expected a list"),
        ({"gold": 3}, "gold is 3; expected"),
        ({"ratings": None}, "ratings is None; expected"),
        ({"policies": 3}, "policy 3; expected a list of names, or text with commas"),
        ({"policies": ["ewaf", 3]}, "policy ['ewaf', 3]; expected a list of names"),
        ({"checkpoints": 10}, "checkpoints is 10; expected a list"),
        ({"checkpoints": "10,end"}, "checkpoints is '10,end'; expected a list"),
        ({"out": 3}, "out is 3; expected the name of a folder"),
        ({"runs": 0}, "runs is 0; expected 1 or more"),
        ({"tie": -1}, "tie is -1; expected 0 or more"),
        ({"checkpoints": [10, 0]}, "checkpoint 0; expected numbers from 1"),
        ({"checkpoints": ["last"]}, "checkpoint 'last'"),
        ({"out": __file__}, "is a file, not a folder to write to"),
    ],
)
def test_mistakes_are_found_before_the_file_is_read(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        select(**{"ratings": tmp_path / "missing.tsv"} | options)  # type: ignore[arg-type]
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_options_that_select_part_of_a_file_need_a_file(ratings: Path) -> None:
    with pytest.raises(InputError, match="language_pair selects what is read from a file; give it to read_ratings"):
        select(read_ratings(ratings), language_pair="en-de")
