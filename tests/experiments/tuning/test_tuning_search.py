"""The search for settings, without a model: a fake runner writes traces whose quality depends on the settings."""

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
from mtloop.experiments.experiment_toml import to_toml
from mtloop.experiments.runners import ExperimentJob, InProcess, locked
from mtloop.experiments.tuning.objective import Objective
from mtloop.experiments.tuning.plan import SearchPlan
from mtloop.experiments.tuning.row_range import RowRange, check_disjoint
from mtloop.experiments.tuning.rungs import Rung, rungs
from mtloop.experiments.tuning.space import Categorical, Range, parse_space
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
        "space": ["learning_rate=1e-3:1:log"],
        "tune": RowRange(1, 24),
        "report": RowRange(25, 40),
        "trials": 8,
        "factor": 2,
    }
    return SearchPlan(Experiment(str(data), "full"), **keywords | changes)  # type: ignore[arg-type]


def missing(rate: float) -> int:
    """The number of missing words: smallest at a learning rate of 0.1."""
    return min(8, round(6 * abs(math.log10(rate) + 1)))


class Fake:
    """Writes traces whose quality depends on the learning rate, and counts the written rows."""

    def __init__(self) -> None:
        self.written: list[tuple[str, int]] = []

    def __call__(self, job: ExperimentJob) -> None:
        experiment = job.experiment
        rate = float(experiment.settings.get("learning_rate", 0.01))  # type: ignore[arg-type]
        words = 1 if experiment.method == "baseline" else 10 - missing(rate)
        if rate > 0.5:
            raise InputError("that is too fast")
        with TraceWriter(job.trace, Header(config={"learning_rate": rate})) as trace:
            self.written.append((job.trace.stem, job.rows - len(trace.past)))
            for i in range(len(trace.past), job.rows):
                segment, truth = experiment.stream()[i]
                trace.write(Step(i, Proposal(segment, " ".join(WORDS[:words])), truth=truth))


def search(plan: SearchPlan, out: Path, fake: Fake | None = None, metrics: Sequence[object] | None = None) -> Search:
    objective = Objective.from_metrics(metrics or [TER()])  # type: ignore[arg-type]
    return Search(plan, objective, out, InProcess(fake or Fake()))


def test_values_of_a_space_have_the_types_of_the_settings() -> None:
    options = ["learning_rate=1e-3:2e-2:log", "target_perplexity=1.5,2", "max_updates=1:5"]
    space = parse_space([*options, "gradient_clipping=clip,scale"], "full")
    assert space.dimensions == {
        "learning_rate": Range(1e-3, 2e-2, log=True),
        "target_perplexity": Categorical((1.5, 2.0)),
        "max_updates": Range(1, 5, whole=True),
        "gradient_clipping": Categorical(("clip", "scale")),
    }
    for settings in islice(space.draw(1), 50):
        assert 1e-3 <= float(settings["learning_rate"]) <= 2e-2  # type: ignore[arg-type]
        assert settings["max_updates"] in range(1, 6)
        assert isinstance(settings["max_updates"], int)


def test_a_log_range_is_drawn_evenly_around_the_geometric_mean() -> None:
    random, dimension = Random(3), Range(1e-4, 1e-2, log=True)
    below = sum(float(dimension.draw(random)) < 1e-3 for _ in range(2000))  # type: ignore[arg-type]
    assert 900 < below < 1100


def test_draws_depend_on_the_seed_do_not_repeat_and_end_in_a_small_space() -> None:
    space = parse_space(["learning_rate=0.1,0.2,0.3", "max_updates=1,2"], "full")
    drawn = list(space.draw(5))
    assert drawn == list(space.draw(5)) != list(space.draw(6))
    assert len({json.dumps(settings) for settings in drawn}) == len(drawn) == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning_rat=1:2", "did you mean 'learning_rate'?"),
        ("learning_rate", "--space expects"),
        ("learning_rate=", "--space expects"),
        ("learning_rate=2:1", "expected LOW < HIGH"),
        ("learning_rate=0:1:log", "both above 0"),
        ("learning_rate=1:2:lin", "expected LOW:HIGH or LOW:HIGH:log"),
        ("learning_rate=a:b", "expected two numbers"),
        ("max_updates=1.5:2", "two whole numbers"),
        ("gradient_clipping=1:2", "is not a number"),
        ("learning_rate=a,b", "expected a number"),
        ("target_perplexity=1,2", "given twice"),
    ],
)
def test_a_wrong_space_raises_a_clear_error(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_space([text], "full", {"target_perplexity": 2.0})


@pytest.mark.parametrize("report", ["1-4", "10-12", "4-11", "6-7", "1-20"])
def test_overlapping_parts_are_refused(report: str) -> None:
    with pytest.raises(InputError, match="overlap"):
        check_disjoint(RowRange.parse("4-10"), RowRange.parse(report))
    check_disjoint(RowRange.parse("4-10"), RowRange.parse("11-20"))
    check_disjoint(RowRange.parse("4-10"), RowRange.parse("1-3"))


@pytest.mark.parametrize("text", ["", "1", "0-5", "5-1", "a-b", "1-2-3", "-1-2"])
def test_invalid_row_ranges_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="FIRST-LAST"):
        RowRange.parse(text)


