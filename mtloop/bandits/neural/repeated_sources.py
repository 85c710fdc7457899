"""Repeated sources: repeat the translation with the best reward, or try another one if no reward was good.

A user who rated a translation as bad should not get the same one again. So the translations of each source are kept
with their rewards. If the best mean reward is high enough, that translation is repeated; if not, the most likely
untried translation is chosen. The difference between two rewards of one source is also the clearest signal: the
sentence is the same, and only the translation differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import ClassVar

import torch
from torch import Tensor

from mtloop.bandits.draws import seed_from
from mtloop.bandits.neural.baselines import Baseline, RewardObservation
from mtloop.bandits.neural.explorers import ExpectedLoss, ExploredTranslation, RewardedProposal, tokens_of
from mtloop.core.ranges import check_at_least, check_share
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import LengthLimits, beam
from mtloop.nmt.scopes.scope import Scope

PREFIX = "notes/"  # of the history's tensors in a delta
ROUNDING = 1e-9  # a smaller difference of a reward from the mean is a rounding error, and counts as 0


@dataclass
class RewardTotal:
    """The sum of the rewards of one translation of one source, and their number."""

    total: float = 0.0
    times: int = 0

    @property
    def mean(self) -> float:
        return self.total / self.times


@dataclass
class RewardHistory:
    """The rewarded translations of each source, oldest first."""

    sources_: dict[int, dict[tuple[int, ...], RewardTotal]] = field(default_factory=dict)

    def translations(self, source: Encoded) -> Mapping[tuple[int, ...], RewardTotal]:
        return self.sources_.get(seed_from(*source.ids), {})

    def add(self, source: Encoded, ids: Sequence[int], reward: float) -> None:
        rewards = self.sources_.setdefault(seed_from(*source.ids), {}).setdefault(tuple(ids), RewardTotal())
        rewards.total += reward
        rewards.times += 1

    def tensors(self) -> dict[str, Tensor]:
        rows = [(source, ids, rewards) for source, known in self.sources_.items() for ids, rewards in known.items()]
        numbers = {
            "source": [source for source, _, _ in rows],
            "length": [len(ids) for _, ids, _ in rows],
            "tokens": [token for _, ids, _ in rows for token in ids],
            "times": [rewards.times for _, _, rewards in rows],
        }
        found = {name: torch.tensor(values, dtype=torch.int64) for name, values in numbers.items()}
        return found | {"total": torch.tensor([rewards.total for _, _, rewards in rows], dtype=torch.float64)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.sources_.clear()
        tokens = iter(tensors["tokens"].tolist())
        columns = (tensors[name].tolist() for name in ("source", "length", "total", "times"))
        for source, length, total, times in zip(*columns, strict=True):
            self.sources_.setdefault(source, {})[tuple(islice(tokens, length))] = RewardTotal(total, times)


@dataclass
class SourceMean:
    """The baseline is the mean of the earlier rewards of this source; `fallback` is the baseline of a new source."""

    history: RewardHistory
    fallback: Baseline

    def advantage(self, observation: RewardObservation) -> Tensor:
        earlier = self.history.translations(observation.source).values()
        if not earlier:
            return self.fallback.advantage(observation)
        mean = sum(rewards.total for rewards in earlier) / sum(rewards.times for rewards in earlier)
        above_mean = observation.reward - mean
        return torch.tensor(above_mean if abs(above_mean) > ROUNDING else 0.0, dtype=torch.float64)

    def tensors(self) -> dict[str, Tensor]:
        history = {f"{PREFIX}{name}": tensor for name, tensor in self.history.tensors().items()}
        return history | self.fallback.tensors()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        history = {name.removeprefix(PREFIX): tensor for name, tensor in tensors.items() if name.startswith(PREFIX)}
        self.history.restore(history)
        self.fallback.restore({name: tensor for name, tensor in tensors.items() if not name.startswith(PREFIX)})


class RepeatedSources:
    """Samples for a new source; for a known source, repeats the translation with the best mean reward.

    If that reward is below `accept_reward`, a beam search of `beam_size` gives the first untried translation, if there
    is one. Translations of known sources are not sampled, so their reward is not importance-weighted. The update does
    not follow the gradient of the expected reward: it makes a translation less likely if its reward is below the mean
    of this source's earlier rewards, and more likely if it is above.
    """

    memo_names: ClassVar[Set[str]] = ExpectedLoss.memo_names

    def __init__(self, sampling: ExpectedLoss, accept_reward: float = 0.4, beam_size: int = 8) -> None:
        """`sampling` samples and makes all lessons; its baseline is used for new sources."""
        check_share(accept_reward=accept_reward)
        check_at_least(1, beam_size=beam_size)
        self.history, self.accept_reward, self.beam_size = RewardHistory(), accept_reward, beam_size
        self.baseline = SourceMean(self.history, sampling.baseline)
        self.sampling = replace(sampling, baseline=self.baseline)

    def explore(
        self, scope: Scope, source: Encoded, limits: LengthLimits, seed: int, temperature: float
    ) -> ExploredTranslation:
        tried = self.history.translations(source)
        if not tried:
            return self.sampling.explore(scope, source, limits, seed, temperature)
        best = max(tried, key=lambda ids: tried[ids].mean)
        if tried[best].mean < self.accept_reward:
            best = next(self._untried(scope, source, limits, tried), best)
        return ExploredTranslation(best, 1.0, {"temperature": temperature, "tokens": list(best)})

    def _untried(
        self, scope: Scope, source: Encoded, limits: LengthLimits, tried: Mapping[tuple[int, ...], RewardTotal]
    ) -> Iterator[tuple[int, ...]]:
        """Translations with a new text, in the order of the beam search; an empty one does not count."""
        model: Marian = scope.model
        texts = {model.target.decode(ids) for ids in tried} | {""}
        for found in beam(model, source, self.beam_size, limits, scope.extra_bias):
            if model.target.decode(found.ids) not in texts:
                yield found.ids

    def lesson(self, scope: Scope, limits: LengthLimits, rewarded: RewardedProposal) -> tuple[Lesson, Tensor]:
        return self.sampling.lesson(scope, limits, rewarded)

    def observe_reward(self, rewarded: RewardedProposal) -> None:
        self.history.add(rewarded.encode_source(), tokens_of(rewarded.proposal), rewarded.reward)

    def tensors(self) -> dict[str, Tensor]:
        return self.baseline.tensors()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.baseline.restore(tensors)
