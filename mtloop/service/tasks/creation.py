"""Making a task: from a TOML file or from options, with constant memory whatever the size of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.toml import check_fields, read_toml
from mtloop.core.trace import Trace, is_header
from mtloop.data import parse_columns, stream
from mtloop.data.stream_layout import StreamLayout
from mtloop.judges.rewards import noise_of, sentence_reward
from mtloop.service.accounts.access import NAME
from mtloop.service.tasks.models import KINDS, Kind, TaskSentence
from mtloop.service.tasks.store import Store
from mtloop.text import moses
from mtloop.text.files import lines, open_bytes

T = TypeVar("T")
CHUNK = 5_000
_END = object()

PREPROCESS: dict[str, Callable[[str, str], str]] = {
    "normalise": moses.normalise,
    "tokenise": lambda text, language: " ".join(moses.tokenise(text, language)),
    "lowercase": lambda text, language: text.lower(),
}
PASSES: dict[Kind, int] = {"mock": 0, "dev": 5, "training": 1}
RUNS: dict[Kind, int] = {"mock": 100, "dev": 100, "training": 1}


@dataclass(frozen=True)
class TaskFile:
    """Everything a task is made of. Paths in a TOML file are relative to it.

    Data is `source` and `reference`, a sentence a line, or one `data` file in any format that mtloop reads. The
    held-out block is the last `held_out` sentences of it, or a pair of files of its own; it is inserted `blocks` times.
    `samples` cuts a pass short, `required` is how many of them earn a rank (0: all of them). `passes` is how many
    there may be (0: any number), `runs` how many a participant may start. `oracle` is a trace, or a file with the
    translations of a system that was trained on the references, a line a sentence.
    """

    name: str
    kind: Kind = "dev"
    source: Path | None = None
    reference: Path | None = None
    data: Path | None = None
    columns: str = ""
    source_language: str = "en"
    target_language: str = "de"
    preprocess: tuple[str, ...] = ()
    reward: str = "wmt17"
    noise: Mapping[str, float] = field(default_factory=dict)
    held_out: int = 0
    blocks: int = 0
    held_out_source: Path | None = None
    held_out_reference: Path | None = None
    oracle: Path | None = None
    samples: int = 0
    required: int = 0
    passes: int | None = None
    runs: int | None = None
    characters: int = 10_000

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownName("kind of task", self.kind, KINDS)
        if not NAME.fullmatch(self.name):
            raise InputError(f"task name {self.name!r}: expected up to 80 letters, digits, dots, dashes or underscores")
        for step in self.preprocess:
            if step not in PREPROCESS:
                raise UnknownName("preprocessing", step, PREPROCESS)
        for name in ("held_out", "blocks", "samples", "required"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} = {getattr(self, name)}; expected 0 or more")
        if self.characters < 1:
            raise InputError(f"characters = {self.characters}; expected at least 1")
        noise_of(self.noise)
        sentence_reward(self.reward)

    @classmethod
    def read(cls, path: Path) -> TaskFile:
        """A task from its TOML file."""
        return cls.make(read_toml(path), path)

    @classmethod
    def make(cls, table: Mapping[str, Any], path: Path) -> TaskFile:
        check_fields(cls, table, path)
        files = {one.name for one in fields(cls) if str(one.type) == "Path | None"}
        try:
            return cls(**{name: _made(value, path if name in files else None) for name, value in table.items()})
        except TypeError as error:
            raise InputError('a task has a name: name = "..."', path=path) from error

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Source and reference, the held-out block last."""
        yield from self._data()
        if self.held_out_source and self.held_out_reference:
            yield from _zipped(self.held_out_source, self.held_out_reference)
        elif self.held_out_source or self.held_out_reference:
            raise InputError("a held-out block of its own is two files, a source and a reference")

    def _data(self) -> Iterator[tuple[str, str]]:
        if self.data is not None:
            columns = parse_columns(self.columns)
            for segment, truth in stream(
                self.data, columns=columns, source_lang=self.source_language, target_lang=self.target_language
            ):
                yield segment.source, truth.references[0]
        elif self.source is not None and self.reference is not None:
            yield from _zipped(self.source, self.reference)
        else:
            raise InputError("a task needs data: a source and a reference file, or one data file with both")

    def sentences(self) -> Iterator[TaskSentence]:
        """The data as it is stored and served."""
        reward = sentence_reward(self.reward)
        oracle = self._oracle()
        for number, (source, reference) in enumerate(self.pairs(), start=1):
            _check(source, reference, number)
            kept = TaskSentence(
                self._prepared(source, self.source_language), self._prepared(reference, self.target_language), None
            )
            if oracle is not None:
                text = next(oracle, None)
                if text is None:
                    raise InputError(f"has only {number - 1} translations; expected one a sentence", path=self.oracle)
                kept = replace(kept, oracle=reward(text, kept.reference))
            yield kept
        if oracle is not None and next(oracle, None) is not None:
            raise InputError("has more translations than there are sentences; expected one each", path=self.oracle)

    def _prepared(self, text: str, language: str) -> str:
        for step in PREPROCESS:
            if step in self.preprocess:
                text = PREPROCESS[step](text, language)
        return text

    def _oracle(self) -> Iterator[str] | None:
        if self.oracle is None:
            return None
        with open_bytes(self.oracle) as file:
            is_trace = is_header(file.peek(64)[:64])
        if is_trace:
            return (step.proposal.text for step in Trace.read(self.oracle).steps)
        return lines(self.oracle)

    def row(self) -> dict[str, Any]:
        """What is known before the data has been read."""
        return {
            "name": self.name,
            "kind": self.kind,
            "source_language": self.source_language,
            "target_language": self.target_language,
            "passes": PASSES[self.kind] if self.passes is None else self.passes,
            "runs": RUNS[self.kind] if self.runs is None else self.runs,
            "characters": self.characters,
            "reward": self.reward,
            "noise": dict(self.noise),
            "preprocess": list(self.preprocess),
            "oracle": self.oracle is not None,
        } | self._extent(1, 0)

    def _extent(self, count: int, held_out: int) -> dict[str, int]:
        layout = StreamLayout(count, held_out, self.blocks if held_out else 0)
        samples = self.samples or len(layout)
        required = self.required or samples
        if samples > len(layout):
            raise InputError(f"samples = {samples}, but a pass has {len(layout)}")
        if required > samples:
            raise InputError(f"required = {required}, but a pass has {samples} samples")
        return {"lines": count, "held_out": held_out, "blocks": layout.blocks, "samples": samples, "required": required}

    def extent(self, count: int) -> dict[str, int]:
        """What is known after: how long a pass is, and how the held-out block lies in it."""
        own = sum(1 for _ in lines(self.held_out_source)) if self.held_out_source else 0
        if own and self.held_out:
            raise InputError("held_out takes sentences off the data; with files of its own leave it out")
        if self.blocks and not (own or self.held_out):
            raise InputError("blocks = N needs a held-out block: held_out = N, or held_out_source and _reference")
        return self._extent(count, own or self.held_out)


