"""Neural methods that learn from rewards, by name: their settings, explorers and baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Generic, TypeVar

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.protocols import Learner
from mtloop.core.ranges import check_above, check_at_least
from mtloop.core.types import JSON
from mtloop.methods.neural import make_scope
from mtloop.nmt.piece_length import MAX_PIECE_TOKENS

if TYPE_CHECKING:
    from mtloop.bandits.neural.annealing import Annealing
    from mtloop.bandits.neural.bandit_nmt import Clipping
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

    scope: str = "full"
    learning_rate: float = 0.0
    tensors_file: str = ""
    optimiser: str = "sgd"
    max_gradient_norm: float = 1.0
    clipping: str = "gradient"
    temperature: float = 0.3
    stream_length: int = 0
    annealing_start: float = 1.0
    annealing_decay: float = 0.99
    min_temperature: float = 0.1
    seed: int = 1
    max_piece_tokens: int = MAX_PIECE_TOKENS

    def annealing(self) -> Annealing:
        from mtloop.bandits.neural.annealing import Annealing

        schedule = self.annealing_start, self.annealing_decay, self.min_temperature
        return Annealing(self.stream_length, *schedule, self.temperature)

    def checked_clipping(self) -> Clipping:
        if self.clipping not in ("gradient", "score"):
            raise UnknownName("clipping", self.clipping, ("gradient", "score"))
        return self.clipping  # type: ignore[return-value]

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
        if self.optimiser not in ("sgd", "adam"):
            raise UnknownName("optimiser", self.optimiser, ("sgd", "adam"))


@dataclass(frozen=True)
class SamplingSettings(BanditSettings):
    """How translations are sampled, and how their rewards are weighted."""

    top_k: int = 0
    top_p: float = 1.0
    exploration: float = 1.0
    dropout: float = 0.0
    negative_weight: float = 1.0
    kl_weight: float = 0.0

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

    exploration: float = 0.2
    accept_reward: float = 0.4
    beam_size: int = 8
    reward_baseline: str = "mean"


@dataclass(frozen=True)
class RidgeSettings(SamplingSettings):
    """The penalty of the ridge regression that predicts a reward from the source."""

    ridge_penalty: float = 10.0


@dataclass(frozen=True)
class CriticSettings(SamplingSettings):
    """Learning rate and layer width of the critic."""

    critic_learning_rate: float = 3e-4
    critic_width: int = 64


@dataclass(frozen=True)
class PerturbationSettings(BanditSettings):
    """Scale of the weight perturbation; the temperature multiplies it, and is annealed."""

    scope: str = "bias"
    optimiser: str = "adam"
    max_gradient_norm: float = 0.0
    temperature: float = 1.0
    perturbation_scale: float = 0.1


AnySettings = TypeVar("AnySettings", bound=BanditSettings)


@dataclass(frozen=True)
class NeuralBandit(Generic[AnySettings]):
    """A method: its name, its default settings, and how it makes its explorer."""

    name: str
    defaults: AnySettings
    make_explorer: Callable[[Marian, AnySettings], Explorer]
    sgd_rates: Mapping[str, float] = field(default_factory=lambda: SGD_RATES)

    @property
    def keywords(self) -> dict[str, JSON]:
        """All settings with their default values."""
        return asdict(self.defaults)

    @property
    def __signature__(self) -> Signature:
        """The signature of a function with these settings as keyword-only parameters, for `keywords_of`."""
        own = [Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in self.keywords.items()]
        return Signature([Parameter("model", Parameter.POSITIONAL_OR_KEYWORD), *own])

    def __call__(self, model: Marian, **settings: JSON) -> Learner:
        from mtloop.bandits.neural.bandit_nmt import BanditNMT

        for name in settings:
            if name not in self.keywords:
                raise UnknownName("setting", name, self.keywords, owner=f"method {self.name}")
        chosen = replace(self.defaults, **settings)  # type: ignore[arg-type]
        explorer, annealing = self.make_explorer(model, chosen), chosen.annealing()
        return BanditNMT(
            chosen.make_scope(model, self.sgd_rates), explorer, method=self.name, annealing=annealing,
            max_gradient_norm=chosen.max_gradient_norm, clipping=chosen.checked_clipping(),
            seed=chosen.seed, max_piece_tokens=chosen.max_piece_tokens,
        )  # fmt: skip


def expected_loss(model: Marian, settings: SamplingSettings) -> Explorer:
    """Sampled translations update the weights in proportion to their reward, without a baseline."""
    from mtloop.bandits.neural.baselines import NoBaseline

    return settings.explorer(NoBaseline())


def mean_baseline(model: Marian, settings: SamplingSettings) -> Explorer:
    """The baseline is the mean of all rewards so far: the paper's control variate."""
    from mtloop.bandits.neural.baselines import RunningMean

    return settings.explorer(RunningMean())


