"""One run: data, model, method and learning schedule. The header of the trace and a TOML file hold the same fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.core.loop import Blocks, Delay, Each, Schedule
from mtloop.core.protocols import Learner
from mtloop.core.toml import check_fields, read_toml
from mtloop.core.trace import Header
from mtloop.core.types import JSON, Segment, Truth
from mtloop.data import parse_columns, read, subset
from mtloop.methods.defaults import DEFAULT_METHOD
from mtloop.methods.engines import Engine, Model, engine_of, schedule_of
from mtloop.methods.neural import canonical_name
from mtloop.methods.registry import make_learner, settings_of
from mtloop.nmt.delta_files import apply_delta, find_delta, read_delta

MINIMUM = {"skip": 0, "limit": 0, "threads": 1, "beam_size": 1}


@dataclass(frozen=True)
class Experiment:
    """All settings of a run.

    `schedule` is `each`, `delay:K` or `blocks:WORDS` (`blocks:WORDS:unfair` learns a block before translating it).
    An empty model or schedule means the default of the method's engine. `delta` is the path of a saved adaptation from
    which the run starts (empty: the base model).

    These fields select segments, in this order. `shuffle`: random seed (0: keep the order). `skip`: number of segments
    to leave out at the start. `distinct`: leave out segments with a source seen before. `limit`: number of segments
    (0: all).
    """

    data: str
    method: str = DEFAULT_METHOD
    model: str = ""
    columns: str = ""
    skip: int = 0
    limit: int = 0
    shuffle: int = 0
    distinct: bool = False
    schedule: str = ""
    threads: int = 1
    delta: str = ""
    settings: Mapping[str, JSON] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", canonical_name(self.method))

    @classmethod
    def read_fields(cls, path: Path) -> dict[str, JSON]:
        """Return the fields in a TOML file; its table `[settings]` holds the settings of the method."""
        table: dict[str, JSON] = read_toml(path)
        check_fields(cls, table, path, {"beam_size": int})
        for name, value in table.items():
            if isinstance(value, int) and value < MINIMUM.get(name, value):
                raise InputError(f"{name} is {value}; expected {MINIMUM[name]} or more", path=path)
        return table

    def header(self, model: Model | None) -> Header:
        """The header of the trace: all that is needed to repeat the run."""
        config: dict[str, JSON] = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("settings", "threads", "delta")
        }
        config["data"] = Path(self.data).name
        config |= {"model": self.model or self.engine.model, "schedule": schedule_of(self.method, self.schedule)}
        config |= {
            "fingerprint": model.fingerprint if model else "",
            "settings": settings_of(self.method, self.settings),
        }
        if self.delta:
            config["delta"] = blake2b(find_delta(Path(self.delta)).read_bytes(), digest_size=8).hexdigest()
        return Header(config=config, seed=self.shuffle, versions=self.engine.versions(), threads=self.threads)

    @property
    def engine(self) -> Engine:
        return engine_of(self.method)

    def load(self) -> Model | None:
        """Load the model; None if the method uses none. Wrong names and settings raise before the model is read."""
        settings_of(self.method, self.settings)
        self.engine.set_threads(self.threads)
        return self.engine.load(self.model or self.engine.model)

    def stream(self) -> list[tuple[Segment, Truth]]:
        """The segments of the data after `shuffle`, `skip`, `distinct` and `limit`, in this order."""
        stream = read(Path(self.data), columns=parse_columns(self.columns))
        return subset(stream, shuffle=self.shuffle, skip=self.skip, distinct=self.distinct, limit=self.limit)

    def learner(self, model: Model | None) -> Learner:
        """A new learner with this model, with `delta` applied."""
        learner = make_learner(self.method, model, settings_of(self.method, self.settings))
        if self.delta:
            apply_delta(learner, self.method, read_delta(Path(self.delta)))
        return learner

    def make_schedule(self) -> Schedule:
        """The learning schedule; raise InputError if its text is wrong."""
        match schedule_of(self.method, self.schedule).split(":"):
            case ["each"]:
                return Each()
            case ["delay", k] if k.isdigit():
                return Delay(int(k))
            case ["blocks", words] if words.isdigit():
                return Blocks(int(words))
            case ["blocks", words, "unfair"] if words.isdigit():
                return Blocks(int(words), unfair=True)
        raise InputError(f"schedule {self.schedule!r}: expected each, delay:K, blocks:WORDS or blocks:WORDS:unfair")
