"""The search for settings, without a model: a fake runner writes traces whose quality depends on the settings."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from mtloop.core import Header, InputError, Proposal, Step
from mtloop.core.trace import Trace, TraceWriter
from mtloop.experiments.experiment import Experiment
from mtloop.experiments.experiment_toml import to_toml
from mtloop.experiments.run import ExperimentJob
from mtloop.experiments.runners import Job
from mtloop.experiments.tuning.objective import Objective
from mtloop.experiments.tuning.plan import SearchPlan
from mtloop.experiments.tuning.row_range import RowRange, check_disjoint
from mtloop.experiments.tuning.rungs import Rung, rungs
from mtloop.experiments.tuning.space import make_space
from mtloop.experiments.tuning.trial import Trial
from mtloop.experiments.tuning.tuning_search import Search
from mtloop.experiments.tuning.winner_verdict import WinnerVerdict
from mtloop.methods.registry import find_method
from mtloop.metrics import BLEU, TER
from mtloop.metrics.significance import Comparison

FULL = find_method("full")
WORDS = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "stream.tsv"
    lines = [f"source number {i % 17}\t{' '.join(WORDS)}" for i in range(40)]
    path.write_text("\n".join(["source\ttarget", *lines, ""]), encoding="utf-8")
    return path


def plan(data: Path, **changes: object) -> SearchPlan:
    """A plan with successive halving."""
    keywords = {
        "space": make_space(["learning_rate=1e-3:1:log"], FULL),
        "tune": RowRange(1, 24),
        "report": RowRange(25, 40),
        "trials": 8,
        "factor": 2,
        "sampler": "random",
    }
    return SearchPlan(**{"experiment": Experiment(str(data), "full")} | keywords | changes)  # type: ignore[arg-type]


def tpe_plan(data: Path, **changes: object) -> SearchPlan:
    return plan(data, **{"factor": 0, "sampler": "tpe", "trials": 12} | changes)


def missing(rate: float) -> int:
    """The number of missing words: smallest at a learning rate of 0.1."""
    return min(8, round(6 * abs(math.log10(rate) + 1)))


class Fake:
    """A runner that writes traces whose quality depends on the learning rate, and counts the written rows."""

    def __init__(self) -> None:
        self.written: list[tuple[str, int]] = []
        self.calls: list[list[str]] = []

    def __call__(self, jobs: Sequence[Job]) -> list[str]:
        found = [job for job in jobs if isinstance(job, ExperimentJob)]
        self.calls.append([job.trace.stem for job in found])
        return [self._run(job) for job in found]

    def _run(self, job: ExperimentJob) -> str:
        experiment = job.experiment
        rate = float(experiment.settings.get("learning_rate", 0.01))  # type: ignore[arg-type]
        words = 1 if experiment.method == "baseline" else 10 - missing(rate)
        if rate > 0.5:
            return "that is too fast"
        with TraceWriter(job.trace, Header(config={"learning_rate": rate})) as trace:
            self.written.append((job.trace.stem, job.rows - len(trace.past)))
            for i in range(len(trace.past), job.rows):
                segment, truth = experiment.stream()[i]
                trace.write(Step(i, Proposal(segment, " ".join(WORDS[:words])), truth=truth))
        return ""


def search(plan: SearchPlan, out: Path, fake: Fake | None = None, metrics: Sequence[object] | None = None) -> Search:
    objective = Objective.from_metrics(metrics or [TER()])  # type: ignore[arg-type]
    return Search(plan, objective, out, fake or Fake())


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
    found = search(plan(data), tmp_path / "out")
    winner = found.run()
    trials = sorted((result.trial for result in found.leaderboard), key=lambda trial: trial.number)
    rates = [trial.settings.get("learning_rate", 0.01) for trial in trials]
    left_out = [missing(float(rate)) for rate in rates]  # type: ignore[arg-type]
    assert left_out[winner.number] == min(left_out) < max(left_out)
    assert trials[0] == Trial(0)
    assert [trial.number for trial in trials] == list(range(8))
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
    found = search(plan(data, factor=0, space=make_space(["learning_rate=0.001:0.4"], FULL)), tmp_path / "out")
    found.run()
    assert {s.rows for s in found.leaderboard} == {24}


def test_settings_that_a_method_refuses_rank_last_with_the_reason(data: Path, tmp_path: Path) -> None:
    found = search(plan(data, space=make_space(["learning_rate=0.6,0.05"], FULL)), tmp_path / "out")
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
    found = search(plan(data), tmp_path / "out")
    winner = found.run()
    found.write_winner(WinnerVerdict("rows 25-40", "TER", False, Comparison(2.5, (1.0, 4.0), 0.01, "ar")))
    assert (
        (tmp_path / "out/winner.toml").read_text().startswith("# Keep the defaults. On rows 25-40 the winner is worse")
    )
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
        *({"seed": 2}, {"tune": RowRange(1, 23)}, {"metric": "bleu"}, {"trials": 7}, {"sampler": "tpe", "factor": 0}),
        {"space": make_space(["learning_rate=1e-3:2:log"], FULL)},
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
        ({"limit": 3}, "skip and limit"),
        ({"space": make_space(["learning_rate=0.003"], FULL)}, "only the defaults"),
        ({"sampler": "tp"}, "no sampler 'tp'; did you mean 'tpe'?"),
        ({"factor": 2}, "with halving, all trials are drawn before the first result"),
        ({"seed": 2**32}, "seed is 4294967296; expected 0 to"),
        ({"seed": -1}, "seed is -1"),
        ({"trials": 1}, "trials is 1; expected 2 or more"),
        ({"batch": 0}, "batch is 0; expected 1 or more"),
    ],
)
def test_an_invalid_plan_is_refused(data: Path, changes: dict[str, object], message: str) -> None:
    experiment = Experiment(str(data), "full", limit=int(str(changes.pop("limit", 0))))
    keywords = {
        "space": make_space(["learning_rate=1:2"], FULL),
        "tune": RowRange(1, 24),
        "report": RowRange(25, 40),
    } | changes
    with pytest.raises(InputError, match=message):
        SearchPlan(experiment, **keywords)  # type: ignore[arg-type]


@pytest.mark.parametrize(("sampler", "stop"), [("tpe", 0), ("tpe", 1), ("tpe", 2), ("random", 0)])
def test_a_search_stopped_within_a_batch_draws_the_same_trials_again(
    data: Path, tmp_path: Path, sampler: str, stop: int
) -> None:
    class Stopping(Fake):
        def __call__(self, jobs: Sequence[Job]) -> list[str]:
            if len(self.calls) < stop:
                return super().__call__(jobs)
            super().__call__(jobs[:3])
            raise KeyboardInterrupt

    whole, again = (search(tpe_plan(data, sampler=sampler), tmp_path / name) for name in ("whole", "again"))
    winner = whole.run()
    with pytest.raises(KeyboardInterrupt):
        search(tpe_plan(data, sampler=sampler), tmp_path / "again", Stopping()).run()
    assert again.run() == winner
    assert again.leaderboard == whole.leaderboard
    trials = [(tmp_path / name / "trials.jsonl").read_bytes() for name in ("whole", "again")]
    assert trials[0] == trials[1]


def test_tpe_draws_in_batches_and_learns_from_them(data: Path, tmp_path: Path) -> None:
    fake = Fake()
    found = search(tpe_plan(data, batch=5), tmp_path / "out", fake)
    found.run()
    assert [len(call) - 1 for call in fake.calls] == [5, 5, 2]  # less the baseline
    at_random = search(tpe_plan(data, sampler="random"), tmp_path / "random", fake)
    at_random.run()
    assert [len(call) - 1 for call in fake.calls[3:]] == [12]
    drawn = [{r.trial.number: r.trial for r in each.leaderboard} for each in (found, at_random)]
    assert [drawn[0][i] for i in range(5)] == [drawn[1][i] for i in range(5)]
    assert [drawn[0][i] for i in range(5, 12)] != [drawn[1][i] for i in range(5, 12)]


def test_the_baseline_is_the_one_of_the_engine(data: Path) -> None:
    made = plan(data, experiment=Experiment(str(data), "full", settings={"beam_size": "2", "max_updates": 3}))
    assert (made.baseline.method, made.baseline.settings) == ("baseline", {"beam_size": 2})
