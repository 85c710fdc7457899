"""What filling in files did: the numbers of each file, and the closing lines for the user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from mtloop.core.plural import pluralise
from mtloop.core.types import JSON
from mtloop.translation.answers import REJECTIONS
from mtloop.translation.file_plan import NOT_OF_TEMPLATE, UNKNOWN_TYPE, SkippedFile

MAX_LISTED = 20  # units or files in a list for the user
MAX_NAMES = 8  # names in one line


@dataclass(frozen=True)
class FileReport:
    """The numbers of units of one file. `skipped`: those that were not filled, by reason.

    `failed` and `problems` are lines about units: the first failed check of each, and why a unit was left as it is.
    `is_unmarked`: the format has no mark for review. `assumed`: the target language, if neither the file nor its path
    names one.
    """

    path: str
    filled: int = 0
    kept: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    repaired: int = 0
    failed: Sequence[str] = ()
    problems: Sequence[str] = ()
    notes: Sequence[str] = ()
    is_unmarked: bool = False
    assumed: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {describe(self.filled, self.kept, self.skipped)}"

    def to_json(self) -> dict[str, JSON]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> FileReport:
        return cls(**fields)


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
        is_dry: Nothing was translated or written.
    """

    files: Sequence[FileReport]
    skipped: Sequence[SkippedFile] = ()
    lessons: int = 0
    candidates: int = 0
    copies: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    replaced: Sequence[str] = ()
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
        repaired, failed = sum(file.repaired for file in self.files), len(self.failed)
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
        yield from _listed([f"left as it is: {one}" for file in self.files for one in file.problems], "units")
        yield from _listed([f"failed check: {one}" for one in self.failed], "units")

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


def _listed(lines: Sequence[str], noun: str) -> Iterator[str]:
    yield from islice(lines, MAX_LISTED)
    if len(lines) > MAX_LISTED:
        yield f"... and {len(lines) - MAX_LISTED} more {noun}"
