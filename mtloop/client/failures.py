"""What can go wrong between a participant and a service.

    MtloopError
    └── ClientError
        ├── Refused      the service said no; holds the HTTP status and the name of the problem
        └── Unreachable  no answer, or none that makes sense
            └── Lost     the request may have been carried out, its answer did not come

Only a `Refused` is the service's word: after the others nothing is known but that asking again is safe.
"""

from __future__ import annotations

from mtloop.core.errors import MtloopError

URN = "urn:mtloop:"


class ClientError(MtloopError):
    """Catching it catches everything that a request to a service can end in."""


class Refused(ClientError):
    """The service answered, and the answer is no.

    `kind` is the problem's name as the service gives it, without `urn:mtloop:`; empty where it gives none.

    >>> refused = Refused(409, "urn:mtloop:already-translated", "Conflict", "this sentence has its reward")
    >>> refused.status, refused.kind, str(refused)
    (409, 'already-translated', 'the service refused (409 Conflict): this sentence has its reward')
    """

    def __init__(self, status: int, kind: str = "", title: str = "", detail: str = "", body: str = "") -> None:
        self.status, self.title, self.detail, self.body = status, title, detail, body
        self.kind = kind.removeprefix(URN) if kind.startswith(URN) else ""
        what = f"{status} {title}".strip()
        super().__init__(f"the service refused ({what})" + (f": {detail}" if detail else ""))


class Unreachable(ClientError):
    """There was no answer in the time allowed, or one that no such service gives."""


class Lost(Unreachable):
    """The request left, its answer did not come: it may have been carried out or not."""
