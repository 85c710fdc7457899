"""Draws the settings of the trials, with Optuna's ask and tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING

from mtloop.core.errors import UnknownName
from mtloop.core.types import JSON
from mtloop.experiments.tuning.space import Space
from mtloop.experiments.tuning.trial import Trial, TrialResult

if TYPE_CHECKING:
    import optuna

SAMPLERS = ("tpe", "random")
STARTUP_TRIALS = 4  # TPE draws at random before it has this number of results
MAX_REPEATED_DRAWS = 20  # then an untried combination is taken
MAX_LISTED = 10_000  # a space with more combinations is not listed


class TrialSampler:
    """Draws settings without repetition; trial 0 has the defaults.

    The study is in memory. The same calls in the same order draw the same trials, so a search that is started again
    needs no file of Optuna: it asks again, and tells the results that it computes from the traces.
    """

    def __init__(self, space: Space, defaults: Mapping[str, JSON], sampler: str = "tpe", seed: int = 1) -> None:
        self._space, self._distributions = space, space.distributions
        self._study = _make_study(sampler, seed)
        self._tried = [dict(defaults)]
        self._running: dict[int, optuna.Trial] = {}
        self._numbers = 0
        self._untried = _shuffled_combinations(space, seed)

    def ask(self, count: int) -> list[Trial]:
        """Return the next trials. Their settings do not depend on each other's results."""
        return [self._ask_defaults() if self._numbers == 0 else self._ask() for _ in range(count)]

    def tell(self, result: TrialResult) -> None:
        """Report a result. Results must be told in the order of the trials."""
        from optuna.trial import TrialState

        asked = self._running.pop(result.trial.number, None)
        if asked is None:
            return  # defaults that are not in the space
        if math.isfinite(result.value):
            self._study.tell(asked, result.value)
        else:
            self._study.tell(asked, state=TrialState.PRUNED)  # TPE ranks it last, after every result

    def _ask_defaults(self) -> Trial:
        """Return trial 0. Optuna knows it only if the space contains the defaults."""
        (defaults,) = self._tried
        if defaults in self._space:
            self._study.enqueue_trial(defaults)
            self._running[0] = self._study.ask(self._distributions)
        self._numbers = 1
        return Trial(0)

    def _ask(self) -> Trial:
        asked, settings = self._draw()
        self._tried.append(settings)
        trial = Trial(self._numbers, settings)
        self._running[trial.number] = asked
        self._numbers += 1
        return trial

    def _draw(self) -> tuple[optuna.Trial, dict[str, JSON]]:
        """Draw until the settings are new; after many repetitions, take a combination that is untried."""
        from optuna.trial import TrialState

        for _ in range(MAX_REPEATED_DRAWS):
            asked = self._study.ask(self._distributions)
            settings = self._space.settings(asked.params)
            if settings not in self._tried:
                return asked, settings
            self._study.tell(asked, state=TrialState.FAIL)  # the sampler ignores it
        untried = (settings for settings in self._untried if settings not in self._tried)
        self._study.enqueue_trial(next(untried, settings))
        asked = self._study.ask(self._distributions)
        return asked, self._space.settings(asked.params)


def _make_study(sampler: str, seed: int) -> optuna.Study:
    """Return a study in memory that maximises one value, without Optuna's log message about it."""
    import optuna

    made: optuna.samplers.BaseSampler
    if sampler == "random":
        made = optuna.samplers.RandomSampler(seed)
    elif sampler == "tpe":  # the constant liar keeps the trials of a batch apart
        made = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP_TRIALS, constant_liar=True)
    else:
        raise UnknownName("sampler", sampler, SAMPLERS)
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(direction="maximize", sampler=made)
    finally:
        optuna.logging.set_verbosity(verbosity)


def _shuffled_combinations(space: Space, seed: int) -> list[dict[str, JSON]]:
    """Return all combinations in random order; none if there are too many."""
    combinations = list(space.combinations()) if space.size <= MAX_LISTED else []
    Random(seed).shuffle(combinations)
    return combinations
