"""The responses of a service as dataclasses. Unknown fields, from a newer service, are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TypeVar

from mtloop.client.failures import Unreachable
from mtloop.core import serialisation
from mtloop.core.errors import SerialisationError
from mtloop.core.types import JSON

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task on the service. `kind` is mock, dev or training; `samples` is the number of sentences per pass.

    `max_passes` is the maximum number of passes per run; 0 means no limit.
    """

    name: str
    kind: str
    samples: int
    max_passes: int | None = None
    source_language: str | None = None
    target_language: str | None = None
    reward: str | None = None


@dataclass(frozen=True, slots=True)
class RunState:
    """The progress of a run. `position` is the number of translations with a reward in the current pass."""

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
        """The number of translations in all passes, assuming that all earlier passes are complete."""
        return (self.pass_number - 1) * self.samples + self.position


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """A sentence to translate. The id is opaque; two sentences may have the same source."""

    id: str
    source: str


@dataclass(frozen=True, slots=True)
class SubmissionResult:
    """The reward of a submitted translation, from 0 to 1, and the next sentence (None at the end of the stream)."""

    id: str
    reward: float
    next: SourceSentence | None = None


def parse_task(response: JSON) -> TaskInfo:
    return _parse(TaskInfo, response)


def parse_run_state(response: JSON) -> RunState:
    """Parse a run. The field `pass` becomes `pass_number`, because `pass` is a Python keyword.

    >>> response = {"run": "r", "task": "dev", "pass": 2, "samples": 9, "position": 1, "cumulative_reward": 0, "new": 1}
    >>> parse_run_state(response).done
    10
    """
    renamed = {**response, "pass_number": response.get("pass")} if isinstance(response, dict) else response
    return _parse(RunState, renamed)


def parse_sentence(response: JSON) -> SourceSentence:
    return _parse(SourceSentence, response)


def parse_submission(response: Mapping[str, JSON]) -> SubmissionResult:
    """Parse the response to a translation. Raise Unreachable if the reward is not a number from 0 to 1."""
    following = response.get("next")
    result = _parse(SubmissionResult, {"id": response.get("id"), "reward": response.get("reward")})
    if not 0 <= result.reward <= 1:
        raise Unreachable(f"not a response of an mtloop service: the reward is {result.reward}")
    return SubmissionResult(result.id, result.reward, None if following is None else parse_sentence(following))


def get_list(response: Mapping[str, JSON], name: str) -> list[JSON]:
    """Return the list in the field `name`."""
    items = response.get(name)
    if not isinstance(items, list):
        raise Unreachable(f"the response has no list {name!r}; is this the address of an mtloop service?")
    return items


def _parse(kind: type[T], response: JSON) -> T:
    """Convert a JSON object to a dataclass and ignore unknown fields. Raise Unreachable if it does not match."""
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    body = (
        {name: value for name, value in response.items() if name in known} if isinstance(response, dict) else response
    )
    try:
        return serialisation.decode(kind, body)
    except SerialisationError as error:
        raise Unreachable(f"not a response of an mtloop service: {error}") from error
