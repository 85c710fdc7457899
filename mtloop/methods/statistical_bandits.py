"""Statistical methods that learn from rewards, by name: the systems of the 2017 shared task."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

from mtloop.core.protocols import Learner
from mtloop.core.ranges import check_above, check_at_least
from mtloop.core.types import Reward
from mtloop.methods.common_settings import NBestSize, OptimiserRate, PerturbationScale, RidgePenalty, Seed, Temperature
from mtloop.methods.engines import SMT_BANDIT
from mtloop.methods.method import PAPER_2017, Method

if TYPE_CHECKING:
    from mtloop.bandits.statistical.limsi import Variant
    from mtloop.smt.learners import BackgroundModel

RIDGE_PENALTY = 100.0  # on departing from the seed's ranking; chosen on a development task


def smt_el_cv(
    model: BackgroundModel,
    *,
    optimiser: Annotated[Literal["adam", "adadelta"], "Optimiser of the weights."] = "adam",
    learning_rate: OptimiserRate = 1e-3,
    nbest_size: NBestSize = 50,
    temperature: Temperature = 1.0,
    seed: Seed = 1,
) -> Learner:
    """Expected loss with a control variate on the log-linear weights, over n-best lists; optimiser adam or adadelta."""
    return _smt_el(model, "smt-el-cv", optimiser, learning_rate, nbest_size, temperature, seed)


def smt_el_cv_adam(
    model: BackgroundModel,
    *,
    learning_rate: OptimiserRate = 1e-3,
    nbest_size: NBestSize = 50,
    temperature: Temperature = 1.0,
    seed: Seed = 1,
) -> Learner:
    """The same as `smt-el-cv` with Adam: SMT-EL-CV-ADAM of the paper."""
    return _smt_el(model, "smt-el-cv-adam", "adam", learning_rate, nbest_size, temperature, seed)


def smt_el_cv_adadelta(
    model: BackgroundModel, *, nbest_size: NBestSize = 50, temperature: Temperature = 1.0, seed: Seed = 1
) -> Learner:
    """The same as `smt-el-cv` with Adadelta: SMT-EL-CV-ADADELTA of the paper."""
    return _smt_el(model, "smt-el-cv-adadelta", "adadelta", 1e-3, nbest_size, temperature, seed)


def smt_szo_cv_adam(
    model: BackgroundModel,
    *,
    learning_rate: OptimiserRate = 1e-3,
    perturbation_scale: PerturbationScale = 0.1,
    seed: Seed = 1,
) -> Learner:
    """One-point zeroth order: `perturbation_scale` times a standard Gaussian vector is added to the weights."""
    from mtloop.bandits.statistical.bandit_smt import BanditSMT, WeightPerturbation
    from mtloop.bandits.statistical.optimisers import Adam

    check_above(0, learning_rate=learning_rate, perturbation_scale=perturbation_scale)
    return BanditSMT(
        model.engine(), WeightPerturbation(perturbation_scale), Adam(learning_rate), method="smt-szo-cv-adam", seed=seed
    )


def limsi_ucb1(
    model: BackgroundModel, *, nbest_size: NBestSize = 50, ridge_penalty: RidgePenalty = RIDGE_PENALTY, seed: Seed = 1
) -> Learner:
    """UCB1 between the seed system and one that takes the candidate with the highest predicted reward."""
    return _limsi(model, "ucb1", nbest_size, ridge_penalty, seed)


def limsi_sampling(
    model: BackgroundModel, *, nbest_size: NBestSize = 50, ridge_penalty: RidgePenalty = RIDGE_PENALTY, seed: Seed = 1
) -> Learner:
    """The same as `limsi-ucb1`, but samples the system in proportion to UCB1's bounds: more exploration."""
    return _limsi(model, "sampling", nbest_size, ridge_penalty, seed)


def limsi_select(
    model: BackgroundModel, *, nbest_size: NBestSize = 50, ridge_penalty: RidgePenalty = RIDGE_PENALTY, seed: Seed = 1
) -> Learner:
    """The same as `limsi-ucb1`, but regression and UCB1 each get every other reward, so they share none."""
    return _limsi(model, "select", nbest_size, ridge_penalty, seed)


_MAKERS: dict[str, Callable[..., Learner]] = {
    "smt-el-cv": smt_el_cv,
    "smt-el-cv-adadelta": smt_el_cv_adadelta,
    "smt-el-cv-adam": smt_el_cv_adam,
    "smt-szo-cv-adam": smt_szo_cv_adam,
    "limsi-ucb1": limsi_ucb1,
    "limsi-sampling": limsi_sampling,
    "limsi-select": limsi_select,
}
STATISTICAL_BANDITS: dict[str, Method] = {
    name: Method.of(name, maker, SMT_BANDIT, learns_from=(Reward,), paper=PAPER_2017) for name, maker in _MAKERS.items()
}


def _smt_el(
    model: BackgroundModel,
    method: str,
    optimiser: str,
    learning_rate: float,
    nbest_size: int,
    temperature: float,
    seed: int,
) -> Learner:
    from mtloop.bandits.statistical.bandit_smt import BanditSMT, NBestExpectedLoss
    from mtloop.bandits.statistical.optimisers import Adadelta, Adam

    check_above(0, learning_rate=learning_rate, temperature=temperature)
    check_at_least(2, nbest_size=nbest_size)
    chosen = Adam(learning_rate) if optimiser == "adam" else Adadelta()
    return BanditSMT(model.engine(), NBestExpectedLoss(nbest_size, temperature), chosen, method=method, seed=seed)


def _limsi(model: BackgroundModel, variant: Variant, nbest_size: int, ridge_penalty: float, seed: int) -> Learner:
    from mtloop.bandits.statistical.limsi import Limsi

    check_above(0, ridge_penalty=ridge_penalty)
    check_at_least(2, nbest_size=nbest_size)
    return Limsi(model.engine(), variant=variant, nbest_size=nbest_size, ridge_penalty=ridge_penalty, seed=seed)
