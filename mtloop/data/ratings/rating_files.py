"""The files that human ratings come in, told apart by their first line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mtloop.core.errors import InputError, UnknownName
from mtloop.data.ratings.builder import HUMAN, RatingsBuilder, in_order
from mtloop.data.ratings.grid import Ratings
from mtloop.data.ratings.long_table import read_long
from mtloop.data.ratings.metric_files import add_rows, is_metric_row, join, read_metric_file
from mtloop.data.ratings.numbers import MISSING, number
from mtloop.data.ratings.rankings import SCORES, is_ranking
from mtloop.text.files import lines
from mtloop.text.messages import listed


@dataclass(frozen=True, slots=True)
class Choices:
    """What a caller may choose."""

    score: str | None = None
    lp: str | None = None
    reference: str | None = None


def read_ratings(
    path: str | Path,
    *,
    metrics: str | Path | None = None,
    score: str | None = None,
    lp: str | None = None,
    reference: str | None = None,
    names: Mapping[str, str] | None = None,
) -> Ratings:
    """Read human ratings, whatever kind of file they come in.

    - WMT direct assessment: `SYS SID RAW.SCR Z.SCR N`. `score` is "raw" (the default) or "z".
    - MQM averages: `system mqm_avg_score seg_id`; "None" is no score, 0 is the best.
    - A long table (TSV or CSV): `system`, `segment` (or `seg_id`), `score` (or `raw`, `z`, or the column that `score`
      names), and if there are any `source`, `hypothesis`, columns that begin with `reference`, `document`, `lp`.
      Every other column of numbers is a metric.
    - WMT metric scores, eight columns without a header; alone, or as `metrics` beside any of the others.

    `lp` and `reference` choose where a file has several; `names` maps a system to its name in the metric file. Cells
    with several rows are averaged. `Ratings.notes` say what happened.
    """
    path = Path(path)
    sheet = _kind(path)(path, Choices(score, lp, reference))
    if not sheet.systems:
        raise InputError("a header and no rows; expected ratings", path=path, line=2)
    sheet.segments = dict.fromkeys(in_order(sheet.segments))
    if metrics is not None:
        join(sheet, read_metric_file(metrics, lp=lp, reference=reference), names or {})
    return sheet.ratings()


def _kind(path: Path) -> Callable[[Path, Choices], RatingsBuilder]:
    first = next(lines(path))
    words = first.split()
    if is_ranking(words):
        raise InputError("one score a system, no ratings of segments; read it with read_ranking", path=path, line=1)
    if {"SYS", "SID"} <= set(words):
        return _direct_assessment
    if "mqm_avg_score" in words:
        return _mqm
    return _metrics_alone if is_metric_row(first) else _long_table


def _direct_assessment(path: Path, choices: Choices) -> RatingsBuilder:
    score = choices.score or "raw"
    if score not in SCORES:
        raise UnknownName("score", score, SCORES)
    sheet = RatingsBuilder()
    for line, row in _spaced(path, "SYS", "SID", SCORES[score]):
        sheet.add(HUMAN, row[0], row[1], number(row[2], path, line))
    return sheet


def _mqm(path: Path, choices: Choices) -> RatingsBuilder:
    if choices.score is not None:
        raise InputError(f"MQM averages have one kind of score; leave out {choices.score!r}", path=path)
    sheet = RatingsBuilder()
    for line, (system, segment, score) in _spaced(path, "system", "seg_id", "mqm_avg_score"):
        sheet.see(system, segment)
        if score not in MISSING:
            sheet.add(HUMAN, system, segment, number(score, path, line))
    return sheet


def _spaced(path: Path, *columns: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of these columns in a table with any mixture of spaces and tabs, also behind the last cell."""
    header: list[str] = []
    for line, text in enumerate(lines(path), start=1):
        cells = text.split()
        if not header:
            header = cells
            if missing := [name for name in columns if name not in header]:
                raise InputError(f"no column {missing[0]!r}; columns here: {listed(header)}", path=path, line=1)
        elif len(cells) != len(header):
            message = f"expected {len(header)} cells ({listed(header)}), found {len(cells)}"
            raise InputError(message, path=path, line=line)
        else:
            yield line, [cells[header.index(name)] for name in columns]


def _metrics_alone(path: Path, choices: Choices) -> RatingsBuilder:
    file = read_metric_file(path, lp=choices.lp, reference=choices.reference)
    sheet = RatingsBuilder()
    sheet.notes += file.notes
    add_rows(sheet, file.rows, file.named_like([]), {row.system: row.system for row in file.rows})
    return sheet


def _long_table(path: Path, choices: Choices) -> RatingsBuilder:
    return read_long(path, choices.score, choices.lp)
