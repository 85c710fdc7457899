"""The settings of the papers: `--preset 2019` runs a method as the paper of 2019 describes it.

A preset holds the settings that a paper names. Where a paper is silent, the defaults of mtloop apply. The
defaults differ from the presets, because they were chosen by measurement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.types import JSON
from mtloop.methods.method import Method

Settings: TypeAlias = Mapping[str, JSON]

_UPDATES_2019: Settings = {
    "max_updates": 3,
    "target_perplexity": 2.0,
    "gradient_clipping": "scale",
    "kl_weight": 0.0,
    "filter_pairs": False,
    "limit_loops": False,
}
_EXPECTED_LOSS_2017: Settings = {
    "scope": "full",
    "optimiser": "adam",
    "learning_rate": 1e-5,
    "temperature": 1.0,
    "annealing_start": 7 / 13,  # 700,000 of 1.3 million sentences
    "annealing_decay": 0.99,
    "min_temperature": 1e-3,  # the paper has no minimum; below this one a sample is the most probable token
    "dropout": 0.5,
    "max_gradient_norm": 1.0,
    "clipping": "gradient",
}
PRESETS: dict[str, dict[str, Settings]] = {
    "2012": {
        "smt-baseline": {},
        "smt-adapting": {"foreground": "incremental", "repetitions": 1},
        "smt-foreground": {"retrain_words": 1000},
        "smt-foreground-unfair": {"retrain_words": 1},
    },
    "2017": {
        "baseline": {},
        "smt-baseline": {},
        "nmt-el": _EXPECTED_LOSS_2017,
        "nmt-el-cv": _EXPECTED_LOSS_2017,
        "wnmt-baseline": {},
        "wnmt-el": {**_EXPECTED_LOSS_2017, "optimiser": "sgd"},
        "smt-el-cv-adam": {"temperature": 1.0},
        "smt-el-cv-adadelta": {"temperature": 1.0},
        "smt-szo-cv-adam": {"perturbation_scale": 1.0},
    },
    "2019": {
        "baseline": {"limit_loops": False},
        "bias": {**_UPDATES_2019, "learning_rate": 1.0},
        **{name: {**_UPDATES_2019, "learning_rate": 1e-2} for name in ("full", "top", "fixed")},
        "lasso": {**_UPDATES_2019, "learning_rate": 1e-2, "bias_learning_rate": 1.0},
    },
}


def preset_for(preset: str, method: str) -> str:
    """Return the preset if it describes a method, else "". Raise UnknownName if there is no such preset."""
    if preset and preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    return preset if preset and method in PRESETS[preset] else ""


def check_preset(preset: str, methods: Iterable[Method]) -> None:
    """Raise InputError if there is no such preset, or if it fits none of the methods."""
    names = [method.name for method in methods]
    if preset and not any(preset_for(preset, name) for name in names):
        what = f"method {names[0]}" if len(names) == 1 else "any of these methods"
        raise InputError(f"preset {preset} has no settings for {what}; it is for {', '.join(PRESETS[preset])}")


def preset_settings(preset: str, method: Method) -> dict[str, JSON]:
    """Return the settings of a preset for a method; none without a preset."""
    if not preset:
        return {}
    check_preset(preset, [method])
    return dict(PRESETS[preset][method.name])
