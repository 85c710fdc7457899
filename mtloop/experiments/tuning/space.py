"""What a search may choose from: `rate=1e-3:2e-2:log` is a range, `enough=1.5,2.0,3.0` a choice."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Protocol

from mtloop.core.errors import InputError
from mtloop.core.types import JSON
from mtloop.methods.registry import settings_of

TRIES = 1000  # draws in a row that bring nothing new before a space counts as exhausted


class Dimension(Protocol):
    """The values one keyword may take."""

    def draw(self, random: Random) -> JSON: ...


@dataclass(frozen=True)
class Categorical:
    """One of a few values."""

    values: tuple[JSON, ...]

    def draw(self, random: Random) -> JSON:
        return random.choice(self.values)


@dataclass(frozen=True)
class Range:
    """A number between two others, ends included; `log`: as likely between 1 and 10 as between 10 and 100.

    >>> Range(1e-3, 1e-1, log=True).draw(Random(1))
    0.00186
    >>> Range(4, 32, whole=True).draw(Random(1))
    8
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def draw(self, random: Random) -> JSON:
        if self.whole and not self.log:
            return random.randint(int(self.low), int(self.high))
        if self.log:
            value = math.exp(random.uniform(math.log(self.low), math.log(self.high)))
        else:
            value = random.uniform(self.low, self.high)
        value = min(max(float(f"{value:.3g}"), self.low), self.high)  # three digits: as precise as a tuned number is
        return round(value) if self.whole else value


@dataclass(frozen=True)
class Space:
    """The keywords to search over, each with its dimension."""

    dimensions: Mapping[str, Dimension]

    def draw(self, seed: int) -> Iterator[dict[str, JSON]]:
        """Settings at random, none twice; ends when a small space has no more."""
        random, seen, misses = Random(seed), set[str](), 0
        while misses < TRIES:
            settings = {name: dimension.draw(random) for name, dimension in self.dimensions.items()}
            misses = misses + 1 if repr(settings) in seen else 0
            if not misses:
                seen.add(repr(settings))
                yield settings


def parse_space(texts: Iterable[str], method: str, fixed: Mapping[str, JSON] | None = None) -> Space:
    """The space that `--space NAME=...` options describe, in the types of the method's keywords.

    >>> parse_space(["rate=1e-3:2e-2:log", "enough=1.5,2"], "full").dimensions["enough"]
    Choice(values=(1.5, 2.0))
    """
    dimensions: dict[str, Dimension] = {}
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not values:
            raise InputError(f"--space takes NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=A,B,..., not {text!r}")
        if name in dimensions or name in (fixed or {}):
            raise InputError(f"setting {name} is given twice; search over it or set it, once")
        dimensions[name] = _range(name, values, method) if ":" in values else _choice(name, values, method)
    if not dimensions:
        raise InputError("nothing to search over; give --space NAME=LOW:HIGH or NAME=A,B,... at least once")
    return Space(dimensions)


def _choice(name: str, values: str, method: str) -> Categorical:
    found = (settings_of(method, {name: value.strip()})[name] for value in values.split(","))
    return Categorical(tuple(dict.fromkeys(found)))


def _range(name: str, text: str, method: str) -> Range:
    default = settings_of(method, {name: settings_of(method).get(name)})[name]
    whole = isinstance(default, int)
    if isinstance(default, bool) or not isinstance(default, int | float):
        raise InputError(f"setting {name} is no number; search over values: --space {name}=A,B")
    low, high, *how = text.split(":")
    try:
        ends = [int(end) if whole else float(end) for end in (low, high)]
    except ValueError:
        raise InputError(f"--space {name}={text}: expected two {'whole ' * whole}numbers, LOW:HIGH") from None
    if how not in ([], ["log"]):
        raise InputError(f"--space {name}={text}: after LOW:HIGH comes nothing, or log")
    if not -math.inf < ends[0] < ends[1] < math.inf or (how and ends[0] <= 0):
        raise InputError(f"--space {name}={text}: expected LOW < HIGH{', both above 0 for log' if how else ''}")
    return Range(ends[0], ends[1], bool(how), whole)