def ridge_baseline(model: Marian, settings: RidgeSettings) -> Explorer:
    """The baseline is a ridge regression on the encoded source."""
    from mtloop.bandits.neural.baselines import SourceRidge

    check_above(0, ridge_penalty=settings.ridge_penalty)
    return settings.explorer(SourceRidge(model.shape.width, settings.ridge_penalty))


def actor_critic(model: Marian, settings: CriticSettings) -> Explorer:
    """The baseline is a critic's prediction for each token."""
    from mtloop.bandits.neural.critic import Critic

    check_above(0, critic_learning_rate=settings.critic_learning_rate)
    check_at_least(1, critic_width=settings.critic_width)
    width, rate = settings.critic_width, settings.critic_learning_rate
    return settings.explorer(Critic(model.shape.width, width, rate, settings.seed))


def recall(model: Marian, settings: RecallSettings) -> Explorer:
    """Earlier rewards of a source select its translation and are its baseline."""
    from mtloop.bandits.neural.baselines import RunningMean, SourceRidge
    from mtloop.bandits.neural.critic import Critic
    from mtloop.bandits.neural.repeated_sources import RepeatedSources

    width = model.shape.width
    baselines: dict[str, Callable[[], Baseline]] = {
        "mean": RunningMean,
        "ridge": lambda: SourceRidge(width),
        "critic": lambda: Critic(width, seed=settings.seed),
    }
    if settings.reward_baseline not in baselines:
        raise UnknownName("reward baseline", settings.reward_baseline, baselines)
    sampling = settings.explorer(baselines[settings.reward_baseline]())
    return RepeatedSources(sampling, settings.accept_reward, settings.beam_size)


def zeroth_order(model: Marian, settings: PerturbationSettings) -> Explorer:
    """The most likely translation of a model with perturbed weights; the baseline is the mean reward."""
    from mtloop.bandits.neural.zeroth_order import ZerothOrder

    if settings.scope not in SMALL_SCOPES:
        raise InputError(
            f"scope {settings.scope} has too many weights to perturb at once; take one of {', '.join(SMALL_SCOPES)}"
        )
    return ZerothOrder(perturbation_scale=settings.perturbation_scale)


SMALL_SCOPES = ("bias", "top", "fixed")
nmt_el = NeuralBandit("nmt-el", SamplingSettings(), expected_loss, SGD_RATES_WITHOUT_BASELINE)
NEURAL_BANDITS: dict[str, Callable[..., Learner]] = {
    "nmt-el": nmt_el,
    "nmt-el-cv": NeuralBandit("nmt-el-cv", SamplingSettings(), mean_baseline),
    "nmt-el-recall": NeuralBandit("nmt-el-recall", RecallSettings(), recall),
    "nmt-el-ridge": NeuralBandit("nmt-el-ridge", RidgeSettings(), ridge_baseline),
    "nmt-reinforce": NeuralBandit("nmt-reinforce", CriticSettings(), actor_critic),
    "nmt-szo": NeuralBandit("nmt-szo", PerturbationSettings(), zeroth_order),
}
