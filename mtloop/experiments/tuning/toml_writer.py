"""An experiment as the TOML that `mtloop run --config` reads."""

from __future__ import annotations

import json
from collections.abc import Iterable

from mtloop.core.types import JSON
from mtloop.experiments.experiment import Experiment


def to_toml(experiment: Experiment, leave_out: Iterable[str] = (), note: str = "") -> str:
    """Every field that differs from its default, then the method's settings.

    >>> print(to_toml(Experiment("manual.tsv", "full", settings={"rate": 0.005}), note="tuned"), end="")
    # tuned
    data = "manual.tsv"
    method = "full"
    <BLANKLINE>
    [settings]
    rate = 0.005
    """
    default = Experiment(experiment.data)
    fields = [name for name in Experiment.__dataclass_fields__ if name not in {"settings", *leave_out}]
    always = ("data", "method")
    kept = [name for name in fields if name in always or getattr(experiment, name) != getattr(default, name)]
    lines = [f"# {line}" for line in note.splitlines()]
    lines += [f"{name} = {_value(getattr(experiment, name))}" for name in kept]
    lines += ["", "[settings]", *(f"{name} = {_value(value)}" for name, value in experiment.settings.items())]
    return "\n".join(lines) + "\n"


def _value(value: JSON) -> str:
    """JSON's strings, numbers and truth values are TOML's too."""
    return json.dumps(value, ensure_ascii=False)
