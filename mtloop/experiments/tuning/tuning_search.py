"""The search: draw the trials, run them, each in its own trace, and select the best.

With successive halving a rung is one round: all remaining trials run on the same number of rows, and the best continue.
Optuna's own halving is not used: it stops trials one by one while they run, and here all trials of a rung are compared
at once and resumed from their traces. Without successive halving there is one rung with all rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.record import Snapshots
from mtloop.core.trace import Trace
from mtloop.core.types import Step
from mtloop.experiments.experiment import Experiment
from mtloop.experiments.experiment_toml import to_toml
from mtloop.experiments.run import ExperimentJob
from mtloop.experiments.runners import Runner
from mtloop.experiments.tuning.objective import Objective
from mtloop.experiments.tuning.plan import SearchPlan
from mtloop.experiments.tuning.rungs import Rung
from mtloop.experiments.tuning.trial import Trial, TrialResult, format_score
from mtloop.experiments.tuning.winner_verdict import WinnerVerdict


@dataclass
class Search:
    """A search in a folder.

    A search that is killed and started again selects the same winner: the sampler draws the same trials, their traces
    are resumed, and everything else is computed from the traces.
    """

    plan: SearchPlan
    objective: Objective
    folder: Path
    runner: Runner
    snapshot_every: int = 100
    log: Callable[[str], None] = lambda line: None
    results_: dict[int, TrialResult] = field(default_factory=dict)

    def run(self) -> Trial:
        """Run all rungs and return the winner."""
        results: list[TrialResult] = []
        rungs = self.plan.rungs
        for number, rung in enumerate(rungs, start=1):
            if self.plan.factor:
                self.log(f"rung {number} of {len(rungs)}: {rung.trials} trials on {rung.rows} segments")
            best = self._first_rung(rung) if number == 1 else self._run_trials([r.trial for r in results], rung)
            best.sort(key=lambda result: result.sort_key)
            remaining = rungs[number].trials if number < len(rungs) else 0
            for result in best[remaining:]:
                Snapshots(self._trace(result.trial.name)).clear()  # this trial does not continue
            results = best[:remaining]
        Snapshots(self._trace("baseline")).clear()
        winner = self.leaderboard[0]
        if winner.failed:
            raise InputError(f"every trial failed; the first: {winner.failed}")
        return winner.trial

    def _first_rung(self, rung: Rung) -> list[TrialResult]:
        """Draw the trials batch by batch and run them; tell the sampler the results in the order of the trials."""
        sampler, results = self.plan.make_sampler(), list[TrialResult]()
        while (done := len(results)) < rung.trials:
            trials = sampler.ask(min(self.plan.batch_size, rung.trials - done))
            if not self.plan.factor:
                numbers = f"trials {done + 1} to {done + len(trials)} of {rung.trials}"
                self.log(f"{numbers}, on {rung.rows} segments")
            for result in self._run_trials(trials, rung):
                sampler.tell(result)
                results.append(result)
        return results

    @property
    def leaderboard(self) -> list[TrialResult]:
        """The last result of every trial, the best first."""
        return sorted(self.results_.values(), key=lambda result: result.sort_key)

    def report(self, winner: Trial) -> dict[str, list[Step]]:
        """Run baseline, defaults and winner on the report rows, each from the base model; return their steps."""
        part = self.plan.report_part
        experiments = {"baseline": self.plan.baseline_on(part), "default": self.plan.trial_on(Trial(0), part)}
        if winner.number:
            experiments["winner"] = self.plan.trial_on(winner, part)
        jobs = {
            name: self._job(experiment, self.folder / "report" / f"{name}.jsonl", part.limit)
            for name, experiment in experiments.items()
        }
        self.log(f"report: {', '.join(jobs)} on rows {self.plan.report}")
        self._run_jobs(list(jobs.values()))
        for job in jobs.values():
            Snapshots(job.trace).clear()
        return {name: Trace.read(job.trace).steps for name, job in jobs.items()}

    def _run_trials(self, trials: Sequence[Trial], rung: Rung) -> list[TrialResult]:
        """Run the trials up to the rows of the rung; return their results in the same order."""
        part = self.plan.tuning_part
        jobs = [self._job(self.plan.baseline_on(part), self._trace("baseline"), rung.rows)]
        jobs += [self._job(self.plan.trial_on(trial, part), self._trace(trial.name), rung.rows) for trial in trials]
        _, *failures = self._run_jobs(jobs)
        baseline = self._scores("baseline", rung.rows)
        for trial, failed in zip(trials, failures, strict=True):
            self.results_[trial.number] = self._result(trial, rung.rows, baseline, failed)
            self.log(f"  {trial.name} {trial}: {failed or format_scores(self.results_[trial.number].scores)}")
        self._write_results()
        return [self.results_[trial.number] for trial in trials]

    def _job(self, experiment: Experiment, trace: Path, rows: int) -> ExperimentJob:
        return ExperimentJob(experiment, trace, rows, self.snapshot_every)

    def _run_jobs(self, jobs: Sequence[ExperimentJob]) -> list[str]:
        """Run the jobs and return their error messages.

        Wrong settings fail before a trace exists, and only that trial is marked as failed. Any later error stops the
        search with InputError. So does any error of the baseline or of a run for the report.
        """
        for job in jobs:
            job.write_config()
        failures = self.runner(jobs)
        for job, failed in zip(jobs, failures, strict=True):
            if failed and (job.trace.exists() or job.trace.stem in ("baseline", "default", "winner")):
                raise InputError(f"{job.trace.stem}: {failed}")
        return failures

    def _result(self, trial: Trial, rows: int, baseline: dict[str, float], failed: str) -> TrialResult:
        if failed:
            return TrialResult(trial, 0, -math.inf, failed=failed)
        scores = self._scores(trial.name, rows)
        return TrialResult(trial, rows, self.objective.value(scores, baseline), scores)

    def _scores(self, name: str, rows: int) -> dict[str, float]:
        return self.objective.scores(Trace.read(self._trace(name)).steps[:rows])

    def _trace(self, name: str) -> Path:
        return self.folder / "trials" / f"{name}.jsonl"

    def _write_results(self) -> None:
        lines = [json.dumps(result.to_json(), ensure_ascii=False) + "\n" for result in self.leaderboard]
        write_text(self.folder / "trials.jsonl", "".join(lines))

    def write_winner(self, verdict: WinnerVerdict) -> None:
        """Write the winner for `mtloop run --config`. The verdict is its first comment, so nobody overlooks it."""
        plan, winner = self.plan, self.leaderboard[0]
        note = f"{verdict}\ntrial {winner.trial.name} of {plan.count}, sampler {plan.sampler}, seed {plan.seed}, "
        note += f"best by {self.objective.description}\non rows {plan.tune}: {format_scores(winner.scores)}"
        write_text(self.folder / "winner.toml", to_toml(plan.trial_on(winner.trial, plan.default), note=note))


def format_scores(scores: Mapping[str, float]) -> str:
    """The scores with two decimals, each with its name."""
    return ", ".join(f"{name} {format_score(value)}" for name, value in scores.items())
