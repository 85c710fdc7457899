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
    effort = several[1]["effort"]
    assert effort["stopped"] == effort["stops_right_within_tie"] == effort["stops_exactly_right"] == 5
    assert effort["final_exactly_right"] == effort["final_right_within_tie"] == 5
    assert all(stop["best"] for stop in several[1]["stops"])


def test_table_and_files(mtloop: CALL, ratings: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = mtloop(
        "select", "--ratings", ratings, "--policies", "ewaf,exp3:variant=published,race", "--runs", 3, "--out", out
    )
    assert result.code == 0, result.err
    assert "the confidence of race is valid with --missing skip, not with zero" in result.err
    assert "150 top 1/3    ratings (mean)    top 3 since" in result.out
    rows = len(ratings.read_text().splitlines()) - 1
    assert f"gold: s0, s1, s2; {rows} ratings" in result.out
    header = result.out.splitlines()[2].split()
    assert header[:3] == ["policy", "runs", "distinct"]
    assert "at most 1 point below the lowest of the gold top 3" in result.out
    assert "race: 3 of 3 runs stopped before all ratings were read, after" in result.out
    assert "(3 of 3 stops): with 95 % confidence the top 3 are s0, s1, s2 (none of them worse" in result.out
    for name in ("ewaf-zero", "exp3-variant=published-zero", "race-zero"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert Trace.read(out / f"{name}.jsonl").header.config["policy"] in result.out
    assert (out / "effort.png").exists()
    saved = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert saved["command"].startswith(
        "mtloop select --ratings ratings.tsv --policies ewaf,exp3:variant=published,race"
    )
    assert str(tmp_path) not in json.dumps(saved)
    assert (saved["experiment"], saved["settings"]["runs"]) == ("select", 3)
    assert saved["seed"] == {"replay": 1, "resampling": 1}
    assert saved["settings"]["checkpoints"][-1] == "end"
    assert (saved["data"][0]["name"], saved["data"][0]["segments"]) == ("ratings.tsv", 150)
    assert [row[0] for row in saved["tables"]["intervals"]["cells"]] == ["ewaf", "exp3:variant=published", "race"]
    assert saved["charts"].keys() == {path.stem for path in out.glob("*.png")}
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


# The raw means are a 80, b 70, c 60, d 59.5, e 20: d is half a point below c, the third, and a tie of one point.
TIED = {"a": (80, 80), "b": (70, 70), "c": (100, 20), "d": (59, 60), "e": (20, 20)}


@pytest.fixture
def tied(tmp_path: Path) -> Path:
    """Forty segments whose official ranking puts d third, although its raw mean is lower than that of c."""
    rows = [f"{name}\t{i}\t{scores[i % 2]}" for name, scores in TIED.items() for i in range(40)]
    (tmp_path / "tied.tsv").write_text("\n".join(["system\tsegment\tscore", *rows]) + "\n")
    gold = [f"{raw} {z} 40 {name} 40" for name, raw, z in
            [("a", 80, 0.9), ("b", 70, 0.8), ("d", 60.5, 0.7), ("c", 60, 0.6), ("e", 20, 0.1)]]  # fmt: skip
    (tmp_path / "gold.csv").write_text("\n".join(["RAW.SCR Z.SCR N SYS N.ALL", *gold]) + "\n")
    return tmp_path / "tied.tsv"


def test_exactly_right_and_right_within_the_tie(mtloop: CALL, tied: Path) -> None:
    """All ratings read, `ewaf` has c third by mean score: within a point of the official third, d, but not it."""
    options = (
        "select",
        "--ratings",
        tied,
        "--gold",
        tied.with_name("gold.csv"),
        "--policy",
        "ewaf",
        "--format",
        "json",
    )
    found = json.loads(mtloop(*options).out)
    assert found["gold"] == ["a", "b", "d"]
    assert (found["effort"]["final_exactly_right"], found["effort"]["final_right_within_tie"]) == (0, 10)
    assert found["effort"]["settled_exactly"] == found["effort"]["all_ratings"] == 200
    narrow = json.loads(mtloop(*options, "--tie", "0.4").out)["effort"]
    assert (narrow["final_exactly_right"], narrow["final_right_within_tie"]) == (0, 0)
    raw = json.loads(mtloop(*options[:3], *options[5:]).out)["effort"]  # gold by mean score: a, b, c
    assert (raw["final_exactly_right"], raw["final_right_within_tie"]) == (10, 10)


def test_stops_exactly_right_and_right_within_the_tie(mtloop: CALL, tied: Path) -> None:
    found = mtloop("select", "--ratings", tied, "--gold", tied.with_name("gold.csv"), "--policy", "race", "--missing",
                   "skip", "--format", "json", "--orders", "one", "--runs", 2)  # fmt: skip
    result = json.loads(found.out)
    assert result["stops"][0]["best"] == ["a", "b", "c"]
    assert (result["stops"][0]["exactly_right"], result["stops"][0]["right_within_tie"]) == (False, True)
    assert (result["effort"]["stops_exactly_right"], result["effort"]["stops_right_within_tie"]) == (0, 2)


def test_each_run_has_its_own_order_by_default_and_equal_runs_are_counted(mtloop: CALL, ratings: Path) -> None:
    options = ("select", "--ratings", ratings, "--policies", "ewaf,exp3", "--runs", 4)
    default = json.loads(mtloop(*options, "--format", "json").out)
    assert default == json.loads(mtloop(*options, "--format", "json", "--orders", "each").out)
    assert [(each["orders"], each["runs"], each["distinct_runs"]) for each in default] == [("each", 4, 4)] * 2
    one = json.loads(mtloop(*options, "--format", "json", "--orders", "one").out)
    assert [(each["runs"], each["distinct_runs"]) for each in one] == [(4, 1), (4, 4)]
    table = mtloop(*options, "--orders", "one").out
    assert "ewaf: 4 runs, 1 distinct; equal runs are one piece of evidence" in table
    assert "distinct;" not in mtloop(*options).out


def write_scores(path: Path, rows: list[list[int]]) -> Path:
    """Write one row per segment with the scores of the systems A, B, C and so on."""
    cells = [f"{name}\t{i}\t{score}" for i, row in enumerate(rows) for name, score in zip("ABCDE", row, strict=False)]
    path.write_text("\n".join(["system\tsegment\tscore", *cells]) + "\n")
    return path


@pytest.fixture
def equal(tmp_path: Path) -> Path:
    """Five systems with the same ratings, each with an outlier on another segment, so that runs stop late or never."""
    return write_scores(
        tmp_path / "equal.tsv", [[90 if i == 5 * s else 40 + i % 5 for s in range(5)] for i in range(60)]
    )


def test_a_stop_after_all_ratings_is_not_counted_anywhere(mtloop: CALL, equal: Path) -> None:
    options = ("select", "--ratings", equal, "--policy", "race", "--missing", "skip", "--runs", 5)
    found = json.loads(mtloop(*options, "--format", "json").out)
    stopped = found["effort"]["stopped"]
    assert 0 < stopped < 5
    assert len(found["stops"]) == 5
    assert sum(stop is not None for stop in found["stops"]) == stopped
    table = mtloop(*options).out
    assert f"{stopped}/5" in next(line for line in table.splitlines() if line.startswith("race "))
    assert f"race: {stopped} of 5 runs stopped before all ratings were read" in table
    assert f"of {stopped} stop" in table
    assert f"race: {5 - stopped} of 5 runs had an answer only after all ratings were read" in table


def test_equal_systems_are_treated_alike(mtloop: CALL, equal: Path) -> None:
    options = ("select", "--ratings", equal, "--policies", "exp3,ewaf", "--missing", "skip", "--runs", 5)
    table = mtloop(*options).out
    assert table.startswith("gold: A, B, C (equal: D, E); 300 ratings\n")
    assert "equal: same gold score as C; any of these systems is exactly right in its place" in table
    for found in json.loads(mtloop(*options, "--format", "json").out):
        assert (found["gold"], found["gold_equal"]) == (["A", "B", "C"], ["D", "E"])
        assert found["effort"]["final_exactly_right"] == 5
        assert (found["checkpoints"][-1]["top1"], found["checkpoints"][-1]["top3"]) == (1, 1)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_with_as_many_places_as_systems_there_is_nothing_to_find(mtloop: CALL, tmp_path: Path, size: int) -> None:
    path = write_scores(tmp_path / "few.tsv", [[80, 60, 40][:size]] * 9)
    table = mtloop("select", "--ratings", path, "--policies", "race", "--missing", "skip", "--runs", 2).out
    assert f"nothing to find: the top 3 has a place for every system ({size})" in table
    assert f"race: needs no ratings: its top has a place for every system ({size})" in table
    assert "confidence" not in table


def test_the_answer_of_a_policy_is_in_the_order_of_the_gold_ranking(mtloop: CALL, tied: Path) -> None:
    gold = tied.with_name("gold.csv")
    gold.write_text(gold.read_text().replace("80 0.9", "80 0.75"))  # b, a, d, c, e
    options = ("select", "--ratings", tied, "--gold", gold, "--missing", "skip", "--orders", "one", "--runs", 2)
    assert "confidence the top 3 are b, a, c (none of them worse than" in mtloop(*options, "--policy", "race").out
    best = (
        "(2 of 2 stops): with 95 % confidence the best system is a (not worse than another system by more than 1 point)"
    )
    assert best in mtloop(*options, "--policy", "race:top=1").out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--policy", "exp33"), "did you mean 'exp3'"),
        (("--policy", "ewaf", "--policies", "exp3"), "not both"),
        (("--policies", ","), "no policy is named; give at least one"),
        (("--checkpoints", ","), "no iteration is named; give at least one"),
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