def test_distinct_takes_no_row_of_the_other_part(data: Path) -> None:
    """With 17 sources in 40 rows, the first part would reach into the second if later rows replaced the repeats."""
    one, other = (
        rows.restrict(Experiment(str(data), distinct=True)).stream() for rows in (RowRange(1, 20), RowRange(21, 40))
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


def test_the_objective_is_one_score_or_the_mean_relative_gain_of_several() -> None:
    one, two = Objective([TER()]), Objective([TER(), BLEU()])
    baseline = {"ter": 50.0, "bleu": 20.0}
    assert one.value({"ter": 40.0}, baseline) > one.value({"ter": 45.0}, baseline)
    assert two.value({"ter": 40.0, "bleu": 22.0}, baseline) == pytest.approx((20 + 10) / 2)
    assert two.value({"ter": float("nan"), "bleu": 22.0}, baseline) == -float("inf")
    with pytest.raises(InputError, match="a relative difference is undefined"):
        two.value({"ter": 40.0, "bleu": 22.0}, baseline | {"bleu": 0.0})


def test_the_best_settings_win_and_the_defaults_are_a_trial(data: Path, tmp_path: Path) -> None:
    made = plan(data)
    found = search(made, tmp_path / "out")
    winner = found.run()
    rates = [trial.settings.get("learning_rate", 0.01) for trial in made.all_trials]
    left_out = [missing(float(rate)) for rate in rates]  # type: ignore[arg-type]
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
    found = search(plan(data, factor=0, space=["learning_rate=0.001:0.4"]), tmp_path / "out")
    found.run()
    assert {s.rows for s in found.leaderboard} == {24}


def test_settings_that_a_method_refuses_rank_last_with_the_reason(data: Path, tmp_path: Path) -> None:
    found = search(plan(data, space=["learning_rate=0.6,0.05"]), tmp_path / "out")
    assert found.run().settings == {"learning_rate": 0.05}
    assert found.leaderboard[-1].failed == "that is too fast"
    assert "too fast" in (tmp_path / "out/trials.jsonl").read_text()


def test_a_trace_that_cannot_be_continued_stops_the_search(data: Path, tmp_path: Path) -> None:
    """It must not count as a trial with bad settings."""
    search(plan(data), tmp_path / "out").run()
    (tmp_path / "out/trials/001.jsonl").write_text("junk\n")
    with pytest.raises(InputError, match="is not a trace"):
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


def test_the_toml_file_of_the_winner_is_read_by_run(data: Path, tmp_path: Path) -> None:
    winner = search(plan(data), tmp_path / "out").run()
    table = Experiment.read_fields(tmp_path / "out/winner.toml")
    experiment = Experiment(**table)  # type: ignore[arg-type]
    assert (experiment.data, experiment.method, experiment.settings) == (str(data), "full", winner.settings)
    assert not experiment.skip
    assert not experiment.limit


def test_toml_survives_odd_values() -> None:
    settings = {"learning_rate": 1e-07, "n": 3, "on": True, "gradient_clipping": "scale"}
    odd = Experiment('a "b"\\ü\n.tsv', settings=settings, shuffle=4)
    assert Experiment(**tomllib.loads(to_toml(odd, note="two\nlines"))) == odd


@pytest.mark.parametrize(
    "changes",
    [
        *({"seed": 2}, {"tune": RowRange(1, 23)}, {"metric": "bleu"}, {"trials": 7}),
        {"space": ["learning_rate=1e-3:2:log"]},
    ],
)
def test_a_different_search_cannot_resume_this_one(data: Path, tmp_path: Path, changes: dict[str, object]) -> None:
    plan(data).save_or_check(tmp_path)
    plan(data).save_or_check(tmp_path)
    with pytest.raises(InputError, match="another search"):
        plan(data, **changes).save_or_check(tmp_path)


def test_other_data_under_the_same_name_is_another_search(data: Path, tmp_path: Path) -> None:
    plan(data).save_or_check(tmp_path)
    data.write_text(data.read_text(encoding="utf-8").replace("zehn", "elf"), encoding="utf-8")
    with pytest.raises(InputError, match="different: data"):
        plan(data).save_or_check(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"report": RowRange(24, 30)}, "overlap"),
        ({"report": RowRange(25, 41)}, "only 40"),
        ({"experiment": "baseline"}, "never learns"),
        ({"experiment": "limit"}, "skip and limit"),
        ({"space": ["learning_rate=0.003"]}, "only the defaults"),
        ({"space": []}, "nothing to search over"),
    ],
)
def test_an_invalid_plan_is_refused(data: Path, changes: dict[str, object], message: str) -> None:
    experiments = {"baseline": Experiment(str(data), "baseline"), "limit": Experiment(str(data), "full", limit=3)}
    experiment = experiments.get(str(changes.pop("experiment", "")), Experiment(str(data), "full"))
    keywords = {"space": ["learning_rate=1:2"], "tune": RowRange(1, 24), "report": RowRange(25, 40)} | changes
    with pytest.raises(InputError, match=message):
        SearchPlan(experiment, **keywords)  # type: ignore[arg-type]


def test_two_searches_in_one_folder_wait_for_each_other(tmp_path: Path) -> None:
    import threading

    lines: list[str] = []
    waiting, entered = threading.Event(), threading.Event()

    def second() -> None:
        with locked(tmp_path, lambda line: (lines.append(line), waiting.set())[0]):
            entered.set()

    with locked(tmp_path, lines.append):
        other = threading.Thread(target=second)
        other.start()
        assert waiting.wait(30)
        assert not entered.is_set()
    other.join(30)
    assert entered.is_set()
    assert "waiting" in lines[0]
