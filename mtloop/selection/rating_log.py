"""Where a campaign keeps what raters said: a protocol, and a folder of traces, one a rater."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol

from mtloop.core.errors import InputError
from mtloop.core.trace import Event, Header, Trace, TraceWriter

_NAME = re.compile(r"[\w.@-]{1,64}")


class RatingLog(Protocol):
    """Remembers events by rater, in order. When `append` returns, the event is kept whatever happens next."""

    def events(self) -> Mapping[str, Trace]: ...

    def append(self, rater: str, event: Event) -> None: ...


class FolderRatingLog:
    """A trace a rater: raters in different terminals never write to the same file.

    Files that did not grow since they were read are not read again. Close it, or use it in a `with`.
    """

    def __init__(self, folder: Path, campaign: str) -> None:
        self.folder, self.campaign = folder, campaign
        self._known: dict[str, tuple[int, Trace]] = {}
        self._writers: dict[str, TraceWriter] = {}
        self._ends: dict[str, int] = {}

    def events(self) -> dict[str, Trace]:
        return {path.stem: self._trace(path) for path in sorted(self.folder.glob("*.jsonl"))}

    def append(self, rater: str, event: Event) -> None:
        path = self.folder / f"{check_rater(rater)}.jsonl"
        if rater in self._writers and path.stat().st_size != self._ends[rater]:
            self._writers.pop(rater).close()  # the same rater is at work elsewhere, too
        if rater not in self._writers:
            header = Header(config={"campaign": self.campaign, "rater": rater})
            self._writers[rater] = TraceWriter(path, header)
        before = self._trace(path)
        self._writers[rater].write(event)
        self._ends[rater] = path.stat().st_size
        self._known[path.stem] = (self._ends[rater], Trace(before.header, (*before.events, event)))

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def __enter__(self) -> FolderRatingLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _is_known(self, path: Path) -> bool:
        return path.stem in self._known and self._known[path.stem][0] == path.stat().st_size

    def _trace(self, path: Path) -> Trace:
        if not self._is_known(path):
            self._known[path.stem] = (path.stat().st_size, Trace.read(path))
        return self._known[path.stem][1]


def check_rater(name: str) -> str:
    """A rater's name is also the name of a file."""
    if not _NAME.fullmatch(name) or name.startswith("."):
        raise InputError(f"rater {name!r}; expected letters, digits, and any of . _ @ - (at most 64)")
    return name
