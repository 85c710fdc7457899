"""LinUCB (Li et al., 2010): which system for which segment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.types import Segment
from mtloop.selection.policies.batch_policy import Array, Draw, best_of, only
from mtloop.selection.policies.features import SIZE, features
from mtloop.selection.policies.tally import Tally


class LinUCB(Tally):
    """A ridge regression a system from features of the segment to the score; chooses the highest hope.

    The hope is the prediction + `alpha` x its standard error; systems never asked about come first, by lot. What is
    regressed is how far a score is from the mean of all: else an unknown system would be expected to earn nothing, and
    the first one that earns something would be chosen for ever. Systems are ranked by their mean score.
    """

    learned: tuple[str, ...] = (*Tally.learned, "inverses_", "told_", "seen_")
    needs_context = True

    def __init__(self, systems: Sequence[str], *, alpha: float = 0.5, ridge: float = 1.0, runs: int = 1) -> None:
        super().__init__(systems, runs=runs)
        if alpha < 0 or ridge <= 0:
            raise InputError(f"alpha {alpha}, ridge {ridge}; expected 0 or more, and more than 0")
        self.alpha, self.ridge = alpha, ridge
        self.inverses_ = np.broadcast_to(np.eye(SIZE) / ridge, (*self.shape, SIZE, SIZE)).copy()
        self.told_, self.seen_ = np.zeros((*self.shape, SIZE)), np.zeros((*self.shape, SIZE))

    def see(self, segment: Segment) -> Array:
        return features(segment)

    def draw(self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None) -> Draw:
        seen = self._seen(contexts)
        turned = np.einsum("rjde,re->rjd", self.inverses_, seen)
        error = np.sqrt(np.maximum(np.einsum("rjd,rd->rj", turned, seen), 0))
        above = np.einsum("rjd,rjd->rj", turned, self.told_ - self._mean()[:, None, None] * self.seen_)
        systems = best_of(np.where(self.asked_ > 0, above + self.alpha * error, np.inf), rng)
        return Draw(systems, np.full(self.runs, np.nan), only(systems, len(self.systems)), segments, seen)

    def learn(self, draw: Draw, scores: Array) -> None:
        super().learn(draw, scores)
        seen, means = self._seen(draw.contexts), self._mean()
        for run, place in np.argwhere(draw.asked | ~np.isnan(scores)):
            self._add(run, place, seen[run], scores[run, place], means[run])

    def _add(self, run: int, place: int, seen: Array, score: float, mean: float) -> None:
        """One more row of the regression (Sherman and Morrison).

        An asking without an answer only ends curiosity: it counts as what was expected, which moves no prediction.
        """
        inverse = self.inverses_[run, place]
        turned = inverse @ seen
        if np.isnan(score):
            score = mean + turned @ (self.told_[run, place] - mean * self.seen_[run, place])
        self.inverses_[run, place] = inverse - np.outer(turned, turned) / (1 + seen @ turned)
        self.told_[run, place] += score * seen
        self.seen_[run, place] += seen

    def _mean(self) -> Array:
        """Of all scores, in every run."""
        mean: Array = self.sums_.sum(axis=1) / np.maximum(self.rated_.sum(axis=1), 1)
        return mean

    def _seen(self, contexts: Array | None) -> Array:
        if contexts is None:
            raise InputError("linucb chooses by features of the segment, but none were given")
        return contexts
