"""The command `mtloop report`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.report_samples import stream

from mtloop.cli import main
from mtloop.core import Header, Reward, TraceWriter


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, learns in (("static", False), ("adapting", True)):
        lines = [step.proposal.text for step in stream(learns)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    steps = stream(True)
    (tmp_path / "ref.txt").write_text("".join(f"{step.references[0]}\n" for step in steps), encoding="utf-8")
    (tmp_path / "src.txt").write_text("".join(f"{step.proposal.segment.source}\n" for step in steps), encoding="utf-8")
    return tmp_path


def call(*arguments: object) -> int:
    try:
        main(["report", *map(str, arguments)])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def texts(files: Path) -> list[object]:
    return ["--ref", files / "ref.txt", "--src", files / "src.txt", "--hyp", files / "adapting.txt"]


def charts(page: str) -> set[str]:
    found = re.search(r'id="chart-data">(.*?)</script>', page)
    assert found
    return set(json.loads(found[1]))


def test_a_report_on_text_files(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = files / "out.html"
    more = ["--baseline", files / "static.txt", "--lang", "de", "--metrics", "ter,r1", "--block-words", 40]
    assert call(*texts(files), *more, "--resamples", 20, "--title", "Mein Titel", "--out", out) == 0
    output = capsys.readouterr()
    written = [Path(line) for line in output.out.splitlines()]
    assert written[0] == out
    assert {path.name for path in written[1:]} == {
        *("slope-u.png", "slope-ca.png", "curve-ter.png", "curve-r1.png", "difference-ter.png", "difference-r1.png")
    }
    assert all(path.exists() for path in written)
    assert output.err == ""
    page = out.read_text(encoding="utf-8")
    assert "<title>Mein Titel</title>" in page
    assert "--lang de --metrics ter,r1 --block-words 40 --resamples 20 --out" in page


def test_a_requested_slope_is_the_only_slope(files: Path) -> None:
    options = ["--metrics", "bleu,slope-ca-bleu", "--block-words", 30, "--resamples", 10, "--pictures", "none"]
    assert call(*texts(files), *options, "--out", files / "r.html") == 0
    page = (files / "r.html").read_text(encoding="utf-8")
    assert charts(page) == {"curve-bleu", "slope-ca-bleu"}
    assert not (files / "r_files").exists()


def test_a_report_on_traces_with_both_picture_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, learns in (("base", False), ("run", True)):
        with TraceWriter(tmp_path / f"{name}.jsonl", Header()) as trace:
            for step in stream(learns, 9):
                trace.write(step)
    options = ["--metrics", "sbleu,slope-u", "--block-words", 5, "--resamples", 10, "--pictures", "both"]
    assert (
        call(tmp_path / "run.jsonl", "--baseline", tmp_path / "base.jsonl", *options, "--out", tmp_path / "r.html") == 0
    )
    assert sorted(path.suffix for path in (tmp_path / "r_files").iterdir()) == [".png"] * 3 + [".svg"] * 3
    assert "run.jsonl --baseline" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_rewards_without_references_have_no_slope(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "run.jsonl", Header()) as trace:
        for step in stream(True, 9):
            trace.write(replace(step, feedback=Reward(step.index / 10), truth=None))
    out = tmp_path / "r.html"
    assert call(tmp_path / "run.jsonl", "--metrics", "reward", "--pictures", "none", "--out", out) == 0
    assert charts(out.read_text(encoding="utf-8")) == {"curve-reward"}


@pytest.mark.parametrize(("out", "message"), [(".", "is a folder"), ("r.txt", "ends in .html")])
def test_a_wrong_output_path_is_a_one_line_error_before_any_work(
    out: str, message: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("--ref", files / "missing.txt", "--hyp", files / "missing.txt", "--out", files / out) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_failure_leaves_no_partial_files(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "adapting.txt").write_text("only one line\n")
    assert call(*texts(files), "--out", files / "new" / "r.html") == 2
    assert capsys.readouterr().err.startswith("mtloop: ")
    assert not (files / "new").exists()


def test_a_report_against_a_baseline_lists_the_harm(files: Path) -> None:
    against = [*texts(files), "--baseline", files / "static.txt", "--pictures", "none", "--resamples", 10]
    assert call(*against, "--out", files / "all.html") == 0
    page = (files / "all.html").read_text(encoding="utf-8")
    assert '<section id="harm"' in page
    assert {"curve-near-better", "curve-near-worse", "curve-flips"} <= charts(page)
    assert "difference-flips" not in charts(page)
    assert call(*against, "--metrics", "ter", "--out", files / "ter.html") == 0
    assert call(*texts(files), "--pictures", "none", "--out", files / "alone.html") == 0
    for name in ("ter", "alone"):
        page = (files / f"{name}.html").read_text(encoding="utf-8")
        assert 'id="harm"' not in page
        assert "curve-flips" not in charts(page)
