from __future__ import annotations

from pathlib import Path

import pytest

from mtloop.core import InputError
from mtloop.metrics.score_files import ScoreFile, read_scores, scores_of_system

# What `comet-score -s src -t a.txt b.txt -r ref --to_json out.json` prints and saves.
COMET_OUTPUT = """\
a.txt\tSegment 0\tscore: 0.8125
b.txt\tSegment 0\tscore: 0.5000
a.txt\tSegment 1\tscore: 0.9375
b.txt\tSegment 1\tscore: -0.2500
a.txt\tscore: 0.8750
b.txt\tscore: 0.1250
Predictions saved in: out.json.
"""
COMET_JSON = """{
    "a.txt": [
        {"src": "Save", "mt": "Speichern", "ref": "Sichern", "COMET": 0.8125},
        {"src": "Open", "mt": "Öffnen", "ref": "Öffnen", "COMET": 0.9375}
    ],
    "b.txt": [
        {"src": "Save", "mt": "Retten", "ref": "Sichern", "COMET": 0.5},
        {"src": "Open", "mt": "Offen", "ref": "Öffnen", "COMET": -0.25}
    ]
}"""
TWO = {"a.txt": [0.8125, 0.9375], "b.txt": [0.5, -0.25]}
ONE = {"": [0.8125, 0.9375]}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("s.txt", "0.8125\n0.9375\n", ONE),
        ("s.txt", "0.8125\r\n9.375e-1\r\n", ONE),
        ("s.tsv", "a.txt\tb.txt\n0.8125\t0.5\n0.9375\t-0.25\n", TWO),
        ("s.txt", COMET_OUTPUT, TWO),
        ("s.txt", COMET_OUTPUT.replace("0\n", "0\tvariance: 0.1\n", 1), TWO),
        ("s.json", COMET_JSON, TWO),
        ("s.json", "[0.8125, 0.9375]", ONE),
        ("s.json", '[{"score": 0.8125}, {"score": 0.9375}]', ONE),
        ("s.json", '{"a.txt": [0.8125, 0.9375], "b.txt": [0.5, -0.25]}', TWO),
        ("s.jsonl", '0.8125\n{"score": 0.9375, "errors": []}\n', ONE),
    ],
)
def test_formats(tmp_path: Path, name: str, content: str, expected: dict[str, list[float]]) -> None:
    (tmp_path / name).write_bytes(content.encode())
    assert read_scores(tmp_path / name, "comet") == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.txt", "0.5\ngood\n", r"s\.txt:2: \"'good'\" is not a score|s\.txt:2: 'good' is not a score"),
        ("s.txt", "0.5\n\n", "s.txt:2: "),
        ("s.txt", "0.5\nnan\n", "s.txt:2: "),
        ("s.txt", "0.5\t0.6\n", "expected the names of the systems"),
        ("s.tsv", "a\tb\n0.5\n", "s.tsv:2: 1 columns; expected 2"),
        ("s.txt", "a\tSegment 0\tscore: 0.5\na\tSegment 2\tscore: 0.5\n", "s.txt:2: segment 2; expected 1"),
        ("s.json", "{", "s.json: not JSON"),
        ("s.json", '{"a": 0.5}', "expected a list of scores"),
        ("s.json", '[0.5, {"value": 1}]', "segment 2: no field `score` or `comet`; found value"),
        ("s.json", "[0.5, null]", "segment 2: None is not a score"),
        ("s.jsonl", "0.5\nx\n", "s.jsonl:2: not JSON"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_scores(tmp_path / name, "comet")


def test_systems_are_found_by_name_or_file_name() -> None:
    file = ScoreFile("comet", Path("x.json"))
    assert scores_of_system({"out/a.txt.gz": [1.0], "b": [2.0]}, "a", 2, file) == [1.0]
    assert scores_of_system({"out/a.txt": [1.0], "b": [2.0]}, "b", 2, file) == [2.0]
    assert scores_of_system({"out/a.txt": [1.0]}, "c", 2, file) is None


def test_a_file_for_one_system_is_not_used_for_another() -> None:
    file = ScoreFile.parse("comet:a=x.txt")
    assert scores_of_system({"": [1.0]}, "a", 2, file) == [1.0]
    assert scores_of_system({"": [1.0]}, "b", 2, file) is None


def test_scores_without_a_system_belong_to_the_only_one() -> None:
    file = ScoreFile.parse("comet=x.txt")
    assert scores_of_system({"": [1.0]}, "a", 1, file) == [1.0]
    with pytest.raises(InputError, match=r"2 are scored; name it: --scores comet:a=x\.txt"):
        scores_of_system({"": [1.0]}, "a", 2, file)


@pytest.mark.parametrize("text", ["comet", "comet=", "=x.txt", "co met=x.txt"])
def test_a_wrong_option(text: str) -> None:
    with pytest.raises(InputError, match=r"NAME=FILE|is not a name"):
        ScoreFile.parse(text)
