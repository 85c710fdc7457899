"""The errors of a request to a service.

    MtloopError
    └── ClientError
        ├── Refused           the service refused the request; has the HTTP status and the problem type
        └── Unreachable       no response, or an invalid response
            └── ResponseLost  the request may have been executed, but its response was lost

Only `Refused` is a definite answer. After the other errors it is safe to repeat the request.
"""

from __future__ import annotations

from mtloop.core.errors import MtloopError

URN = "urn:mtloop:"


class ClientError(MtloopError):
    """Base class of all errors of a request to a service."""


class Refused(ClientError):
    """The service refused the request.

    `kind` is the problem type of the response without `urn:mtloop:`, empty if the response has no such type.

    Examples:
        >>> refused = Refused(409, "urn:mtloop:already-translated", "Conflict", "this sentence has its reward")
        >>> refused.status, refused.kind, str(refused)
        (409, 'already-translated', 'the service refused (409 Conflict): this sentence has its reward')
    """

    def __init__(self, status: int, kind: str = "", title: str = "", detail: str = "", body: str = "") -> None:
        self.status, self.title, self.detail, self.body = status, title, detail, body
        self.kind = kind.removeprefix(URN) if kind.startswith(URN) else ""
        reason = f"{status} {title}".strip()
        super().__init__(f"the service refused ({reason})" + (f": {detail}" if detail else ""))


class Unreachable(ClientError):
    """The service did not respond in time, or the response is not that of an mtloop service."""


class ResponseLost(Unreachable):
    """The request was sent, but the response was lost. The service may have executed the request or not."""
