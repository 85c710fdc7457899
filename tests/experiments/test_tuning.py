"""The search without a model: a runner that writes traces whose quality depends on the settings."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from mtloop.core import Header, InputError, Proposal, Step
from mtloop.core.trace import Trace, TraceWriter
from mtloop.experiments.experiment import Experiment
from mtloop.experiments.runners import InProcess, Work, locked
from mtloop.experiments.tuning.objective import Objective
from mtloop.experiments.tuning.parts import RowRange, check_apart
from mtloop.experiments.tuning.plan import SearchPlan
from mtloop.experiments.tuning.rungs import Rung, rungs
from mtloop.experiments.tuning.space import Categorical, Range, parse_space
from mtloop.experiments.tuning.toml_writer import to_toml
from mtloop.experiments.tuning.trial import Trial
from mtloop.experiments.tuning.tuning_search import Search
from mtloop.metrics import BLEU, TER

WORDS = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "stream.tsv"
    lines = [f"source number {i % 17}\t{' '.join(WORDS)}" for i in range(40)]
    path.write_text("\n".join(["source\ttarget", *lines, ""]), encoding="utf-8")
    return path


def plan(data: Path, **changes: object) -> SearchPlan:
    keywords = {
        "space": ["rate=1e-3:1:log"],
        "tune": RowRange(1, 24),
        "report": RowRange(25, 40),
        "trials": 8,
        "factor": 2,
    }
    return SearchPlan(Experiment(str(data), "full"), **keywords | changes)  # type: ignore[arg-type]


def missing(rate: float) -> int:
    """Words left out: the fewer, the nearer the rate is to 0.1."""
    return min(8, round(6 * abs(math.log10(rate) + 1)))


class Fake:
    """Writes traces as good as their rate, and counts the rows it has to write."""

    def __init__(self) -> None:
        self.written: list[tuple[str, int]] = []

    def __call__(self, work: Work) -> None:
        experiment = work.experiment
        rate = float(experiment.settings.get("rate", 0.01))  # type: ignore[arg-type]
        words = 1 if experiment.method == "baseline" else 10 - missing(rate)
        if rate > 0.5:
            raise InputError("that is too fast")
        with TraceWriter(work.trace, Header(config={"rate": rate})) as trace:
            self.written.append((work.trace.stem, work.rows - len(trace.past)))
            for i in range(len(trace.past), work.rows):
                segment, truth = experiment.stream()[i]
                trace.write(Step(i, Proposal(segment, " ".join(WORDS[:words])), truth=truth))


def search(plan: SearchPlan, out: Path, fake: Fake | None = None, metrics: Sequence[object] | None = None) -> Search:
    objective = Objective.of(metrics or [TER()])  # type: ignore[arg-type]
    return Search(plan, objective, out, InProcess(fake or Fake()))


def test_a_space_is_read_in_the_types_of_the_method() -> None:
    space = parse_space(["rate=1e-3:2e-2:log", "enough=1.5,2", "updates=1:5", "clip=clip,scale"], "full")
    assert space.dimensions == {
        "rate": Range(1e-3, 2e-2, log=True),
        "enough": Categorical((1.5, 2.0)),
        "updates": Range(1, 5, whole=True),
        "clip": Categorical(("clip", "scale")),
    }
    for settings in islice(space.draw(1), 50):
        assert 1e-3 <= float(settings["rate"]) <= 2e-2  # type: ignore[arg-type]
        assert settings["updates"] in range(1, 6)
        assert isinstance(settings["updates"], int)


def test_log_draws_as_often_below_the_geometric_middle_as_above() -> None:
    random, dimension = Random(3), Range(1e-4, 1e-2, log=True)
    below = sum(float(dimension.draw(random)) < 1e-3 for _ in range(2000))  # type: ignore[arg-type]
    assert 900 < below < 1100


def test_equal_seeds_draw_alike_nothing_twice_and_a_small_space_ends() -> None:
    space = parse_space(["rate=0.1,0.2,0.3", "updates=1,2"], "full")
    drawn = list(space.draw(5))
    assert drawn == list(space.draw(5)) != list(space.draw(6))
    assert len({json.dumps(settings) for settings in drawn}) == len(drawn) == 6


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rat=1:2", "did you mean 'rate'?"),
        ("rate", "--space takes"),
        ("rate=", "--space takes"),
        ("rate=2:1", "expected LOW < HIGH"),
        ("rate=0:1:log", "both above 0"),
        ("rate=1:2:lin", "nothing, or log"),
        ("rate=a:b", "expected two numbers"),
        ("updates=1.5:2", "two whole numbers"),
        ("clip=1:2", "is no number"),
        ("rate=a,b", "takes a float"),
        ("enough=1,2", "given twice"),
    ],
)
def test_a_wrong_space_is_one_clear_line(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse_space([text], "full", {"enough": 2.0})


@pytest.mark.parametrize("report", ["1-4", "10-12", "4-11", "6-7", "1-20"])
def test_overlapping_parts_are_refused(report: str) -> None:
    with pytest.raises(InputError, match="overlap"):
        check_apart(RowRange.parse("4-10"), RowRange.parse(report))
    check_apart(RowRange.parse("4-10"), RowRange.parse("11-20"))
    check_apart(RowRange.parse("4-10"), RowRange.parse("1-3"))


@pytest.mark.parametrize("text", ["", "1", "0-5", "5-1", "a-b", "1-2-3", "-1-2"])
def test_rows_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="FIRST-LAST"):
        RowRange.parse(text)


def test_leaving_out_repeats_takes_no_row_of_the_other_part(data: Path) -> None:
    """17 sources in 40 rows: were the missing made up for, the first part would reach into the second."""
    one, other = (
        rows.of(Experiment(str(data), distinct=True)).stream() for rows in (RowRange(1, 20), RowRange(21, 40))
    )
    assert [segment.id for segment, _ in one] == [str(i) for i in range(1, 18)]
    assert {segment.id for segment, _ in other} <= {str(i) for i in range(21, 41)}


@pytest.mark.parametrize(
    ("trials", "rows", "factor", "expected"),
    [
        (16, 4000, 2, [(16, 500), (8, 1000), (4, 2000), (2, 4000)]),
        (9, 900, 3, [(9, 300), (3, 900)]),
        (5, 100, 2, [(5, 25), (3, 50), (2, 100)]),
        (2, 7, 2, [(2, 7)]),
        (8, 1, 2, [(8, 1), (4, 1), (2, 1)]),
    ],
)
def test_rungs(trials: int, rows: int, factor: int, expected: list[tuple[int, int]]) -> None:
    assert rungs(trials, rows, factor) == [Rung(*pair) for pair in expected]


def test_one_metric_decides_by_its_direction_and_several_by_their_mean_relative_gain() -> None:
    one, two = Objective([TER()]), Objective([TER(), BLEU()])
    baseline = {"ter": 50.0, "bleu": 20.0}
    assert one.value({"ter": 40.0}, baseline) > one.value({"ter": 45.0}, baseline)
    assert two.value({"ter": 40.0, "bleu": 22.0}, baseline) == pytest.approx((20 + 10) / 2)
    assert two.value({"ter": float("nan"), "bleu": 22.0}, baseline) == -float("inf")
    with pytest.raises(InputError, match="nothing can be relative to"):
        two.value({"ter": 40.0, "bleu": 22.0}, baseline | {"bleu": 0.0})


def test_the_best_settings_win_and_the_defaults_are_a_trial(data: Path, tmp_path: Path) -> None:
    made = plan(data)
    found = search(made, tmp_path / "out")
    winner = found.run()
    left_out = [missing(float(trial.settings.get("rate", 0.01))) for trial in made.all_trials]  # type: ignore[arg-type]
    assert left_out[winner.number] == min(left_out) < max(left_out)
    assert made.all_trials[0] == Trial(0)
    assert len(made.all_trials) == len(found.leaderboard) == 8
    lines = [json.loads(line) for line in (tmp_path / "out/trials.jsonl").read_text().splitlines()]
    assert lines[0]["trial"] == winner.number
    assert [line["rows"] for line in lines] == sorted((line["rows"] for line in lines), reverse=True)


def test_halving_writes_no_row_twice_and_drops_the_worse(data: Path, tmp_path: Path) -> None:
    fake = Fake()
    found = search(plan(data), tmp_path / "out", fake)
    found.run()
    reached = {trial: sum(rows for name, rows in fake.written if name == trial) for trial, _ in fake.written}
    assert reached.pop("baseline") == 24
    assert all(reached[s.trial.name] == s.rows for s in found.leaderboard if not s.failed)
    assert [s.rows for s in found.leaderboard].count(24) == 2
    for rung, values in ((6, 12), (12, 24)):
        dropped = [s.value for s in found.leaderboard if s.rows == rung]
        assert max(dropped, default=-1e9) <= min(s.value for s in found.leaderboard if s.rows >= values)


def test_without_halving_every_trial_sees_every_row(data: Path, tmp_path: Path) -> None:
    found = search(plan(data, factor=0, space=["rate=0.001:0.4"]), tmp_path / "out")
    found.run()
    assert {s.rows for s in found.leaderboard} == {24}


def test_settings_that_a_method_refuses_lose_and_say_why(data: Path, tmp_path: Path) -> None:
    found = search(plan(data, space=["rate=0.6,0.05"]), tmp_path / "out")
    assert found.run().settings == {"rate": 0.05}
    assert found.leaderboard[-1].failed == "that is too fast"
    assert "too fast" in (tmp_path / "out/trials.jsonl").read_text()


def test_a_trace_that_cannot_be_continued_stops_the_search(data: Path, tmp_path: Path) -> None:
    """It must not pass for a trial that lost."""
    search(plan(data), tmp_path / "out").run()
    (tmp_path / "out/trials/001.jsonl").write_text("junk\n")
    with pytest.raises(InputError, match="is no trace"):
        search(plan(data), tmp_path / "out").run()


def test_the_report_is_on_the_rows_not_tuned_on(data: Path, tmp_path: Path) -> None:
    found = search(plan(data), tmp_path / "out")
    systems = found.report(found.run())
    assert list(systems) == ["baseline", "default", "winner"]
    tuned = {
        s.proposal.segment.id for path in (tmp_path / "out/trials").glob("*.jsonl") for s in Trace.read(path).steps
    }
    for steps in systems.values():
        ids = {step.proposal.segment.id for step in steps}
        assert ids == {str(i) for i in range(25, 41)}
        assert not ids & tuned


def test_the_winner_as_toml_is_what_run_reads(data: Path, tmp_path: Path) -> None:
    winner = search(plan(data), tmp_path / "out").run()
    table = Experiment.from_toml(tmp_path / "out/winner.toml")
    experiment = Experiment(**table)  # type: ignore[arg-type]
    assert (experiment.data, experiment.method, experiment.settings) == (str(data), "full", winner.settings)
    assert not experiment.skip
    assert not experiment.limit


def test_toml_survives_odd_values() -> None:
    odd = Experiment('a "b"\\ü\n.tsv', settings={"rate": 1e-07, "n": 3, "on": True, "clip": "scale"}, shuffle=4)
    assert Experiment(**tomllib.loads(to_toml(odd, note="two\nlines"))) == odd


@pytest.mark.parametrize(
    "changes",
    [{"seed": 2}, {"tune": RowRange(1, 23)}, {"metric": "bleu"}, {"trials": 7}, {"space": ["rate=1e-3:2:log"]}],
)
def test_another_search_does_not_continue_this_one(data: Path, tmp_path: Path, changes: dict[str, object]) -> None:
    plan(data).keep(tmp_path)
    plan(data).keep(tmp_path)
    with pytest.raises(InputError, match="another search"):
        plan(data, **changes).keep(tmp_path)


def test_other_data_under_the_same_name_is_another_search(data: Path, tmp_path: Path) -> None:
    plan(data).keep(tmp_path)
    data.write_text(data.read_text(encoding="utf-8").replace("zehn", "elf"), encoding="utf-8")
    with pytest.raises(InputError, match="data differ"):
        plan(data).keep(tmp_path)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"report": RowRange(24, 30)}, "overlap"),
        ({"report": RowRange(25, 41)}, "only 40"),
        ({"experiment": "baseline"}, "never learns"),
        ({"experiment": "limit"}, "skip and limit"),
        ({"space": ["rate=0.003"]}, "nothing but the defaults"),
        ({"space": []}, "nothing to search over"),
    ],
)
def test_a_plan_that_cannot_work_is_refused_at_once(data: Path, changes: dict[str, object], says: str) -> None:
    experiments = {"baseline": Experiment(str(data), "baseline"), "limit": Experiment(str(data), "full", limit=3)}
    experiment = experiments.get(str(changes.pop("experiment", "")), Experiment(str(data), "full"))
    keywords = {"space": ["rate=1:2"], "tune": RowRange(1, 24), "report": RowRange(25, 40)} | changes
    with pytest.raises(InputError, match=says):
        SearchPlan(experiment, **keywords)  # type: ignore[arg-type]


def test_two_searches_in_one_folder_wait_for_each_other(tmp_path: Path) -> None:
    import threading

    said: list[str] = []
    waiting, entered = threading.Event(), threading.Event()

    def second() -> None:
        with locked(tmp_path, lambda line: (said.append(line), waiting.set())[0]):
            entered.set()

    with locked(tmp_path, said.append):
        other = threading.Thread(target=second)
        other.start()
        assert waiting.wait(30)
        assert not entered.is_set()
    other.join(30)
    assert entered.is_set()
    assert "waiting" in said[0]
