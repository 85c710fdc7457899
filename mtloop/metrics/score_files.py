"""Files with segment scores of other programs: numbers by line, tables, JSON, and what comet-score prints or saves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from mtloop.core.errors import InputError
from mtloop.core.json_files import parse_json
from mtloop.core.types import JSON
from mtloop.metrics.given_scores import as_score, check_name
from mtloop.text.files import format_suffix, read_bytes, read_lines
from mtloop.text.messages import one_line

ScoreTable: TypeAlias = dict[str, list[float]]
"""Segment scores by system. The key is empty if the file does not name the system."""

UNNAMED = ""
_COMET_LINE = re.compile(r"(?P<system>.+)\tSegment (?P<segment>\d+)\tscore: (?P<score>\S+)")


@dataclass(frozen=True)
class ScoreFile:
    """A file with the scores of a metric; `system` is needed if the file does not name the systems."""

    metric: str
    path: Path
    system: str | None = None

    @classmethod
    def parse(cls, text: str) -> ScoreFile:
        """Read NAME=FILE or NAME:SYSTEM=FILE.

        >>> file = ScoreFile.parse("comet:mine=scores.txt")
        >>> file.metric, file.system, str(file.path)
        ('comet', 'mine', 'scores.txt')
        """
        target, equals, path = text.partition("=")
        name, _, system = target.partition(":")
        if not equals or not path:
            raise InputError(f"--scores expects NAME=FILE or NAME:SYSTEM=FILE, not {text!r}")
        return cls(check_name(name), Path(path), system or None)

    def read(self) -> ScoreTable:
        return read_scores(self.path, self.metric)


def read_scores(path: Path, metric: str = "score") -> ScoreTable:
    """Return the segment scores in a file, by system.

    Text: one number per line, or the lines that `comet-score` prints, or a table with a column per system and their
    names in the first line. JSON (.json): a list, or lists by system; a segment is a number or an object with the
    field `score` or the metric's name. JSON lines (.jsonl): one such segment per line.
    """
    suffix = format_suffix(path)
    if suffix == ".json":
        return _json_table(_parse_json(read_bytes(path, b",[{").decode("utf-8", "replace"), path), metric, path)
    lines = read_lines(path)
    if suffix == ".jsonl":
        values = [_parse_json(line, path, number) for number, line in enumerate(lines, start=1)]
        return {UNNAMED: _segment_scores(values, metric, path)}
    if any(map(_COMET_LINE.match, lines)):
        return _comet_lines(lines, path)
    return _columns(lines, path)


def scores_of_system(table: ScoreTable, system: str, systems: int, file: ScoreFile) -> list[float] | None:
    """Return the scores of a system in a table; None if the table belongs to other systems."""
    if file.system is not None:
        if file.system != system:
            return None
        found = {name: scores for name, scores in table.items() if names_system(name, system)} or table
        if len(found) > 1:
            raise InputError(f"holds scores of {', '.join(table)}, but not of {system}", path=file.path)
        return next(iter(found.values()))
    if UNNAMED in table:
        if systems > 1:
            hint = f"name it: --scores {file.metric}:{system}={file.path}"
            raise InputError(f"holds scores of one system, but {systems} are scored; {hint}", path=file.path)
        return table[UNNAMED]
    return next((scores for name, scores in table.items() if names_system(name, system)), None)


def names_system(name: str, system: str) -> bool:
    """Return whether a name in a score file, often a file name, means a system.

    >>> names_system("out/mine.txt", "mine"), names_system("mine", "mine"), names_system("other.txt", "mine")
    (True, True, False)
    """
    return system in (name, Path(name).stem, Path(Path(name).stem).stem) or Path(name) == Path(system)


def _columns(lines: Sequence[str], path: Path) -> ScoreTable:
    """Return the scores of a table; without a line of names, it has one column."""
    names, rows = [UNNAMED], lines
    if "\t" in lines[0]:
        names, rows = lines[0].split("\t"), lines[1:]
        if any(map(_is_number, names)):
            raise InputError("a number in the first line; expected the names of the systems", path=path, line=1)
    first = len(lines) - len(rows) + 1
    cells = [_row(line, len(names), path, number) for number, line in enumerate(rows, start=first)]
    return {name: [row[column] for row in cells] for column, name in enumerate(names)}


def _row(line: str, width: int, path: Path, number: int) -> list[float]:
    cells = line.split("\t")
    if len(cells) != width:
        raise InputError(f"{len(cells)} columns; expected {width}", path=path, line=number)
    return [_number(cell, path, number) for cell in cells]


def _comet_lines(lines: Iterable[str], path: Path) -> ScoreTable:
    """Return the scores that comet-score printed; its other lines, such as the score of the system, are ignored."""
    table: ScoreTable = {}
    for number, line in enumerate(lines, start=1):
        if (found := _COMET_LINE.match(line)) is None:
            continue
        scores = table.setdefault(found["system"], [])
        if int(found["segment"]) != len(scores):
            raise InputError(f"segment {found['segment']}; expected {len(scores)}", path=path, line=number)
        scores.append(_number(found["score"], path, number))
    return table


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str, path: Path, line: int) -> float:
    try:
        return as_score(float(text))
    except (ValueError, InputError):
        raise InputError(f"{one_line(repr(text))} is not a score; expected a number", path=path, line=line) from None


def _parse_json(text: str, path: Path, line: int | None = None) -> JSON:
    try:
        value: JSON = parse_json(text)
    except ValueError as error:
        raise InputError(f"not JSON: {one_line(error)}", path=path, line=line) from error
    return value


def _json_table(value: JSON, metric: str, path: Path) -> ScoreTable:
    systems = value if isinstance(value, dict) else {UNNAMED: value}
    return {name: _segment_scores(_segments(items, path), metric, path) for name, items in systems.items()}


def _segments(value: JSON, path: Path) -> list[JSON]:
    if not isinstance(value, list):
        raise InputError("expected a list of scores, or lists by system", path=path)
    return value


def _segment_scores(segments: Sequence[JSON], metric: str, path: Path) -> list[float]:
    return list(_iter_scores(segments, metric, path))


def _iter_scores(segments: Sequence[JSON], metric: str, path: Path) -> Iterator[float]:
    for number, segment in enumerate(segments, start=1):
        try:
            yield as_score(segment_score(segment, metric))
        except InputError as error:
            raise InputError(f"segment {number}: {error}", path=path) from error


def segment_score(segment: JSON, metric: str) -> JSON:
    """Return the score of a segment: itself, or its field `score`, or the field with the metric's name.

    >>> segment_score({"src": "Save", "mt": "Speichern", "COMET": 0.91}, "comet")
    0.91
    """
    if not isinstance(segment, Mapping):
        return segment
    fields = {key.lower(): value for key, value in segment.items()}
    for key in (metric, "score", "comet"):
        if key in fields:
            return fields[key]
    raise InputError(f"no field `score` or `{metric}`; found {', '.join(segment) or 'no field'}")
