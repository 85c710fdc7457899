"""The registry of policies: names and settings as in `--policy`, `--policies` and Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from mtloop.core.conversion import convert
from mtloop.core.errors import InputError, UnknownName
from mtloop.core.keywords import keywords_of
from mtloop.selection.policies.batch_policy import BatchPolicy
from mtloop.selection.policies.elimination import SuccessiveElimination
from mtloop.selection.policies.ewaf import EWAF
from mtloop.selection.policies.exp3 import EXP3
from mtloop.selection.policies.linucb import LinUCB
from mtloop.selection.policies.race import Race
from mtloop.selection.policies.thompson import Thompson
from mtloop.selection.policies.ucb1 import UCB1

GROUP = "mtloop.policies"  # the entry-point group through which plugins add policies
POLICIES: dict[str, Callable[..., BatchPolicy]] = {
    "ewaf": EWAF,
    "exp3": EXP3,
    "ucb1": UCB1,
    "thompson": Thompson,
    "elimination": SuccessiveElimination,
    "race": Race,
    "linucb": LinUCB,
}


def has_stopping_rule(spec: str) -> bool:
    """Whether a policy has a stopping rule.

    >>> has_stopping_rule("race:top=1"), has_stopping_rule("exp3")
    (True, False)
    """
    return bool(getattr(_find(parse_spec(spec)[0]), "has_stopping_rule", False))


def make_policy(spec: str, systems: Sequence[str], *, horizon: int, runs: int = 1) -> BatchPolicy:
    """Make a policy from its name and settings, such as `exp3` or `exp3:variant=published`.

    `horizon` is the number of iterations, `runs` the number of parallel runs.

    >>> make_policy("exp3:step_size=anytime", ["a", "b"], horizon=100).step_size
    'anytime'
    """
    name, settings = parse_spec(spec)
    policy = _find(name)
    defaults = dict(keywords_of(policy))
    for key in settings:
        if key not in defaults or key in ("runs", "horizon"):
            raise UnknownName("setting", key, defaults.keys() - {"runs", "horizon"}, owner=f"policy {name}")
    keywords: dict[str, Any] = {key: convert(defaults[key], value, key) for key, value in settings.items()}
    if "horizon" in defaults:
        keywords["horizon"] = horizon
    return policy(systems, runs=runs, **keywords)


def check_spec(spec: str) -> None:
    """Raise InputError if `make_policy` would refuse the name or a setting. The systems need not be known.

    >>> check_spec("race:top=1")
    """
    make_policy(spec, ("a", "b"), horizon=1)


def parse_spec(spec: str) -> tuple[str, dict[str, str]]:
    """The name of a policy and its settings.

    >>> parse_spec("race:top=1:confidence=0.9")
    ('race', {'top': '1', 'confidence': '0.9'})
    """
    name, *parts = spec.strip().split(":")
    pairs = [part.partition("=") for part in parts]
    if wrong := [part for part, (key, equals, _) in zip(parts, pairs, strict=True) if not (key and equals)]:
        raise InputError(f"policy {spec!r}: settings are NAME=VALUE, not {wrong[0]!r}")
    return name.strip(), {key.strip(): value.strip() for key, _, value in pairs}


def _find(name: str) -> Callable[..., BatchPolicy]:
    known = POLICIES | _plugins()
    if name not in known:
        raise UnknownName("policy", name, known)
    return known[name]


@cache
def _plugins() -> dict[str, Callable[..., BatchPolicy]]:
    return {point.name: point.load() for point in entry_points(group=GROUP)}
