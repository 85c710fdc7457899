"""The command `mtloop select`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult
from helpers.ratings import make_recording, write_ratings

from mtloop.core import Trace

CALL = Callable[..., CommandResult]


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.tsv"
    write_ratings(path, make_recording([0.85, 0.75, 0.65, 0.4, 0.3], 150, coverage=0.8))
    return path


def test_json_of_one_policy_and_of_several(mtloop: CALL, ratings: Path) -> None:
    options = ("--ratings", ratings, "--checkpoints", "10,50,1000,end", "--runs", 5, "--format", "json")
    one = json.loads(mtloop("select", *options, "--policy", "ewaf", "--missing", "average").out)
    assert (one["policy"], one["missing"]) == ("ewaf", "average")
    assert [point["iteration"] for point in one["checkpoints"]] == [10, 50, 150]
    assert one["checkpoints"][-1].keys() == {"iteration", "top1", "top3", "mean_ratings"}
    assert one["checkpoints"][-1]["top3"] == 1.0
    assert one["weights"].keys() == {"s0", "s1", "s2", "s3", "s4"}
    assert sum(one["weights"].values()) == pytest.approx(1)
    several = json.loads(mtloop("select", *options, "--policies", "exp3,race", "--missing", "skip").out)
    assert [each["policy"] for each in several] == ["exp3", "race"]
    assert several[1]["effort"]["stopped"] == several[1]["effort"]["correct"] == 5
    assert all(stop["best"] for stop in several[1]["stops"])


def test_table_and_files(mtloop: CALL, ratings: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = mtloop(
        "select", "--ratings", ratings, "--policies", "ewaf,exp3:variant=published,race", "--runs", 3, "--out", out
    )
    assert result.code == 0, result.err
    assert "gold: s0, s1, s2" in result.out
    assert "the confidence of race is valid with --missing skip, not with zero" in result.err
    assert "150 top 1/3    ratings (mean)    top 3 since" in result.out
    assert "ratings (median)    to settle (median)    never settled    stopped    correct" in result.out
    assert "race: stop after" in result.out
    assert "with 95 % confidence the top 3 are" in result.out
    for name in ("ewaf-zero", "exp3-variant=published-zero", "race-zero"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert Trace.read(out / f"{name}.jsonl").header.config["policy"] in result.out
    assert (out / "effort.png").exists()
    assert len(Trace.read(out / "ewaf-zero.jsonl").steps) == 150


def test_gold_file_exclude_and_metric(mtloop: CALL, tmp_path: Path) -> None:
    rows = [("OPPO.1", 80, 0.6), ("Tohoku.2", 60, 0.5), ("Online-B.3", 40, 0.1), ("HUMAN.0", 99, 0.9)]
    lines = [f"{name} {i} {score} 0.1 1" for name, score, _ in rows for i in range(1, 30)]
    (tmp_path / "seg.csv").write_text("\n".join(["SYS SID RAW.SCR Z.SCR N", *lines]) + "\n")
    gold = [f"{score} {z} 29 {name} 29" for (name, score, _), z in zip(rows, (0.1, 0.3, -0.2, 0.9), strict=True)]
    (tmp_path / "sys.csv").write_text("\n".join(["RAW.SCR Z.SCR N SYS N.ALL", *gold]) + "\n")
    metric = [f"chrF\ten-de\tt20\tt20\t{n}\tdoc\t{i}\t{m}" for n, _, m in rows for i in range(1, 31)]
    (tmp_path / "metric.tsv").write_text("\n".join(metric) + "\n")
    files = ("--ratings", tmp_path / "seg.csv", "--gold", tmp_path / "sys.csv", "--format", "json")
    found = json.loads(mtloop("select", *files).out)
    assert found["gold"] == ["Tohoku.2", "OPPO.1", "Online-B.3"]  # ranked by Z.SCR, without HUMAN
    assert "scale z" in mtloop("select", *files, "--score", "z").err
    raw = json.loads(mtloop("select", *files, "--gold-column", "RAW.SCR", "--exclude", "online*").out)
    assert raw["gold"] == ["OPPO.1", "Tohoku.2"]
    result = mtloop(
        "select", *files, "--metric-scores", tmp_path / "metric.tsv", "--metric", "chrf", "--missing", "metric"
    )
    assert json.loads(result.out)["checkpoints"][-1] == {
        "iteration": 30,
        "top1": 0.0,
        "top3": 1.0,
        "mean_ratings": 87.0,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--policy", "exp33"), "did you mean 'exp3'"),
        (("--policy", "ewaf", "--policies", "exp3"), "not both"),
        (("--policies", ","), "--policies names no policy; for example: --policies exp3,race"),
        (("--checkpoints", ","), "--checkpoints names no iteration; for example: --checkpoints 10,100,end"),
        (("--policy", "race:indifference=1"), "expected 0 or more and less than 1 (0.01 is one point of 100)"),
        (("--missing", "zeroo"), "known: average, metric, skip, zero"),
        (("--missing", "metric"), "--metric"),
        (("--metric", "comet"), "no automatic scores"),
        (("--checkpoints", "ten"), "checkpoint 'ten'"),
        (("--exclude", "s*"), "no systems are left"),
        (("--scale", "binary"), "is not 0 or 1"),
        (("--scale", "stars"), "there is no scale 'stars'"),
    ],
)
def test_errors_are_one_line(mtloop: CALL, ratings: Path, options: tuple[str, ...], message: str) -> None:
    result = mtloop("select", "--ratings", ratings, "--runs", 1, *options)
    assert result.code == 2
    assert message in result.err
    assert len(result.err.strip().splitlines()[-1:]) == 1


@pytest.mark.parametrize("policies", ["race:tops=1", "exp3,race:confidence=2", "exp33"])
def test_policies_are_checked_before_files_are_read(mtloop: CALL, tmp_path: Path, policies: str) -> None:
    result = mtloop("select", "--ratings", tmp_path / "missing.tsv", "--policies", policies)
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert "missing.tsv" not in result.err


@pytest.mark.parametrize("cell", ["nan", "101", "-5"])
def test_invalid_scores_are_refused(mtloop: CALL, tmp_path: Path, cell: str) -> None:
    (tmp_path / "r.tsv").write_text(f"system\tsegment\tscore\na\t1\t50\nb\t1\t{cell}\n")
    result = mtloop("select", "--ratings", tmp_path / "r.tsv")
    assert result.code == 2
    assert "is not a finite number" in result.err or "expected numbers from 0 to 100" in result.err


def test_duplicate_rows_are_averaged_and_reported(mtloop: CALL, tmp_path: Path) -> None:
    (tmp_path / "r.tsv").write_text("system\tsegment\tscore\na\t1\t50\na\t1\t70\nb\t1\t65\n")
    result = mtloop("select", "--ratings", tmp_path / "r.tsv", "--format", "json", "--runs", 1)
    assert "1 cells have more than one human score; the mean was used" in result.err
    assert json.loads(result.out)["gold"] == ["b", "a"]


def test_a_system_without_ratings_is_named(mtloop: CALL, tmp_path: Path) -> None:
    (tmp_path / "mqm.tsv").write_text("system mqm_avg_score seg_id\na -1 1\na -2 2\nb None 1\nb None 2\nc -3 1\n")
    result = mtloop(
        "select", "--ratings", tmp_path / "mqm.tsv", "--policies", "race,ucb1", "--format", "json", "--runs", 1
    )
    assert result.code == 0, result.err
    assert "scale mqm" in result.err
    assert "systems without any rating, which no policy can find: b" in result.err
    assert json.loads(result.out)[0]["gold"] == ["a", "c"]


def test_a_single_system_is_the_winner_without_ratings(mtloop: CALL, tmp_path: Path) -> None:
    (tmp_path / "r.tsv").write_text("system\tsegment\tscore\na\t1\t50\na\t2\t70\n")
    found = json.loads(mtloop("select", "--ratings", tmp_path / "r.tsv", "--policy", "race", "--format", "json").out)
    assert found["checkpoints"][-1] == {"iteration": 2, "top1": 1.0, "top3": 1.0, "mean_ratings": 0.0}
