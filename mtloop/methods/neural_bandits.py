"""Neural methods that learn from rewards, by name: their settings, explorers and baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Generic, Literal, TypeVar

from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner
from mtloop.core.ranges import check_above, check_at_least
from mtloop.core.types import JSON, Reward
from mtloop.methods.common_settings import (
    DefaultLearningRate,
    KLWeight,
    MaxPieceTokens,
    PerturbationScale,
    RidgePenalty,
    ScopeName,
    Seed,
    Temperature,
    TensorsFile,
)
from mtloop.methods.engines import NMT
from mtloop.methods.method import PAPER_2017, Method, first_sentence
from mtloop.methods.neural import make_scope
from mtloop.methods.setting import settings_of_dataclass
from mtloop.nmt.piece_length import MAX_PIECE_TOKENS

if TYPE_CHECKING:
    from mtloop.bandits.neural.annealing import Annealing
    from mtloop.bandits.neural.baselines import Baseline
    from mtloop.bandits.neural.explorers import ExpectedLoss, Explorer
    from mtloop.nmt.engine.marian import Marian
    from mtloop.nmt.scopes.scope import Scope

SGD_RATES = {"full": 0.01, "lora": 0.01}  # where they differ from the scope's learning rate for post-edits
SGD_RATES_WITHOUT_BASELINE = SGD_RATES | {"full": 0.003}  # every reward reinforces its draw: prevents early collapse
ADAM_RATES = {"full": 1e-5, "top": 1e-5, "fixed": 1e-5, "lora": 1e-4, "bias": 1e-3}  # the first is the paper's


@dataclass(frozen=True)
class BanditSettings:
    """The scope that learns, the size of its updates, and their annealing.

    A `learning_rate` of 0 is the default for scope and optimiser. `max_gradient_norm` 0 does not clip.
    `stream_length` 0 never anneals.
    """

    scope: ScopeName = "full"
    learning_rate: DefaultLearningRate = 0.0
    tensors_file: TensorsFile = ""
    optimiser: Annotated[Literal["sgd", "adam"], "Optimiser of the weights."] = "sgd"
    max_gradient_norm: Annotated[float, "Norm at which the gradient of all weights is clipped (0: not clipped)."] = 1.0
    clipping: Annotated[Literal["gradient", "score"], "Clip the gradient with its reward, or without it (score)."] = (
        "gradient"
    )
    temperature: Temperature = 0.3
    stream_length: Annotated[int, "Number of sentences of the task (0: that of the task, where it is known)."] = 0
    annealing_start: Annotated[float, "Share of the stream after which the temperature decreases."] = 1.0
    annealing_decay: Annotated[float, "Factor of the temperature per sentence while it decreases."] = 0.99
    min_temperature: Annotated[float, "Lowest temperature, as a share of the first one."] = 0.1
    seed: Seed = 1
    max_piece_tokens: MaxPieceTokens = MAX_PIECE_TOKENS

    def annealing(self) -> Annealing:
        from mtloop.bandits.neural.annealing import Annealing

        schedule = self.annealing_start, self.annealing_decay, self.min_temperature
        return Annealing(self.stream_length, *schedule, self.temperature)

    def make_scope(self, model: Marian, sgd_rates: Mapping[str, float]) -> Scope:
        """Return the scope, wrapped in its optimiser; `sgd_rates` are the default learning rates of SGD."""
        from mtloop.nmt.scopes.adam import AdamScope, GradientScope

        self._check()
        rates = sgd_rates if self.optimiser == "sgd" else ADAM_RATES
        scope = make_scope(model, self.scope, self.learning_rate or rates.get(self.scope, 0.0), self.tensors_file)
        if self.optimiser == "sgd":
            return scope
        if not isinstance(scope, GradientScope):
            raise InputError(f"scope {self.scope} has its own update rule; take optimiser=sgd")
        return AdamScope(scope)

    def _check(self) -> None:
        check_at_least(1, max_piece_tokens=self.max_piece_tokens)
        check_at_least(0, max_gradient_norm=self.max_gradient_norm, learning_rate=self.learning_rate)


@dataclass(frozen=True)
class SamplingSettings(BanditSettings):
    """How translations are sampled, and how their rewards are weighted."""

    top_k: Annotated[int, "Sample among this number of most likely tokens (0: all)."] = 0
    top_p: Annotated[float, "Sample among the most likely tokens with this total probability."] = 1.0
    exploration: Annotated[float, "Share of sentences that are sampled; the others get the best translation."] = 1.0
    dropout: Annotated[float, "Dropout during the update; the translation is made without."] = 0.0
    negative_weight: Annotated[float, "Weight of updates with a reward below the baseline."] = 1.0
    kl_weight: KLWeight = 0.0

    def explorer(self, baseline: Baseline) -> ExpectedLoss:
        from mtloop.bandits.neural.explorers import ExpectedLoss
        from mtloop.nmt.engine.truncation import Truncation

        truncation = Truncation(self.top_k, self.top_p)
        weights = self.negative_weight, self.kl_weight
        return ExpectedLoss(baseline, truncation, self.exploration, self.dropout, *weights)


@dataclass(frozen=True)
class RecallSettings(SamplingSettings):
    """How a repeated source is translated.

    A translation with a mean reward of at least `accept_reward` is repeated; below it, a beam search of `beam_size`
    looks for an untried one. `reward_baseline` is the baseline for new sources: the mean of all rewards, a ridge
    regression on the source, or a critic.
    """

    exploration: Annotated[float, "Share of new sources that are sampled."] = 0.2
    accept_reward: Annotated[float, "Mean reward from which a translation is repeated."] = 0.4
    beam_size: Annotated[int, "Beam size of the search for an untried translation."] = 8
    reward_baseline: Annotated[Literal["mean", "ridge", "critic"], "Baseline of rewards for new sources."] = "mean"


@dataclass(frozen=True)
class RidgeSettings(SamplingSettings):
    """The penalty of the ridge regression that predicts a reward from the source."""

    ridge_penalty: RidgePenalty = 10.0


@dataclass(frozen=True)
class CriticSettings(SamplingSettings):
    """Learning rate and layer width of the critic."""

    critic_learning_rate: Annotated[float, "Learning rate of the critic."] = 3e-4
    critic_width: Annotated[int, "Width of the critic's hidden layers."] = 64


@dataclass(frozen=True)
class PerturbationSettings(BanditSettings):
    """Scale of the weight perturbation; the temperature multiplies it, and is annealed."""

    scope: ScopeName = "bias"
    optimiser: Annotated[Literal["sgd", "adam"], "Optimiser of the weights."] = "adam"
    max_gradient_norm: Annotated[float, "Norm at which the gradient of all weights is clipped (0: not clipped)."] = 0.0
    temperature: Annotated[float, "Factor of the perturbation; it is annealed."] = 1.0
    perturbation_scale: PerturbationScale = 0.1


AnySettings = TypeVar("AnySettings", bound=BanditSettings)


@dataclass(frozen=True)
class BanditMaker(Generic[AnySettings]):
    """Makes the learner of a method from its default settings and the function that makes its explorer."""

    name: str
    defaults: AnySettings
    make_explorer: Callable[[Marian, AnySettings], Explorer]
    sgd_rates: Mapping[str, float] = field(default_factory=lambda: SGD_RATES)

    def __call__(self, model: Marian, **settings: JSON) -> Learner:
        from mtloop.bandits.neural.bandit_nmt import BanditNMT

        chosen = replace(self.defaults, **settings)  # type: ignore[arg-type]
        explorer, annealing = self.make_explorer(model, chosen), chosen.annealing()
        return BanditNMT(
            chosen.make_scope(model, self.sgd_rates), explorer, method=self.name, annealing=annealing,
            max_gradient_norm=chosen.max_gradient_norm, clipping=chosen.clipping,
            seed=chosen.seed, max_piece_tokens=chosen.max_piece_tokens,
        )  # fmt: skip


def bandit_method(maker: BanditMaker[AnySettings], paper: str = "") -> Method:
    """Return the record of a neural method that learns from rewards."""
    settings = settings_of_dataclass(maker.defaults)
    return Method(maker.name, first_sentence(maker.make_explorer), NMT, maker, settings, (Reward,), paper)


def expected_loss(model: Marian, settings: SamplingSettings) -> Explorer:
    """Expected loss: sampled translations update the weights in proportion to their reward, without a baseline."""
    from mtloop.bandits.neural.baselines import NoBaseline

    return settings.explorer(NoBaseline())


def mean_baseline(model: Marian, settings: SamplingSettings) -> Explorer:
    """Expected loss with a control variate: the baseline is the mean of all rewards so far."""
    from mtloop.bandits.neural.baselines import RunningMean

    return settings.explorer(RunningMean())


def ridge_baseline(model: Marian, settings: RidgeSettings) -> Explorer:
    """Expected loss; the baseline is a ridge regression on the encoded source."""
    from mtloop.bandits.neural.baselines import SourceRidge

    check_above(0, ridge_penalty=settings.ridge_penalty)
    return settings.explorer(SourceRidge(model.shape.width, settings.ridge_penalty))


def actor_critic(model: Marian, settings: CriticSettings) -> Explorer:
    """Actor-critic: the baseline is a critic's prediction for each token."""
    from mtloop.bandits.neural.critic import Critic

    check_above(0, critic_learning_rate=settings.critic_learning_rate)
    check_at_least(1, critic_width=settings.critic_width)
    width, rate = settings.critic_width, settings.critic_learning_rate
    return settings.explorer(Critic(model.shape.width, width, rate, settings.seed))


