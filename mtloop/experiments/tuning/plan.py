"""The plan of a search. It is saved before the search starts, so that a different search cannot resume it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.types import JSON
from mtloop.experiments.experiment import Experiment
from mtloop.experiments.tuning.row_range import RowRange, check_disjoint
from mtloop.experiments.tuning.rungs import Rung, rungs
from mtloop.experiments.tuning.space import parse_space
from mtloop.experiments.tuning.trial import Trial
from mtloop.methods.registry import settings_of


@dataclass(frozen=True)
class SearchPlan:
    """All settings of a search: the default experiment, the search space, the two parts of the stream, the metric.

    With `factor` 0, every trial runs on all rows. Otherwise one trial in `factor` continues from rung to rung.
    """

    experiment: Experiment
    space: Sequence[str]
    tune: RowRange
    report: RowRange
    trials: int = 16
    factor: int = 0
    metric: str = "ter"
    language: str = "de"
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise InputError for wrong settings, before any trial runs."""
        check_disjoint(self.tune, self.report)
        if self.experiment.skip or self.experiment.limit:
            raise InputError("a search does not use skip and limit; choose the rows with --tune-rows and --report-rows")
        if self.experiment.method == "baseline":
            raise InputError("the baseline never learns, so there is nothing to tune; give --method")
        self.experiment.make_schedule()
        if len(self.all_trials) == 1:
            raise InputError("the search space contains only the defaults; give --space more values")
        if min(self.tuning_part.limit, self.report_part.limit) < 1:
            raise InputError("there are no rows to tune on, or no rows to report on")

    @cached_property
    def default(self) -> Experiment:
        """The given experiment, with its settings converted to the types of the method."""
        given = self.experiment.settings
        typed = settings_of(self.experiment.method, given)
        return replace(self.experiment, settings={name: typed[name] for name in given})

    @cached_property
    def baseline(self) -> Experiment:
        """The method `baseline` with the same beam size."""
        settings = {name: value for name, value in self.default.settings.items() if name == "beam_size"}
        return replace(self.default, method="baseline", settings=settings)

    @cached_property
    def all_trials(self) -> list[Trial]:
        """The defaults (trial 0), then settings drawn from the space."""
        space = parse_space(self.space, self.default.method, self.default.settings)
        defaults = settings_of(self.default.method)
        drawn = (s for s in space.draw(self.seed) if s != {name: defaults[name] for name in s})
        return [Trial(0), *(Trial(i, s) for i, s in enumerate(islice(drawn, self.trials - 1), start=1))]

    @cached_property
    def rungs(self) -> list[Rung]:
        count, rows = len(self.all_trials), self.tuning_part.limit
        return rungs(count, rows, self.factor) if self.factor else [Rung(count, rows)]

    @cached_property
    def tuning_part(self) -> Experiment:
        """The default experiment on the rows to tune on."""
        return self.tune.restrict(self.default)

    @cached_property
    def report_part(self) -> Experiment:
        """The default experiment on the rows to report on."""
        return self.report.restrict(self.default)

    def trial_on(self, trial: Trial, part: Experiment) -> Experiment:
        """The experiment of a trial on a part of the stream."""
        return replace(part, settings={**part.settings, **trial.settings})

    def baseline_on(self, part: Experiment) -> Experiment:
        """The experiment of the baseline on a part of the stream."""
        return replace(self.baseline, skip=part.skip, limit=part.limit)

    def to_json(self) -> dict[str, JSON]:
        """All settings that affect the result, with a hash of the data."""
        experiment: dict[str, JSON] = {
            name: getattr(self.default, name) for name in Experiment.__dataclass_fields__ if name != "settings"
        }
        experiment["data"] = hashlib.sha256(Path(self.default.data).read_bytes()).hexdigest()
        search: dict[str, JSON] = {
            "settings": dict(self.default.settings),
            "space": list[JSON](self.space),
            "tune_rows": str(self.tune),
            "report_rows": str(self.report),
            "trials": self.trials,
            "halving": self.factor,
            "metric": self.metric,
            "language": self.language,
            "seed": self.seed,
        }
        return experiment | search

    def save_or_check(self, folder: Path) -> None:
        """Write the plan to the folder. If the folder has a plan, raise InputError unless it is the same."""
        path, new = folder / "plan.json", self.to_json()
        if not path.is_file():
            write_text(path, json.dumps(new, indent=2, ensure_ascii=False) + "\n")
            return
        try:
            saved = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"is not a plan of a search: {error}", path=path) from error
        if differing := sorted(name for name in {*new, *saved} if new.get(name) != saved.get(name)):
            message = f"belongs to another search (different: {', '.join(differing)}); choose another --out"
            raise InputError(message, path=path)
