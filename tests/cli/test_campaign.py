"""`mtloop campaign` and `mtloop rate`, also after a kill."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult

from mtloop.selection.campaign_plan import CampaignPlan
from mtloop.selection.policies.race import Race
from mtloop.selection.policies.registry import POLICIES

QUALITY = ("ours", "theirs", "third", "fourth", "fifth")


def create(mtloop: Callable[..., CommandResult], folder: Path, *options: object, segments: int = 12) -> Path:
    (folder / "src.txt").write_text("".join(f"source {i}\n" for i in range(segments)))
    systems = []
    for name in QUALITY:
        (folder / f"{name}.txt").write_text("".join(f"text {QUALITY.index(name)} {i}\n" for i in range(segments)))
        systems += ["--system", f"{name}={folder / name}.txt"]
    result = mtloop("campaign", "create", "--source", folder / "src.txt", *systems, "--out", folder / "c", *options)
    assert result.code == 0, result.err
    return folder / "c"


def rate(mtloop: Callable[..., CommandResult], folder: Path, keys: str) -> str:
    result = mtloop("rate", folder, "--rater", "kim", stdin=keys)
    assert result.code == 0, result.err
    return result.out


def test_no_rating_is_lost_when_rate_is_killed(mtloop: Callable[..., CommandResult], tmp_path: Path) -> None:
    folder = create(mtloop, tmp_path)
    command = [sys.executable, "-m", "mtloop", "rate", str(folder), "--rater", "kim"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    for score in (40, 50, 60):
        process.stdin.write(f"{score}\n")
        process.stdin.flush()
    shown = 0
    while shown < 4:  # the fourth translation is on the screen: three ratings must be on disk
        shown += process.stdout.readline().startswith("translation")
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    trace = folder / "ratings" / "kim.jsonl"
    with trace.open("ab") as file:
        file.write(b'{"kind":"step","index":3,"prop')  # a line that was only partly written
    assert "you have rated 4 translations" in rate(mtloop, folder, "70\nq\n")
    exported = mtloop("campaign", "export", folder).out.splitlines()
    assert [line.split("\t")[3] for line in exported] == ["score", "40", "50", "60", "70"]
    for line in exported[1:]:
        system, segment, source, _, rater, hypothesis = line.split("\t")
        at = int(segment) - 1
        assert (source, rater, hypothesis) == (f"source {at}", "kim", f"text {QUALITY.index(system)} {at}")


def test_rating_in_the_terminal(mtloop: Callable[..., CommandResult], tmp_path: Path) -> None:
    folder = create(mtloop, tmp_path)
    output = rate(mtloop, folder, "u\n50\nx\n101\nu\ns\nu\ns\n77\n")
    assert "there is no rating to undo" in output
    assert output.count("is not a valid rating") == 2
    assert output.count("rating undone") == 1
    assert output.count("skip undone") == 1
    assert "0: nothing of the meaning is preserved." in " ".join(output.split())
    assert "you have rated 1 translation" in output
    assert "undecided" not in output  # nor the result
    table = mtloop("campaign", "status", folder).out
    assert "77.0" in table
    assert "rater kim: 1 rating, mean 77.0, standard deviation 0.0" in table
    assert table.splitlines()[0].split() == ["system", "mean", "ratings", "undecided"]
    status = json.loads(mtloop("campaign", "status", folder, "--format", "json").out)
    assert status["stop"] is None
    assert status["raters"] == {"kim": {"ratings": 1, "mean": 77.0, "standard_deviation": 0.0}}
    assert all(system["undecided"] for system in status["systems"].values())
    for name in QUALITY:
        assert name not in output  # raters do not see the systems


def test_campaign_errors_are_one_line(mtloop: Callable[..., CommandResult], tmp_path: Path) -> None:
    folder = create(mtloop, tmp_path)
    source = tmp_path / "src.txt"
    one_system = ("campaign", "create", "--source", source, "--system", f"a={source}", "--out", tmp_path / "d")
    for arguments, message in [
        (("campaign", "status", tmp_path), "this folder contains no campaign"),
        (("rate", tmp_path, "--rater", "kim"), "this folder contains no campaign"),
        (("campaign", "create", "--source", source, "--system", "a", "--out", tmp_path / "d"), "NAME=FILE"),
        (("campaign", "create", "--source", source, "--system", f"a={source}", "--out", folder), "already"),
        (
            (*one_system, "--indifference", "100"),
            "--indifference is 100; expected points of 100: 0 or more and less than 100",
        ),
        (
            one_system,
            "a campaign compares systems; expected at least 2, got 1",
        ),
    ]:
        result = mtloop(*arguments)
        assert result.code == 2
        assert message in result.err
        assert len(result.err.strip().splitlines()) == 1


def test_when_all_is_rated_the_last_rating_can_be_undone(mtloop: Callable[..., CommandResult], tmp_path: Path) -> None:
    folder = create(mtloop, tmp_path, segments=1)
    first = rate(mtloop, folder, "50\n" * 5)
    assert "you have rated 5 translations" in first
    assert "decided" not in first
    assert "no translation of an undecided system is left to rate" in mtloop("campaign", "status", folder).out
    back = rate(mtloop, folder, "u\n")
    assert "There is nothing left for you to rate." in back
    assert "rating undone" in back
    assert "you have rated 4 translations" in back
    assert "translation" in rate(mtloop, folder, "q\n")


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_drives_a_campaign(mtloop: Callable[..., CommandResult], tmp_path: Path, policy: str) -> None:
    folder = create(mtloop, tmp_path, "--policy", policy)
    output = rate(mtloop, folder, "50\n" * 12 * len(QUALITY) + "q\n")
    assert "translations" in output.splitlines()[-1]
    status = mtloop("campaign", "status", folder).out
    if policy in ("race", "elimination"):
        assert "no stopping rule" not in status
    else:
        rated = 12 * len(QUALITY) if policy == "ewaf" else 12  # every segment once; ewaf asks about every system
        assert f"{rated} ratings so far; this policy has no stopping rule" in status
        assert "nothing left for you to rate" in output
        assert f"[0 rated, {rated} left; 0-100, " in output
        assert f"[{rated - 1} rated, 1 left; 0-100, " in output


def test_settings_of_the_policy_and_of_raters(mtloop: Callable[..., CommandResult], tmp_path: Path) -> None:
    (tmp_path / "how.txt").write_text("Lies genau.\nZweimal.\n", encoding="utf-8")
    options = ("--overlap", 2, "--min-per-rater", 3, "--instructions", tmp_path / "how.txt", "--top", 2)
    folder = create(mtloop, tmp_path, "--policy", "race:bound=posterior:min_ratings=12", *options)
    plan = CampaignPlan.from_json((folder / "campaign.json").read_text(encoding="utf-8"))
    race = plan.make_policy()
    assert isinstance(race, Race)
    assert (race.bound, race.min_ratings, race.top, plan.overlap) == ("posterior", 12, 2, 2)
    output = rate(mtloop, folder, "50\nq\n")
    assert output.startswith("Lies genau. Zweimal.\n\n0: nothing of the meaning is preserved. 50:")
    assert "left;" not in output, "the rule decides how many"
    assert "you have rated 1 translation of 3 or more" in output


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("rase", "there is no policy 'rase'; did you mean 'race'? known: elimination, ewaf, "),
        ("Race", "there is no policy 'Race'; did you mean 'race'?"),
        ("race:bond=posterior", "policy race has no setting 'bond'; did you mean 'bound'?"),
        ("race:bound=posteriour", "did you mean 'posterior'?"),
        ("race:top=1", "--policy race:top=1: leave out top; give it with --top"),
        ("race:posterior", "settings are NAME=VALUE, not 'posterior'"),
    ],
)
def test_a_wrong_policy_is_refused_in_one_line(
    mtloop: Callable[..., CommandResult], tmp_path: Path, policy: str, message: str
) -> None:
    for name in ("src", "a", "b"):
        (tmp_path / f"{name}.txt").write_text("one\n", encoding="utf-8")
    systems = [part for name in "ab" for part in ("--system", f"{name}={tmp_path / name}.txt")]
    command = ("campaign", "create", "--source", tmp_path / "src.txt", *systems, "--out", tmp_path / "c")
    result = mtloop(*command, "--policy", policy)
    assert result.code == 2
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert not (tmp_path / "c").exists()
