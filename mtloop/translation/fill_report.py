"""What filling in files did: the numbers of each file, and the closing lines for the user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from mtloop.core.plural import pluralise
from mtloop.core.types import JSON
from mtloop.text.messages import first_words, join_names
from mtloop.translation.answers import REJECTIONS
from mtloop.translation.file_plan import NOT_OF_TEMPLATE, UNKNOWN_TYPE, SkippedFile

MAX_LISTED = 20  # units or files in a list for the user
MAX_NAMES = 8  # names in one line
LEFT, REPAIRED, FAILED = "left as it is", "repaired", "failed check"
COLUMNS = ("file", "place", "what", "source", "translation")  # of the table of units
_CELL = {code: f"\\x{code:02x}" for code in (*range(32), 127)} | {9: "\\t", 10: "\\n", 13: "\\r"}


@dataclass(frozen=True)
class ReportedUnit:
    """A unit that a person should look at, and why.

    `line` is 0 if the format has no lines; then `id` says which unit it is. `left`: why it was left as it is.
    `repaired`: protected texts that the model lost and that were put back. `failed`: the checks that it fails.
    """

    path: str
    line: int
    id: str
    source: str
    translation: str = ""
    left: str = ""
    repaired: Sequence[str] = ()
    failed: Sequence[str] = ()

    def message(self, text: str) -> str:
        """Return a line for the user about this unit."""
        place = f"{self.path}:{self.line}" if self.line else f"{self.path}: unit {self.id}"
        return f'{place}: "{first_words(self.source)}": {text}'

    @property
    def row(self) -> tuple[str, ...]:
        """The cells of a table, as in `COLUMNS`."""
        return self.path, str(self.line or self.id), "; ".join(self._findings()), self.source, self.translation

    def _findings(self) -> Iterator[str]:
        if self.left:
            yield f"{LEFT}: {self.left}"
        if self.repaired:
            yield f"{REPAIRED}: {put_back(self.repaired)}"
        yield from (f"{FAILED}: {one}" for one in self.failed)


@dataclass(frozen=True)
class FileReport:
    """The numbers of units of one file. `skipped`: those that were not filled, by reason.

    `units` are those that a person should look at. `is_unmarked`: the format has no mark for review. `assumed`: the
    target language, if neither the file nor its path names one.
    """

    path: str
    filled: int = 0
    kept: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    units: Sequence[ReportedUnit] = ()
    notes: Sequence[str] = ()
    is_unmarked: bool = False
    assumed: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {describe(self.filled, self.kept, self.skipped)}"

    @property
    def problems(self) -> list[str]:
        """Lines about the units that were left as they are."""
        return [unit.message(unit.left) for unit in self.units if unit.left]

    @property
    def repaired(self) -> list[str]:
        """Lines about the units with protected texts that were put back."""
        return [unit.message(put_back(unit.repaired)) for unit in self.units if unit.repaired]

    @property
    def failed(self) -> list[str]:
        """Lines about the units that fail checks, each with the first one."""
        return [unit.message(unit.failed[0]) for unit in self.units if unit.failed]

    def to_json(self) -> dict[str, JSON]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> FileReport:
        return cls(**{**fields, "units": [ReportedUnit(**unit) for unit in fields["units"]]})


@dataclass(frozen=True)
class FillReport:
    """The result for all files. `str()` is the closing line.

    Attributes:
        files: The numbers of each file.
        skipped: Files that were not filled in, with the reason.
        lessons: Number of translated units that were chosen to be learned.
        candidates: Number of translated units.
        copies: Number of those that are copies of their sources. They are kept, and not learned.
        rejected: Units that were not learned, by reason.
        replaced: Outputs that existed before and were no inputs.
        table: The file with the table of all units that a person should look at; "" if there is none.
        is_dry: Nothing was translated or written.
    """

    files: Sequence[FileReport]
    skipped: Sequence[SkippedFile] = ()
    lessons: int = 0
    candidates: int = 0
    copies: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    replaced: Sequence[str] = ()
    table: str = ""
    is_dry: bool = False

    @property
    def failed(self) -> list[str]:
        return [one for file in self.files for one in file.failed]

    @property
    def skipped_units(self) -> Counter[str]:
        return sum((Counter(file.skipped) for file in self.files), Counter[str]())

    def __str__(self) -> str:
        numbers = describe(
            sum(file.filled for file in self.files), sum(file.kept for file in self.files), self.skipped_units
        )
        if self.is_dry:
            units = pluralise(self.candidates, "translated unit")
            return f"dry run: {numbers}; would learn from {self.lessons} of {units}{self._copies}"
        repaired, failed = sum(len(file.repaired) for file in self.files), len(self.failed)
        return f"{numbers}, {repaired} repaired, {failed} with failed checks; {self._learned}"

    @property
    def _learned(self) -> str:
        reasons = [f"{count} because {REJECTIONS.get(name, name)}" for name, count in sorted(self.rejected.items())]
        unusable = f"; not usable: {', '.join(reasons)}" if reasons else ""
        learned, units = self.lessons - sum(self.rejected.values()), pluralise(self.candidates, "translated unit")
        others = self.candidates - self.copies - self.lessons
        left_out = f"; {others} left out: repeated, or more than --learn takes" if others and self.lessons else ""
        return f"learned from {learned} of {units}{self._copies}{left_out}{unusable}"

    @property
    def _copies(self) -> str:
        return f"; {self.copies} kept but not learned: copies of the source" if self.copies else ""

    def messages(self) -> Iterator[str]:
        """Yield the lines for the user besides the closing line: skipped files, notes, failed checks."""
        yield from self._skipped_files()
        if self.replaced:
            yield f"{'would replace' if self.is_dry else 'replaced'} {_first(self.replaced)}"
        if unmarked := [file.path for file in self.files if file.is_unmarked]:
            yield f"{_first(unmarked)}: the format has no mark for review, so filled units look like all others"
        if assumed := [file for file in self.files if file.assumed]:
            language = f"{assumed[0].assumed} is assumed; choose with --target-lang"
            yield f"{_first([file.path for file in assumed])}: no target language is named; {language}"
        yield from _listed([f"{file.path}: {note}" for file in self.files for note in file.notes], "notes")
        yield from self._listed_units(LEFT, (one for file in self.files for one in file.problems))
        yield from self._listed_units(REPAIRED, (one for file in self.files for one in file.repaired))
        yield from self._listed_units(FAILED, self.failed)

    def _listed_units(self, what: str, lines: Iterable[str]) -> Iterator[str]:
        where = f"all are in {self.table}" if self.table else "--report FILE writes all of them to a table"
        yield from _listed([f"{what}: {line}" for line in lines], "units", "" if self.is_dry else f"; {where}")

    def units_as_tsv(self) -> str:
        """Return the table of all units that a person should look at. Tabs and line ends are written as \\t and \\n."""
        rows = [COLUMNS, *(unit.row for file in self.files for unit in file.units)]
        return "".join("\t".join(cell.translate(_CELL) for cell in row) + "\n" for row in rows)

    def _skipped_files(self) -> Iterator[str]:
        """Yield a line for each file with a fault, then one for all files of each other reason."""
        foreign = [one for one in self.skipped if one.language]
        others = [one for one in self.skipped if not one.language]
        unrelated = [one for one in others if NOT_OF_TEMPLATE in one.reason]
        unknown = [one for one in others if one.reason == UNKNOWN_TYPE]
        faults = [one for one in others if NOT_OF_TEMPLATE not in one.reason and one.reason != UNKNOWN_TYPE]
        yield from _listed([f"skipped {one}" for one in faults], "files")
        if foreign:
            languages = _few(sorted({one.language for one in foreign}))
            yield f"skipped {pluralise(len(foreign), 'file')} in other languages ({languages})"
        if unrelated:
            names = _few([str(one.path) for one in unrelated])
            count = pluralise(len(unrelated), "file")
            yield f"skipped {count} without a key of the template, and without the name of a translation ({names})"
        if unknown:
            suffixes = _few(sorted({one.path.suffix or one.path.name for one in unknown}))
            yield f"skipped {pluralise(len(unknown), 'file')} of unknown types ({suffixes})"


def put_back(texts: Sequence[str]) -> str:
    """Return what was repaired, in words.

    >>> put_back(["%s", "</b>"])
    'put back: %s, </b>'
    """
    return f"put back: {join_names(texts)}"


def describe(filled: int, kept: int, skipped: Mapping[str, int]) -> str:
    """Return the numbers of units as text.

    >>> describe(12, 30, {"locked": 2, "fuzzy": 1})
    '12 filled, 30 kept, 3 skipped (1 fuzzy, 2 locked)'
    """
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(skipped.items()) if count)
    return f"{filled} filled, {kept} kept, {sum(skipped.values())} skipped" + (f" ({reasons})" if reasons else "")


def _first(paths: Sequence[str]) -> str:
    return f"{paths[0]} and {len(paths) - 1} more" if len(paths) > 1 else paths[0]


def _few(names: Sequence[str]) -> str:
    return ", ".join([*names[:MAX_NAMES], *(["..."] if len(names) > MAX_NAMES else [])])


def _listed(lines: Sequence[str], noun: str, where: str = "") -> Iterator[str]:
    yield from islice(lines, MAX_LISTED)
    if len(lines) > MAX_LISTED:
        yield f"... and {len(lines) - MAX_LISTED} more {noun}{where}"
