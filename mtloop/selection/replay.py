"""Policies on recorded ratings: many runs at once, with what they ranked first and what it cost to get there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.protocols import Stop
from mtloop.core.types import Proposal, Scores, Segment, Step
from mtloop.judges.missing_ratings import Missing, rounded
from mtloop.selection.policies.batch_policy import Array, BatchPolicy, Draw, Mask, Places


@dataclass(frozen=True, eq=False)
class Recording:
    """Rewards in [0, 1], a row a system, a column a segment, NaN where nobody rated; metric scores alike."""

    systems: tuple[str, ...]
    segments: tuple[Segment, ...]
    scores: Array
    metric: Array | None = None
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def ratings(self) -> int:
        """All ratings there are."""
        return int((~np.isnan(self.scores)).sum())


@dataclass(eq=False)
class History:
    """What happened, iteration by iteration.

    `tops` holds the places of the best systems (iterations x runs x top), `mean_tops` those by the mean standing,
    `spent` the human ratings read so far (iterations x runs). `standings` are kept at `kept` iterations only
    (kept x runs x systems). `stops` says after how many iterations a run stopped, and with what.
    """

    systems: tuple[str, ...]
    iterations: int
    tops: Places
    mean_tops: Places
    spent: Places
    kept: tuple[int, ...]
    standings: Array
    stops: list[tuple[int, Stop] | None]
    steps: list[Step] = field(default_factory=list)
    last_standing: Array = field(default_factory=lambda: np.empty(0))

    def mean_standing(self, iteration: int) -> Array:
        mean: Array = self.standings[self.kept.index(iteration)].mean(axis=0)
        return mean

    def fill_from(self, time: int) -> None:
        """All runs have stopped: nothing changes any more."""
        self.tops[time:], self.mean_tops[time:], self.spent[time:] = (
            self.tops[time],
            self.mean_tops[time],
            self.spent[time],
        )
        done = [i for i, iteration in enumerate(self.kept) if iteration > time + 1]
        self.standings[done] = self.last_standing

    @property
    def last_change(self) -> int:
        """The iteration after which the best by mean standing stayed the same."""
        best = np.sort(self.mean_tops, axis=1)
        changed = np.flatnonzero((best[1:] != best[:-1]).any(axis=1))
        return int(changed[-1]) + 2 if changed.size else 1


def orders(segments: int, runs: int, seed: int, *, each: bool = False) -> Places:
    """The order of the segments in every run (runs x segments): shuffled once, or anew in each run."""
    shuffles = [np.random.default_rng([seed, run]).permutation(segments) for run in range(runs if each else 1)]
    return np.broadcast_to(np.array(shuffles), (runs, segments))


class Replay:
    """Runs a policy over a recording. One rating is one human score read: asked for, and there."""

    def __init__(self, recording: Recording, missing: str = "skip", *, decimals: int | None = 2, top: int = 3) -> None:
        self.recording, self.missing, self.decimals = recording, missing, decimals
        self.top = min(top, len(recording.systems))
        self._scores = np.ascontiguousarray(rounded(recording.scores, decimals).T)
        self._metric = None if recording.metric is None else np.ascontiguousarray(recording.metric.T)
        self._names = [segment.id for segment in recording.segments]

    def run(
        self, policy: BatchPolicy, order: Places, *, seed: int = 0, keep: Sequence[int] = (), trace: bool = False
    ) -> History:
        """All iterations; `keep` names those at which standings are kept, `trace` records the first run's steps."""
        if policy.systems != self.recording.systems:
            raise InputError("policy and recording are of different systems")
        history = self._blank(policy, order, keep)
        rng, fallback = np.random.default_rng([seed, 1]), Missing(self.missing, policy.shape, decimals=self.decimals)
        spent, read = np.zeros(policy.runs, dtype=np.intp), self._nothing_read(policy, order)
        for time, places in enumerate(order.T):
            spent = spent + self._turn(policy, places, rng, fallback, read, history.steps if trace else None)
            self._note(history, policy, time, spent)
            if all(history.stops):
                history.fill_from(time)
                break
        return history

    def _turn(
        self,
        policy: BatchPolicy,
        places: Places,
        rng: np.random.Generator,
        fallback: Missing,
        read: Mask | None,
        steps: list[Step] | None,
    ) -> Places:
        """One segment in every run; returns the ratings read for the first time."""
        draw = policy.draw(rng, self._ids(places), self._contexts(policy, places))
        running = np.array([stop is None for stop in policy.verdicts()]) if policy.stops else np.ones(policy.runs, bool)
        asked = draw.asked & running[:, None]
        human = self._scores[places]
        metric = None if self._metric is None else self._metric[places]
        told = fallback.filled(human, asked, metric, _own_averages(policy))
        fallback.remember(np.where(asked, human, np.nan))
        if steps is not None and running[0]:
            steps.append(self._step(policy, len(steps), draw, places[0], told[0], human[0]))
        policy.learn(replace(draw, lacking=np.isnan(human)), told)
        new = asked & ~np.isnan(human)
        if read is not None:
            new &= ~read[np.arange(policy.runs), :, places]
            read[np.arange(policy.runs), :, places] |= new
        counts: Places = new.sum(axis=1)
        return counts

    def _nothing_read(self, policy: BatchPolicy, order: Places) -> Mask | None:
        """Which ratings each run has read; needed only where segments come again, for a rating is paid once."""
        again = order.shape[1] > len(self.recording.segments)
        return np.zeros((*policy.shape, len(self.recording.segments)), bool) if again else None

    def _note(self, history: History, policy: BatchPolicy, time: int, spent: Places) -> None:
        standing = history.last_standing = policy.standing()
        history.tops[time] = policy.leaders(standing, self.top)
        history.mean_tops[time] = policy.leaders(standing.mean(axis=0), self.top)
        history.spent[time] = spent
        if time + 1 in history.kept:
            history.standings[history.kept.index(time + 1)] = standing
        for run, stop in enumerate(policy.verdicts() if policy.stops else ()):
            if stop is not None and history.stops[run] is None:
                history.stops[run] = (time + 1, stop)

    def _blank(self, policy: BatchPolicy, order: Places, keep: Sequence[int]) -> History:
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

    def _ids(self, places: Places) -> list[str]:
        return [self._names[place] for place in places.tolist()]

    def _contexts(self, policy: BatchPolicy, places: Places) -> Array | None:
        if not policy.needs_context:
            return None
        return np.array([policy.see(self.recording.segments[place]) for place in places])

    def _step(self, policy: BatchPolicy, index: int, draw: Draw, place: int, told: Array, human: Array) -> Step:
        """The first run's turn as the loop would have recorded it."""
        names, segment = self.recording.systems, self.recording.segments[place]
        system, probability = names[int(draw.systems[0])], float(draw.probability[0])
        asked = [names[i] for i in np.flatnonzero(draw.asked[0])]
        context = [] if draw.contexts is None else [float(value) for value in draw.contexts[0]]
        proposal = Proposal(
            segment,
            self.recording.texts.get(system, {}).get(segment.id, ""),
            system=system,
            probability=None if np.isnan(probability) else probability,
            weights=policy.weights(),
            memo={"asked": list(asked), "context": list(context)},
        )
        values = {name: float(v) for name, v in zip(names, told, strict=True) if not np.isnan(v)}
        filled = tuple(name for name in values if np.isnan(human[names.index(name)]))
        return Step(index, proposal, Scores(values, filled=filled))


def _own_averages(policy: BatchPolicy) -> Array | None:
    """The published code averages what its policy summed up, for EXP3 rewards that are divided by p."""
    if getattr(policy, "variant", "") != "mtol":
        return None
    averages: Array = policy.averages()  # type: ignore[attr-defined]
    return averages
