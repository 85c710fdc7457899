"""Notes about a run in a file beside its trace: the time of each step, and the commit of the code that wrote it.

They are no part of the trace, so that equal runs write equal traces.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from mtloop.core.errors import TraceError
from mtloop.core.json_files import parse_json
from mtloop.core.trace import Trace
from mtloop.core.types import Step
from mtloop.report.provenance import running_commit


def with_notes(steps: Iterable[Step], trace: Path) -> Iterator[Step]:
    """Yield the steps of a run and note their times; the first step that was not recorded before gets the commit."""
    past, commit = _recorded_steps(trace), running_commit()
    start, steps = time.perf_counter(), iter(steps)
    first = next(steps, None)  # opens the trace; if that fails, no notes are written
    if first is None:
        return
    with notes_file(trace).open("a", encoding="utf-8") as notes:
        for step in chain([first], steps):
            note = {"step": step.index, "seconds": round(time.perf_counter() - start, 4)}
            notes.write(json.dumps(note | ({"commit": commit} if step.index == past else {})) + "\n")
            if step.index == past:
                notes.flush()  # a run that is killed keeps its commit
            start = time.perf_counter()
            yield step


def notes_file(trace: Path) -> Path:
    return trace.with_suffix(".meta.jsonl")


def trace_commits(trace: Path) -> list[str | None]:
    """Return the commits that wrote a trace, in order; None is an unknown one."""
    noted: list[tuple[int, str | None]] = []
    for note in _notes(notes_file(trace)):
        earlier = noted if note["step"] else []  # a run that begins again replaces the earlier one
        noted = [*earlier, (note["step"], note["commit"])]
    commits = [commit for _, commit in noted]
    return list(dict.fromkeys(commits if noted and noted[0][0] == 0 else [None, *commits]))


def other_commits(traces: Mapping[str, Path], commit: str | None) -> dict[str, list[str | None]]:
    """Return the commits of the traces that other code wrote, also in part."""
    found = {name: trace_commits(trace) for name, trace in traces.items()}
    return {name: commits for name, commits in found.items() if commits != [commit]}


def _notes(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the notes with a commit; an incomplete line of a run that was killed is left out."""
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        try:
            note = parse_json(line)
        except ValueError:
            continue
        if isinstance(note, dict) and "commit" in note:
            yield note


def _recorded_steps(trace: Path) -> int:
    try:
        return len(Trace.read(trace).steps)
    except TraceError:  # there is no trace yet, or the run will refuse it
        return 0
