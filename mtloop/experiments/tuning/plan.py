"""All that decides which settings win: written down first, so that a search is never continued as another."""

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
from mtloop.experiments.tuning.parts import RowRange, check_apart
from mtloop.experiments.tuning.rungs import Rung, rungs
from mtloop.experiments.tuning.space import parse_space
from mtloop.experiments.tuning.trial import Trial
from mtloop.methods.registry import settings_of


@dataclass(frozen=True)
class SearchPlan:
    """A search: `experiment` as it is by default, the space around it, the two parts of the stream, the metric.

    `factor` 0 brings every trial to the end of the part; above, one in `factor` goes on from rung to rung.
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
        """What is wrong is found before an hour of work."""
        check_apart(self.tune, self.report)
        if self.experiment.skip or self.experiment.limit:
            raise InputError("skip and limit cut the stream; a search names its rows: --tune-rows, --report-rows")
        if self.experiment.method == "baseline":
            raise InputError("the baseline never learns, so there is nothing to tune; give --method")
        self.experiment.when()
        if len(self.all_trials) == 1:
            raise InputError("the space holds nothing but the defaults; give --space more values")
        if min(self.on_tune.limit, self.on_report.limit) < 1:
            raise InputError("there is nothing to tune on, or nothing to report on")

    @cached_property
    def default(self) -> Experiment:
        """As given, with the values that were set in their own types."""
        given = self.experiment.settings
        typed = settings_of(self.experiment.method, given)
        return replace(self.experiment, settings={name: typed[name] for name in given})

    @cached_property
    def baseline(self) -> Experiment:
        beams = {name: value for name, value in self.default.settings.items() if name == "beams"}
        return replace(self.default, method="baseline", settings=beams)

    @cached_property
    def all_trials(self) -> list[Trial]:
        """The defaults first, then settings drawn from the space."""
        space = parse_space(self.space, self.default.method, self.default.settings)
        defaults = settings_of(self.default.method)
        drawn = (s for s in space.draw(self.seed) if s != {name: defaults[name] for name in s})
        return [Trial(0), *(Trial(i, s) for i, s in enumerate(islice(drawn, self.trials - 1), start=1))]

    @cached_property
    def rungs(self) -> list[Rung]:
        count, rows = len(self.all_trials), self.on_tune.limit
        return rungs(count, rows, self.factor) if self.factor else [Rung(count, rows)]

    @cached_property
    def on_tune(self) -> Experiment:
        return self.tune.of(self.default)

    @cached_property
    def on_report(self) -> Experiment:
        return self.report.of(self.default)

    def of(self, trial: Trial, part: Experiment) -> Experiment:
        """A trial on a part of the stream."""
        return replace(part, settings={**part.settings, **trial.settings})

    def baseline_of(self, part: Experiment) -> Experiment:
        return replace(self.baseline, skip=part.skip, limit=part.limit)

    def to_json(self) -> dict[str, JSON]:
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

    def keep(self, folder: Path) -> None:
        """Write the plan, or check that it is the one that is there."""
        path, mine = folder / "plan.json", self.to_json()
        if not path.is_file():
            write_text(path, json.dumps(mine, indent=2, ensure_ascii=False) + "\n")
            return
        try:
            theirs = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"is no plan of a search: {error}", path=path) from error
        if differing := sorted(name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name)):
            raise InputError(f"is of another search ({', '.join(differing)} differ); choose another --out", path=path)
