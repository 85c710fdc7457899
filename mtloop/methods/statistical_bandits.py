"""Methods that learn from rewards, by name: the systems of the 2017 shared task."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.protocols import Learner

if TYPE_CHECKING:
    from mtloop.bandits.statistical.limsi import Variant
    from mtloop.smt.learners import Base

PENALTY = 100.0  # on departing from the seed's ranking, chosen on the development task of docs/bandits.md


def smt_el_cv(
    model: Base, *, optimiser: str = "adam", rate: float = 1e-3, size: int = 50, temperature: float = 1.0, seed: int = 1
) -> Learner:
    """Expected loss with a control variate on the log-linear weights, over n-best lists; by adam or adadelta."""
    return _smt_el(model, "smt-el-cv", optimiser, rate, size, temperature, seed)


def smt_el_cv_adam(
    model: Base, *, rate: float = 1e-3, size: int = 50, temperature: float = 1.0, seed: int = 1
) -> Learner:
    """The paper's SMT-EL-CV-ADAM."""
    return _smt_el(model, "smt-el-cv-adam", "adam", rate, size, temperature, seed)


def smt_el_cv_adadelta(model: Base, *, size: int = 50, temperature: float = 1.0, seed: int = 1) -> Learner:
    """The paper's SMT-EL-CV-ADADELTA."""
    return _smt_el(model, "smt-el-cv-adadelta", "adadelta", 1e-3, size, temperature, seed)


def smt_szo_cv_adam(model: Base, *, rate: float = 1e-3, spread: float = 0.1, seed: int = 1) -> Learner:
    """One-point zeroth order: the best translation under weights moved by a standard Gaussian times `spread`."""
    from mtloop.bandits.statistical.bandit_smt import BanditSMT, WeightPerturbation
    from mtloop.bandits.statistical.optimisers import Adam

    if rate <= 0 or spread <= 0:
        raise InputError("rate and spread are more than 0")
    return BanditSMT(model.engine(), WeightPerturbation(spread), Adam(rate), method="smt-szo-cv-adam", seed=seed)


def limsi_ucb1(model: Base, *, size: int = 50, ridge: float = PENALTY, seed: int = 1) -> Learner:
    """UCB1 between the seed system and one that takes the candidate whose reward a regression predicts highest."""
    return _limsi(model, "ucb1", size, ridge, seed)


def limsi_sampling(model: Base, *, size: int = 50, ridge: float = PENALTY, seed: int = 1) -> Learner:
    """The same, with the system drawn in proportion to UCB1's bounds: more exploration."""
    return _limsi(model, "sampling", size, ridge, seed)


def limsi_select(model: Base, *, size: int = 50, ridge: float = PENALTY, seed: int = 1) -> Learner:
    """The same as UCB1, which hears only the rewards that the regression was not fitted to: every other one."""
    return _limsi(model, "select", size, ridge, seed)


STATISTICAL_BANDITS: dict[str, Callable[..., Learner]] = {
    "smt-el-cv": smt_el_cv,
    "smt-el-cv-adadelta": smt_el_cv_adadelta,
    "smt-el-cv-adam": smt_el_cv_adam,
    "smt-szo-cv-adam": smt_szo_cv_adam,
    "limsi-ucb1": limsi_ucb1,
    "limsi-sampling": limsi_sampling,
    "limsi-select": limsi_select,
}


def _smt_el(model: Base, method: str, optimiser: str, rate: float, size: int, temperature: float, seed: int) -> Learner:
    from mtloop.bandits.statistical.bandit_smt import BanditSMT, NBestExpectedLoss
    from mtloop.bandits.statistical.optimisers import Adadelta, Adam

    if optimiser not in ("adam", "adadelta"):
        raise UnknownName("optimiser", optimiser, ("adam", "adadelta"))
    if rate <= 0 or size < 2 or temperature <= 0:
        raise InputError("rate and temperature are more than 0, size (candidates a sentence) is at least 2")
    chosen = Adam(rate) if optimiser == "adam" else Adadelta()
    return BanditSMT(model.engine(), NBestExpectedLoss(size, temperature), chosen, method=method, seed=seed)


def _limsi(model: Base, variant: Variant, size: int, ridge: float, seed: int) -> Learner:
    from mtloop.bandits.statistical.limsi import Limsi

    if ridge <= 0 or size < 2:
        raise InputError("ridge is more than 0, size (candidates a sentence) is at least 2")
    return Limsi(model.engine(), variant=variant, size=size, ridge=ridge, seed=seed)
