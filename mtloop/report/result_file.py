"""The file of a result: all that a results page shows. It holds numbers and names, and no sentences of the data."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.json_files import json_errors, parse_json
from mtloop.core.types import JSON
from mtloop.report.chart import Chart
from mtloop.report.plain_data import (
    chart_from_json,
    chart_to_json,
    points_per_curve,
    table_from_json,
    table_to_json,
)
from mtloop.report.provenance import Provenance, plain_settings, renamed, short_names
from mtloop.report.result import Result
from mtloop.report.table import Table

FORMAT = 1
FILE_NAME = "result.json"


@dataclass(frozen=True)
class DataFile:
    """A file that an experiment read. `segments` were used; `rows` says which, for example `skip` and `limit`.

    `sha256` is None for data that is not a file here, such as a task on a service.
    """

    name: str
    sha256: str | None = None
    segments: int | None = None
    rows: Mapping[str, JSON] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | Path, segments: int | None = None, rows: Mapping[str, JSON] | None = None) -> DataFile:
        """Describe a file; of `rows`, only what differs from the whole file in its order is kept."""
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        chosen = {name: value for name, value in (rows or {}).items() if value}
        return cls(Path(path).name, digest, segments, chosen)


def seeds(**given: int) -> dict[str, int]:
    """Return the seeds by name; a shuffle of 0 means that nothing was shuffled, so it is left out."""
    return {name: seed for name, seed in given.items() if seed or name != "shuffle"}


@dataclass(frozen=True)
class Origin:
    """What was run: the experiment, its data, its settings and seeds by name, and where and when it was run.

    The settings of a comparison are those of its systems, by name. `trace_commits` are the commits that wrote the trace
    of a system, if they are not the commit of this run; None is an unknown one.
    """

    experiment: str
    data: Sequence[DataFile] = ()
    settings: Mapping[str, JSON] = field(default_factory=dict)
    seed: Mapping[str, int] = field(default_factory=dict)
    provenance: Provenance = field(default_factory=Provenance.now)
    trace_commits: Mapping[str, Sequence[str | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultFile:
    """The content of a file that `save` wrote. Tables are named; the first is the most important."""

    origin: Origin
    command: str | None
    tables: Mapping[str, Table]
    charts: Mapping[str, Chart]

    def to_json(self) -> dict[str, JSON]:
        """Return all as plain JSON; systems that are named after files have short names in it."""
        origin, names = self.origin, short_names(self.origin.settings)
        return {
            "format": FORMAT,
            "experiment": origin.experiment,
            "provenance": asdict(origin.provenance),
            **_commits_to_json(origin.trace_commits, names),
            "command": self.command,
            "data": [asdict(data) for data in origin.data],
            "settings": plain_settings(renamed(dict(origin.settings), names)),
            "seed": dict(origin.seed),
            "tables": {name: renamed(table_to_json(table), names) for name, table in self.tables.items()},
            "charts": renamed(self._charts_to_json(), names),
        }

    def _charts_to_json(self) -> dict[str, JSON]:
        count = len(self.charts)
        return {name: chart_to_json(chart, points_per_curve(chart, count)) for name, chart in self.charts.items()}

    @classmethod
    def read(cls, path: str | Path) -> ResultFile:
        """Read a file. Raise InputError if it is not a result of this format."""
        with json_errors(path, f"a result of format {FORMAT}"):
            return cls._from_json(_read(Path(path)))

    @classmethod
    def _from_json(cls, content: Mapping[str, Any]) -> ResultFile:
        data = tuple(DataFile(**one) for one in content["data"])
        provenance, commits = Provenance(**content["provenance"]), content.get("trace_commits", {})
        return cls(
            Origin(content["experiment"], data, content["settings"], content["seed"], provenance, commits),
            content["command"],
            {name: table_from_json(table) for name, table in content["tables"].items()},
            {name: chart_from_json(chart) for name, chart in content["charts"].items()},
        )

    def write(self, path: str | Path) -> Path:
        write_text(path, "".join(_lines(self.to_json())))
        return Path(path)


class ExperimentResult(Result):
    """A result that can be saved as a file; a subclass has the field `origin` and says what is saved."""

    origin: Origin | None

    @abstractmethod
    def saved_tables(self) -> Mapping[str, Table]:
        """The tables by name, the most important first."""

    @abstractmethod
    def saved_charts(self) -> Iterable[Chart]:
        """The charts; their names are unique."""

    def save(self, path: str | Path = FILE_NAME, *, command: str | None = None) -> Path:
        """Write tables, charts, and what is needed to repeat the experiment as JSON; return the path.

        `command` is the command line that made the result. The file holds no sentences of the data.
        """
        if self.origin is None:
            raise InputError("this result cannot be saved: it does not know its data; make it with mtloop's functions")
        charts = {chart.name: chart for chart in self.saved_charts()}
        return ResultFile(self.origin, command, self.saved_tables(), charts).write(path)


def _commits_to_json(commits: Mapping[str, Sequence[str | None]], names: Mapping[str, str]) -> dict[str, JSON]:
    return {"trace_commits": renamed({name: list(found) for name, found in commits.items()}, names)} if commits else {}


def _read(path: Path) -> dict[str, Any]:
    try:
        content = parse_json(path.read_bytes())
    except ValueError as error:
        raise InputError(f"is not JSON ({error}); expected a {FILE_NAME} of mtloop", path=path) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"is not a result of format {FORMAT}; make it again with this version", path=path)
    return content


def _lines(content: Mapping[str, JSON]) -> Iterator[str]:
    """Yield the parts of the file: one line per entry, and one per table and chart."""
    start = "{\n"
    for name, value in content.items():
        text = _one_per_line(value) if isinstance(value, dict) and name in ("tables", "charts") else _dump(value)
        yield f"{start}{_dump(name)}: {text}"
        start = ",\n"
    yield "\n}\n"


def _one_per_line(values: Mapping[str, JSON]) -> str:
    return "{\n" + ",\n".join(f" {_dump(name)}: {_dump(value)}" for name, value in values.items()) + "\n}"


def _dump(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
