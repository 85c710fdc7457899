"""LinUCB (Li et al., 2010): choose a system for each segment by features of its source."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.ranges import check_above, check_at_least
from mtloop.core.types import Segment
from mtloop.selection.policies.batch_policy import Array, BatchChoice, argmax_random_ties, one_hot
from mtloop.selection.policies.features import FEATURE_COUNT, source_features
from mtloop.selection.policies.mean_score_policy import MeanScorePolicy


class LinUCB(MeanScorePolicy):
    """Fit one ridge regression per system, from the features to the score, and choose the highest upper bound.

    The upper bound is the prediction + `alpha` x its standard error. Systems that were never asked about come first, in
    random order. The regression target is the score minus the mean of all scores. Otherwise the prediction for an
    unknown system would be 0, and the policy would always choose the first system with a positive score. Systems are
    ranked by their mean score.
    """

    learned: tuple[str, ...] = (*MeanScorePolicy.learned, "inverses_", "weighted_features_", "feature_sums_")
    needs_context = True

    def __init__(
        self, systems: Sequence[str], *, alpha: float = 0.5, ridge_penalty: float = 1.0, runs: int = 1
    ) -> None:
        super().__init__(systems, runs=runs)
        check_at_least(0, alpha=alpha)
        check_above(0, ridge_penalty=ridge_penalty)
        self.alpha, self.ridge_penalty = alpha, ridge_penalty
        identity = np.eye(FEATURE_COUNT) / ridge_penalty
        self.inverses_ = np.broadcast_to(identity, (*self.shape, FEATURE_COUNT, FEATURE_COUNT)).copy()
        self.weighted_features_ = np.zeros((*self.shape, FEATURE_COUNT))  # the sum of score x features
        self.feature_sums_ = np.zeros((*self.shape, FEATURE_COUNT))

    def features(self, segment: Segment) -> Array:
        return source_features(segment)

    def choose_batch(
        self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None
    ) -> BatchChoice:
        features = self._require_features(contexts)
        projected = np.einsum("rjde,re->rjd", self.inverses_, features)
        error = np.sqrt(np.maximum(np.einsum("rjd,rd->rj", projected, features), 0))
        centred = self.weighted_features_ - self._mean_scores()[:, None, None] * self.feature_sums_
        prediction = np.einsum("rjd,rjd->rj", projected, centred)
        systems = argmax_random_ties(np.where(self.asked_ > 0, prediction + self.alpha * error, np.inf), rng)
        return BatchChoice(systems, np.full(self.runs, np.nan), one_hot(systems, len(self.systems)), segments, features)

    def update_batch(self, choice: BatchChoice, scores: Array) -> None:
        super().update_batch(choice, scores)
        features, means = self._require_features(choice.contexts), self._mean_scores()
        for run, system in np.argwhere(choice.asked | ~np.isnan(scores)):
            self._add_row(run, system, features[run], scores[run, system], means[run])

    def _add_row(self, run: int, system: int, features: Array, score: float, mean: float) -> None:
        """Add one row to the regression (Sherman and Morrison).

        A request without an answer counts as the predicted score. This lowers the standard error and leaves the
        predictions as they are.
        """
        inverse = self.inverses_[run, system]
        projected = inverse @ features
        if np.isnan(score):
            score = mean + projected @ (self.weighted_features_[run, system] - mean * self.feature_sums_[run, system])
        self.inverses_[run, system] = inverse - np.outer(projected, projected) / (1 + features @ projected)
        self.weighted_features_[run, system] += score * features
        self.feature_sums_[run, system] += features

    def _mean_scores(self) -> Array:
        """The mean of all scores in every run."""
        mean: Array = self.sums_.sum(axis=1) / np.maximum(self.rated_.sum(axis=1), 1)
        return mean

    def _require_features(self, contexts: Array | None) -> Array:
        if contexts is None:
            raise InputError("linucb chooses by features of the segment, but none were given")
        return contexts
