"""Replay of recorded ratings: run a policy many times at once, and record its top systems and the ratings spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.protocols import Stop
from mtloop.core.types import Proposal, Scores, Segment, Step
from mtloop.judges.missing_ratings import MissingRatings, round_scores
from mtloop.selection.distinct_runs import DistinctRuns
from mtloop.selection.policies.batch_policy import Array, BatchChoice, BatchPolicy, Indices, Mask


@dataclass(frozen=True, eq=False)
class Recording:
    """Rewards in [0, 1] (systems x segments), NaN where there is no rating; `metric` scores have the same shape."""

    systems: tuple[str, ...]
    segments: tuple[Segment, ...]
    scores: Array
    metric: Array | None = None
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def ratings(self) -> int:
        """The number of ratings."""
        return int((~np.isnan(self.scores)).sum())


@dataclass(eq=False)
class History:
    """The results of a replay after every iteration.

    `tops`: the indices of the best systems (iterations x runs x top). `mean_tops`: the best systems by the weights
    averaged over all runs (iterations x top). `spent`: the number of human ratings read so far (iterations x runs).
    `weights` are stored only at the iterations in `kept` (kept x runs x systems).
    `stops`: for every run the iteration and the `Stop`, or None. `first_equal`: for every run the first run that is
    equal to it; empty if the runs were not compared.

    Two runs are equal if they ask for the same systems, read the same number of ratings and have the same weights in
    every iteration, and stop at the same iteration with the same answer. Which segments they read does not matter, nor
    which translation a policy shows if it asks for the ratings of all.
    """

    systems: tuple[str, ...]
    iterations: int
    tops: Indices
    mean_tops: Indices
    spent: Indices
    kept: tuple[int, ...]
    weights: Array
    stops: list[tuple[int, Stop] | None]
    steps: list[Step] = field(default_factory=list)
    last_weights: Array = field(default_factory=lambda: np.empty(0))
    first_equal: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @property
    def distinct_runs(self) -> int:
        """The number of runs that differ; all of them if the runs were not compared."""
        return len(np.unique(self.first_equal)) if self.first_equal.size else len(self.stops)

    def mean_weights(self, iteration: int) -> Array:
        """The weights of the systems, mean over runs, at an iteration in `kept`."""
        mean: Array = self.weights[self.kept.index(iteration)].mean(axis=0)
        return mean

    def fill_from(self, time: int) -> None:
        """Copy the values at index `time` to all later iterations, after all runs have stopped."""
        self.tops[time:], self.mean_tops[time:], self.spent[time:] = (
            self.tops[time],
            self.mean_tops[time],
            self.spent[time],
        )
        done = [i for i, iteration in enumerate(self.kept) if iteration > time + 1]
        self.weights[done] = self.last_weights

    @property
    def last_change(self) -> int:
        """The first iteration with the final set of best systems (by mean weights)."""
        best = np.sort(self.mean_tops, axis=1)
        changed = np.flatnonzero((best[1:] != best[:-1]).any(axis=1))
        return int(changed[-1]) + 2 if changed.size else 1


def segment_orders(segments: int, runs: int, seed: int, *, each: bool = False) -> Indices:
    """The order of the segments in every run (runs x segments): one shuffle for all runs, or one for each run."""
    shuffles = [np.random.default_rng([seed, run]).permutation(segments) for run in range(runs if each else 1)]
    return np.broadcast_to(np.array(shuffles), (runs, segments))


class Replay:
    """Runs a policy over a recording. A rating is counted when the policy asked for it and the recording has it."""

    def __init__(self, recording: Recording, missing: str = "skip", *, decimals: int | None = 2, top: int = 3) -> None:
        self.recording, self.missing, self.decimals = recording, missing, decimals
        self.top = min(top, len(recording.systems))
        self._scores = np.ascontiguousarray(round_scores(recording.scores, decimals).T)
        self._metric = None if recording.metric is None else np.ascontiguousarray(recording.metric.T)
        self._names = [segment.id for segment in recording.segments]

    def run(
        self, policy: BatchPolicy, order: Indices, *, seed: int = 0, keep: Sequence[int] = (), trace: bool = False
    ) -> History:
        """Run all iterations. Weights are stored at the iterations in `keep`; `trace` stores the steps of run 0."""
        if policy.systems != self.recording.systems:
            raise InputError("policy and recording have different systems")
        history = self._new_history(policy, order, keep)
        rng, fallback = (
            np.random.default_rng([seed, 1]),
            MissingRatings(self.missing, policy.shape, decimals=self.decimals),
        )
        spent, read = np.zeros(policy.runs, dtype=np.intp), self._empty_read_mask(policy, order)
        distinct = DistinctRuns(policy.runs)
        for time, segments in enumerate(order.T):
            asked, new = self._iterate(policy, segments, rng, fallback, read, history.steps if trace else None)
            spent = spent + new
            self._record(history, policy, time, spent)
            distinct.add(asked, spent[:, None], history.last_weights)
            if all(history.stops):
                history.fill_from(time)
                break
        distinct.add(_stop_rows(history))
        history.first_equal = distinct.first_equal
        return history

    def _iterate(
        self,
        policy: BatchPolicy,
        segments: Indices,
        rng: np.random.Generator,
        fallback: MissingRatings,
        read: Mask | None,
        steps: list[Step] | None,
    ) -> tuple[Mask, Indices]:
        """Process one segment in every run; return the systems asked, and how many ratings were read the first time."""
        choice = policy.choose_batch(rng, self._ids(segments), self._contexts(policy, segments))
        running = np.ones(policy.runs, bool)
        if policy.has_stopping_rule:
            running = np.array([stop is None for stop in policy.batch_verdicts()])
        asked = choice.asked & running[:, None]
        human = self._scores[segments]
        metric = None if self._metric is None else self._metric[segments]
        scores = fallback.fill(human, asked, metric, _published_averages(policy))
        fallback.observe(np.where(asked, human, np.nan))
        if steps is not None and running[0]:
            steps.append(self._step(policy, len(steps), choice, segments[0], scores[0], human[0]))
        policy.update_batch(replace(choice, never_rated=np.isnan(human)), scores)
        new = asked & ~np.isnan(human)
        if read is not None:
            new &= ~read[np.arange(policy.runs), :, segments]
            read[np.arange(policy.runs), :, segments] |= new
        counts: Indices = new.sum(axis=1)
        return asked, counts

    def _empty_read_mask(self, policy: BatchPolicy, order: Indices) -> Mask | None:
        """A mask of the ratings that each run has read. None if no segment is repeated: a rating is counted once."""
        repeated = order.shape[1] > len(self.recording.segments)
        return np.zeros((*policy.shape, len(self.recording.segments)), bool) if repeated else None

    def _record(self, history: History, policy: BatchPolicy, time: int, spent: Indices) -> None:
        weights = history.last_weights = policy.batch_weights()
        history.tops[time] = policy.top_indices(weights, self.top)
        history.mean_tops[time] = policy.top_indices(weights.mean(axis=0), self.top)
        history.spent[time] = spent
        if time + 1 in history.kept:
            history.weights[history.kept.index(time + 1)] = weights
        for run, stop in enumerate(policy.batch_verdicts() if policy.has_stopping_rule else ()):
            if stop is not None and history.stops[run] is None:
                history.stops[run] = (time + 1, stop)

    def _new_history(self, policy: BatchPolicy, order: Indices, keep: Sequence[int]) -> History:
        time = order.shape[1]
        kept = tuple(sorted({iteration for iteration in keep if 1 <= iteration <= time} | {time}))
        return History(
            policy.systems,
            time,
            np.zeros((time, policy.runs, self.top), dtype=np.intp),
            np.zeros((time, self.top), dtype=np.intp),
            np.zeros((time, policy.runs), dtype=np.intp),
            kept,
            np.zeros((len(kept), *policy.shape)),
            [None] * policy.runs,
        )

    def _ids(self, segments: Indices) -> list[str]:
        return [self._names[index] for index in segments.tolist()]

    def _contexts(self, policy: BatchPolicy, segments: Indices) -> Array | None:
        if not policy.needs_context:
            return None
        return np.array([policy.features(self.recording.segments[index]) for index in segments])

    def _step(
        self, policy: BatchPolicy, index: int, choice: BatchChoice, segment_index: int, scores: Array, human: Array
    ) -> Step:
        """The step of run 0, in the form that the loop records."""
        names, segment = self.recording.systems, self.recording.segments[segment_index]
        system, probability = names[int(choice.systems[0])], float(choice.probability[0])
        asked = [names[i] for i in np.flatnonzero(choice.asked[0])]
        context = [] if choice.contexts is None else [float(value) for value in choice.contexts[0]]
        proposal = Proposal(
            segment,
            self.recording.texts.get(system, {}).get(segment.id, ""),
            system=system,
            probability=None if np.isnan(probability) else probability,
            weights=policy.weights(),
            memo={"asked": list(asked), "context": list(context)},
        )
        values = {name: float(v) for name, v in zip(names, scores, strict=True) if not np.isnan(v)}
        filled = tuple(name for name in values if np.isnan(human[names.index(name)]))
        return Step(index, proposal, Scores(values, filled=filled))


def _stop_rows(history: History) -> Array:
    """One row per run: the iteration of its stop (0: none), and 1 for every system in its answer."""
    rows = np.zeros((len(history.stops), 1 + len(history.systems)))
    for row, stop in zip(rows, history.stops, strict=True):
        if stop is not None:
            row[0] = stop[0]
            row[1:] = [name in stop[1].best for name in history.systems]
    return rows


def _published_averages(policy: BatchPolicy) -> Array | None:
    """Return the averages that the paper's code uses for missing ratings (None unless `variant` is "published").

    An average is the policy's sum of rewards of a system, divided by the number of rated iterations minus 1 (at least
    1). For EXP3 these rewards are already divided by p.
    """
    if getattr(policy, "variant", "") != "published":
        return None
    averages: Array = policy.averages()  # type: ignore[attr-defined]
    return averages
