"""Official results of a WMT campaign: one human score per system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mtloop.core.errors import InputError, UnknownName
from mtloop.data.ratings.numbers import parse_number
from mtloop.text.files import read_lines
from mtloop.text.messages import join_names

SCORES = {"raw": "RAW.SCR", "z": "Z.SCR"}
_HUMAN = re.compile(r"(human|(human[-_]|ref[-_]?)[a-z0-9])(\.\d+)?", re.IGNORECASE)


def read_ranking(path: str | Path, *, score: str = "z", column: str | None = None) -> dict[str, float]:
    """Read a WMT system-score file. Return the scores by system, best first.

    Files with the columns RAW.SCR and Z.SCR are ranked by Z.SCR (`score="z"`), as WMT does, or by RAW.SCR
    (`score="raw"`). Other files are ranked by the column HUMAN. `column` selects any other column. The systems include
    human references (see `is_human`).
    """
    path = Path(path)
    header, *rows = [line.split() for line in read_lines(path)]
    system, value = _column_indices(header, score, column, path)
    scores: dict[str, float] = {}
    for line, cells in enumerate(rows, start=2):
        if len(cells) != len(header):
            raise InputError(f"expected {len(header)} cells, found {len(cells)}", path=path, line=line)
        if cells[system] in scores:
            raise InputError(f"system {cells[system]!r} already has a score", path=path, line=line)
        scores[cells[system]] = parse_number(cells[value], path, line)
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def is_ranking(header: Sequence[str]) -> bool:
    """Whether a header line is that of a WMT system-score file."""
    names = set(header)
    return {"SYSTEM", "HUMAN"} <= names or ({"RAW.SCR", "Z.SCR", "SYS"} <= names and "SID" not in names)


def is_human(system: str) -> bool:
    """Whether a system name denotes a human translation, which is a reference and not an MT system.

    >>> [is_human(name) for name in ("HUMAN.0", "Human-P.0", "ref-B", "refA", "Humanoid.12", "Refine.3")]
    [True, True, True, True, False, False]
    """
    return _HUMAN.fullmatch(system) is not None


def _column_indices(header: Sequence[str], score: str, column: str | None, path: Path) -> tuple[int, int]:
    if not is_ranking(header):
        message = f"the columns are {join_names(header)}; expected RAW.SCR Z.SCR N SYS, or SYSTEM HUMAN"
        raise InputError(message, path=path, line=1)
    if column is not None:
        if column not in header:
            raise InputError(f"no column {column!r}; the file has: {join_names(header)}", path=path, line=1)
        return header.index("SYS" if "SYS" in header else "SYSTEM"), header.index(column)
    if "HUMAN" in header:
        return header.index("SYSTEM"), header.index("HUMAN")
    if score not in SCORES:
        raise UnknownName("score", score, SCORES)
    return header.index("SYS"), header.index(SCORES[score])