async def create_task(store: Store, task: TaskFile, told: Callable[[int], None] = lambda count: None) -> None:
    """Read the data into the database, a chunk at a time; `told` hears how many sentences there are so far.

    The task is invisible until all of it is there. One that fails or is interrupted leaves nothing behind that a
    second try would trip over.
    """
    number = await store.begin_task(_unmeasured(task))
    count = 0
    try:
        for chunk in _chunks(task.sentences(), CHUNK):
            await store.add_sentences(number, count, chunk)
            count += len(chunk)
            told(count)
        await store.finish_task(number, task.extent(count))
    except BaseException:
        await store.abandon_task(task.name)
        raise


def _unmeasured(task: TaskFile) -> dict[str, Any]:
    return replace(task, samples=0, required=0).row()


def _zipped(source: Path, reference: Path) -> Iterator[tuple[str, str]]:
    """Two files line by line; the first line without a partner is an error."""
    ours, theirs = lines(source), lines(reference)
    for number, one in enumerate(ours, start=1):
        other = next(theirs, None)
        if other is None:
            raise InputError(f"no partner in {reference}, which has {number - 1} lines", path=source, line=number)
        yield one, other
    if next(theirs, None) is not None:
        raise InputError(f"no partner in {source}, which has {number} lines", path=reference, line=number + 1)


def _check(source: str, reference: str, number: int) -> None:
    if not source.strip() or not reference.strip():
        raise InputError(f"sentence {number} is empty on one side; a task needs a source and a reference for each")
    if "\x00" in source + reference:
        raise InputError(f"sentence {number} holds a NUL byte; expected text")


def _chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _made(value: Any, beside: Path | None) -> Any:
    """A TOML value as the field wants it: a file is named as it lies beside the TOML, a list is a tuple."""
    if beside is not None:
        return beside.parent / str(value)
    return tuple(value) if isinstance(value, list) else value
