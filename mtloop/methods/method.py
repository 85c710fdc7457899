"""One record per method: what it is, its settings, what it learns from, and how a learner is made."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.protocols import Learner
from mtloop.core.types import JSON, Feedback, feedback_words
from mtloop.methods.engines import Engine
from mtloop.methods.setting import Setting, settings_of_maker

PAPER_2012 = "Bertoldi et al., 2012"
PAPER_2017 = "Sokolov et al., 2017"
PAPER_2019 = "Simianer, Wuebker and DeNero, 2019"


@dataclass(frozen=True)
class Method:
    """A learning method.

    `maker` returns a learner from a model of `engine` and the settings; without a model if the engine loads none.
    `learns_from`: the kinds of feedback (empty: it never learns; None: only the learner knows). `paper`: the source of
    the method. `learns_block_first`: it learns a block before translating it. `needs_references`: it is trained on the
    references of the task. `fingerprint`: identifies the program of a user's own engine.
    """

    name: str
    summary: str
    engine: Engine
    maker: Callable[..., Learner]
    settings: Mapping[str, Setting]
    learns_from: tuple[type[Feedback], ...] | None
    paper: str = ""
    learns_block_first: bool = False
    needs_references: bool = False
    fingerprint: str = ""

    @classmethod
    def of(cls, name: str, maker: Callable[..., Learner], engine: Engine, **fields: Any) -> Method:
        """Return the record of a function or class: its docstring is the summary, its keywords are the settings."""
        learns_from = getattr(maker, "learns_from", None)
        known: dict[str, Any] = {"learns_from": learns_from if isinstance(learns_from, tuple) else None}
        known |= {"summary": first_sentence(maker), "settings": settings_of_maker(maker)}
        return cls(name=name, engine=engine, maker=maker, **known | fields)

    @property
    def file_name(self) -> str:
        """The name of its files. Characters that a file name cannot hold become a dash, and a hash is added."""
        safe = re.sub(r"[^\w.+-]+", "-", self.name)[:60].strip("-")
        return safe if safe == self.name else f"{safe}-{blake2b(self.name.encode(), digest_size=3).hexdigest()}"

    @property
    def defaults(self) -> dict[str, JSON]:
        """The default value of each setting."""
        return {name: setting.default for name, setting in self.settings.items()}

    def settings_with(self, given: Mapping[str, JSON] | None = None) -> dict[str, JSON]:
        """Return all settings, with the `given` values converted to their types; the trace header stores them."""
        for name in given or {}:
            if name not in self.settings:
                raise UnknownName("setting", name, self.settings, owner=f"method {self.name}")
        return self.defaults | {name: self.settings[name].convert(value) for name, value in (given or {}).items()}

    def header_settings(self, settings: Mapping[str, JSON]) -> dict[str, JSON]:
        """Return the settings that can change a translation; a run is resumed only with the same ones."""
        return {name: value for name, value in settings.items() if self.settings[name].in_header}

    def make(self, model: Any = None, settings: Mapping[str, JSON] | None = None) -> Learner:
        """Return a learner. `model` must be one of the engine, or None if the engine loads none."""
        arguments = (model,) if self.engine.loads_model else ()
        return self.maker(*arguments, **self.settings_with(settings))

    def schedule(self, given: str = "") -> str:
        """Return the schedule: the given one, or the default of the engine; `:unfair` is added where it applies."""
        schedule = given or self.engine.schedule
        if not self.learns_block_first or schedule.endswith(":unfair"):
            return schedule
        if not schedule.startswith("blocks:"):
            message = f"{self.name} learns a block before translating it: give --schedule blocks:WORDS, not {schedule}"
            raise InputError(message)
        return f"{schedule}:unfair"

    def to_json(self) -> dict[str, JSON]:
        """Return the record as plain JSON."""
        feedback: JSON = None if self.learns_from is None else [feedback_words(kind) for kind in self.learns_from]
        return {
            "name": self.name,
            "summary": self.summary,
            "paper": self.paper,
            "engine": self.engine.name,
            "learns_from": feedback,
            "settings": [setting.to_json() for setting in self.settings.values()],
        }


def first_sentence(maker: Callable[..., Any]) -> str:
    """Return the first paragraph of the docstring as one line; empty if there is none."""
    paragraph = (inspect.getdoc(maker) or "").split("\n\n")[0]
    return " ".join(paragraph.split())
