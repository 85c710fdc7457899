"""Neural methods that learn from rewards, by name: what each can be told, and what it is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Generic, TypeVar

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.protocols import Learner
from mtloop.core.types import JSON
from mtloop.methods.defaults import PIECE

if TYPE_CHECKING:
    from mtloop.bandits.neural.annealing import Annealing
    from mtloop.bandits.neural.bandit_nmt import Clipping
    from mtloop.bandits.neural.baselines import Baseline
    from mtloop.bandits.neural.explorers import ExpectedLoss, Explorer
    from mtloop.nmt.engine.marian import Marian
    from mtloop.nmt.scopes.scope import Scope

RATES = {"full": 0.01, "lora": 0.01}  # of SGD, where it is not the scope's own for post-edits
EAGER_RATES = RATES | {"full": 0.003}  # without a baseline every reward pulls, and a draw is held on to too soon
ADAM_RATES = {"full": 1e-5, "top": 1e-5, "fixed": 1e-5, "lora": 1e-4, "bias": 1e-3}  # the first is the paper's


@dataclass(frozen=True)
class Moving:
    """What moves, how far a reward moves it, and when that ends."""

    scope: str = "full"
    rate: float = 0.0
    tensors: str = ""
    optimiser: str = "sgd"
    clip: float = 1.0
    clipping: str = "gradient"
    temperature: float = 0.3
    steps: int = 0
    start: float = 1.0
    decay: float = 0.99
    floor: float = 0.1
    seed: int = 1
    piece: int = PIECE

    def annealing(self) -> Annealing:
        from mtloop.bandits.neural.annealing import Annealing

        return Annealing(self.steps, self.start, self.decay, self.floor, self.temperature)

    def clipped(self) -> Clipping:
        if self.clipping not in ("gradient", "score"):
            raise UnknownName("clipping", self.clipping, ("gradient", "score"))
        return self.clipping  # type: ignore[return-value]

    def moving(self, model: Marian, rates: Mapping[str, float]) -> Scope:
        """The scope, and its optimiser around it; `rates` are those of SGD."""
        from mtloop.methods.neural import make_scope
        from mtloop.nmt.scopes.adam import AdamScope, Movable

        if self.piece < 1:
            raise InputError(f"piece = {self.piece}; expected the tokens of a piece, 1 or more")
        if self.clip < 0 or self.rate < 0:
            raise InputError("clip is the longest gradient (0: any length), rate the step size (0: the scope's own)")
        if self.optimiser not in ("sgd", "adam"):
            raise UnknownName("optimiser", self.optimiser, ("sgd", "adam"))
        rates = rates if self.optimiser == "sgd" else ADAM_RATES
        scope = make_scope(model, self.scope, self.rate or rates.get(self.scope, 0.0), self.tensors)
        if self.optimiser == "sgd":
            return scope
        if not isinstance(scope, Movable):
            raise InputError(f"scope {self.scope} steps and shrinks by its own rule; take optimiser=sgd")
        return AdamScope(scope)


@dataclass(frozen=True)
class Drawing(Moving):
    """How translations are drawn, beside."""

    best: int = 0
    mass: float = 1.0
    explore: float = 1.0
    dropout: float = 0.0
    blame: float = 1.0
    kl: float = 0.0

    def explorer(self, baseline: Baseline) -> ExpectedLoss:
        from mtloop.bandits.neural.explorers import ExpectedLoss
        from mtloop.nmt.engine.truncation import Truncation

        return ExpectedLoss(baseline, Truncation(self.best, self.mass), self.explore, self.dropout, self.blame, self.kl)


@dataclass(frozen=True)
class Recollecting(Drawing):
    """When a translation is good enough to say it again, and how many others are looked for where it is not.

    `expect` is what a reward for a new source is held against: the mean of all, a regression on the source, a critic.
    """

    explore: float = 0.2
    content: float = 0.4
    beams: int = 8
    expect: str = "mean"


@dataclass(frozen=True)
class Fitting(Drawing):
    """How much evidence a regression needs."""

    ridge: float = 10.0


@dataclass(frozen=True)
class Criticised(Drawing):
    """How fast a critic learns, and how much it can."""

    critic_rate: float = 3e-4
    hidden: int = 64


@dataclass(frozen=True)
class Shaking(Moving):
    """How far weights are shaken; the temperature is a factor of it, and falls."""

    scope: str = "bias"
    optimiser: str = "adam"
    clip: float = 0.0
    temperature: float = 1.0
    spread: float = 0.1


Told = TypeVar("Told", bound=Moving)


@dataclass(frozen=True)
class NeuralBandit(Generic[Told]):
    """A method: its name, what it can be told (with defaults), and how it tries things."""

    name: str
    told: Told
    explorer: Callable[[Marian, Told], Explorer]
    rates: Mapping[str, float] = field(default_factory=lambda: RATES)

    @property
    def keywords(self) -> dict[str, JSON]:
        return asdict(self.told)

    @property
    def __signature__(self) -> Signature:
        """As of a function with these keywords: that is where settings are looked up."""
        own = [Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in self.keywords.items()]
        return Signature([Parameter("model", Parameter.POSITIONAL_OR_KEYWORD), *own])

    def __call__(self, model: Marian, **settings: JSON) -> Learner:
        from mtloop.bandits.neural.bandit_nmt import BanditNMT

        for name in settings:
            if name not in self.keywords:
                raise UnknownName(f"setting of method {self.name}", name, self.keywords)
        told = replace(self.told, **settings)  # type: ignore[arg-type]
        explorer, annealing = self.explorer(model, told), told.annealing()
        return BanditNMT(
            told.moving(model, self.rates), explorer, method=self.name, annealing=annealing,
            clip=told.clip, clipping=told.clipped(), seed=told.seed, piece=told.piece,
        )  # fmt: skip


def expected_loss(model: Marian, told: Drawing) -> Explorer:
    """Translations are drawn, and move the weights by what they were worth."""
    from mtloop.bandits.neural.baselines import Nothing

    return told.explorer(Nothing())


def against_the_mean(model: Marian, told: Drawing) -> Explorer:
    """What counts is by how much a reward is above the mean of all so far: the paper's control variate."""
    from mtloop.bandits.neural.baselines import RunningMean

    return told.explorer(RunningMean())


