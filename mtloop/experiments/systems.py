"""Read the outputs of systems from files: traces directly, text files through the loop with a recorded learner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from mtloop.core.errors import InputError, TraceError
from mtloop.core.log import logger
from mtloop.core.loop import run
from mtloop.core.plural import pluralise
from mtloop.core.trace import Trace, is_trace_start, read_header
from mtloop.core.types import Fields, Segment, Step, Truth
from mtloop.data import Corpus, Pair, parse_columns, read, read_aligned, read_lines
from mtloop.data.languages import common_tag
from mtloop.judges import PostEditor
from mtloop.methods.recorded import Recorded

T = TypeVar("T")
LANGUAGES = ("source_lang", "target_lang")  # fields in the header of a trace
COMPRESSED_SUFFIXES = (".gz", ".xz", ".zst")


@dataclass(frozen=True)
class SystemFiles:
    """The files with the outputs of the systems and the references."""

    traces: Sequence[Path] = ()
    refs: Sequence[Path] = ()
    hyps: Sequence[Path] = ()
    src: Path | None = None
    data: Path | None = None
    columns: str = ""
    baseline: Path | None = None
    source_language: str | None = None
    language: str | None = None

    def __post_init__(self) -> None:
        """Raise InputError for an option that would be ignored."""
        if self.data is not None and (self.refs or self.src):
            raise InputError("--data contains source and reference; leave out --ref and --src")
        if self.columns and (self.data is None or not {".tsv", ".csv"} & set(self.data.suffixes)):
            raise InputError("--columns names the columns of --data, which must be a .tsv or .csv file")
        if self.src and not self.refs:
            raise InputError("--src needs --ref FILE with the references")

    def systems(self) -> dict[str, list[Step]]:
        """The steps of every system by name, the baseline first."""
        systems = dict(self._systems())
        if not systems:
            raise InputError("nothing to score: give traces, or --ref and --hyp, or --data with a column `mt`")
        for message in self._corpus.messages if self.data is not None else ():
            logger.warning(message)
        return systems

    @property
    def baseline_name(self) -> str | None:
        """The name of the baseline system; None without --baseline."""
        return None if self.baseline is None else self._names[self.baseline]

    def align(self, values: Sequence[T], path: Path) -> list[T]:
        """Return one value per segment, from a file with one line per segment or one per row of --data."""
        count = len(self._stream)
        if len(values) == count:
            return list(values)
        rows = count + (sum(self._corpus.skipped.values()) if self.data is not None else 0)
        if len(values) == rows:
            return [values[row - 1] for row in self._corpus.rows]
        found = pluralise(count, "line" if self.data is None else "pair")
        if rows > count:
            found += f" ({rows} rows with the skipped ones)"
        raise InputError(f"{pluralise(len(values), 'line')}, but {self._truth_file} has {found}", path=path)

    def _systems(self) -> Iterator[tuple[str, list[Step]]]:
        for path, name in self._names.items():
            yield name, self._steps(path, name)
        if self.data is not None and not self.traces and not self.hyps:
            name = "mt" if "mt" not in self._names.values() else f"{self.data}:mt"
            yield name, self._judged({segment.id: _mt(segment, self.data) for segment, _ in self._stream}, name)

    @cached_property
    def _names(self) -> dict[Path, str]:
        first = () if self.baseline is None else (self.baseline,)
        return unique_names([*first, *self.traces, *self.hyps])

    def _steps(self, path: Path, name: str) -> list[Step]:
        if path in self.traces or (is_trace(path) and path.stat().st_size):
            return self._with_truth(read_steps(path), path)
        return self._judged(self._hypotheses(path), name)

    def _judged(self, hypotheses: Mapping[str, str], name: str) -> list[Step]:
        return judged_steps(self._stream, hypotheses, name)

    def _hypotheses(self, path: Path) -> Mapping[str, str]:
        """The lines of a file by segment id."""
        stream = self._stream  # before the lines: a missing reference is the first error
        lines = self.align(read_lines(path), path)
        return {segment.id: line for (segment, _), line in zip(stream, lines, strict=True)}

    @property
    def declared_languages(self) -> tuple[str | None, str | None]:
        """The source and the target language: those that --data declares, else those of the runs; None if unknown."""
        declared = (self._corpus.source_lang, self._corpus.target_lang) if self.data else ("", "")
        source, target = (tag or self._recorded(name) or None for tag, name in zip(declared, LANGUAGES, strict=True))
        return source, target

    def _recorded(self, name: str) -> str:
        """The language that the traces have in common, by its name in their headers; "" if they have none."""
        return common_tag(str(_recorded_config(path).get(name) or "") for path in self._names)

    @cached_property
    def _corpus(self) -> Corpus:
        assert self.data is not None
        columns = parse_columns(self.columns)
        return read(self.data, columns=columns, source_lang=self.source_language, target_lang=self.language)

    @property
    def _truth_file(self) -> Path:
        return self.data or self.refs[0]

    @cached_property
    def _stream(self) -> list[Pair]:
        """Sources and references from --data, or from --src and --ref."""
        if self.data is not None:
            return list(self._corpus)
        if not self.refs:
            raise InputError("--hyp needs --ref FILE with the references (or --data FILE)")
        columns = read_aligned(*self.refs, *([self.src] if self.src else []))
        return stream_of_texts(columns[: len(self.refs)], columns[-1] if self.src else None)

    def _with_truth(self, steps: list[Step], path: Path) -> list[Step]:
        """The steps of a trace, with the references of --data or --ref joined by segment id, if given."""
        if not self.refs and self.data is None:
            return steps
        truths = {segment.id: truth for segment, truth in self._stream}
        for step in steps:
            if step.proposal.segment.id not in truths:
                message = f"segment {step.proposal.segment.id!r} has no reference in {self._truth_file}"
                raise InputError(message, path=path)
        return [replace(step, truth=truths[step.proposal.segment.id]) for step in steps]


def stream_of_texts(references: Sequence[Sequence[str]], sources: Sequence[str] | None) -> list[Pair]:
    """The stream of texts in memory, one list per reference. Segments are numbered from 1."""
    sources = [""] * len(references[0]) if sources is None else sources
    rows = zip(sources, zip(*references, strict=True), strict=True)
    return [(Segment(str(number), source), Truth(texts)) for number, (source, texts) in enumerate(rows, start=1)]


def judged_steps(stream: Sequence[Pair], hypotheses: Mapping[str, str], name: str) -> list[Step]:
    """The steps of a system whose outputs are known, by segment id."""
    return list(run(stream, Recorded(hypotheses, name), PostEditor()))


def read_steps(path: Path) -> list[Step]:
    """The steps of a trace; raise InputError if it is not a trace, or has no steps."""
    if path.is_file() and not is_trace(path) and path.stat().st_size:
        raise InputError("is not a trace; give text files with --ref and --hyp", path=path)
    trace = Trace.read(path)
    if trace.truncated:
        logger.warning(f"{path}: the last line is incomplete and was ignored; the run was interrupted")
    steps = trace.steps
    if not steps:
        raise InputError("the trace contains no steps yet", path=path)
    return steps


def _recorded_config(path: Path) -> Fields:
    """The configuration in the header of a trace; empty for other files."""
    try:
        return read_header(path).config if is_trace(path) else {}
    except TraceError:  # it is raised again when the steps are read
        return {}


def is_trace(path: Path) -> bool:
    """Whether a file begins with the header of a trace."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return is_trace_start(file.read(64))


def unique_names(paths: Sequence[Path]) -> dict[Path, str]:
    """A name for each file: its stem if that is unique, else its path. A file that is given twice counts once.

    >>> list(unique_names([Path("a/out.txt"), Path("b/out.txt"), Path("base.txt.gz"), Path("a/../a/out.txt")]).values())
    ['a/out.txt', 'b/out.txt', 'base']
    """
    first: dict[Path, Path] = {}
    for path in paths:
        first.setdefault(path.resolve(), path)
    counts = Counter(map(_short_name, first.values()))
    names = {path: _short_name(path) if counts[_short_name(path)] == 1 else str(path) for path in first.values()}
    return names if len(set(names.values())) == len(names) else {path: str(path) for path in names}


def _short_name(path: Path) -> str:
    return Path(path.stem).stem if path.suffix in COMPRESSED_SUFFIXES else path.stem


def _mt(segment: Segment, path: Path) -> str:
    if "mt" not in segment.context:
        raise InputError("has no column `mt`; give the output of the system with --hyp FILE", path=path)
    return str(segment.context["mt"])
