"""A project and what belongs to it, as the database stores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mtloop.core.errors import MtloopError
from mtloop.core.types import JSON
from mtloop.service.project_log.event_log import Configured, Event, GlossaryChanged


class ProjectGone(MtloopError):
    """The project does not exist any more."""

    def __init__(self) -> None:
        super().__init__("the project does not exist any more")


class LastOrganiser(MtloopError):
    """Nobody else organises the project."""

    def __init__(self) -> None:
        super().__init__("this participant is the last organiser of the project; let somebody else organise it first")


class ProjectFull(MtloopError):
    """The log has as many events as allowed."""

    def __init__(self) -> None:
        super().__init__("the project has as many corrections as allowed")


class TooManyProjects(MtloopError):
    """A participant has created as many projects as allowed."""

    def __init__(self) -> None:
        super().__init__("this participant has created as many projects as allowed")


class Role(StrEnum):
    """What a member may do. Each role may do what the roles before it may."""

    TRANSLATE = "translate"
    CONFIRM = "confirm"
    ORGANISE = "organise"

    def includes(self, other: Role) -> bool:
        """Whether this role may do what the other one may.

        >>> Role.CONFIRM.includes(Role.TRANSLATE), Role.TRANSLATE.includes(Role.CONFIRM)
        (True, False)
        """
        order = list(Role)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True)
class TranslationProject:
    """A language pair, a model, a method with its settings; `number` is that of the newest event."""

    id: int
    name: str
    source_language: str
    target_language: str
    model: str
    method: str
    settings: Mapping[str, JSON] = field(default_factory=dict)
    review: bool = False
    number: int = 0
    created: float = 0.0

    @property
    def configured(self) -> Configured:
        """The settings as the newest event about them says."""
        return Configured(self.model, self.method, self.settings, self.review)


class TooManyMemories(MtloopError):
    """The project has as many memories as allowed."""

    def __init__(self) -> None:
        super().__init__("the project has as many memories as allowed")


class TooManyFiles(MtloopError):
    """The translated files of the project take as much as allowed."""

    def __init__(self) -> None:
        super().__init__("the translated files of the project take as much as allowed")


@dataclass(frozen=True)
class StoredEvent:
    """An event with its number, its time, and what the engine made of it (None: nothing yet)."""

    number: int
    event: Event
    time: float
    participant: str | None = None
    learned: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class StoredGlossary:
    """A glossary, the number of the event that made it, and when that was."""

    number: int
    event: GlossaryChanged
    time: float


@dataclass(frozen=True)
class SnapshotInfo:
    """The number of lessons in a snapshot, and the platform that made it."""

    lessons: int
    platform: str
