"""Create a task from a TOML file or from options. Memory use is 16 bytes for each sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.log import logger
from mtloop.core.task_limits import DEFAULT_PASSES, DEFAULT_RUNS
from mtloop.data import declared_languages, parse_columns, stream
from mtloop.data.languages import without_regions
from mtloop.data.stream_layout import StreamLayout
from mtloop.judges.rewards import make_noise, sentence_reward
from mtloop.service.tasks.models import Kind, TaskSentence
from mtloop.service.tasks.oracle_scores import OracleScores
from mtloop.service.tasks.overlap import Fingerprints, NewTask, check_overlap
from mtloop.service.tasks.run_access import NAME
from mtloop.service.tasks.store import TaskStore
from mtloop.text import moses
from mtloop.text.files import iter_lines
from mtloop.text.settings_files import read_settings

T = TypeVar("T")
CHUNK = 5_000

PREPROCESS: dict[str, Callable[[str, str], str]] = {
    "normalise": moses.normalise,
    "tokenise": lambda text, language: " ".join(moses.tokenise(text, language)),
    "lowercase": lambda text, language: text.lower(),
}


@dataclass(frozen=True)
class TaskFile:
    """The settings of a task. Paths in a TOML file are relative to that file.

    The data is two text files, `source` and `reference`, one sentence per line, or one `data` file in any format that
    mtloop reads. The held-out block is the last `held_out` sentences of the data, or the files `held_out_source` and
    `held_out_reference`. It is inserted `blocks` times.

    `samples` shortens a pass (0: all sentences). A run is ranked once it has `required_samples` (0: a whole pass).
    `max_passes` limits the passes of a run and `max_runs` the runs of a participant (0: no limit). `oracle` is a trace
    or text file with the translations of a system that was trained on the references: those of the data first, then
    those of the held-out block, each sentence once. A task that has sentences of another task is refused unless
    `allow_overlap` is set.
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
    required_samples: int = 0
    max_passes: int | None = None
    max_runs: int | None = None
    max_characters: int = 10_000
    allow_overlap: bool = False

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise InputError(f"task name {self.name!r}: expected up to 80 letters, digits, dots, dashes or underscores")
        for step in self.preprocess:
            if step not in PREPROCESS:
                raise UnknownName("preprocessing step", step, PREPROCESS)
        for name in ("held_out", "blocks", "samples", "required_samples"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is {getattr(self, name)}; expected 0 or more")
        if self.max_characters < 1:
            raise InputError(f"max_characters is {self.max_characters}; expected 1 or more")
        make_noise(self.noise)
        sentence_reward(self.reward, self.target_language)

    @classmethod
    def read(cls, path: Path) -> TaskFile:
        """Read a task from its TOML file."""
        task = read_settings(path, cls)
        files = {one.name: getattr(task, one.name) for one in fields(cls) if str(one.type) == "Path | None"}
        return replace(task, **{name: path.parent / file for name, file in files.items() if file is not None})

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Source and reference of every sentence, the held-out block last."""
        yield from self._data()
        if self.held_out_source and self.held_out_reference:
            yield from _line_pairs(self.held_out_source, self.held_out_reference)
        elif self.held_out_source or self.held_out_reference:
            raise InputError("a separate held-out block needs two files: held_out_source and held_out_reference")

    def _data(self) -> Iterator[tuple[str, str]]:
        if self.data is not None:
            columns = parse_columns(self.columns)
            for segment, truth in stream(
                self.data, columns=columns, source_lang=self.source_language, target_lang=self.target_language
            ):
                yield segment.source, truth.references[0]
        elif self.source is not None and self.reference is not None:
            yield from _line_pairs(self.source, self.reference)
        else:
            raise InputError("a task needs data: a source and a reference file, or one data file with both")

    def sentences(self, oracle: OracleScores | None = None) -> Iterator[TaskSentence]:
        """The sentences to store, preprocessed and with the oracle's scores."""
        number, pairs = 0, self.pairs()
        for number, (original, reference) in enumerate(pairs, start=1):
            _check(original, reference, number)
            source = self._preprocessed(original, self.source_language)
            reference = self._preprocessed(reference, self.target_language)
            score = None if oracle is None else oracle.score((original, source), reference)
            if oracle is not None and score is None:
                oracle.check_count(number + sum(1 for _ in pairs))
            yield TaskSentence(source, reference, score)
        if oracle is not None:
            oracle.check_count(number)

    def oracle_scores(self) -> OracleScores | None:
        """The scores of the oracle, to be read along with the sentences. None: the task has no oracle."""
        if self.oracle is None:
            return None
        return OracleScores(self.oracle, sentence_reward(self.reward, self.target_language))

    def _preprocessed(self, text: str, language: str) -> str:
        for step in PREPROCESS:
            if step in self.preprocess:
                text = PREPROCESS[step](text, language)
        return text

    def row(self) -> dict[str, Any]:
        """The row of the task, before its sentences are counted."""
        return {
            "name": self.name,
            "kind": self.kind,
            "source_language": self.source_language,
            "target_language": self.target_language,
            "max_passes": DEFAULT_PASSES[self.kind] if self.max_passes is None else self.max_passes,
            "max_runs": DEFAULT_RUNS[self.kind] if self.max_runs is None else self.max_runs,
            "max_characters": self.max_characters,
            "reward": self.reward,
            "noise": dict(self.noise),
            "preprocess": list(self.preprocess),
            "has_oracle": self.oracle is not None,
        } | self._size(1, 0)

    def _size(self, count: int, held_out: int) -> dict[str, int]:
        layout = StreamLayout(count, held_out, self.blocks if held_out else 0)
        samples = self.samples or len(layout)
        required = self.required_samples or samples
        if samples > len(layout):
            raise InputError(f"samples = {samples}, but a pass has {len(layout)}")
        if required > samples:
            raise InputError(f"required_samples = {required}, but a pass has {samples} samples")
        return {
            "sentence_count": count,
            "held_out": held_out,
            "blocks": layout.blocks,
            "samples": samples,
            "required_samples": required,
        }

    def size(self, count: int) -> dict[str, int]:
        """The columns that depend on the number of sentences: length of a pass, size and number of held-out blocks."""
        own = sum(1 for _ in iter_lines(self.held_out_source)) if self.held_out_source else 0
        if own and self.held_out:
            raise InputError("held_out takes sentences from the data; leave it out when held_out_source is given")
        if self.blocks and not (own or self.held_out):
            raise InputError("blocks = N needs a held-out block: held_out = N, or held_out_source and _reference")
        return self._size(count, own or self.held_out)


def make_task_file(config: Path | None = None, **settings: Any) -> TaskFile:
    """Return a task from its settings and a TOML file. The settings take precedence over the file.

    Without a TOML file, the languages that a data file declares take precedence over the defaults.
    """
    if config is not None:
        return replace(TaskFile.read(config), **settings)
    if "name" not in settings:
        raise InputError("the task has no name: use mtloop task create NAME ..., or --config FILE")
    return TaskFile(**_declared_languages(settings) | settings)


def _declared_languages(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the languages that the data file declares, by field."""
    if "data" not in settings:
        return {}
    wanted = {"source_lang": settings.get("source_language"), "target_lang": settings.get("target_language")}
    source, target = without_regions(*declared_languages(settings["data"], **wanted))
    languages = {"source_language": source, "target_language": target}
    return {field: language for field, language in languages.items() if language}


async def create_task(store: TaskStore, task: TaskFile, report: Callable[[int], object] = lambda count: None) -> None:
    """Read the data into the database in chunks; `report` gets the number of sentences so far.

    The task becomes visible when it is complete. After a failure or an interrupt the same call can be repeated.
    """
    row = _row_without_sizes(task)
    number = await store.begin_task(row)
    count, fingerprints, oracle = 0, Fingerprints(), task.oracle_scores()
    try:
        for chunk in _chunks(task.sentences(oracle), CHUNK):
            await store.add_sentences(number, count, chunk)
            fingerprints.add(chunk)
            count += len(chunk)
            report(count)
        size, compared = task.size(count), set[int]()
        while others := await store.finish_task(
            number, size, allow_overlap=task.allow_overlap, compared=compared
        ):  # also those that somebody else made visible during the comparison
            await check_overlap(store, NewTask.from_row(row | size), fingerprints, others)
            compared |= {other.id for other in others}
    except BaseException:
        await store.abandon_task(task.name)
        raise
    if oracle is not None and (doubt := oracle.doubt()):
        logger.warning(doubt)


def _row_without_sizes(task: TaskFile) -> dict[str, Any]:
    return replace(task, samples=0, required_samples=0).row()


def _line_pairs(source: Path, reference: Path) -> Iterator[tuple[str, str]]:
    """The lines of two files in pairs. A line without a partner raises InputError."""
    references, number = iter_lines(reference), 0
    for number, text in enumerate(iter_lines(source), start=1):
        target = next(references, None)
        if target is None:
            raise InputError(f"no counterpart in {reference}, which has {number - 1} lines", path=source, line=number)
        yield text, target
    if next(references, None) is not None:
        raise InputError(f"no counterpart in {source}, which has {number} lines", path=reference, line=number + 1)


def _check(source: str, reference: str, number: int) -> None:
    if not source.strip() or not reference.strip():
        raise InputError(f"sentence {number} has an empty source or reference; a task needs both for every sentence")
    if "\x00" in source + reference:
        raise InputError(f"sentence {number} holds a NUL byte, which is not text")


def _chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk
