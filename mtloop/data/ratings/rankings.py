"""The official result of a campaign: one human score a system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mtloop.core.errors import InputError, UnknownName
from mtloop.data.ratings.numbers import number
from mtloop.text.files import read_lines
from mtloop.text.messages import listed

SCORES = {"raw": "RAW.SCR", "z": "Z.SCR"}
_HUMAN = re.compile(r"(human|(human[-_]|ref[-_]?)[a-z0-9])(\.\d+)?", re.IGNORECASE)


def read_ranking(path: str | Path, *, score: str = "z", column: str | None = None) -> dict[str, float]:
    """The systems of a WMT system-score file, best first, with their scores.

    Files with the columns RAW.SCR and Z.SCR are ranked by the latter unless told otherwise, as WMT does; of others
    the column HUMAN is taken; `column` names another. Human references stand among the systems (see `is_human`).
    """
    path = Path(path)
    header, *rows = [line.split() for line in read_lines(path)]
    system, value = _places(header, score, column, path)
    scores: dict[str, float] = {}
    for line, cells in enumerate(rows, start=2):
        if len(cells) != len(header):
            raise InputError(f"expected {len(header)} cells, found {len(cells)}", path=path, line=line)
        if cells[system] in scores:
            raise InputError(f"system {cells[system]!r} has a score already", path=path, line=line)
        scores[cells[system]] = number(cells[value], path, line)
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def is_ranking(header: Sequence[str]) -> bool:
    """Whether a header line belongs to such a file."""
    names = set(header)
    return {"SYSTEM", "HUMAN"} <= names or ({"RAW.SCR", "Z.SCR", "SYS"} <= names and "SID" not in names)


def is_human(system: str) -> bool:
    """Whether a name is that of a human translation, which is a reference and no competitor.

    >>> [is_human(name) for name in ("HUMAN.0", "Human-P.0", "ref-B", "refA", "Humanoid.12", "Refine.3")]
    [True, True, True, True, False, False]
    """
    return _HUMAN.fullmatch(system) is not None


def _places(header: Sequence[str], score: str, column: str | None, path: Path) -> tuple[int, int]:
    if not is_ranking(header):
        message = f"columns {listed(header)}; expected RAW.SCR Z.SCR N SYS, or SYSTEM HUMAN"
        raise InputError(message, path=path, line=1)
    if column is not None:
        if column not in header:
            raise InputError(f"no column {column!r}; columns here: {listed(header)}", path=path, line=1)
        return header.index("SYS" if "SYS" in header else "SYSTEM"), header.index(column)
    if "HUMAN" in header:
        return header.index("SYSTEM"), header.index("HUMAN")
    if score not in SCORES:
        raise UnknownName("score", score, SCORES)
    return header.index("SYS"), header.index(SCORES[score])
