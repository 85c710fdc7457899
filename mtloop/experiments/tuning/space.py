"""The search space: `learning_rate=1e-3:2e-2:log` is a range, `target_perplexity=1.5,2.0,3.0` a list of values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Protocol

from mtloop.core.errors import InputError
from mtloop.core.types import JSON
from mtloop.methods.registry import settings_of

MAX_REPEATED_DRAWS = 1000  # the space is exhausted after this number of consecutive draws without new settings


class Dimension(Protocol):
    """The possible values of one setting."""

    def draw(self, random: Random) -> JSON: ...


@dataclass(frozen=True)
class Categorical:
    """A list of values."""

    values: tuple[JSON, ...]

    def draw(self, random: Random) -> JSON:
        return random.choice(self.values)


@dataclass(frozen=True)
class Range:
    """A range of numbers, both ends included. `log`: uniform on a logarithmic scale; `whole`: integers only.

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
        value = min(max(float(f"{value:.3g}"), self.low), self.high)  # three significant digits
        return round(value) if self.whole else value


@dataclass(frozen=True)
class Space:
    """The settings to search over, each with its dimension."""

    dimensions: Mapping[str, Dimension]

    def draw(self, seed: int) -> Iterator[dict[str, JSON]]:
        """Random settings without repetition; ends when the space is exhausted."""
        random, seen, misses = Random(seed), set[str](), 0
        while misses < MAX_REPEATED_DRAWS:
            settings = {name: dimension.draw(random) for name, dimension in self.dimensions.items()}
            misses = misses + 1 if repr(settings) in seen else 0
            if not misses:
                seen.add(repr(settings))
                yield settings


def parse_space(texts: Iterable[str], method: str, fixed: Mapping[str, JSON] | None = None) -> Space:
    """Parse `--space NAME=...` options; values get the types of the method's settings.

    >>> parse_space(["learning_rate=1e-3:2e-2:log", "target_perplexity=1.5,2"], "full").dimensions["target_perplexity"]
    Categorical(values=(1.5, 2.0))
    """
    dimensions: dict[str, Dimension] = {}
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not values:
            raise InputError(f"--space expects NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=A,B,..., not {text!r}")
        if name in dimensions or name in (fixed or {}):
            raise InputError(f"setting {name} is given twice; give it once, in --space or in --set")
        dimensions[name] = _range(name, values, method) if ":" in values else _categorical(name, values, method)
    if not dimensions:
        raise InputError("nothing to search over; give --space NAME=LOW:HIGH or NAME=A,B,... at least once")
    return Space(dimensions)


def _categorical(name: str, values: str, method: str) -> Categorical:
    found = (settings_of(method, {name: value.strip()})[name] for value in values.split(","))
    return Categorical(tuple(dict.fromkeys(found)))


def _range(name: str, text: str, method: str) -> Range:
    default = settings_of(method, {name: settings_of(method).get(name)})[name]
    whole = isinstance(default, int)
    if isinstance(default, bool) or not isinstance(default, int | float):
        raise InputError(f"setting {name} is not a number; give a list of values: --space {name}=A,B")
    low, high, *scale = text.split(":")
    try:
        ends = [int(end) if whole else float(end) for end in (low, high)]
    except ValueError:
        raise InputError(f"--space {name}={text}: expected two {'whole ' * whole}numbers, LOW:HIGH") from None
    if scale not in ([], ["log"]):
        raise InputError(f"--space {name}={text}: expected LOW:HIGH or LOW:HIGH:log")
    if not -math.inf < ends[0] < ends[1] < math.inf or (scale and ends[0] <= 0):
        raise InputError(f"--space {name}={text}: expected LOW < HIGH{', both above 0 for log' if scale else ''}")
    return Range(ends[0], ends[1], bool(scale), whole)
