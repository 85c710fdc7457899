"""The scores of learned metrics, such as COMET: from files, from lists in memory, or from a scorer process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.types import Step
from mtloop.metrics.given_scores import GivenScores, with_scores
from mtloop.metrics.registry import is_metric_name
from mtloop.metrics.score_files import UNNAMED, ScoreFile, ScoreTable, scores_of_system
from mtloop.metrics.scorer_process import Scorer

Systems: TypeAlias = Mapping[str, Sequence[Step]]
Align: TypeAlias = Callable[[Sequence[float], Path], Sequence[float]]


@dataclass(frozen=True)
class LearnedScores:
    """Where the scores of learned metrics come from. `tables` holds scores by metric and system.

    `lower_is_better` names the metrics whose best score is the lowest.
    """

    files: Sequence[ScoreFile] = ()
    tables: Mapping[str, ScoreTable] = field(default_factory=dict)
    scorers: Sequence[Scorer] = ()
    lower_is_better: Sequence[str] = ()

    def metrics(self) -> dict[str, GivenScores]:
        """Return the metrics by name; raise InputError for a name that is used twice or belongs to another metric."""
        origins = dict(self._origins())
        lower = [name.lower() for name in self.lower_is_better]
        for name in lower:
            if name not in origins:
                raise UnknownName("learned metric", name, origins, hint="--lower-is-better names one of them")
        return {name: GivenScores(name, origin, name not in lower) for name, origin in origins.items()}

    def _origins(self) -> Iterator[tuple[str, str]]:
        """Yield each metric with a description of where its scores come from."""
        found = [*dict.fromkeys(file.metric for file in self.files), *(scorer.metric for scorer in self.scorers)]
        found += self.tables
        for name in found:
            if is_metric_name(name):
                raise InputError(f"{name!r} is a metric of mtloop; give the learned metric another name")
            if found.count(name) > 1:
                raise InputError(f"the scores of {name!r} come from two places; give one of them another name")
        for name in dict.fromkeys(file.metric for file in self.files):
            yield name, f"scores:{','.join(str(file.path) for file in self.files if file.metric == name)}"
        yield from ((scorer.metric, f"scorer:{scorer.command}") for scorer in self.scorers)
        yield from ((name, "scores:given") for name in self.tables)

    def add_to(self, systems: Systems, align: Align | None = None) -> Systems:
        """Return the systems with a score of every metric at every step; `align` matches a file with the segments."""
        for name in dict.fromkeys(file.metric for file in self.files):
            systems = _add_files(systems, [file for file in self.files if file.metric == name], align)
        for name, table in self.tables.items():
            systems = {system: _with_table_scores(system, systems, table, name) for system in systems}
        for scorer in self.scorers:
            systems = _add_scorer(systems, scorer)
        return systems


def _add_files(systems: Systems, files: Sequence[ScoreFile], align: Align | None) -> Systems:
    name, read = files[0].metric, [(file, file.read()) for file in files]
    for file in files:
        if file.system is not None and file.system not in systems:
            raise UnknownName("system", file.system, systems, path=file.path)
    return {system: _with_file_scores(system, systems, read, name, align) for system in systems}


def _with_file_scores(
    system: str, systems: Systems, read: Sequence[tuple[ScoreFile, ScoreTable]], name: str, align: Align | None
) -> list[Step]:
    for file, table in read:
        scores = scores_of_system(table, system, len(systems), file)
        if scores is not None:
            with _naming(system, systems):
                return _with_aligned(systems[system], name, scores, file.path, align)
    path = read[0][0].path
    raise InputError(f"no {name} scores of system {system}; give them with --scores {name}:{system}=FILE", path=path)


def _with_aligned(
    steps: Sequence[Step], name: str, scores: Sequence[float], path: Path, align: Align | None
) -> list[Step]:
    if align is not None and len(scores) != len(steps):
        scores = align(scores, path)
    try:
        return with_scores(steps, name, scores)
    except InputError as error:
        raise InputError(str(error), path=path) from error


def _add_scorer(systems: Systems, scorer: Scorer) -> Systems:
    """Return the systems with the scorer's scores; it is started once, for the steps of all systems."""
    names = [system for system, steps in systems.items() for _ in steps] if len(systems) > 1 else []
    scores = iter(scorer(list(chain.from_iterable(systems.values())), names))
    return {
        system: with_scores(steps, scorer.metric, [next(scores) for _ in steps]) for system, steps in systems.items()
    }


def _with_table_scores(system: str, systems: Systems, table: ScoreTable, name: str) -> list[Step]:
    scores = _of(table, system, systems, name)
    with _naming(system, systems):
        return with_scores(systems[system], name, scores)


@contextmanager
def _naming(system: str, systems: Systems) -> Iterator[None]:
    """Add the name of the system to an error, if there are several systems."""
    try:
        yield
    except InputError as error:
        if len(systems) < 2:
            raise
        raise InputError(f"{error} (system {system!r})") from error


def _of(table: ScoreTable, system: str, systems: Systems, name: str) -> Sequence[float]:
    if UNNAMED in table and len(systems) == 1:
        return table[UNNAMED]
    if system not in table:
        found = ", ".join(filter(None, table)) or "one list without a name"
        raise InputError(f"no {name} scores of system {system}; found {found}; expected the scores of every system")
    return table[system]
