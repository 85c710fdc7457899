"""The events of a project, and the lessons that follow from them.

The events are the truth: what a project has learned follows from them. They have numbers. The lessons are what a
learner has to learn, in order. A lesson that was undone or replaced is not among them, so a learner that learns the
lessons is equal to one that never saw it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

from mtloop.core.serialisation import decode, dumps, encode
from mtloop.core.types import JSON, Feedback, PostEdit, Proposal, Reward, Segment


@dataclass(frozen=True)
class Configured:
    """The learner of the project: its model, method and settings. With `review`, lessons wait for a reviewer."""

    model: str
    method: str
    settings: Mapping[str, JSON] = field(default_factory=dict)
    review: bool = False

    @property
    def learner(self) -> str:
        """What decides which learner it is. `review` does not."""
        return dumps(
            {"model": self.model, "method": self.method, "settings": dict(sorted(self.settings.items()))}
        ).decode()


@dataclass(frozen=True)
class GlossaryChanged:
    """The terms that translations must use, with their translations. They replace all earlier ones.

    `id` and `name` are those under which a client of a compatible API knows the glossary, since the time `created`;
    empty if it has none. `from_memories` are the terms that each memory of a client gave, by the document of the
    memory: they go with it.
    """

    terms: Mapping[str, str]
    id: str = ""
    name: str = ""
    created: float = 0.0
    from_memories: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def replaced(self, terms: Mapping[str, str], id: str = "", name: str = "", created: float = 0.0) -> GlossaryChanged:
        """Other terms in its place. What a memory gave and is still there can still go with the memory."""
        still = {
            memory: {term: translation for term, translation in given.items() if terms.get(term) == translation}
            for memory, given in self.from_memories.items()
        }
        return GlossaryChanged(terms, id, name, created, {memory: given for memory, given in still.items() if given})


@dataclass(frozen=True)
class Confirmed:
    """A person confirmed a translation.

    `external_id` names the segment in the client's system: a later confirmation with the same name replaces this one.
    `syntax` is that of the texts: plain, html or xml. `refused` says why it may not be learned; empty if it may. With
    `waits` it is learned only after a review. `imported`: it comes from a file. `insisted`: a person
    was told what is wrong with the translation, and wants it all the same.
    """

    source: str
    translation: str
    proposal: str = ""
    document: str = ""
    external_id: str = ""
    syntax: str = "plain"
    refused: str = ""
    waits: bool = False
    imported: bool = False
    insisted: bool = False

    @property
    def segment(self) -> Segment:
        context: dict[str, JSON] = {"syntax": self.syntax}
        if self.document:
            context["document"] = self.document
        return Segment("", self.source, context)

    @property
    def segment_key(self) -> str:
        """Identifies what is confirmed. Of two equal confirmations in a row with the same key, one counts.

        They are not in a row if another translation of the source was confirmed between them, in whatever document.
        """
        parts = ("id", self.external_id) if self.external_id else ("text", self.document, self.source)
        return blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()

    def lesson(self) -> tuple[Proposal, Feedback]:
        return Proposal(self.segment, self.proposal), PostEdit(self.translation)


@dataclass(frozen=True)
class Rated:
    """A person rated a proposal from 0 to 1. The proposal carries what its learner needs to learn from the rating.

    `token` is the name by which it was rated.
    """

    proposal: Proposal
    value: float
    token: str = ""

    @property
    def segment_key(self) -> str:
        """Identifies what is rated."""
        return self.token

    def lesson(self) -> tuple[Proposal, Feedback]:
        return self.proposal, Reward(self.value)


@dataclass(frozen=True)
class Undone:
    """The lesson of an event is taken back."""

    of: int


@dataclass(frozen=True)
class Redone:
    """A lesson that was taken back counts again, at its old place."""

    of: int


@dataclass(frozen=True)
class Reviewed:
    """A reviewer decided whether a waiting confirmation is learned."""

    of: int
    accepted: bool


Event: TypeAlias = Configured | GlossaryChanged | Confirmed | Rated | Undone | Redone | Reviewed
KINDS: dict[str, type[Any]] = {
    "settings": Configured,
    "glossary": GlossaryChanged,
    "confirm": Confirmed,
    "rate": Rated,
    "undo": Undone,
    "redo": Redone,
    "review": Reviewed,
}
_KIND_OF = {kind: name for name, kind in KINDS.items()}


def event_kind(event: Event) -> str:
    """The name of the kind of an event in the database."""
    return _KIND_OF[type(event)]


def event_body(event: Event) -> dict[str, Any]:
    """The fields of an event as JSON."""
    if isinstance(event, Rated):
        return {"proposal": encode(event.proposal), "value": event.value, "token": event.token}
    return asdict(event)


def read_event(kind: str, body: Mapping[str, Any]) -> Event:
    """The event that `event_kind` and `event_body` describe."""
    if kind == "rate":
        return Rated(decode(Proposal, body["proposal"]), body["value"], body["token"])
    event: Event = KINDS[kind](**body)
    return event


@dataclass(frozen=True)
class LoggedLesson:
    """A lesson, its event, and the digest of all lessons up to this one. Equal digests mean equal learners.

    Lessons are ordered by `place`: the number of the event, or of the review that accepted it.
    """

    number: int
    proposal: Proposal
    feedback: Feedback
    digest: str
    place: int = 0


class EventLog:
    """All events of a project so far, and the lessons that follow from them.

    `configuration` describes the learner: model, method and settings. It is part of every digest. Adding an event is
    quick. The lessons are put in order when somebody asks for them, from the first one that has changed.
    """

    def __init__(self, configuration: str = "") -> None:
        self.configuration = configuration
        self.configured: Configured | None = None
        self.glossary: Mapping[str, str] = {}
        self.number = 0
        self._lessons: list[LoggedLesson] = []
        self._changed: int | None = None  # lessons from this place on are to be ordered again
        self._taught: dict[int, Confirmed | Rated] = {}  # by the number of the event
        self._contents: dict[int, bytes] = {}  # hashes of what they teach
        self._places: dict[int, int] = {}  # the number by which a lesson is ordered
        self._undone: set[int] = set()
        self._by_external_id: dict[str, list[int]] = {}
        self._frozen: EventLog | None = None  # until an event is added

    @property
    def lessons(self) -> list[LoggedLesson]:
        """The lessons in order."""
        if self._changed is not None:
            self._order_from(self._changed)
            self._changed = None
        return self._lessons

    def frozen(self) -> EventLog:
        """A log with the present lessons that does not change when this one does. It is copied once for all callers."""
        if self._frozen is None:
            copy = self._frozen = EventLog(self.configuration)
            copy.configured, copy.glossary, copy.number = self.configured, self.glossary, self.number
            copy._lessons = list(self.lessons)
        return self._frozen

    @property
    def digest(self) -> str:
        """The digest of the learner that knows all lessons."""
        return self.digest_after(len(self.lessons))

    def digest_after(self, count: int) -> str:
        """The digest of the learner that knows the first `count` lessons."""
        return self.lessons[count - 1].digest if count else _digest("", self.configuration.encode())

    def append(self, number: int, event: Event) -> None:
        """Add the next event. Numbers grow; they may have gaps."""
        assert number > self.number, (number, self.number)
        self.number, self._frozen = number, None
        match event:
            case Configured():
                self._configure(event)
            case GlossaryChanged(terms=terms):
                self.glossary = terms
            case Confirmed() | Rated():
                self._add(number, event)
            case Undone(of) if of in self._taught:
                self._undone.add(of)
                self._change(of)
            case Redone(of) if of in self._undone:
                self._undone.discard(of)
                self._change(of)
            case Reviewed(of, accepted) if of in self._taught:
                self._review(of, accepted)

    def is_live(self, number: int) -> bool:
        """Whether the lesson of this event is among the lessons."""
        return self._may_count(number) and not self._is_replaced(number)

    def event(self, number: int) -> Confirmed | Rated | None:
        """The event that taught something under this number, also if it does not count at present."""
        return self._taught.get(number)

    def newest(self, external_id: str) -> int | None:
        """The number of the confirmation with this external id that counts."""
        return max(filter(self._may_count, self._by_external_id.get(external_id, ())), default=None)

    def _configure(self, event: Configured) -> None:
        self.configured = event
        if self.configuration != event.learner:
            self.configuration = event.learner
            self._changed = 0

    def _add(self, number: int, event: Confirmed | Rated) -> None:
        self._taught[number] = event
        if isinstance(event, Confirmed) and event.external_id:
            self._by_external_id.setdefault(event.external_id, []).append(number)
        if isinstance(event, Rated) or not (event.refused or event.waits):
            self._places[number] = number
            self._change(number)

    def _review(self, of: int, accepted: bool) -> None:
        """A second acceptance changes nothing: the lesson has its place already."""
        if accepted and of not in self._places:
            self._places[of] = self.number
            self._change(of)
        elif not accepted and of in self._places:
            self._change(of)
            del self._places[of]

    def _change(self, number: int) -> None:
        """Note that a lesson counts or does not count any more, and that it may replace others or give way to them."""
        event = self._taught[number]
        same = self._by_external_id.get(event.external_id, ()) if isinstance(event, Confirmed) else ()
        places = [self._places[one] for one in (number, *same) if one in self._places]
        self._changed = min([*places, *([] if self._changed is None else [self._changed])], default=self._changed)

    def _may_count(self, number: int) -> bool:
        return number in self._places and number not in self._undone

    def _is_replaced(self, number: int) -> bool:
        """Whether a later confirmation with the same external id counts."""
        event = self._taught[number]
        return isinstance(event, Confirmed) and bool(event.external_id) and self.newest(event.external_id) != number

    def _order_from(self, place: int) -> None:
        """Keep the lessons before a place, and put those that count from there on in order."""
        first = bisect_left(self._lessons, place, key=lambda lesson: lesson.place)
        live = [number for number, own in self._places.items() if own >= place and self.is_live(number)]
        del self._lessons[first:]
        for number in sorted(live, key=self._places.__getitem__):
            before = self._lessons[-1].digest if self._lessons else _digest("", self.configuration.encode())
            self._lessons.append(self._lesson(number, before))

    def _lesson(self, number: int, before: str) -> LoggedLesson:
        proposal, feedback = self._taught[number].lesson()
        if number not in self._contents:
            content = dumps({"proposal": proposal, "feedback": feedback})
            self._contents[number] = blake2b(content, digest_size=16).digest()
        digest = _digest(before, self._contents[number])
        return LoggedLesson(number, proposal, feedback, digest, self._places[number])


def _digest(before: str, content: bytes) -> str:
    return blake2b(before.encode() + b"\n" + content, digest_size=16).hexdigest()
