"""Methods that learn from rewards, by name: the systems of the 2017 shared task."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.protocols import Learner

if TYPE_CHECKING:
    from mtloop.translators.marian.model import Marian
    from mtloop.translators.scopes import Scope


def nmt_el(
    model: Marian,
    *,
    scope: str = "full",
    rate: float = 0.0,
    tensors: str = "",
    temperature: float = 1.0,
    steps: int = 0,
    start: float = 0.54,
    decay: float = 0.99,
    floor: float = 0.1,
    clip: float = 1.0,
    seed: int = 1,
) -> Learner:
    """Expected loss: translations are drawn, and move the weights by what they were worth."""
    return _nmt(model, "nmt-el", False, scope, rate, tensors, temperature, steps, start, decay, floor, clip, seed)


def nmt_el_cv(
    model: Marian,
    *,
    scope: str = "full",
    rate: float = 0.0,
    tensors: str = "",
    temperature: float = 1.0,
    steps: int = 0,
    start: float = 0.54,
    decay: float = 0.99,
    floor: float = 0.1,
    clip: float = 1.0,
    seed: int = 1,
) -> Learner:
    """Expected loss with a control variate: what counts is by how much a reward is above their mean."""
    return _nmt(model, "nmt-el-cv", True, scope, rate, tensors, temperature, steps, start, decay, floor, clip, seed)


BANDIT_METHODS: dict[str, Callable[..., Learner]] = {
    "nmt-el": nmt_el,
    "nmt-el-cv": nmt_el_cv,
}
LENGTH = "steps"  # the setting that takes the length of the stream, where a method has it


def _nmt(
    model: Marian, method: str, control: bool, scope: str, rate: float, tensors: str,
    temperature: float, steps: int, start: float, decay: float, floor: float, clip: float, seed: int,
) -> Learner:  # fmt: skip
    from mtloop.bandits.annealing import Annealing
    from mtloop.bandits.nmt import BanditNMT

    if clip < 0 or rate < 0:
        raise InputError("clip is the longest gradient (0: any length), rate the step size (0: the scope's own)")
    annealing = Annealing(steps, start, decay, floor, temperature)
    moving = make_scope(model, scope, rate, tensors)
    return BanditNMT(moving, method=method, control=control, annealing=annealing, clip=clip, seed=seed)


def make_scope(model: Marian, name: str, rate: float, tensors: str = "") -> Scope:
    """What moves, by the names that post-edit learning has for it; `rate` 0 is the scope's own.

    A tensor's gradient is not clipped by itself here: one norm is taken over all of them.
    """
    from mtloop.config.methods import SCOPES

    learning = {known: make for known, make in SCOPES.items() if known != "baseline"}
    if name not in learning:
        raise UnknownName("scope", name, learning)
    if tensors and name != "fixed":
        raise InputError(f"tensors is a setting of scope fixed, not of {name}")
    settings = ({"rate": rate} if rate else {}) | ({"tensors": tensors} if tensors else {})
    return learning[name](model, clip="none", **settings)
