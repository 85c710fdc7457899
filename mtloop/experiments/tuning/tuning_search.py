"""The search: trials climb the rungs, each on its own trace; the best at the top wins."""

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
from mtloop.experiments.runners import Runner, Work
from mtloop.experiments.tuning.objective import Objective
from mtloop.experiments.tuning.plan import SearchPlan
from mtloop.experiments.tuning.rungs import Rung
from mtloop.experiments.tuning.toml_writer import to_toml
from mtloop.experiments.tuning.trial import Trial, TrialResult


@dataclass
class Search:
    """A plan at work in a folder.

    Killed at any moment and started again it picks the same winner: what a trial has done is in its trace, which goes
    on where it was, and everything else follows from the traces.
    """

    plan: SearchPlan
    objective: Objective
    folder: Path
    runner: Runner
    say: Callable[[str], None] = lambda line: None
    standings_: dict[int, TrialResult] = field(default_factory=dict)

    def run(self) -> Trial:
        """Climb, and return the winner."""
        going = self.plan.all_trials
        for number, rung in enumerate(self.plan.rungs, start=1):
            self.say(f"rung {number} of {len(self.plan.rungs)}: {len(going)} trials to {rung.rows} segments")
            best = self._climb(going, rung)
            ahead = self.plan.rungs[number].trials if number < len(self.plan.rungs) else 0
            for standing in best[ahead:]:
                Snapshots(self._trace(standing.trial.name)).clear()  # it goes no further
            going = [standing.trial for standing in best[:ahead]]
            self._keep()
        Snapshots(self._trace("baseline")).clear()
        winner = self.leaderboard[0]
        if winner.failed:
            raise InputError(f"every trial failed; the first: {winner.failed}")
        self._keep_winner(winner)
        return winner.trial

    @property
    def leaderboard(self) -> list[TrialResult]:
        """Every trial as it stood when it was stopped, the best first."""
        return sorted(self.standings_.values(), key=lambda standing: standing.order)

    def report(self, winner: Trial) -> dict[str, list[Step]]:
        """Baseline, defaults and winner on the part no one has seen, each starting from the base model."""
        part = self.plan.on_report
        experiments = {"baseline": self.plan.baseline_of(part), "default": self.plan.of(Trial(0), part)}
        if winner.number:
            experiments["winner"] = self.plan.of(winner, part)
        works = {name: Work(e, self.folder / "report" / f"{name}.jsonl", part.limit) for name, e in experiments.items()}
        self.say(f"report: {', '.join(works)} on rows {self.plan.report}")
        self._done(list(works.values()))
        for work in works.values():
            Snapshots(work.trace).clear()
        return {name: Trace.read(work.trace).steps for name, work in works.items()}

    def _climb(self, going: Sequence[Trial], rung: Rung) -> list[TrialResult]:
        """Bring the trials to the rung's rows; the best first."""
        part = self.plan.on_tune
        works = [Work(self.plan.baseline_of(part), self._trace("baseline"), rung.rows)]
        works += [Work(self.plan.of(trial, part), self._trace(trial.name), rung.rows) for trial in going]
        _, *failures = self._done(works)
        baseline = self._scores("baseline", rung.rows)
        for trial, failed in zip(going, failures, strict=True):
            self.standings_[trial.number] = self._standing(trial, rung.rows, baseline, failed)
            self.say(f"  {trial.name} {trial}: {failed or _shown(self.standings_[trial.number].scores)}")
        return sorted((self.standings_[trial.number] for trial in going), key=lambda standing: standing.order)

    def _done(self, works: Sequence[Work]) -> list[str]:
        """Have it done. Settings that a method refuses fail before there is a trace; all else is no trial's fault."""
        failures = self.runner(works)
        for work, failed in zip(works, failures, strict=True):
            if failed and (work.trace.exists() or work.trace.stem in ("baseline", "default", "winner")):
                raise InputError(f"{work.trace.stem}: {failed}")
        return failures

    def _standing(self, trial: Trial, rows: int, baseline: dict[str, float], failed: str) -> TrialResult:
        if failed:
            return TrialResult(trial, 0, -math.inf, failed=failed)
        scores = self._scores(trial.name, rows)
        return TrialResult(trial, rows, self.objective.value(scores, baseline), scores)

    def _scores(self, name: str, rows: int) -> dict[str, float]:
        return self.objective.scores(Trace.read(self._trace(name)).steps[:rows])

    def _trace(self, name: str) -> Path:
        return self.folder / "trials" / f"{name}.jsonl"

    def _keep(self) -> None:
        lines = [json.dumps(standing.to_json(), ensure_ascii=False) + "\n" for standing in self.leaderboard]
        write_text(self.folder / "trials.jsonl", "".join(lines))

    def _keep_winner(self, winner: TrialResult) -> None:
        plan = self.plan
        note = f"trial {winner.trial.name} of {len(plan.all_trials)}, seed {plan.seed}, best by {self.objective.rule}"
        note += f"\non rows {plan.tune}: {_shown(winner.scores)}; for rows not tuned on see the report"
        experiment = plan.of(winner.trial, plan.default)
        write_text(self.folder / "winner.toml", to_toml(experiment, note=note))


def _shown(scores: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in scores.items())
