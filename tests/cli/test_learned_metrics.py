"""Learned metrics in `mtloop score` and `mtloop report`."""

from __future__ import annotations

import csv
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult
from helpers.report_samples import stream

from mtloop.core import Header, TraceWriter

Call = Callable[..., CommandResult]
LENGTH = "import json, sys\nfor line in sys.stdin:\n    one = json.loads(line)\n    print(len(one['mt']) / len(one['ref']))\n"


@pytest.fixture
def length_scorer(tmp_path: Path) -> str:
    """A program that scores by the ratio of the lengths."""
    (tmp_path / "length.py").write_text(LENGTH)
    return shlex.join([sys.executable, str(tmp_path / "length.py")])


@pytest.fixture
def two(files: Path) -> list[object]:
    (files / "base.txt").write_text("A dog\nThe man\n")
    return ["score", "--ref", files / "ref.txt", "--hyp", files / "hyp.txt", "--baseline", files / "base.txt"]


def test_a_scorer_in_a_table_with_significance(mtloop: Call, two: list[object], length_scorer: str) -> None:
    result = mtloop(*two, "--metrics", "ter", "--scorer", f"length={length_scorer}", "--format", "json")
    rows = {(row["system"], row["name"]): row for row in json.loads(result.out)}
    assert rows["hyp", "length"]["value"] == pytest.approx((26 / 22 + 21 / 21) / 2)
    assert rows["hyp", "length"]["signature"] == f"scorer:{length_scorer}|better:higher|aggregate:mean"
    assert rows["hyp", "length"]["difference"]["value"] == pytest.approx(
        rows["hyp", "length"]["value"] - rows["base", "length"]["value"]
    )


def test_scores_of_several_systems_from_one_json_file(mtloop: Call, files: Path, two: list[object]) -> None:
    segments = [{"src": "", "mt": "", "ref": "", "COMET": 0.5}, {"src": "", "mt": "", "ref": "", "COMET": 0.75}]
    path = files / "comet.json"
    path.write_text(json.dumps({str(files / "hyp.txt"): segments, "base.txt": segments[::-1]}))
    result = mtloop(*two, "--metrics", "comet,ter", "--scores", f"COMET={path}", "--curves", files / "c.csv")
    assert "COMET" in result.out.splitlines()[0]
    assert "0.6250" in result.out
    assert f"COMET: scores:{path}|better:higher|aggregate:mean" in result.out
    with (files / "c.csv").open() as file:
        assert [row["hyp:comet"] for row in csv.DictReader(file)] == ["0.5", "0.625"]


def test_one_file_per_system(mtloop: Call, files: Path, two: list[object]) -> None:
    (files / "a").write_text("0.5\n0.75\n")
    options = ["--scores", f"x:hyp={files / 'a'}", "--scores", f"x:base={files / 'a'}", "--lower-is-better", "X"]
    result = mtloop(*two, "--metrics", "ter", *options, "--format", "json")
    rows = [row for row in json.loads(result.out) if row["name"] == "x"]
    assert [row["value"] for row in rows] == [0.625, 0.625]
    assert "better:lower" in rows[0]["signature"]


def test_scores_may_have_lines_for_skipped_rows(mtloop: Call, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("source\ttarget\nSave\tSpeichern\nNew\t\nOpen\tÖffnen\n")
    (tmp_path / "hyp.txt").write_text("Speichern\nNeu\nÖffnen\n")
    (tmp_path / "scores.txt").write_text("0.5\n0\n1\n")
    data = ["--data", tmp_path / "t.tsv", "--hyp", tmp_path / "hyp.txt", "--metrics", "ter"]
    result = mtloop("score", *data, "--scores", f"x={tmp_path / 'scores.txt'}", "--format", "json")
    assert json.loads(result.out)[1]["value"] == 0.75


def test_scores_of_a_trace(mtloop: Call, tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "run.jsonl", Header()) as trace:
        for step in stream(True, 3):
            trace.write(step)
    (tmp_path / "s.txt").write_text("1\n2\n3\n")
    result = mtloop("score", tmp_path / "run.jsonl", "--metrics", "ter", "--scores", f"x={tmp_path / 's.txt'}")
    assert "2.0000" in result.out


def test_a_report_with_a_learned_metric(mtloop: Call, files: Path, two: list[object], length_scorer: str) -> None:
    options = ["--metrics", "ter", "--scorer", f"length={length_scorer}", "--pictures", "none", "--resamples", 10]
    result = mtloop("report", *two[1:], *options, "--out", files / "r.html")
    assert result.code == 0, result.err
    page = (files / "r.html").read_text(encoding="utf-8")
    assert '"curve-length"' in page
    assert '"difference-length"' in page
    assert "LENGTH" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scores", "x={a}"], "holds scores of one system, but 2 are scored; name it: --scores x:base={a}"),
        (["--scores", "x:hyp={a}"], "no x scores of system base; give them with --scores x:base=FILE"),
        (["--scores", "x:other={a}"], "there is no system 'other'"),
        (["--scores", "x"], "--scores expects NAME=FILE"),
        (["--scores", "x:hyp={a}.none"], "no such file"),
        (["--scores", "bleu={a}"], "'bleu' is a metric of mtloop"),
        (["--scorer", "x"], "--scorer expects NAME=COMMAND"),
        (["--scorer", "x=no-such-program"], "scorer x (no-such-program) cannot be started"),
        (["--scorer", "x=cat"], "scorer x (cat) answered "),
        (["--scorer", "x=true"], "scorer x (true) ended after 0 answers, before segment '1' of system 'base'"),
        (
            ["--scorer", "x=sleep 100", "--scorer-timeout", "0.5"],
            "gave no answer for segment '1' of system 'base' in 0.5",
        ),
        (["--lower-is-better", "x"], "there is no learned metric 'x'"),
        (["--metrics", "comet"], "with --scores or --scorer"),
    ],
)
def test_a_mistake_is_one_line(mtloop: Call, files: Path, two: list[object], options: list[str], message: str) -> None:
    path = files / "a"
    path.write_text("0.5\n0.75\n")
    given = [option.format(a=path) for option in options]
    result = mtloop(*two, *given, "--curves", files / "curves.csv")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert message.format(a=path) in result.err
    assert not (files / "curves.csv").exists()
