"""The search space: `learning_rate=1e-3:2e-2:log` is a range, `target_perplexity=1.5,2.0,3.0` a list of values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from mtloop.core.errors import InputError
from mtloop.core.types import JSON
from mtloop.methods.method import Method

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

# In Python a list holds values, and a tuple is a range: {"rank": [4, 8], "learning_rate": (1e-3, 2e-2, "log")}.
GivenSpace: TypeAlias = Iterable[str] | Mapping[str, Sequence[JSON]]


class Dimension(Protocol):
    """The possible values of one setting."""

    @property
    def distribution(self) -> BaseDistribution:
        """The same values for Optuna."""

    @property
    def size(self) -> float:
        """The number of values; infinite for a range of real numbers."""

    def setting(self, drawn: Any) -> JSON:
        """The value of the setting for a value that Optuna has drawn."""

    def __contains__(self, value: JSON) -> bool: ...

    def __iter__(self) -> Iterator[JSON]: ...

    def to_json(self) -> JSON: ...


@dataclass(frozen=True)
class Categorical:
    """A list of values."""

    values: tuple[JSON, ...]

    @property
    def distribution(self) -> BaseDistribution:
        from optuna.distributions import CategoricalDistribution

        return CategoricalDistribution(self.values)  # type: ignore[arg-type]  # make_space refuses lists and objects

    @property
    def size(self) -> float:
        return len(self.values)

    def setting(self, drawn: Any) -> JSON:
        return self.values[self.values.index(drawn)]

    def __contains__(self, value: JSON) -> bool:
        return value in self.values

    def __iter__(self) -> Iterator[JSON]:
        return iter(self.values)

    def to_json(self) -> JSON:
        return list(self.values)


@dataclass(frozen=True)
class Range:
    """A range of numbers, both ends included. `log`: uniform on a logarithmic scale; `whole`: integers only.

    Real numbers are rounded to three significant digits; to more if the range is narrow.

    >>> Range(1e-3, 1e-1, log=True).setting(0.0018612), Range(0.999, 0.9999).setting(0.99912345)
    (0.00186, 0.999123)
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    @property
    def distribution(self) -> BaseDistribution:
        from optuna.distributions import FloatDistribution, IntDistribution

        if self.whole:
            return IntDistribution(int(self.low), int(self.high), log=self.log)
        return FloatDistribution(self.low, self.high, log=self.log)

    @property
    def size(self) -> float:
        return self.high - self.low + 1 if self.whole else math.inf

    def setting(self, drawn: Any) -> JSON:
        if self.whole:
            return int(drawn)
        return min(max(float(f"{drawn:.{self._digits}g}"), self.low), self.high)

    @property
    def _digits(self) -> int:
        largest = max(abs(self.low), abs(self.high))
        return 3 + math.floor(math.log10(max(1, largest / (self.high - self.low))))

    def __contains__(self, value: JSON) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high

    def __iter__(self) -> Iterator[JSON]:
        """The values of a range of integers."""
        return iter(range(int(self.low), int(self.high) + 1))

    def to_json(self) -> JSON:
        return f"{self.low}:{self.high}" + ":log" * self.log


@dataclass(frozen=True)
class Space:
    """The settings to search over, each with its dimension, in alphabetical order."""

    dimensions: Mapping[str, Dimension]

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimensions", dict(sorted(self.dimensions.items())))

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        return {name: dimension.distribution for name, dimension in self.dimensions.items()}

    @property
    def size(self) -> float:
        """The number of combinations; infinite if a dimension is a range of real numbers."""
        return math.prod(dimension.size for dimension in self.dimensions.values())

    def settings(self, drawn: Mapping[str, Any]) -> dict[str, JSON]:
        """The settings for the values that Optuna has drawn."""
        return {name: dimension.setting(drawn[name]) for name, dimension in self.dimensions.items()}

    def combinations(self) -> Iterator[dict[str, JSON]]:
        """All combinations of a space of finite size."""
        return (dict(zip(self.dimensions, values, strict=True)) for values in product(*self.dimensions.values()))

    def __contains__(self, settings: Mapping[str, JSON]) -> bool:
        return all(settings[name] in dimension for name, dimension in self.dimensions.items())

    def to_json(self) -> JSON:
        return {name: dimension.to_json() for name, dimension in self.dimensions.items()}


def make_space(given: GivenSpace, method: Method, fixed: Mapping[str, JSON] | None = None) -> Space:
    """Return the space of a method: from a mapping, or from the texts of `--space`. Values get the settings' types.

    >>> from mtloop.methods.registry import find_method
    >>> full = find_method("full")
    >>> make_space({"learning_rate": (1e-3, 2e-2, "log")}, full).dimensions
    {'learning_rate': Range(low=0.001, high=0.02, log=True, whole=False)}
    >>> make_space(["target_perplexity=1.5,2"], full).dimensions
    {'target_perplexity': Categorical(values=(1.5, 2.0))}
    """
    dimensions: dict[str, Dimension] = {}
    for name, values in given.items() if isinstance(given, Mapping) else map(_split, given):
        if name in dimensions or name in (fixed or {}):
            raise InputError(f"setting {name} is given twice; give it once, as a setting or in the space")
        make = _range if isinstance(values, tuple) else _categorical
        dimensions[name] = make(name, values, method)
    if not dimensions:
        raise InputError("nothing to search over; give --space NAME=LOW:HIGH or NAME=A,B,... at least once")
    return Space(dimensions)


def _split(text: str) -> tuple[str, Sequence[JSON]]:
    """Split NAME=LOW:HIGH into a name and a tuple, NAME=A,B into a name and a list."""
    name, equals, values = (part.strip() for part in text.partition("="))
    if not equals or not values:
        raise InputError(f"--space expects NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=A,B,..., not {text!r}")
    return name, tuple(values.split(":")) if ":" in values else [value.strip() for value in values.split(",")]


def _categorical(name: str, values: Sequence[JSON], method: Method) -> Categorical:
    if isinstance(values, str) or not values or any(isinstance(value, list | dict) for value in values):
        raise InputError(f"space of {name}: expected a list of values [A, B, ...], or a range (LOW, HIGH)")
    return Categorical(tuple(dict.fromkeys(method.settings_with({name: value})[name] for value in values)))


def _range(name: str, ends: Sequence[JSON], method: Method) -> Range:
    default = method.settings_with({name: method.defaults.get(name)})[name]  # raises for an unknown name
    whole = isinstance(default, int)
    if isinstance(default, bool) or not isinstance(default, int | float):
        raise InputError(f"setting {name} is not a number; give a list of values: --space {name}=A,B")
    where = f"space of {name}, {':'.join(map(str, ends))}"
    if len(ends) not in (2, 3) or ends[2:] not in ((), ("log",)):
        raise InputError(f"{where}: expected LOW:HIGH or LOW:HIGH:log")
    low, high = (_number(end, whole, where) for end in ends[:2])
    log = len(ends) == 3
    if not -math.inf < low < high < math.inf or (log and low <= 0):
        raise InputError(f"{where}: expected LOW < HIGH{', both above 0 for log' if log else ''}")
    return Range(low, high, log, whole)


def _number(value: JSON, whole: bool, where: str) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
        if whole and number != int(number):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{where}: expected two {'whole ' * whole}numbers, LOW:HIGH") from None
    return int(number) if whole else number
