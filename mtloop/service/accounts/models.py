"""Who uses the service."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Participant:
    """A participant or, with `organiser`, someone who may change tasks and see all results."""

    id: int
    name: str
    organiser: bool = False


@dataclass(frozen=True)
class KeyOwner:
    """The owner of a key that is not revoked, as it was at a cache version. `expires` is None if the key never does."""

    participant: Participant
    version: int
    expires: float | None = None

    def expired(self, now: float) -> bool:
        return self.expires is not None and now >= self.expires


@dataclass
class Caller:
    """Who sends a request: its address, and the participant once the key or the session is found to be valid.

    `link` is the hash of a rater's link, once it is found to be valid. Either way the caller is `known`.
    """

    address: str
    credential: str = ""
    public: bool = False  # asks for a page that everyone may see
    participant_id: int | None = None
    link: str = ""
    body_bytes: int = 0  # that were read before the caller was known, and are in the `BodyBudget`

    @property
    def known(self) -> bool:
        return self.participant_id is not None or bool(self.link)
