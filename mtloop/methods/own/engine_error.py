"""The error of an engine that a user supplies."""

from __future__ import annotations

from mtloop.core.errors import MtloopError


class EngineError(MtloopError):
    """A user's own engine failed; the message names the engine, what it was asked to do, the segment and the folder.

    >>> print(EngineError("toy.py:Toy", "propose", "7", "ValueError: no words (toy.py, line 12)"))
    engine toy.py:Toy failed in propose at segment '7': ValueError: no words (toy.py, line 12)
    """

    def __init__(self, engine: str, request: str, segment: str, problem: str, folder: str = "") -> None:
        self.engine, self.request, self.segment = engine, request, segment
        place = (f" at segment {segment!r}" if segment else "") + (f" (folder {folder})" if folder else "")
        super().__init__(f"engine {engine} failed in {request}{place}: {problem}")
