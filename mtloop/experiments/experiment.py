"""One run: which data, which model, which method, when to learn. All of it in the trace's header, all of it in TOML."""

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
from mtloop.data import cut, parse_columns, read
from mtloop.methods.defaults import DEFAULT
from mtloop.methods.engines import Engine, Model, engine_of, schedule_of
from mtloop.methods.registry import make_learner, settings_of
from mtloop.nmt.delta_files import find_delta, read_delta, take_up

FEWEST = {"skip": 0, "limit": 0, "threads": 1, "beam": 1}


@dataclass(frozen=True)
class Experiment:
    """Everything that decides what a run does.

    `schedule` is `each`, `delay:K` or `blocks:WORDS` (`blocks:WORDS:unfair` learns a block before translating it).
    A model or schedule that is not named is the one the method's engine takes. `delta` is what was learned
    before, with which the run begins.
    """

    data: str
    method: str = DEFAULT
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

    @classmethod
    def from_toml(cls, path: Path) -> dict[str, JSON]:
        """The keywords a TOML file gives; `[settings]` are those of the method."""
        table: dict[str, JSON] = read_toml(path)
        check_fields(cls, table, path, {"beam": int})
        for name, value in table.items():
            if isinstance(value, int) and value < FEWEST.get(name, value):
                raise InputError(f"{name} is {value}; expected {FEWEST[name]} or more", path=path)
        return table

    def header(self, model: Model | None) -> Header:
        """What it takes to run it again."""
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
        """The model the method works on; a wrong name or setting is found before it is read."""
        settings_of(self.method, self.settings)
        self.engine.prepare(self.threads)
        return self.engine.load(self.model or self.engine.model)

    def stream(self) -> list[tuple[Segment, Truth]]:
        """The data, shuffled, cut and thinned as asked for, in this order."""
        stream = read(Path(self.data), columns=parse_columns(self.columns))
        return cut(stream, shuffle=self.shuffle, skip=self.skip, distinct=self.distinct, limit=self.limit)

    def learner(self, model: Model | None) -> Learner:
        """The method over this model, as it stands at the start."""
        learner = make_learner(self.method, model, settings_of(self.method, self.settings))
        if self.delta:
            take_up(learner, self.method, read_delta(Path(self.delta)))
        return learner

    def when(self) -> Schedule:
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
