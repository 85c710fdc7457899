"""Who uses the service."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Participant:
    """A participant or, with `organiser`, someone who may change tasks and see all results."""

    id: int
    name: str
    organiser: bool = False