def against_the_source(model: Marian, told: Fitting) -> Explorer:
    """What counts is by how much a reward is above what a regression expects of its source."""
    from mtloop.bandits.neural.baselines import SourceRidge

    if told.ridge <= 0:
        raise InputError("ridge, the penalty of the regression, is more than 0")
    return told.explorer(SourceRidge(model.shape.width, told.ridge))


def actor_critic(model: Marian, told: Criticised) -> Explorer:
    """What counts, token by token, is by how much a reward is above what a critic expected there."""
    from mtloop.bandits.neural.critic import Critic

    if told.critic_rate <= 0 or told.hidden < 1:
        raise InputError("critic_rate, its step size, is more than 0 and hidden, the width of its layer, at least 1")
    return told.explorer(Critic(model.shape.width, told.hidden, told.critic_rate, told.seed))


def recalling(model: Marian, told: Recollecting) -> Explorer:
    """What a source earned before decides what is said of it, and is what a reward is held against."""
    from mtloop.bandits.neural.baselines import RunningMean, SourceRidge
    from mtloop.bandits.neural.critic import Critic
    from mtloop.bandits.neural.repeated_sources import SecondTries

    width = model.shape.width
    made: dict[str, Callable[[], Baseline]]
    made = {"mean": RunningMean, "ridge": lambda: SourceRidge(width), "critic": lambda: Critic(width, seed=told.seed)}
    if told.expect not in made:
        raise UnknownName("expect", told.expect, made)
    return SecondTries(told.explorer(made[told.expect]()), told.content, told.beams)


def zeroth_order(model: Marian, told: Shaking) -> Explorer:
    """The likeliest translation of a model shaken a little, held against the mean."""
    from mtloop.bandits.neural.zeroth_order import ZerothOrder

    if told.scope not in SMALL:
        raise InputError(f"scope {told.scope} has too many weights to shake at once; take one of {', '.join(SMALL)}")
    return ZerothOrder(spread=told.spread)


SMALL = ("bias", "top", "fixed")
nmt_el = NeuralBandit("nmt-el", Drawing(), expected_loss, EAGER_RATES)
NEURAL_BANDITS: dict[str, Callable[..., Learner]] = {
    "nmt-el": nmt_el,
    "nmt-el-cv": NeuralBandit("nmt-el-cv", Drawing(), against_the_mean),
    "nmt-el-recall": NeuralBandit("nmt-el-recall", Recollecting(), recalling),
    "nmt-el-ridge": NeuralBandit("nmt-el-ridge", Fitting(), against_the_source),
    "nmt-reinforce": NeuralBandit("nmt-reinforce", Criticised(), actor_critic),
    "nmt-szo": NeuralBandit("nmt-szo", Shaking(), zeroth_order),
}
