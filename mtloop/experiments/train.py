"""Train a base model from parallel text: what `mtloop train` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.extras import need_extras
from mtloop.core.log import logger
from mtloop.core.types import JSON
from mtloop.data import read_aligned
from mtloop.data.languages import pair_name
from mtloop.data.training_pairs import text_pairs, training_languages
from mtloop.nmt.training.recipe import Recipe
from mtloop.report.result import Result
from mtloop.report.table import Table
from mtloop.text.files import iter_lines

if TYPE_CHECKING:
    from mtloop.nmt.training.sentencepiece_model import SentencePieceModel

File: TypeAlias = str | Path
TextPairs: TypeAlias = Iterator[tuple[str, str]]
LANGUAGES = frozenset({"source_lang", "target_lang"})
NMT_OPTIONS = frozenset({"work_dir", "resume", "workers", "shard_mb", "device", "spm", "about"})
OPTIONS: Mapping[str, frozenset[str]] = {
    "nmt": NMT_OPTIONS | {one.name for one in fields(Recipe)} - LANGUAGES,
    "smt": frozenset({"ngram_order", "max_phrase_length"}),
}  # the options of each engine


def train(
    data: File | Sequence[File] = (),
    *,
    out: File,
    engine: str = "nmt",
    sources: File | Sequence[File] = (),
    targets: File | Sequence[File] = (),
    columns: str = "",
    source_lang: str | None = None,
    target_lang: str | None = None,
    valid: File | None = None,
    tests: Mapping[str, File] | None = None,
    log: Callable[[str], None] = print,
    **options: Any,
) -> TrainingResult:
    """Train a model from parallel text, and write it to the folder `out`.

    `data` are files with sources and targets; `sources` and `targets` are text files, in the same order. `valid`
    selects the checkpoint with the best BLEU (smt: tunes the weights); `tests` are scored after training. `log` gets
    the progress. The options of nmt are the fields of `Recipe`, `spm` (a pair of SentencePiece models), `about` (a
    Markdown file for the model card), work_dir, resume, workers, shard_mb and device; those of smt are ngram_order and
    max_phrase_length.
    """
    check_options(engine, options)
    need_extras(engine)
    files = TrainingFiles(
        _paths(data), _paths(sources), _paths(targets), columns, source_lang, target_lang,
        valid=Path(valid) if valid else None, tests={name: Path(path) for name, path in (tests or {}).items()},
    )  # fmt: skip
    languages = files.languages()
    texts: dict[str, Any] = {
        "pairs": files.pairs(),
        "valid": files.validation_pairs(),
        "tests": files.test_sets(),
    }
    trained = train_smt if engine == "smt" else train_nmt
    return TrainingResult(Path(out), trained(Path(out), languages, **texts, log=log, **options))


def check_options(engine: str, options: Mapping[str, Any]) -> None:
    """Raise InputError for an unknown engine, or an option that it does not have."""
    if engine not in OPTIONS:
        raise UnknownName("engine", engine, OPTIONS)
    for name in options:
        if name not in OPTIONS[engine]:
            raise UnknownName("option", name, OPTIONS[engine], owner=f"engine {engine}")


@dataclass(frozen=True)
class TrainingFiles:
    """The files of a training: its data, validation and test data."""

    data: Sequence[Path] = ()
    sources: Sequence[Path] = ()
    targets: Sequence[Path] = ()
    columns: str = ""
    source_lang: str | None = None
    target_lang: str | None = None
    valid: Path | None = None
    tests: Mapping[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.data and not self.sources:
            raise InputError("no training data: give --data, or --src and --tgt")

    def languages(self) -> tuple[str, str]:
        """Return the languages of the data, "" if unknown. Raise InputError if the files have different languages."""
        files = [*self.data, *([self.valid] if self.valid else []), *self.tests.values()]
        return training_languages(files, self.source_lang or "", self.target_lang or "")

    def pairs(self) -> TextPairs:
        """Yield the sentence pairs of all training files. A file is read when its first pair is needed."""
        if len(self.sources) != len(self.targets):
            counts = f"{len(self.sources)} --src but {len(self.targets)} --tgt"
            raise InputError(f"{counts}; expected the same number of each")
        for path in self.data:
            yield from self._read(path)
        for source, target in zip(self.sources, self.targets, strict=True):
            yield from zip(*read_aligned(source, target), strict=True)

    def validation_pairs(self) -> list[tuple[str, str]]:
        return list(self._read(self.valid)) if self.valid else []

    def test_sets(self) -> dict[str, list[tuple[str, str]]]:
        return {name: list(self._read(path)) for name, path in self.tests.items()}

    def _read(self, path: Path) -> TextPairs:
        return text_pairs(path, self.columns, self.source_lang, self.target_lang)


def train_nmt(
    out: Path,
    languages: tuple[str, str],
    *,
    spm: Sequence[File] | None = None,
    about: File | None = None,
    **options: Any,
) -> dict[str, float]:
    """Train a Marian model and return its BLEU by set. `options` are the fields of `Recipe` and `TrainingJob`."""
    from mtloop.nmt.training import TrainingJob

    labels = label_languages(languages)
    given = {one.name: options.pop(one.name) for one in fields(Recipe) if one.name in options}
    recipe = Recipe.of(given | labels)
    vocabularies = _load_vocabularies(*spm) if spm else None
    text = "\n".join(iter_lines(Path(about))) if about else ""
    return TrainingJob(out=out, recipe=recipe, vocabularies=vocabularies, about=text, **options).run()


def label_languages(languages: tuple[str, str]) -> dict[str, str]:
    """Return the languages of a neural model: those of the data, else the recipe's defaults, with a warning."""
    labels = {"source_lang": languages[0] or Recipe.source_lang, "target_lang": languages[1] or Recipe.target_lang}
    if not all(languages):
        message = "the data does not name its languages; the model is labelled %s; see --source-lang, --target-lang"
        logger.warning(message, pair_name(*labels.values()))
    return labels


def train_smt(out: Path, languages: tuple[str, str], *, ngram_order: int = 3, **options: Any) -> dict[str, float]:
    """Train a statistical model and return its BLEU by set. `options` are the fields of `SmtJob`."""
    from mtloop.smt.training import SmtJob

    source, target = languages
    return SmtJob(out=out, source_lang=source, target_lang=target, order=ngram_order, **options).run()


@dataclass(frozen=True, repr=False)
class TrainingResult(Result):
    """The folder of a trained model, and its BLEU by validation and test set."""

    folder: Path
    scores: Mapping[str, float]

    @property
    def table(self) -> Table:
        cells = [[name, f"{score:.2f}"] for name, score in self.scores.items()]
        records: list[dict[str, JSON]] = [{"set": name, "bleu": score} for name, score in self.scores.items()]
        return Table(("set", "BLEU"), cells, records)


def _paths(files: File | Sequence[File]) -> list[Path]:
    return [Path(files)] if isinstance(files, str | Path) else [Path(file) for file in files]


def _load_vocabularies(source: File, target: File) -> tuple[SentencePieceModel, SentencePieceModel]:
    from mtloop.nmt.training.sentencepiece_model import SentencePieceModel

    return SentencePieceModel.load(Path(source)), SentencePieceModel.load(Path(target))
