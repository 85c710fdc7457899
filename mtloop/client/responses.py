"""The responses of a service as dataclasses. Unknown fields, from a newer service, are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TypeVar

from mtloop.client.failures import Unreachable
from mtloop.core import serialisation
from mtloop.core.errors import SerialisationError
from mtloop.core.types import JSON, Fields, Learned

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


@dataclass(frozen=True, slots=True)
class ProjectInfo:
    """A project on the service. `state` is the number of its newest event; 1 means that nothing was corrected yet."""

    name: str
    source_language: str
    target_language: str
    model: str
    method: str
    settings: Fields
    review: bool
    state: int
    role: str | None = None


@dataclass(frozen=True, slots=True)
class ProjectTranslation:
    """A translation of a project; `str()` is its text.

    Attributes:
        translation: The text.
        repeated: The source was confirmed before, and this is its confirmed translation.
        corrections: The most similar corrections, each with its number, texts, similarity, and the words from it.
        protected: What was not translated, such as placeholders.
        candidates: Further translations, if they were asked for, the best first.
        proposal: The name under which this translation can be rated; None if the project takes no ratings.
        state: The number of the newest event that the translation knows.
        rebuilding: Something was undone, and the model is rebuilt; this translation may still know it.
    """

    translation: str
    repeated: bool = False
    corrections: tuple[Fields, ...] = ()
    protected: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    proposal: str | None = None
    state: int = 0
    rebuilding: bool = False

    def __str__(self) -> str:
        return self.translation


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What became of a confirmed translation.

    Attributes:
        number: The number of the correction, for `undo`.
        new: Whether it was stored now; False if an equal one was there before.
        refused: Why it is not learned; None if it is.
        waiting: Whether it waits for a review.
        missing: Placeholders and tags of the source that the translation lacks; it is taken all the same.
        learned: What was learned; None if nothing was, or not yet.
        proof: What the source gives now and gave before, and similar sources whose translation changed.
        state: The number of the newest event.
        rebuilding: The model is being rebuilt, and learns this afterwards; `learned` and `proof` are not known yet.
        seconds: How long the server worked.
    """

    number: int
    new: bool
    refused: str | None = None
    waiting: bool = False
    missing: tuple[str, ...] = ()
    learned: Learned | None = None
    proof: Fields | None = None
    state: int = 0
    rebuilding: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ProjectCorrection:
    """A correction in the log of a project. `state` is learned, rejected, refused, waiting, undone or replaced.

    A correction in the state learned counts; an engine may still have to learn it. One in the state rejected counts
    too, but the learner did not take it. `refused` says why a correction is not learned.
    """

    number: int
    source: str
    translation: str
    state: str
    proposal: str = ""
    document: str = ""
    external_id: str = ""
    format: str = "text"
    refused: str | None = None
    participant: str | None = None
    time: str = ""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import added. `job` is its name for `Project.wait`; None if everything was known already.

    `known` pairs were in the log before, `refused` new ones are in it and are not learned, `skipped` are not in it.
    `missing_placeholders` pairs lack a placeholder of their source; they are taken all the same.
    """

    job: str | None
    new: int
    known: int = 0
    refused: int = 0
    skipped: Fields = field(default_factory=dict)
    missing_placeholders: int = 0


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How many corrections of an import are learned so far: `learned` of `counted`."""

    job: str
    counted: int
    learned: int
    done: bool


def parse_correction(response: JSON) -> ProjectCorrection:
    return _parse(ProjectCorrection, response)


def parse_import(response: JSON) -> ImportResult:
    return _parse(ImportResult, response)


def parse_job(response: JSON) -> ImportProgress:
    return _parse(ImportProgress, response)


def parse_project(response: JSON) -> ProjectInfo:
    return _parse(ProjectInfo, response)


def parse_translations(response: Mapping[str, JSON], count: int) -> list[ProjectTranslation]:
    """Parse the response to `count` texts. The state belongs to each of them."""
    common: dict[str, JSON] = {"state": response.get("state"), "rebuilding": response.get("rebuilding")}
    found = [_without_nulls(item) for item in get_list(response, "translations")]
    if len(found) != count:
        raise Unreachable(f"not a response of an mtloop service: it has {len(found)} translations of {count} texts")
    return [_parse(ProjectTranslation, item | common if isinstance(item, dict) else item) for item in found]


def parse_confirmation(response: JSON) -> Confirmation:
    return _parse(Confirmation, response)


def _without_nulls(item: JSON) -> JSON:
    return {name: value for name, value in item.items() if value is not None} if isinstance(item, dict) else item


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


def get_number(response: Mapping[str, JSON], name: str) -> int:
    """Return the whole number in the field `name`."""
    value = response.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unreachable(f"the response has no number {name!r}; is this the address of an mtloop service?")
    return value


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