def recall(model: Marian, settings: RecallSettings) -> Explorer:
    """Expected loss; earlier rewards of a repeated source select its translation and are its baseline."""
    from mtloop.bandits.neural.baselines import RunningMean, SourceRidge
    from mtloop.bandits.neural.critic import Critic
    from mtloop.bandits.neural.repeated_sources import RepeatedSources

    width = model.shape.width
    baselines: dict[str, Callable[[], Baseline]] = {
        "mean": RunningMean,
        "ridge": lambda: SourceRidge(width),
        "critic": lambda: Critic(width, seed=settings.seed),
    }
    sampling = settings.explorer(baselines[settings.reward_baseline]())
    return RepeatedSources(sampling, settings.accept_reward, settings.beam_size)


def zeroth_order(model: Marian, settings: PerturbationSettings) -> Explorer:
    """Zeroth order: translate with perturbed weights, and learn from the reward; the baseline is the mean reward."""
    from mtloop.bandits.neural.zeroth_order import ZerothOrder

    if settings.scope not in SMALL_SCOPES:
        raise InputError(
            f"scope {settings.scope} has too many weights to perturb at once; take one of {', '.join(SMALL_SCOPES)}"
        )
    return ZerothOrder(perturbation_scale=settings.perturbation_scale)


SMALL_SCOPES = ("bias", "top", "fixed")
EXPECTED_LOSS = BanditMaker("nmt-el", SamplingSettings(), expected_loss, SGD_RATES_WITHOUT_BASELINE)
NEURAL_BANDITS: dict[str, Method] = {
    method.name: method
    for method in (
        bandit_method(EXPECTED_LOSS, PAPER_2017),
        bandit_method(BanditMaker("nmt-el-cv", SamplingSettings(), mean_baseline), PAPER_2017),
        bandit_method(BanditMaker("nmt-el-recall", RecallSettings(), recall)),
        bandit_method(BanditMaker("nmt-el-ridge", RidgeSettings(), ridge_baseline)),
        bandit_method(BanditMaker("nmt-reinforce", CriticSettings(), actor_critic), PAPER_2017),
        bandit_method(BanditMaker("nmt-szo", PerturbationSettings(), zeroth_order), PAPER_2017),
    )
}
