"""The plan of a search. It is saved before the search starts, so that a different search cannot resume it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError, UnknownName
from mtloop.core.json_files import json_errors, parse_json
from mtloop.core.ranges import check_at_least
from mtloop.core.types import JSON
from mtloop.experiments.experiment import Experiment
from mtloop.experiments.tuning.row_range import RowRange, check_disjoint
from mtloop.experiments.tuning.rungs import Rung, rungs
from mtloop.experiments.tuning.space import Space
from mtloop.experiments.tuning.trial import Trial
from mtloop.experiments.tuning.trial_sampler import SAMPLERS, TrialSampler
from mtloop.methods.method import Method
from mtloop.methods.presets import preset_for
from mtloop.methods.registry import find_method

BASELINES = {"neural": "baseline", "statistical": "smt-baseline"}  # by engine; without a model: copy-source


@dataclass(frozen=True)
class SearchPlan:
    """All settings of a search: the default experiment, the search space, the two parts of the stream, the metric.

    With `factor` 0, every trial runs on all rows. Otherwise one trial in `factor` continues from rung to rung. `batch`
    is the number of trials that TPE draws before it knows their results. It does not depend on the number of jobs, so
    the number of jobs does not change the result.
    """

    experiment: Experiment
    space: Space
    tune: RowRange
    report: RowRange
    trials: int = 16
    factor: int = 0
    metric: str = "ter"
    language: str | None = None
    seed: int = 1
    sampler: str = "tpe"
    batch: int = 4

    def __post_init__(self) -> None:
        """Raise InputError for wrong settings, before any trial runs."""
        check_disjoint(self.tune, self.report)
        self._check_sampling()
        if self.experiment.skip or self.experiment.limit:
            raise InputError("a search does not use skip and limit; choose the rows with --tune-rows and --report-rows")
        self.experiment.make_schedule()
        if self.count == 1:
            raise InputError("the search space contains only the defaults; give --space more values")
        if min(self.tuning_part.limit, self.report_part.limit) < 1:
            raise InputError("there are no rows to tune on, or no rows to report on")

    @property
    def _method(self) -> Method:
        return self.experiment.learner_config.method

    @cached_property
    def default(self) -> Experiment:
        """The given experiment, with its settings converted to the types of the method."""
        given = self.experiment.settings
        typed = self._method.settings_with(given)
        return replace(self.experiment, settings={name: typed[name] for name in given})

    @cached_property
    def baseline(self) -> Experiment:
        """The method of the same engine that never learns, with the same beam size."""
        baseline = find_method(BASELINES.get(self._method.engine.name, "copy-source"))
        model = self.default.model if baseline.engine.loads_model else ""
        shared = {"beam_size"} & {*self.default.settings} & {*baseline.settings}
        settings = {name: self.default.settings[name] for name in shared}
        preset = preset_for(self.default.preset, baseline.name)
        return replace(self.default, method=baseline.name, model=model, settings=settings, delta="", preset=preset)

    def _check_sampling(self) -> None:
        if self.sampler not in SAMPLERS:
            raise UnknownName("sampler", self.sampler, SAMPLERS)
        if self.factor and self.sampler == "tpe":
            raise InputError("with halving, all trials are drawn before the first result; use the sampler random")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed is {self.seed}; expected 0 to {2**32 - 1}")
        check_at_least(2, trials=self.trials)
        check_at_least(1, batch=self.batch)

    @cached_property
    def default_values(self) -> dict[str, JSON]:
        """The defaults of the settings to search over."""
        return {name: self.experiment.learner_config.settings[name] for name in self.space.dimensions}

    @cached_property
    def count(self) -> int:
        """The number of trials: `trials`, or fewer if the space has fewer combinations."""
        return int(min(self.trials, self.space.size + (self.default_values not in self.space)))

    @property
    def batch_size(self) -> int:
        """The number of trials to draw together. At random, all of them: no draw depends on a result."""
        return self.batch if self.sampler == "tpe" else self.count

    def make_sampler(self) -> TrialSampler:
        return TrialSampler(self.space, self.default_values, self.sampler, self.seed)

    @cached_property
    def rungs(self) -> list[Rung]:
        count, rows = self.count, self.tuning_part.limit
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
            "space": self.space.to_json(),
            "tune_rows": str(self.tune),
            "report_rows": str(self.report),
            "trials": self.trials,
            "halving": self.factor,
            "metric": self.metric,
            "language": self.language,
            "seed": self.seed,
            "sampler": self.sampler,
            "batch": self.batch_size,
            "optuna": version("optuna"),  # another version may draw other settings
        }
        return experiment | search

    def save_or_check(self, folder: Path) -> None:
        """Write the plan to the folder. If the folder has a plan, raise InputError unless it is the same."""
        path, new = folder / "plan.json", self.to_json()
        if not path.is_file():
            write_text(path, json.dumps(new, indent=2, ensure_ascii=False) + "\n")
            return
        with json_errors(path, "a plan of a search"):
            saved = dict(parse_json(path.read_bytes()))
        if differing := sorted(name for name in {*new, *saved} if new.get(name) != saved.get(name)):
            message = f"belongs to another search (different: {', '.join(differing)}); choose another --out"
            raise InputError(message, path=path)
