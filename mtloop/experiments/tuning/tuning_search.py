"""The search: run the trials rung by rung, each in its own trace, and select the best of the last rung.

A rung is one round of successive halving: all remaining trials run on the same number of rows, and the best continue.
Without successive halving there is one rung: all trials run on all rows.
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
from mtloop.experiments.experiment_toml import to_toml
from mtloop.experiments.runners import ExperimentJob, Runner
from mtloop.experiments.tuning.objective import Objective
from mtloop.experiments.tuning.plan import SearchPlan
from mtloop.experiments.tuning.rungs import Rung
from mtloop.experiments.tuning.trial import Trial, TrialResult, format_score


@dataclass
class Search:
    """A search in a folder.

    A search that is killed and started again selects the same winner: the traces of the trials are resumed, and
    everything else is computed from the traces.
    """

    plan: SearchPlan
    objective: Objective
    folder: Path
    runner: Runner
    log: Callable[[str], None] = lambda line: None
    results_: dict[int, TrialResult] = field(default_factory=dict)

    def run(self) -> Trial:
        """Run all rungs and return the winner."""
        trials = self.plan.all_trials
        for number, rung in enumerate(self.plan.rungs, start=1):
            name = "rung" if self.plan.factor else "round"  # without successive halving
            self.log(f"{name} {number} of {len(self.plan.rungs)}: {len(trials)} trials on {rung.rows} segments")
            best = self._run_rung(trials, rung)
            remaining = self.plan.rungs[number].trials if number < len(self.plan.rungs) else 0
            for result in best[remaining:]:
                Snapshots(self._trace(result.trial.name)).clear()  # this trial does not continue
            trials = [result.trial for result in best[:remaining]]
            self._write_results()
        Snapshots(self._trace("baseline")).clear()
        winner = self.leaderboard[0]
        if winner.failed:
            raise InputError(f"every trial failed; the first: {winner.failed}")
        self._write_winner(winner)
        return winner.trial

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
            name: ExperimentJob(experiment, self.folder / "report" / f"{name}.jsonl", part.limit)
            for name, experiment in experiments.items()
        }
        self.log(f"report: {', '.join(jobs)} on rows {self.plan.report}")
        self._run_jobs(list(jobs.values()))
        for job in jobs.values():
            Snapshots(job.trace).clear()
        return {name: Trace.read(job.trace).steps for name, job in jobs.items()}

    def _run_rung(self, trials: Sequence[Trial], rung: Rung) -> list[TrialResult]:
        """Run the trials up to the rows of the rung; return their results, the best first."""
        part = self.plan.tuning_part
        jobs = [ExperimentJob(self.plan.baseline_on(part), self._trace("baseline"), rung.rows)]
        jobs += [ExperimentJob(self.plan.trial_on(trial, part), self._trace(trial.name), rung.rows) for trial in trials]
        _, *failures = self._run_jobs(jobs)
        baseline = self._scores("baseline", rung.rows)
        for trial, failed in zip(trials, failures, strict=True):
            self.results_[trial.number] = self._result(trial, rung.rows, baseline, failed)
            self.log(f"  {trial.name} {trial}: {failed or _format_scores(self.results_[trial.number].scores)}")
        return sorted((self.results_[trial.number] for trial in trials), key=lambda result: result.sort_key)

    def _run_jobs(self, jobs: Sequence[ExperimentJob]) -> list[str]:
        """Run the jobs and return their error messages.

        Wrong settings fail before a trace exists, and only that trial is marked as failed. Any later error stops the
        search with InputError. So does any error of the baseline or of a run for the report.
        """
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

    def _write_winner(self, winner: TrialResult) -> None:
        plan = self.plan
        objective = self.objective.description
        note = f"trial {winner.trial.name} of {len(plan.all_trials)}, seed {plan.seed}, best by {objective}"
        note += f"\non rows {plan.tune}: {_format_scores(winner.scores)}; see the report for other rows"
        experiment = plan.trial_on(winner.trial, plan.default)
        write_text(self.folder / "winner.toml", to_toml(experiment, note=note))


def _format_scores(scores: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {format_score(value)}" for name, value in scores.items())
