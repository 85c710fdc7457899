from __future__ import annotations

import pytest
import torch
from torch.distributions import Categorical

from mtloop.bandits.neural.baselines import Heard, SourceRidge
from mtloop.bandits.neural.critic import PLAIN, Critic, doubts, known
from mtloop.bandits.neural.expected_loss import expected_loss
from mtloop.bandits.neural.explorers import ExpectedLoss, RewardedProposal
from mtloop.core import Proposal, Segment
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import LengthLimits
from mtloop.nmt.engine.truncation import Truncation
from mtloop.nmt.scopes.dense import Dense, all_names

SOURCE, DRAWN = "Open the pane on the left.", [5, 17, 17, 80, 0]


def states(length: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(length, 8, generator=torch.Generator().manual_seed(seed))


def heard(reward: float, mean: float, read: torch.Tensor) -> Heard:
    source = Encoded(tuple(range(len(read))), read, lambda dx, tape: None)
    return Heard(reward, mean, source)


def criticised(model: Marian, text: str, reward: float, mean: float) -> Heard:
    source = model.encode(model.source.encode(text))
    return Heard(reward, mean, source, expected_loss(model, source, DRAWN, 1.0, temperature=0.4), 0.4)


def test_the_critics_gradient_against_finite_differences() -> None:
    critic, read = Critic(8, hidden=5), torch.randn(4, 2 * 8 + PLAIN)
    critic.weights_ = {name: torch.randn_like(tensor) for name, tensor in critic.weights_.items()}
    _, gradients = critic.study(read, 0.3)
    for name, tensor in critic.weights_.items():
        direction = torch.randn_like(tensor)
        ends = []
        for sign in (1, -1):
            critic.weights_[name] = tensor + sign * 1e-2 * direction
            ends.append(float((critic.study(read, 0.3)[0] - 0.3).pow(2).mean()))
        critic.weights_[name] = tensor
        measured, expected = (ends[0] - ends[1]) / 2e-2, float((gradients[name] * direction).sum())
        assert measured == pytest.approx(expected, rel=0.02, abs=1e-3), name


def test_a_critic_begins_as_the_mean_and_learns_what_sources_and_tokens_earn(small: Marian) -> None:
    """Before / teach / after: two sources, one earns 0.9, the other 0.1."""
    critic = Critic(small.shape.width, rate=1e-2)
    good, bad = criticised(small, SOURCE, 0.9, 0.5), criticised(small, "Save the file.", 0.1, 0.5)
    assert critic.weigh(good).tolist() == pytest.approx([0.4] * len(DRAWN))
    for _ in range(60):
        critic.weigh(good)
        critic.weigh(bad)
    assert float(critic.weigh(good).abs().max()) < 0.05
    assert float(critic.weigh(bad).abs().max()) < 0.05


def test_a_critic_knows_how_sure_the_model_is_at_temperature_one(small: Marian) -> None:
    told = criticised(small, SOURCE, 0.5, 0.5)
    assert told.lesson is not None
    logits = small.logits(told.lesson.states)
    logits[:, small.target.pad] = -torch.inf
    entropy, top = doubts(told)
    odds = Categorical(logits=logits)
    torch.testing.assert_close(entropy, odds.entropy(), atol=2e-3, rtol=1e-3)
    torch.testing.assert_close(top, odds.probs.amax(-1), atol=1e-4, rtol=1e-3)


def test_a_critic_reads_nothing_of_the_token_it_judges(small: Marian) -> None:
    """Else its guess would not be one: what is known before a token is the same whichever token came."""
    source = small.encode(small.source.encode(SOURCE))
    read = [
        known(Heard(0.5, 0.5, source, expected_loss(small, source, [*DRAWN[:3], last], 1.0), 1.0)) for last in (80, 81)
    ]
    torch.testing.assert_close(read[0], read[1], atol=1e-4, rtol=1e-4)


def test_a_ridge_begins_as_the_mean_and_learns_what_sources_earn() -> None:
    ridge, hard, easy = SourceRidge(8, penalty=1.0), states(12, 3), states(3, 4)
    assert float(ridge.weigh(heard(0.9, 0.5, easy))) == pytest.approx(0.4)
    for _ in range(30):
        ridge.weigh(heard(0.9, 0.5, easy))
        ridge.weigh(heard(0.1, 0.5, hard))
    assert abs(float(ridge.weigh(heard(0.9, 0.5, easy)))) < 0.05
    assert abs(float(ridge.weigh(heard(0.1, 0.5, hard)))) < 0.05


def actor_loss(explorer: ExpectedLoss, scope: Dense, advantages: torch.Tensor) -> tuple[float, dict[str, torch.Tensor]]:
    """-sum_t A_t log p_t of the draw by torch's own softmax, and the gradient the explorer gives."""
    model = scope.model
    ids = model.source.encode(SOURCE)
    memo = {"draw": 7, "temperature": 0.6, "tokens": DRAWN}
    rewarded = RewardedProposal(Proposal(Segment("1", SOURCE), "", memo=memo), 0.5, 0.2, lambda: model.encode(ids))
    lesson, _ = explorer.lesson(scope, LengthLimits(), rewarded)
    logits = model.logits(lesson.states) / 0.6
    logits[:, model.target.pad] = -torch.inf
    chances = explorer.cut(logits, torch.tensor(DRAWN)).log_softmax(-1)[torch.arange(len(DRAWN)), torch.tensor(DRAWN)]
    found = {}
    for name, gradient in lesson.gradients().items():
        found[name] = torch.zeros_like(model.weights[name])
        gradient.subtract(found[name], -1.0)
    return -float((advantages * chances).sum()) + explorer.kl * divergence(scope, logits, 0.6), found


def divergence(scope: Dense, logits: torch.Tensor, temperature: float) -> float:
    """KL(base || model), summed over the tokens of the draw."""
    base = scope.base
    away = base.logits(base.decode(base.encode(base.source.encode(SOURCE)), DRAWN).states) / temperature
    away[:, base.target.pad] = -torch.inf
    return float(torch.distributions.kl_divergence(*(Categorical(logits=each) for each in (away, logits))).sum())


class Given:
    """A critic that has made up its mind."""

    def __init__(self, advantages: torch.Tensor) -> None:
        self.advantages = advantages

    def weigh(self, heard: Heard) -> torch.Tensor:
        return self.advantages.double()

    def tensors(self) -> dict[str, torch.Tensor]:
        return {}

    def restore(self, tensors: object) -> None:
        """Nothing to take up."""


@pytest.mark.parametrize(
    ("cut", "dropout", "kl"),
    [
        (Truncation(), 0.0, 0.0),
        (Truncation(best=40), 0.0, 0.0),
        (Truncation(mass=0.8), 0.0, 0.0),
        (Truncation(), 0.3, 0.0),
        (Truncation(), 0.0, 0.7),
    ],
)
def test_the_actors_gradient_against_finite_differences(
    small: Marian, cut: Truncation, dropout: float, kl: float
) -> None:
    """Each token weighed by its own advantage, through truncated odds and dropout, tied to the base or not."""
    advantages = torch.tensor([0.4, -0.2, 0.1, 0.3, -0.5])
    explorer = ExpectedLoss(Given(advantages), cut, dropout=dropout, kl=kl)
    scope = Dense(small, all_names(small.weights))
    for name in scope._weights():  # off the base, which the copy leaves as it is
        scope._weights()[name].mul_(1.02)
    checked = 0
    _, gradients = actor_loss(explorer, scope, advantages)
    for name, gradient in gradients.items():
        tensor, direction = scope.model.weights[name], gradient / gradient.norm().clamp_min(1e-12)
        kept, ends = tensor.clone(), []
        for sign in (1, -1):
            tensor.copy_(kept + sign * 2e-3 * direction)
            ends.append(actor_loss(explorer, scope, advantages)[0])
        tensor.copy_(kept)
        measured, expected = (ends[0] - ends[1]) / 4e-3, float(gradient.norm())
        assert measured == pytest.approx(expected, rel=0.05, abs=0.02), name
        checked += expected > 0.05
    assert checked > 20
