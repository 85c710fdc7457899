"""What a service answers, as plain values; fields that a newer service adds are passed over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TypeVar

from mtloop.client.failures import Unreachable
from mtloop.core import serialisation
from mtloop.core.errors import WireError
from mtloop.core.types import JSON

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task as the service lists it. `kind` is mock, dev or training; `samples` sentences make a pass."""

    name: str
    kind: str
    samples: int
    passes: int | None = None
    source_language: str | None = None
    target_language: str | None = None
    reward: str | None = None


@dataclass(frozen=True, slots=True)
class RunState:
    """How far a run has come: `position` translations of the current pass have their reward."""

    run: str
    task: str
    pass_number: int
    samples: int
    position: int
    cumulative_reward: float
    state: str = "open"
    name: str | None = None

    @property
    def done(self) -> int:
        """Translations so far, all passes together, if every earlier pass went to its end."""
        return (self.pass_number - 1) * self.samples + self.position


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """A source to translate. The id is opaque; two sentences may have the same source."""

    id: str
    source: str


@dataclass(frozen=True, slots=True)
class Judged:
    """The one reward of a translation, and what to translate next; None at the end of the stream."""

    id: str
    reward: float
    next: SourceSentence | None = None


def task_info(answer: JSON) -> TaskInfo:
    return read(TaskInfo, answer)


def run_state(answer: JSON) -> RunState:
    """`pass` is no name that Python allows.

    >>> answer = {"run": "r", "task": "dev", "pass": 2, "samples": 9, "position": 1, "cumulative_reward": 0, "new": 1}
    >>> run_state(answer).done
    10
    """
    return read(RunState, {**answer, "pass_number": answer.get("pass")} if isinstance(answer, dict) else answer)


def sentence(answer: JSON) -> SourceSentence:
    return read(SourceSentence, answer)


def judged(answer: Mapping[str, JSON]) -> Judged:
    """The reward is a number from 0 to 1; anything else comes from something that is no such service."""
    following = answer.get("next")
    plain = read(Judged, {"id": answer.get("id"), "reward": answer.get("reward")})
    if not 0 <= plain.reward <= 1:
        raise Unreachable(f"not an answer of an mtloop service: a reward of {plain.reward}")
    return Judged(plain.id, plain.reward, None if following is None else sentence(following))


def listed(answer: Mapping[str, JSON], name: str) -> list[JSON]:
    """The list under `name`."""
    items = answer.get(name)
    if not isinstance(items, list):
        raise Unreachable(f"the answer has no list {name!r}; is the address that of an mtloop service?")
    return items


def read(kind: type[T], answer: JSON) -> T:
    """The value that an answer describes."""
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    body = {name: value for name, value in answer.items() if name in known} if isinstance(answer, dict) else answer
    try:
        return serialisation.decode(kind, body)
    except WireError as error:
        raise Unreachable(f"not an answer of an mtloop service: {error}") from error
