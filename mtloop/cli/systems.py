"""Files to systems: traces as they are, text files by way of the loop, as if the system were in it now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.core.loop import run
from mtloop.core.trace import Trace
from mtloop.core.types import Segment, Step, Truth
from mtloop.data import Corpus, parse_columns, read, read_lines, read_parallel
from mtloop.judges import PostEditor
from mtloop.translators import Recorded


@dataclass(frozen=True)
class Files:
    """The files that hold what the systems said and what they should have said."""

    traces: Sequence[Path] = ()
    refs: Sequence[Path] = ()
    hyps: Sequence[Path] = ()
    src: Path | None = None
    data: Path | None = None
    columns: str = ""
    baseline: Path | None = None

    def systems(self) -> dict[str, list[Step]]:
        """The steps of every system by name, the baseline first."""
        systems = dict(self._systems())
        if not systems:
            raise InputError("nothing to score: give traces, or --ref and --hyp, or --data with a column `mt`")
        return systems

    @property
    def baseline_name(self) -> str | None:
        return None if self.baseline is None else self._names[self.baseline]

    def _systems(self) -> Iterator[tuple[str, list[Step]]]:
        for path, name in self._names.items():
            yield name, self._steps(path, name)
        if not self._names and self.data is not None:
            yield "mt", self._judged({segment.id: _mt(segment, self.data) for segment, _ in self._stream}, "mt")

    @cached_property
    def _names(self) -> dict[Path, str]:
        first = () if self.baseline is None else (self.baseline,)
        return unique_names([*first, *self.traces, *self.hyps])

    def _steps(self, path: Path, name: str) -> list[Step]:
        if path in self.traces or path.suffix == ".jsonl":
            return self._with_truth(read_steps(path), path)
        return self._judged(self._hypotheses(path), name)

    def _judged(self, said: Mapping[str, str], name: str) -> list[Step]:
        return list(run(self._stream, Recorded(said, name), PostEditor()))

    def _hypotheses(self, path: Path) -> Mapping[str, str]:
        """A line a segment; also a line a row of the data, some of which the reader left out."""
        lines, ids = read_lines(path), [segment.id for segment, _ in self._stream]
        if len(lines) == len(ids):
            return dict(zip(ids, lines, strict=True))
        if len(lines) == len(ids) + self._skipped and all(map(str.isdigit, ids)):
            return {str(number): line for number, line in enumerate(lines, start=1)}
        first = min(len(lines), len(ids)) + 1
        message = f"{len(lines)} lines, but {self._truth_file} has {len(ids)}; line {first} has no partner"
        raise InputError(message, path=path)

    @property
    def _skipped(self) -> int:
        return sum(self._corpus.skipped.values()) if self.data is not None else 0

    @cached_property
    def _corpus(self) -> Corpus:
        assert self.data is not None
        return read(self.data, columns=parse_columns(self.columns))

    @property
    def _truth_file(self) -> Path:
        return self.data or self.refs[0]

    @cached_property
    def _stream(self) -> list[tuple[Segment, Truth]]:
        """Sources and references, by whichever files name them."""
        if self.data is not None:
            return list(self._corpus)
        if not self.refs:
            raise InputError("--hyp needs --ref FILE with the references (or --data FILE)")
        first, *others = (self._parallel(ref) for ref in self.refs)
        return [_with_references(items) for items in zip(first, *others, strict=True)]

    def _parallel(self, ref: Path) -> list[tuple[Segment, Truth]]:
        return list(read_parallel(self.src, ref))

    def _with_truth(self, steps: list[Step], path: Path) -> list[Step]:
        """A trace's steps, with references joined by segment id where files name them."""
        if not self.refs and self.data is None:
            return steps
        truths = {segment.id: truth for segment, truth in self._stream}
        for step in steps:
            if step.proposal.segment.id not in truths:
                message = f"segment {step.proposal.segment.id!r} has no reference in {self._truth_file}"
                raise InputError(message, path=path)
        return [replace(step, truth=truths[step.proposal.segment.id]) for step in steps]


def read_steps(path: Path) -> list[Step]:
    """The steps of a trace that holds any."""
    steps = Trace.read(path).steps
    if not steps:
        raise InputError("the trace holds no steps yet", path=path)
    return steps


def unique_names(paths: Sequence[Path]) -> dict[Path, str]:
    """Short names where they tell the files apart, else the paths.

    >>> unique_names([Path("a/out.txt"), Path("b/out.txt"), Path("base.txt")])
    {PosixPath('a/out.txt'): 'a/out.txt', PosixPath('b/out.txt'): 'b/out.txt', PosixPath('base.txt'): 'base'}
    """
    distinct = list(dict.fromkeys(paths))
    stems = Counter(path.stem for path in distinct)
    return {path: path.stem if stems[path.stem] == 1 else str(path) for path in distinct}


def _mt(segment: Segment, path: Path) -> str:
    if "mt" not in segment.context:
        raise InputError("has no column `mt`; give what the system said with --hyp FILE", path=path)
    return str(segment.context["mt"])


def _with_references(items: Sequence[tuple[Segment, Truth]]) -> tuple[Segment, Truth]:
    return items[0][0], Truth(tuple(text for _, truth in items for text in truth.references))
