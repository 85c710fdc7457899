"""The one error of the 2017 client."""

from __future__ import annotations


class ApiException(Exception):
    """`status` is the HTTP status: 404 from `get_sentence` means that the stream has ended; 0, that nobody answered."""

    def __init__(self, status: int = 0, reason: str = "", body: str = "") -> None:
        self.status, self.reason, self.body = status, reason, body
        super().__init__(f"({status}) Reason: {reason}")
