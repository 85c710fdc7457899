"""Storage for the ratings of a campaign: a protocol, and a folder with one trace per rater."""

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
    """Stores events by rater, in order. When `append` returns, the event is durable."""

    def events(self) -> Mapping[str, Trace]: ...

    def append(self, rater: str, event: Event) -> None: ...


class FolderRatingLog:
    """One trace per rater, so raters in different terminals never write to the same file.

    A file is read again only if its size has changed. Close the log, or use it in a `with` statement.
    """

    def __init__(self, folder: Path, campaign: str) -> None:
        self.folder, self.campaign = folder, campaign
        self._cache: dict[str, tuple[int, Trace]] = {}
        self._writers: dict[str, TraceWriter] = {}
        self._sizes: dict[str, int] = {}

    def events(self) -> dict[str, Trace]:
        return {path.stem: self._trace(path) for path in sorted(self.folder.glob("*.jsonl"))}

    def append(self, rater: str, event: Event) -> None:
        path = self.folder / f"{check_rater(rater)}.jsonl"
        if rater in self._writers and path.stat().st_size != self._sizes[rater]:
            self._writers.pop(rater).close()  # another process wrote ratings of the same rater
        if rater not in self._writers:
            header = Header(config={"campaign": self.campaign, "rater": rater})
            self._writers[rater] = TraceWriter(path, header)
        before = self._trace(path)
        self._writers[rater].write(event)
        self._sizes[rater] = path.stat().st_size
        self._cache[path.stem] = (self._sizes[rater], Trace(before.header, (*before.events, event)))

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def __enter__(self) -> FolderRatingLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _is_cached(self, path: Path) -> bool:
        return path.stem in self._cache and self._cache[path.stem][0] == path.stat().st_size

    def _trace(self, path: Path) -> Trace:
        if not self._is_cached(path):
            self._cache[path.stem] = (path.stat().st_size, Trace.read(path))
        return self._cache[path.stem][1]


def check_rater(name: str) -> str:
    """Return the name of a rater; raise InputError if it cannot be a file name."""
    if not _NAME.fullmatch(name) or name.startswith("."):
        raise InputError(f"rater {name!r}; expected letters, digits, and any of . _ @ - (at most 64)")
    return name
