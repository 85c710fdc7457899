"""Who acts on the service, and the entries of the audit log."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True)
class Actor:
    """Who acts, and through what: `api`, `page`, or `command` for the command line and Python."""

    name: str
    via: str

    @classmethod
    def of_process(cls) -> Actor:
        """The user of the operating system that runs this process."""
        try:
            name = getpass.getuser()
        except (KeyError, OSError):  # a container may run with a number that has no name
            name = "unknown user"
        return cls(name[:80], "command")


@dataclass(frozen=True)
class AuditEntry:
    """One act. `time` is seconds since 1970; `subject` is the name of a task, participant or run."""

    id: int
    time: float
    actor: str
    via: str
    action: str
    subject: str
    detail: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON, with the time in UTC."""
        return {
            "id": self.id,
            "time": utc(self.time),
            "actor": self.actor,
            "via": self.via,
            "action": self.action,
            "subject": self.subject,
            "detail": dict(self.detail),
        }


def utc(when: float) -> str:
    """A time as text.

    >>> utc(0)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
