from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from helpers.tiers import slow
from torch.distributions import Categorical

from mtloop.bandits.neural.baselines import RewardObservation, SourceRidge
from mtloop.bandits.neural.critic import SCALAR_FEATURES, Critic, critic_inputs, entropy_and_confidence
from mtloop.bandits.neural.expected_loss import expected_loss
from mtloop.bandits.neural.explorers import ExpectedLoss, RewardedProposal
from mtloop.core import InputError, Proposal, Segment
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import LengthLimits
from mtloop.nmt.engine.truncation import Truncation
from mtloop.nmt.scopes.dense import Dense, all_names

SOURCE, DRAWN = "Open the pane on the left.", [5, 17, 17, 80, 0]


def states(length: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(length, 8, generator=torch.Generator().manual_seed(seed))


def observed(reward: float, mean: float, encoded: torch.Tensor) -> RewardObservation:
    source = Encoded(tuple(range(len(encoded))), encoded, lambda dx, collector: None)
    return RewardObservation(reward, mean, source)


def observed_draw(model: Marian, text: str, reward: float, mean: float) -> RewardObservation:
    source = model.encode(model.source.encode(text))
    return RewardObservation(reward, mean, source, expected_loss(model, source, DRAWN, 1.0, temperature=0.4), 0.4)


def taught(critic: Critic, model: Marian, rewards: Sequence[float]) -> list[list[float]]:
    """Teach a critic; return its advantages."""
    return [critic.advantage(observed_draw(model, SOURCE, reward, 0.5)).tolist() for reward in rewards]


def test_the_first_weights_depend_on_the_seed_only() -> None:
    """They are a Gaussian matrix and zeros; the global generator of torch is left alone."""
    before = torch.get_rng_state()
    critic, other = Critic(8, critic_width=5, seed=3), Critic(8, critic_width=5, seed=4)
    assert torch.equal(before, torch.get_rng_state())
    inputs = 2 * 8 + SCALAR_FEATURES
    drawn = torch.randn(5, inputs, generator=torch.Generator().manual_seed(3)) / inputs**0.5
    weights = critic.tensors()
    assert torch.equal(weights.pop("critic/hidden.weight"), drawn)
    assert {name: tensor.count_nonzero().item() for name, tensor in weights.items()} == dict.fromkeys(
        ("critic/hidden.bias", "critic/value.weight", "critic/value.bias"), 0
    )
    assert not torch.equal(other.tensors()["critic/hidden.weight"], drawn)


def test_a_critic_follows_adams_formula(small: Marian) -> None:
    """Two steps of the bias of the output, whose gradient is twice the mean error."""
    critic, mean, square, expected = Critic(small.shape.width, critic_learning_rate=1e-2), 0.0, 0.0, 0.0
    for count, reward in enumerate((0.9, 0.2), start=1):
        (advantages,) = taught(critic, small, [reward])
        gradient = -2 * sum(advantages) / len(advantages)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        expected -= 1e-2 * mean / (1 - 0.9**count) / ((square / (1 - 0.999**count)) ** 0.5 + 1e-8)
        assert critic.tensors()["critic/value.bias"].item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("rewards", [[], [0.9, 0.2, 0.7]])
def test_a_restored_critic_goes_on_exactly(small: Marian, rewards: list[float]) -> None:
    stayed, resumed = Critic(small.shape.width), Critic(small.shape.width, seed=2)
    taught(resumed, small, [0.1])
    taught(stayed, small, rewards)
    resumed.restore(stayed.tensors())
    assert taught(stayed, small, [0.4, 1.0]) == taught(resumed, small, [0.4, 1.0])
    one, other = stayed.tensors(), resumed.tensors()
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_the_tensors_of_a_critic_are_copies(small: Marian) -> None:
    critic, other = Critic(small.shape.width), Critic(small.shape.width)
    taught(critic, small, [0.9])
    saved = critic.tensors()
    kept = {name: tensor.clone() for name, tensor in saved.items()}
    other.restore(saved)
    for each in (critic, other):
        taught(each, small, [0.1])
    assert all(torch.equal(saved[name], kept[name]) for name in kept)


def test_a_critic_learns_where_gradients_are_switched_off(small: Marian) -> None:
    critic, other = Critic(small.shape.width), Critic(small.shape.width)
    with torch.no_grad():
        without = taught(critic, small, [0.9, 0.2])
    assert without == taught(other, small, [0.9, 0.2])


OLD_LAYOUT = {"weight/inner": torch.zeros(64, 69), "weight/level": torch.zeros(()), "count": torch.tensor(3)}


@pytest.mark.parametrize("tensors", [OLD_LAYOUT, {}, Critic(8, critic_width=4).tensors()])
def test_a_critic_with_another_layout_is_refused_in_one_line(tensors: dict[str, torch.Tensor]) -> None:
    critic = Critic(8)
    before = critic.tensors()
    with pytest.raises(InputError) as raised:
        critic.restore(tensors)
    expected = "this delta has no critic with this layout (other settings, or an older mtloop); start a new run"
    assert str(raised.value) == expected
    assert all(torch.equal(before[name], tensor) for name, tensor in critic.tensors().items())


def test_a_critic_starts_at_the_mean_and_learns_to_predict_rewards(small: Marian) -> None:
    """Two sources with rewards of 0.9 and 0.1: the advantages go to 0."""
    critic = Critic(small.shape.width, critic_learning_rate=1e-2)
    good, bad = observed_draw(small, SOURCE, 0.9, 0.5), observed_draw(small, "Save the file.", 0.1, 0.5)
    assert critic.advantage(good).tolist() == pytest.approx([0.4] * len(DRAWN))
    for _ in range(60):
        critic.advantage(good)
        critic.advantage(bad)
    assert float(critic.advantage(good).abs().max()) < 0.05
    assert float(critic.advantage(bad).abs().max()) < 0.05


def test_a_critic_reads_entropy_and_confidence_at_temperature_one(small: Marian) -> None:
    observation = observed_draw(small, SOURCE, 0.5, 0.5)
    assert observation.lesson is not None
    logits = small.logits(observation.lesson.states)
    logits[:, small.target.pad] = -torch.inf
    entropy, confidence = entropy_and_confidence(observation)
    distribution = Categorical(logits=logits)
    torch.testing.assert_close(entropy, distribution.entropy(), atol=2e-3, rtol=1e-3)
    torch.testing.assert_close(confidence, distribution.probs.amax(-1), atol=1e-4, rtol=1e-3)


def test_a_critic_does_not_read_the_current_token(small: Marian) -> None:
    """The features before a token do not depend on that token."""
    source = small.encode(small.source.encode(SOURCE))
    lessons = [expected_loss(small, source, [*DRAWN[:3], last], 1.0) for last in (80, 81)]
    inputs = [critic_inputs(RewardObservation(0.5, 0.5, source, lesson, 1.0)) for lesson in lessons]
    torch.testing.assert_close(inputs[0], inputs[1], atol=1e-4, rtol=1e-4)


def test_a_ridge_starts_at_the_mean_and_learns_the_rewards_of_sources() -> None:
    ridge, hard, easy = SourceRidge(8, penalty=1.0), states(12, 3), states(3, 4)
    assert float(ridge.advantage(observed(0.9, 0.5, easy))) == pytest.approx(0.4)
    for _ in range(30):
        ridge.advantage(observed(0.9, 0.5, easy))
        ridge.advantage(observed(0.1, 0.5, hard))
    assert abs(float(ridge.advantage(observed(0.9, 0.5, easy)))) < 0.05
    assert abs(float(ridge.advantage(observed(0.1, 0.5, hard)))) < 0.05


def actor_loss(explorer: ExpectedLoss, scope: Dense, advantages: torch.Tensor) -> tuple[float, dict[str, torch.Tensor]]:
    """-sum_t A_t log p_t of the draw by torch's softmax, and the gradient of the explorer."""
    model = scope.model
    ids = model.source.encode(SOURCE)
    memo = {"draw": 7, "temperature": 0.6, "tokens": DRAWN}
    rewarded = RewardedProposal(Proposal(Segment("1", SOURCE), "", memo=memo), 0.5, 0.2, lambda: model.encode(ids))
    lesson, _ = explorer.lesson(scope, LengthLimits(), rewarded)
    logits = model.logits(lesson.states) / 0.6
    logits[:, model.target.pad] = -torch.inf
    log_probabilities = explorer.truncation(logits, torch.tensor(DRAWN)).log_softmax(-1)
    chosen = log_probabilities[torch.arange(len(DRAWN)), torch.tensor(DRAWN)]
    found = {}
    for name, gradient in lesson.gradients().items():
        found[name] = torch.zeros_like(model.weights[name])
        gradient.subtract_from(found[name], -1.0)
    return -float((advantages * chosen).sum()) + explorer.kl_weight * divergence(scope, logits, 0.6), found


def divergence(scope: Dense, logits: torch.Tensor, temperature: float) -> float:
    """KL(base || model), summed over the tokens of the draw."""
    base = scope.base
    base_logits = base.logits(base.decode(base.encode(base.source.encode(SOURCE)), DRAWN).states) / temperature
    base_logits[:, base.target.pad] = -torch.inf
    return float(torch.distributions.kl_divergence(*(Categorical(logits=each) for each in (base_logits, logits))).sum())


class Given:
    """A baseline with given advantages."""

    def __init__(self, advantages: torch.Tensor) -> None:
        self.advantages = advantages

    def advantage(self, observation: RewardObservation) -> torch.Tensor:
        return self.advantages.double()

    def tensors(self) -> dict[str, torch.Tensor]:
        return {}

    def restore(self, tensors: object) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("truncation", "dropout", "kl_weight"),
    [
        (Truncation(), 0.0, 0.0),
        slow(Truncation(top_k=40), 0.0, 0.0),
        (Truncation(top_p=0.8), 0.0, 0.0),
        (Truncation(), 0.3, 0.0),
        slow(Truncation(), 0.0, 0.7),
    ],
)
def test_the_actors_gradient_against_finite_differences(
    small: Marian, truncation: Truncation, dropout: float, kl_weight: float
) -> None:
    """Each token has its own advantage; with truncation, dropout and the KL term to the base."""
    advantages = torch.tensor([0.4, -0.2, 0.1, 0.3, -0.5])
    explorer = ExpectedLoss(Given(advantages), truncation, dropout=dropout, kl_weight=kl_weight)
    scope = Dense(small, all_names(small.weights))
    for name in scope._weights():  # move the weights away from the base, which the copy does not change
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
