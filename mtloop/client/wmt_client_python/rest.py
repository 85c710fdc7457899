"""The only exception of the 2017 client."""

from __future__ import annotations

from mtloop.core.errors import PicklableError


class ApiException(PicklableError):
    """`status` is the HTTP status. 404 from `get_sentence` means the end of the stream, 0 means no response."""

    def __init__(self, status: int = 0, reason: str = "", body: str = "") -> None:
        self.status, self.reason, self.body = status, reason, body
        super().__init__(f"({status}) Reason: {reason}")
