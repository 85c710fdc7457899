"""Read files of human ratings. The file format is detected from the first line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mtloop.core.errors import InputError, UnknownName
from mtloop.data.ratings.builder import HUMAN, RatingsBuilder, sort_segments
from mtloop.data.ratings.grid import Ratings
from mtloop.data.ratings.long_table import read_long
from mtloop.data.ratings.metric_files import add_rows, is_metric_row, join_metrics, read_metric_file
from mtloop.data.ratings.numbers import MISSING, parse_number
from mtloop.data.ratings.rankings import SCORES, is_ranking
from mtloop.text.files import iter_lines
from mtloop.text.messages import join_names


@dataclass(frozen=True, slots=True)
class RatingFileOptions:
    """The options of `read_ratings` that select part of a file."""

    score: str | None = None
    language_pair: str | None = None
    reference: str | None = None


def read_ratings(
    path: str | Path,
    *,
    metrics: str | Path | None = None,
    score: str | None = None,
    language_pair: str | None = None,
    reference: str | None = None,
    names: Mapping[str, str] | None = None,
) -> Ratings:
    """Read human ratings from one of these file formats.

    - WMT direct assessment: `SYS SID RAW.SCR Z.SCR N`. `score` is "raw" (the default) or "z".
    - MQM averages: `system mqm_avg_score seg_id`; "None" means no score, 0 is the best score.
    - A long table (TSV or CSV): `system`, `segment` (or `seg_id`), `score` (or `raw`, `z`, or the column given by
      `score`), and optionally `source`, `hypothesis`, columns that begin with `reference`, `document`, `lp`.
      Every other numeric column is a metric.
    - WMT metric scores, eight columns without a header; alone, or as `metrics` together with one of the other formats.

    `language_pair` and `reference` select one of several in a file. `names` maps a system to its name in the metric
    file. Several rows of one cell are averaged. `Ratings.notes` describe what was left out, averaged and joined.
    """
    path = Path(path)
    builder = _reader_for(path)(path, RatingFileOptions(score, language_pair, reference))
    if not builder.systems:
        raise InputError("the file has a header but no rows; expected ratings", path=path, line=2)
    builder.segments = dict.fromkeys(sort_segments(builder.segments))
    if metrics is not None:
        join_metrics(builder, read_metric_file(metrics, language_pair=language_pair, reference=reference), names or {})
    return builder.ratings()


def _reader_for(path: Path) -> Callable[[Path, RatingFileOptions], RatingsBuilder]:
    first = next(iter_lines(path))
    words = first.split()
    if is_ranking(words):
        raise InputError("one score per system, not ratings of segments; use read_ranking", path=path, line=1)
    if {"SYS", "SID"} <= set(words):
        return _direct_assessment
    if "mqm_avg_score" in words:
        return _mqm
    return _metrics_only if is_metric_row(first) else _long_table


def _direct_assessment(path: Path, options: RatingFileOptions) -> RatingsBuilder:
    score = options.score or "raw"
    if score not in SCORES:
        raise UnknownName("score", score, SCORES)
    builder = RatingsBuilder()
    for line, row in _read_columns(path, "SYS", "SID", SCORES[score]):
        builder.add(HUMAN, row[0], row[1], parse_number(row[2], path, line))
    return builder


def _mqm(path: Path, options: RatingFileOptions) -> RatingsBuilder:
    if options.score is not None:
        raise InputError(f"MQM files have only one score; remove score={options.score!r}", path=path)
    builder = RatingsBuilder()
    for line, (system, segment, score) in _read_columns(path, "system", "seg_id", "mqm_avg_score"):
        builder.add_cell(system, segment)
        if score not in MISSING:
            builder.add(HUMAN, system, segment, parse_number(score, path, line))
    return builder


def _read_columns(path: Path, *columns: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of these columns. Cells are separated, and may be followed, by spaces and tabs."""
    header: list[str] = []
    for line, text in enumerate(iter_lines(path), start=1):
        cells = text.split()
        if not header:
            header = cells
            if missing := [name for name in columns if name not in header]:
                raise InputError(f"no column {missing[0]!r}; the file has: {join_names(header)}", path=path, line=1)
        elif len(cells) != len(header):
            message = f"expected {len(header)} cells ({join_names(header)}), found {len(cells)}"
            raise InputError(message, path=path, line=line)
        else:
            yield line, [cells[header.index(name)] for name in columns]


def _metrics_only(path: Path, options: RatingFileOptions) -> RatingsBuilder:
    file = read_metric_file(path, language_pair=options.language_pair, reference=options.reference)
    builder = RatingsBuilder()
    builder.notes += file.notes
    add_rows(builder, file.rows, file.segment_names([]), {row.system: row.system for row in file.rows})
    return builder


def _long_table(path: Path, options: RatingFileOptions) -> RatingsBuilder:
    return read_long(path, options.score, options.language_pair)
