"""Where a campaign keeps what raters said: a protocol, and a folder of traces, one a rater."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from mtloop.core.errors import InputError
from mtloop.core.trace import Event, Header, Trace, TraceWriter

_NAME = re.compile(r"[\w.@-]{1,64}")


class Ledger(Protocol):
    """Remembers events by rater, in order. When `append` returns, the event is kept whatever happens next."""

    def events(self) -> Mapping[str, Trace]: ...

    def append(self, rater: str, event: Event) -> None: ...


class FolderLedger:
    """A trace a rater: raters in different terminals never write to the same file."""

    def __init__(self, folder: Path, campaign: str) -> None:
        self.folder, self.campaign = folder, campaign

    def events(self) -> dict[str, Trace]:
        return {path.stem: Trace.read(path) for path in sorted(self.folder.glob("*.jsonl"))}

    def append(self, rater: str, event: Event) -> None:
        header = Header(config={"campaign": self.campaign, "rater": check_rater(rater)})
        with TraceWriter(self.folder / f"{rater}.jsonl", header) as trace:
            trace.write(event)


def check_rater(name: str) -> str:
    """A rater's name is also the name of a file."""
    if not _NAME.fullmatch(name) or name.startswith("."):
        raise InputError(f"rater {name!r}; expected letters, digits, and any of . _ @ - (at most 64)")
    return name
