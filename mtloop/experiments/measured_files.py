"""The files that `mtloop stats` measures: pairs, plain text, or a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from mtloop.core.errors import InputError
from mtloop.core.log import logger
from mtloop.core.plural import pluralise
from mtloop.core.trace import read_header
from mtloop.data import READERS, read, read_lines
from mtloop.data.formats.filling import FILES
from mtloop.data.writing_systems import is_language
from mtloop.experiments.systems import LANGUAGES, is_trace, read_steps
from mtloop.text.files import DECOMPRESSORS, format_suffix
from mtloop.text.language_codes import language_of

SOURCE, TARGET, OUTPUT, TEXT, PAIR = "source", "target", "output", "text", "pair"
COMPARED_WITH = {OUTPUT: TARGET}
"""The text of another file with which a text is compared, if it is not the one of the same name."""
TRACE, PLAIN = ".jsonl", ".txt"
Texts: TypeAlias = tuple[dict[str, list[str]], dict[str, str]]
"""The texts of a file, and their languages, by name."""


@dataclass(frozen=True)
class ReadOptions:
    """How files are read: the columns of tables, and the languages that are chosen ("": none)."""

    columns: Mapping[str, str]
    source_lang: str = ""
    target_lang: str = ""

    def languages(self, source: str = "", target: str = "") -> dict[str, str]:
        """Return the language of each text of a file, which declares these ("": unknown)."""
        target = target or self.target_lang
        return {SOURCE: source or self.source_lang, TARGET: target, OUTPUT: target}


@dataclass(frozen=True)
class MeasuredFile:
    """The texts of a file, each with its language ("": unknown). All have the same number of segments."""

    path: Path
    name: str
    texts: Mapping[str, Sequence[str]]
    languages: Mapping[str, str]

    def counterpart(self, part: str) -> str:
        """Return the name of the text with which a text of another file is compared; "" if there is none."""
        return next((name for name in (part, COMPARED_WITH.get(part, "")) if name in self.texts), "")


def check_comparable(file: MeasuredFile, part: str, other: MeasuredFile) -> str:
    """Return the name of the text with which a text is compared. Raise InputError if there is none in its language."""
    name = other.counterpart(part)
    if not name:
        have = ", ".join(other.texts)
        raise InputError(f"has no {part} to compare {file.path} with; it has: {have}", path=other.path)
    ours, theirs = file.languages[part], other.languages[name]
    if ours and theirs and language_of(ours) != language_of(theirs):
        message = f"the {name} is in {theirs}, but the {part} of {file.path} is in {ours}"
        raise InputError(f"{message}; compare texts of one language", path=other.path)
    return name


def read_measured(path: Path, name: str, options: ReadOptions) -> MeasuredFile:
    """Read a file by its suffix. Raise InputError if it has no segment, or cannot be read."""
    suffix = format_suffix(path)
    if suffix in READERS:
        return MeasuredFile(path, name, *_read_pairs(path, options))
    if suffix == TRACE:
        return MeasuredFile(path, name, *_read_trace(path, options))
    if suffix in ("", PLAIN) or (is_language(suffix[1:]) and suffix not in FILES):
        return MeasuredFile(path, name, *_read_text(path, suffix, options))
    known, packed = ", ".join([*READERS, TRACE]), ", ".join(DECOMPRESSORS)
    message = (
        f"unknown file type {suffix!r}; known: {known}, and plain text: {PLAIN}, a language such as .de, no suffix"
    )
    raise InputError(f"{message}; all but traces also followed by {packed}", path=path)


def short_names(paths: Sequence[Path]) -> dict[Path, str]:
    """Return a name for each file: its name without folders if that is unique, else its path."""
    counts = Counter(path.name for path in paths)
    return {path: path.name if counts[path.name] == 1 else str(path) for path in paths}


def distinct(paths: Sequence[Path]) -> list[Path]:
    """Return the files in order. One that is given twice counts once."""
    first: dict[Path, Path] = {}
    for path in paths:
        first.setdefault(path.resolve(), path)
    return list(first.values())


def _read_pairs(path: Path, options: ReadOptions) -> Texts:
    corpus = read(
        path,
        columns=options.columns,
        source_lang=options.source_lang or None,
        target_lang=options.target_lang or None,
    )
    for message in corpus.messages:
        logger.warning(message)
    if not corpus:
        raise InputError("has no pair of source and target", path=path)
    texts = {SOURCE: [segment.source for segment, _ in corpus], TARGET: [truth.references[0] for _, truth in corpus]}
    return texts, options.languages(corpus.source_lang, corpus.target_lang)


def _read_trace(path: Path, options: ReadOptions) -> Texts:
    if path.is_file() and not is_trace(path):
        raise InputError(
            "is not a trace of mtloop; for pairs use a table (.tsv) with the columns source, target", path=path
        )
    steps, config = read_steps(path), read_header(path).config
    texts = {SOURCE: [step.proposal.segment.source for step in steps]}
    if all(step.references for step in steps):
        texts[TARGET] = [step.references[0] for step in steps]
    texts[OUTPUT] = [step.proposal.text for step in steps]
    return texts, options.languages(*(str(config.get(name) or "") for name in LANGUAGES))


def _read_text(path: Path, suffix: str, options: ReadOptions) -> Texts:
    lines = read_lines(path)
    texts = [line for line in lines if line.strip()]
    if not texts:
        raise InputError("has only empty lines", path=path)
    if empty := len(lines) - len(texts):
        logger.warning("%s: %s, %d skipped (%d empty)", path, pluralise(len(texts), "segment"), empty, empty)
    named = "" if suffix in ("", PLAIN) else suffix[1:]
    return {TEXT: texts}, {TEXT: named or options.source_lang or options.target_lang}
