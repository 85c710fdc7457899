"""One run: which data, which model, which method, when to learn. All of it in the trace's header, all of it in TOML."""

from __future__ import annotations

import os
import platform
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mtloop import __version__
from mtloop.config.methods import make_learner, settings_of, takes_model
from mtloop.core.errors import InputError, UnknownName
from mtloop.core.loop import Blocks, Delay, Each, Schedule
from mtloop.core.protocols import Learner
from mtloop.core.trace import Header
from mtloop.core.types import JSON, Segment, Truth
from mtloop.data import first, parse_columns, read, shuffled, without_repeats

if TYPE_CHECKING:
    from mtloop.translators.marian.model import Marian


@dataclass(frozen=True)
class Experiment:
    """Everything that decides what a run does.

    `schedule` is `each`, `delay:K` or `blocks:WORDS` (`blocks:WORDS:unfair` learns a block before translating it).
    """

    data: str
    method: str = "full"
    model: str = "en-de"
    columns: str = ""
    skip: int = 0
    limit: int = 0
    shuffle: int = 0
    distinct: bool = False
    schedule: str = "each"
    threads: int = 1
    settings: Mapping[str, JSON] = field(default_factory=dict)

    @classmethod
    def from_toml(cls, path: Path) -> dict[str, JSON]:
        """The keywords a TOML file gives; `[settings]` are those of the method."""
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"not a TOML file: {error}", path=path) from error
        for name in table:
            if name not in cls.__dataclass_fields__:
                raise UnknownName("setting", name, cls.__dataclass_fields__)
        return table

    def header(self, fingerprint: str) -> Header:
        """What it takes to run it again."""
        config: dict[str, JSON] = {
            name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("settings", "threads")
        }
        config["data"] = Path(self.data).name
        config["model"] = self.model if takes_model(self.method) else ""
        config |= {"fingerprint": fingerprint, "settings": settings_of(self.method, self.settings)}
        return Header(config=config, seed=self.shuffle, versions=versions(), threads=self.threads)

    def stream(self) -> list[tuple[Segment, Truth]]:
        """The data, shuffled, cut and thinned as asked for, in this order."""
        stream = list(read(Path(self.data), columns=parse_columns(self.columns)))
        if self.shuffle:
            stream = shuffled(stream, self.shuffle)
        stream = stream[self.skip :]
        if self.distinct:
            stream = list(without_repeats(stream))
        return list(first(stream, self.limit)) if self.limit else stream

    def learner(self, model: Marian | None) -> Learner:
        return make_learner(self.method, model, settings_of(self.method, self.settings))

    def when(self) -> Schedule:
        match self.schedule.split(":"):
            case ["each"]:
                return Each()
            case ["delay", k] if k.isdigit():
                return Delay(int(k))
            case ["blocks", words] if words.isdigit():
                return Blocks(int(words))
            case ["blocks", words, "unfair"] if words.isdigit():
                return Blocks(int(words), unfair=True)
        raise InputError(f"schedule {self.schedule!r}: expected each, delay:K, blocks:WORDS or blocks:WORDS:unfair")


def set_threads(threads: int) -> None:
    """So many threads for this process; one more would change the last bits of every product."""
    import torch

    os.environ["OMP_NUM_THREADS"] = str(threads)
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)  # products of near-nothings cost a hundred times as much, and change nothing


def load_model(method: str, name: str, threads: int = 1) -> Marian | None:
    """The model a method works on, on so many threads; None where it needs none."""
    if not takes_model(method):
        return None
    from mtloop.translators.marian.find import find_model
    from mtloop.translators.marian.model import Marian

    set_threads(threads)
    return Marian.load(find_model(name))


def versions() -> dict[str, str]:
    """Of all that may change what a run says."""
    torch = {"torch": version("torch")} if find_spec("torch") else {}
    return {"mtloop": __version__, "python": platform.python_version()} | torch
