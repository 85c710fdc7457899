"""A method with its model and settings: the one way to load a model, make a learner and describe it in a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.core.extras import need_extras
from mtloop.core.protocols import DeclaresFeedback, Learner
from mtloop.core.trace import Header
from mtloop.core.types import JSON, Feedback
from mtloop.methods.compatibility import check_feedback
from mtloop.methods.defaults import STREAM_LENGTH
from mtloop.methods.engines import Model
from mtloop.methods.method import Method
from mtloop.methods.presets import preset_settings
from mtloop.methods.registry import find_method
from mtloop.nmt.delta_files import apply_delta, find_delta, read_delta


@dataclass(frozen=True)
class LearnerConfig:
    """A method, the name of its model, all its settings, the number of threads, and a delta to start from.

    `preset` is the year of the paper that some of the settings come from; "" if there is none.
    """

    method: Method
    model: str = ""
    settings: Mapping[str, JSON] = field(default_factory=dict)
    threads: int = 1
    delta: str = ""
    preset: str = ""

    @classmethod
    def create(
        cls,
        method: str,
        model: str = "",
        settings: Mapping[str, JSON] | None = None,
        threads: int = 1,
        delta: str = "",
        preset: str = "",
    ) -> LearnerConfig:
        """Find the method by name and convert its settings. Raise InputError for a wrong name or value.

        `settings` take precedence over those of the preset.
        """
        _check_settings(settings)
        found = find_method(method, timeout=(settings or {}).get("timeout"))
        if found.engine.extra:
            need_extras(found.engine.extra)
        if model and not found.engine.loads_model:
            raise InputError(f"method {found.name} uses no model; leave out --model")
        chosen = _resolved(found.settings_with(preset_settings(preset, found) | dict(settings or {})))
        return cls(found, model or found.engine.model, chosen, threads, delta, preset)

    @property
    def precision(self) -> str:
        """The precision of reading that the settings name; "" if it is float32."""
        precision = str(self.settings.get("precision", "float32"))
        return "" if precision == "float32" else precision

    @property
    def languages(self) -> tuple[str, str]:
        """The source and the target language of the model; "" if unknown."""
        return self.method.engine.languages(self.model)

    def with_stream_length(self, length: int) -> LearnerConfig:
        """Return the same with the length of the stream, for a method that anneals. One that the user gave stays."""
        if self.settings.get(STREAM_LENGTH, length):
            return self
        return replace(self, settings={**self.settings, STREAM_LENGTH: length})

    def load(self) -> Model | None:
        """Set the number of threads and load the model; None if the method uses none."""
        self.method.engine.set_threads(self.threads)
        return self.method.engine.load(self.model)

    def make(self, model: Model | None, feedback: type[Feedback] | None = None) -> Learner:
        """Return a new learner, with `delta` applied. Raise InputError if it cannot learn from this `feedback`."""
        learner = self.method.make(model, self.settings)
        if self.delta:
            apply_delta(learner, self.method.name, read_delta(Path(self.delta)))
        if feedback is not None:
            kinds = learner.learns_from if isinstance(learner, DeclaresFeedback) else ()
            check_feedback(self.method.name, kinds, feedback)
        return learner

    def describe(self, model: Model | None) -> dict[str, JSON]:
        """Return everything that identifies the learner, for the header of a trace."""
        config: dict[str, JSON] = {
            "method": self.method.name,
            "model": self.model,
            "fingerprint": " ".join(filter(None, (self.method.fingerprint, model.fingerprint if model else ""))),
            "settings": self.method.header_settings(self.settings),
        }
        if self.preset:
            config["preset"] = self.preset
        if self.delta:
            config["delta"] = blake2b(find_delta(Path(self.delta)).read_bytes(), digest_size=8).hexdigest()
        return config

    def header(self, model: Model | None, config: Mapping[str, JSON], seed: int = 0) -> Header:
        """Return the header of a trace: `config` describes the run, this object the learner."""
        described = {**config, **self.describe(model)}
        return Header(described, seed=seed, versions=self.method.engine.versions(), threads=self.threads)

    def to_json(self) -> dict[str, JSON]:
        """The arguments of `create`."""
        return {
            "method": self.method.name,
            "model": self.model,
            "settings": dict(self.settings),
            "threads": self.threads,
            "delta": self.delta,
            "preset": self.preset,
        }


def _resolved(settings: dict[str, JSON]) -> dict[str, JSON]:
    """Name the precision that `auto` stands for here: traces and snapshots say what was computed."""
    if settings.get("precision") != "auto":
        return settings
    from mtloop.nmt.engine.precision import fastest_precision

    return settings | {"precision": fastest_precision()}


def _check_settings(settings: object) -> None:
    """Raise InputError if settings are not a mapping from names to values."""
    if settings is not None and not (isinstance(settings, Mapping) and all(isinstance(name, str) for name in settings)):
        raise InputError(f"settings is {settings!r:.80}; expected names and values, for example {{'beam_size': 4}}")
