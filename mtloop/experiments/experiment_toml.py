"""Write an experiment as TOML, for `mtloop run --config`."""

from __future__ import annotations

import json
from collections.abc import Iterable

from mtloop.core.types import JSON
from mtloop.experiments.experiment import Experiment


def to_toml(experiment: Experiment, leave_out: Iterable[str] = (), note: str = "") -> str:
    """The fields that differ from their defaults, then the settings of the method. `note` becomes comment lines.

    >>> print(to_toml(Experiment("manual.tsv", "full", settings={"learning_rate": 0.005}), note="tuned"), end="")
    # tuned
    data = "manual.tsv"
    method = "full"
    <BLANKLINE>
    [settings]
    learning_rate = 0.005
    """
    default = Experiment(experiment.data)
    fields = [name for name in Experiment.__dataclass_fields__ if name not in {"settings", *leave_out}]
    always = ("data", "method")
    written = [name for name in fields if name in always or getattr(experiment, name) != getattr(default, name)]
    lines = [f"# {line}" for line in note.splitlines()]
    lines += [f"{name} = {_value(getattr(experiment, name))}" for name in written]
    lines += ["", "[settings]", *(f"{name} = {_value(value)}" for name, value in experiment.settings.items())]
    return "\n".join(lines) + "\n"


def _value(value: JSON) -> str:
    """A JSON string, number or boolean; it has the same form in TOML."""
    return json.dumps(value, ensure_ascii=False)
