"""Every file format of human ratings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.file_samples import PACK
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.data import read_ratings

DA = "SYS SID RAW.SCR Z.SCR N \na.1 10 75.5 -0.25 2 \na.1 9 60 0.5 1 \nHUMAN-A 9 90 1.5 1 \n"
MQM = "system mqm_avg_score seg_id\na\t-5.000000 1\na None 2\nb  0.0\t1\nb\tNone 3\n"
WMT21 = (
    "lp\tsystem\tseg_id\traw\tz\tn_judgments\tsource\treference_A\thypothesis\n"
    'de-en\ta.1\t10\t95\t1.5\t4\t"Ja\tYes"\tYep\n'
    "de-en\ta.1\t9\t\t\t0\tNein\tNo\tNope\n"
    "de-en\tb.2\t9\t50\t-1\t2\tNein\tNo\tNay\n"
)
LONG = (
    "system\tsegment\tscore\tsource\treference\treference_2\thypothesis\tdocument\tcomet\tchrF\tcomment\tempty\n"
    "a\tsecond\t3\tNo.\tNein.\tNee.\tNe.\thelp\t0.5\t\tfine\t\n"
    "a\tfirst\tNone\tYes.\tJa.\t\tJo.\thelp\t-0.25\t40\t5\t\n"
)

NAN = math.nan


def test_direct_assessment(write) -> None:
    path = write("da.csv", DA)
    raw, z = read_ratings(path), read_ratings(path, score="z")
    assert (raw.systems, raw.segments) == (("a.1", "HUMAN-A"), ("9", "10"))
    np.testing.assert_array_equal(raw.scores, [[60, 75.5], [90, NAN]])
    np.testing.assert_array_equal(z.scores, [[0.5, -0.25], [1.5, NAN]])
    assert raw.notes == ()


def test_mqm(write) -> None:
    ratings = read_ratings(write("mqm.tsv", MQM))
    assert (ratings.systems, ratings.segments) == (("a", "b"), ("1", "2", "3"))
    np.testing.assert_array_equal(ratings.scores, [[-5, NAN, NAN], [0, NAN, NAN]])


def test_wmt21(write) -> None:
    ratings = read_ratings(write("da.tsv.gz", PACK[".gz"](WMT21.encode())))
    assert ratings.segments == ("9", "10")
    np.testing.assert_array_equal(ratings.scores, [[NAN, 95], [50, NAN]])
    assert ratings.metrics == {}
    assert ratings.sources == {"10": '"Ja', "9": "Nein"}
    assert ratings.references["9"] == ("No",)
    assert ratings.hypotheses["b.2"] == {"9": "Nay"}
    assert ratings.notes == ()
    assert read_ratings(write("da.tsv", WMT21), score="z").segment_scores("10") == {"a.1": 1.5}


def test_long_table(write) -> None:
    ratings = read_ratings(write("long.tsv", LONG))
    assert ratings.segments == ("second", "first")
    assert ratings.segment_scores("second") == {"a": 3.0}
    assert ratings.segment_scores("first") == {}
    np.testing.assert_array_equal(ratings.metrics["comet"], [[0.5, -0.25]])
    np.testing.assert_array_equal(ratings.metrics["chrF"], [[NAN, 40]])
    assert ratings.references == {"second": ("Nein.", "Nee."), "first": ("Ja.",)}
    assert ratings.documents == {"second": "help", "first": "help"}
    assert ratings.notes == ("columns without numbers left out: comment, empty",)


def test_human_scores_in_another_column(write) -> None:
    ratings = read_ratings(write("long.csv", "system,segment,stars,raw\na,1,5,70\n"), score="stars")
    assert ratings.segment_scores("1") == {"a": 5.0}
    assert ratings.metrics == {}


def test_a_column_without_a_name_is_a_row_number(write) -> None:
    ratings = read_ratings(write("frame.csv", ",system,segment,score\n0,a,1,5\n"))
    assert (ratings.segment_scores("1"), ratings.metrics) == ({"a": 5.0}, {})


def test_segment_names_with_very_long_numbers(write) -> None:
    long = "1" * 5000
    assert read_ratings(write("da.csv", DA + f"a.1 {long} 1 1 1 \n")).segments == ("10", "9", long)


def test_no_human_scores(write) -> None:
    ratings = read_ratings(write("long.tsv", "system\tseg_id\tcomet\na\t1\t0.5\n"))
    assert ratings.coverage == 0
    assert ratings.notes == ("no human scores found",)


def test_different_texts_of_a_segment_add_a_note(write) -> None:
    table = "system\tsegment\tscore\tsource\na\t1\t1\tYes.\nb\t1\t2\tNo.\n"
    ratings = read_ratings(write("long.tsv", table))
    assert ratings.sources == {"1": "Yes."}
    assert ratings.notes == ("1 segments have different texts in different rows; the first was used",)


def test_repeated_rows_are_averaged(write) -> None:
    ratings = read_ratings(write("da.csv", DA + "a.1 9 70 0.5 1 \n"))
    assert ratings.segment_scores("9") == {"a.1": 65.0, "HUMAN-A": 90.0}
    assert ratings.notes == ("1 cells have more than one human score; the mean was used",)


def test_several_language_pairs(write) -> None:
    table = "lp\tsystem\tsegment\tscore\nen-de\ta\t1\t1\nen-fr\ta\t1\t3\n"
    with pytest.raises(
        InputError, match=r":3: several language pairs \(en-de, en-fr\); choose one with --language-pair"
    ):
        read_ratings(write("long.tsv", table))
    assert read_ratings(write("long.tsv", table), language_pair="en-fr").segment_scores("1") == {"a": 3.0}
    with pytest.raises(InputError, match="no rows of --language-pair 'en-it'; the file has: en-de, en-fr"):
        read_ratings(write("long.tsv", table), language_pair="en-it")


LONG_HEAD = "system\tsegment\tscore\tcomet\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("da.csv", DA + "a.1 11 NaN 0 1\n", ":5: score 'NaN' is not a finite number"),
        ("da.csv", DA + "a.1 11 -inf 0 1\n", ":5: score '-inf' is not a finite number"),
        ("da.csv", DA + "a.1 11 good 0 1\n", ":5: score 'good' is not a finite number"),
        ("da.csv", DA + "a.1 11 1_0 0 1\n", ":5: score '1_0' is not a finite number"),
        ("da.csv", DA + "a.1 11 1\n", r":5: expected 5 cells \(SYS, SID, RAW.SCR, Z.SCR, N\), found 3"),
        ("da.csv", "SYS SID N\na 1 2\n", ":1: no column 'RAW.SCR'; the file has: SYS, SID, N"),
        ("da.csv", "SYS SID RAW.SCR Z.SCR N \n", ":2: the file has a header but no rows"),
        ("mqm.tsv", MQM + "b nan 4\n", ":6: score 'nan' is not a finite number"),
        ("long.tsv", LONG_HEAD + "a\t1\tx\t1\n", ":2: score 'x' is not a finite number"),
        ("long.tsv", LONG_HEAD + "a\t1\t1\t1\na\t2\t1\tx\n", ":3: comet 'x' is not a finite number"),
        ("long.tsv", LONG_HEAD + "a\t1\t1\tnan\n", ":2: comet 'nan' is not a finite number"),
        ("long.tsv", LONG_HEAD + "a\t\t1\t1\n", ":2: the row has no system or no segment"),
        ("long.tsv", LONG_HEAD + "a\t1\t1\n", ":2: expected 4 cells"),
        ("long.tsv", "name\tsegment\tscore\n", ":1: no column 'system'"),
        ("long.tsv", "system\tscore\n", ":1: no column 'segment' or 'seg_id'"),
        ("long.tsv", b"\xff", ":1: invalid UTF-8"),
        ("long.tsv", b"", ": the file is empty"),
    ],
)
def test_refused(name: str, content: str, message: str, write) -> None:
    path = write(name, content)
    with pytest.raises(InputError, match=f"^{path}{message}"):
        read_ratings(path)


@pytest.mark.parametrize(
    ("name", "content", "score", "message"),
    [
        ("da.csv", DA, "zz", "there is no score 'zz'; did you mean 'z'?"),
        ("mqm.tsv", MQM, "z", "MQM files have only one score; remove score='z'"),
        ("long.tsv", LONG, "stars", "no column 'stars'"),
    ],
)
def test_an_unknown_score(name: str, content: str, score: str, message: str, write) -> None:
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        read_ratings(write(name, content), score=score)


@pytest.mark.parametrize(("name", "content"), [("a.csv", DA), ("a.tsv", MQM), ("a.tsv", WMT21), ("a.tsv", LONG)])
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_bytes_are_read_or_refused(name: str, content: str, data: st.DataObject, write) -> None:
    raw = content.encode()
    start = data.draw(st.integers(0, len(raw)))
    path = write(name, raw[:start] + data.draw(st.binary(max_size=9)) + raw[start + data.draw(st.integers(0, 9)) :])
    try:
        ratings = read_ratings(path)
    except InputError as error:
        message = str(error)
    else:
        message = f"{path}"
        assert ratings.scores.shape == (len(ratings.systems), len(ratings.segments))
    assert str(path) in message
    assert len(message.splitlines()) == 1


def test_read_ratings_is_exported_by_the_package() -> None:
    import mtloop.data

    assert mtloop.data.read_ratings is read_ratings
    with pytest.raises(AttributeError, match="no attribute 'read_rating'"):
        mtloop.data.read_rating  # noqa: B018
