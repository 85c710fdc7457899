"""The base models in the memory of an engine: each is loaded once and shared by all projects."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner
from mtloop.methods.engines import Model
from mtloop.methods.learner_config import LearnerConfig
from mtloop.service.project_log.event_log import Configured
from mtloop.service.telemetry import LOGGER

THREADS = 1  # of a computation. Another number changes the last bits of every result.
MAX_PLATFORM = 200  # characters


@dataclass(frozen=True)
class LearnerMaker:
    """Makes new learners with the settings of a project, all with the same base model."""

    config: LearnerConfig
    model: Model | None

    def make(self) -> Learner:
        return self.config.make(self.model)

    def prepare_thread(self) -> None:
        """Set what every thread that computes has to set for itself: results must not depend on the thread."""
        self.config.method.engine.set_threads(THREADS)

    @cached_property
    def platform(self) -> str:
        """What decides the last bits of a learner's weights: versions, precision, processor."""
        engine = self.config.method.engine
        versions = " ".join(f"{name} {number}" for name, number in sorted(engine.versions().items()))
        text = " ".join(filter(None, (versions, engine.processor(), self.config.precision)))
        return text if len(text) <= MAX_PLATFORM else blake2b(text.encode(), digest_size=16).hexdigest()


class BaseModels:
    """Loads models. It may be used by several threads."""

    def __init__(self) -> None:
        self._models: dict[tuple[str, str], Model | None] = {}
        self._loading: dict[tuple[str, str], threading.Lock] = {}

    def maker(self, configured: Configured) -> LearnerMaker:
        """What makes the learners of a project. Raise InputError if its method or a setting does not exist.

        A call waits only for the model that it needs.
        """
        config = LearnerConfig.create(configured.method, configured.model, configured.settings, THREADS)
        key = (config.method.engine.name, config.model)
        with self._loading.setdefault(key, threading.Lock()):
            if key not in self._models:
                self._models[key] = _load(config)
        return LearnerMaker(config, self._models[key])

    def check(self, configured: Configured) -> None:
        """Raise InputError if no learner can be made with these settings. It never names a file of the server."""
        maker = self.maker(configured)
        maker.prepare_thread()
        try:
            maker.make()
        except (InputError, ArithmeticError, RuntimeError, TypeError, ValueError) as error:
            if isinstance(error, InputError) and error.path is None:
                raise
            LOGGER.warning("no learner with these settings", extra={"fields": {"reason": type(error).__name__}})
            raise InputError(f"method {configured.method} does not work with these settings") from None


def _load(config: LearnerConfig) -> Model | None:
    """Load a model. If that fails, the error names the model as a path: it is a fault of the server."""
    try:
        return config.load()
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(str(error), path=config.model) from error
