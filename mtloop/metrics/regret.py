"""Reward of a bandit learner, and its regret against an oracle (2017). Rewards are on 0-1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.types import Reward, Score, Step
from mtloop.metrics.base import Additive, Array, divide, references


class SentenceMetric(Protocol):
    """A score in [0, 1] for one sentence, such as `RewardBLEU`."""

    @property
    def name(self) -> str: ...

    @property
    def signature(self) -> str: ...

    def sentence(self, hypothesis: str, target: str) -> float: ...


class MeanReward(Additive):
    """The mean reward per step; the cumulative reward is its numerator, also in `Score.detail`.

    A step's reward is that of its feedback. If the feedback has no reward, `sentence` computes one against the
    reference or post-edit (the best of several). Without `sentence`, such a step is 0/0 and does not change the
    score. Columns: reward, one.

    >>> from mtloop.core import Proposal, Segment
    >>> steps = [Step(i, Proposal(Segment(str(i), ""), ""), Reward(value)) for i, value in enumerate([0.25, 0.5])]
    >>> score = MeanReward().score(steps)
    >>> score.value, score.detail
    (0.375, {'cumulative_reward': 0.75})
    """

    name = "reward"
    best_score = 1

    def __init__(self, sentence: SentenceMetric | None = None) -> None:
        self.sentence = sentence

    @property
    def signature(self) -> str:
        if self.sentence is None:
            return "reward:given"
        return f"reward:given-else-{self.sentence.name}|{self.sentence.signature}"

    def rows(self, steps: Sequence[Step]) -> Array:
        return np.array([self._row(step) for step in steps], dtype=float).reshape(-1, 2)

    def aggregate(self, sums: Array) -> Array:
        return divide(sums[:, 0], sums[:, 1])

    def fraction(self, sums: Array) -> tuple[float | None, float | None]:
        return float(sums[0]), float(sums[1])

    def score_rows(self, rows: Array) -> Score:
        score = super().score_rows(rows)
        return replace(score, detail={"cumulative_reward": score.numerator})

    def _row(self, step: Step) -> tuple[float, float]:
        if isinstance(step.feedback, Reward):
            return _checked_reward(step.feedback.value, step), 1.0
        if self.sentence is None:
            return 0.0, 0.0
        (targets,) = references([step])
        return max(_checked_reward(self.sentence.sentence(step.proposal.text, t), step) for t in targets), 1.0


class Regret(Additive):
    """The average regret: the oracle's reward on the same segments minus this system's; lower is better.

    `oracle` contains the steps of a system trained on the references, over the same stream. A run that stopped early
    is compared with the oracle's steps up to there. Steps are matched by their index and must have the same segment.
    The running average of Figure 1 is `curves.cumulative`. Columns: oracle's reward minus ours, one.
    """

    name = "regret"
    higher_is_better = False

    def __init__(self, oracle: Sequence[Step], sentence: SentenceMetric | None = None) -> None:
        self.oracle, self.reward = oracle, MeanReward(sentence)

    @property
    def signature(self) -> str:
        return f"oracle:{len(self.oracle)} steps|{self.reward.signature}"

    def rows(self, steps: Sequence[Step]) -> Array:
        ours, theirs = self.reward.rows(steps), self.reward.rows(self._oracle_steps(steps))
        both = ours[:, 1] * theirs[:, 1]
        return np.column_stack([(theirs[:, 0] - ours[:, 0]) * both, both])

    def aggregate(self, sums: Array) -> Array:
        return divide(sums[:, 0], sums[:, 1])

    def fraction(self, sums: Array) -> tuple[float | None, float | None]:
        return float(sums[0]), float(sums[1])

    def _oracle_steps(self, steps: Sequence[Step]) -> list[Step]:
        by_index = {step.index: step for step in self.oracle}
        return [_checked_oracle_step(step, by_index.get(step.index)) for step in steps]


def cumulative_reward(rows: Array) -> Array:
    """Return the cumulative reward at every step, from the rows of `MeanReward` (Table 3 shows its last value)."""
    return np.cumsum(rows[:, 0])


def relative_reward(metric: Additive, rows: Array, checkpoints: Sequence[range]) -> Array:
    """Return the score at each held-out checkpoint minus the first one, so that a good start is not taken for learning.

    A checkpoint is the index range of the held-out block in the stream. `metric` may score the corpus (BLEU) or
    sentences (`MeanReward`, `RewardBLEU`).
    """
    for checkpoint in checkpoints:
        if not checkpoint or min(checkpoint) < 0 or max(checkpoint) >= len(rows):
            raise InputError(f"checkpoint {checkpoint} is outside the {len(rows)} steps of the run")
    if not checkpoints:
        return np.empty(0)
    scores = metric.aggregate(np.stack([rows[list(checkpoint)].sum(axis=0) for checkpoint in checkpoints]))
    relative: Array = scores - scores[0]
    return relative


def _checked_reward(reward: float, step: Step) -> float:
    if not 0 <= reward <= 1:
        raise InputError(f"segment {step.proposal.segment.id!r} has reward {reward}; expected a number from 0 to 1")
    return reward


def _checked_oracle_step(step: Step, oracle: Step | None) -> Step:
    expected = step.proposal.segment.id
    if oracle is None:
        raise InputError(f"the oracle has no step {step.index} (segment {expected!r}); it must cover the whole stream")
    if oracle.proposal.segment.id != expected:
        found = oracle.proposal.segment.id
        raise InputError(f"step {step.index} has segment {expected!r}, but the oracle's step has segment {found!r}")
    return oracle
