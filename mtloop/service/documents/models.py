"""A document and its units, as the database stores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mtloop.core.errors import MtloopError

OPEN, TRANSLATED, CONFIRMED, LOCKED = "open", "translated", "confirmed", "locked"


class DocumentGone(MtloopError):
    """The document does not exist any more."""

    def __init__(self) -> None:
        super().__init__("the document does not exist any more")


class TooManyDocuments(MtloopError):
    """The project has as many documents as allowed."""

    def __init__(self) -> None:
        super().__init__("the project has as many documents as allowed")


class UnitChanged(MtloopError):
    """Somebody has changed the unit meanwhile."""

    def __init__(self) -> None:
        super().__init__("somebody has changed the unit meanwhile")


class UnitNotConfirmed(MtloopError):
    """The unit has no confirmation that could be taken back."""

    def __init__(self) -> None:
        super().__init__("the unit is not confirmed")


@dataclass(frozen=True)
class StoredDocument:
    """A file of a project. `format` is its suffix without the dot. The numbers are those of its units by state."""

    id: int
    project_id: int
    token: str
    name: str
    format: str
    units: int
    change: int
    created: float
    participant: str | None = None
    open: int = 0
    translated: int = 0
    confirmed: int = 0
    locked: int = 0


@dataclass(frozen=True)
class UnitKey:
    """Which unit of which document. `version` is the one that a person has seen."""

    document_id: int
    place: int
    version: int = 0


@dataclass(frozen=True)
class UnitDraft:
    """A text that somebody is working on."""

    text: str
    participant: str | None


@dataclass(frozen=True)
class StoredUnit:
    """A unit. `target` is its confirmed text, or what the file says.

    Attributes:
        state: open, translated, confirmed or locked.
        fuzzy: The file says that its target must be reviewed.
        segment: The key of its corrections in the log.
        correction: The number of its correction that stands.
        participant: Who confirmed it.
        checks: What its present text fails: the draft, or else the target.
        change: The number of the document's change that was the last one of this unit.
    """

    place: int
    name: str
    source: str
    target: str
    state: str
    fuzzy: bool
    context: Mapping[str, Any]
    syntax: str
    segment: str
    correction: int | None
    participant: str | None
    draft: UnitDraft | None
    checks: Sequence[Mapping[str, Any]]
    version: int
    change: int


@dataclass(frozen=True)
class UnitFilter:
    """Which units a list shows: those of a kind, with a text, after an index."""

    kind: str = "all"
    search: str = ""
    after: int = -1


@dataclass(frozen=True)
class NewUnit:
    """A unit of a file that is uploaded."""

    name: str
    source: str
    target: str = ""
    state: str = OPEN
    fuzzy: bool = False
    context: Mapping[str, Any] = field(default_factory=dict)
    syntax: str = "plain"
    checks: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class NewDocument:
    """A file that is uploaded. `token` names the document in addresses and in the external ids of its corrections."""

    token: str
    name: str
    format: str
    content: bytes
    units: Sequence[NewUnit]
