"""`mtloop train`: train a base model from parallel text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import Field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click
from click.core import ParameterSource

from mtloop.cli._options import PATH, language_options
from mtloop.core.errors import InputError
from mtloop.core.extras import need_extras
from mtloop.core.log import logger
from mtloop.data import read_aligned
from mtloop.data.languages import pair_name
from mtloop.data.training_pairs import text_pairs, training_languages
from mtloop.nmt.training.recipe import Recipe
from mtloop.text.files import iter_lines

if TYPE_CHECKING:
    from mtloop.nmt.training.sentencepiece_model import SentencePieceModel

F = TypeVar("F", bound=Callable[..., Any])
PairReader: TypeAlias = Callable[[Path], Iterator[tuple[str, str]]]
LANGUAGES = frozenset({"source_lang", "target_lang"})
SHARED = frozenset({"engine", "data", "sources", "targets", "columns", "valid", "tests", "out"}) | LANGUAGES
SMT_ONLY = frozenset({"ngram_order", "max_phrase_length"})
TYPES = {"int": int, "int | None": int, "float": float, "float | None": float, "str": str}

EPILOG = """
\b
Examples:
  mtloop train --data train.en-de.tsv.xz --valid dev.tsv --minutes 60 --out my-model
  mtloop train --src train.en --tgt train.de --source-lang en --target-lang de --steps 20000 --out my-model
  mtloop train --data train.tsv --valid dev.tsv --minutes 90 --out my-model --resume
  mtloop train --data train.tsv --vocab word --vocab-size 30000 --steps 5000 --out words
  mtloop train --engine smt --data train.tsv --valid dev.tsv --out smt-model
\b
Files:
  .tsv with two columns, source and target, or with a header line that names them; .csv .tmx .xlf .po .mo;
  all also compressed (.gz .xz .zst). Hugging Face's MarianMTModel can load the model folder.
  A model of --engine smt works with the smt-* methods of `run` and `compare`.
"""


def recipe_options(command: F) -> F:
    """Add one option for each field of the recipe; the languages are in `language_options`."""
    for field in reversed(fields(Recipe)):
        if field.name not in LANGUAGES:
            command = _option(field)(command)
    return command


def _option(field: Field[Any]) -> Callable[[F], F]:
    flag, text = "--" + field.name.replace("_", "-"), field.metadata["help"]
    if field.default is False:
        return click.option(flag, field.name, is_flag=True, help=text)
    has_default = field.default is not None
    return click.option(
        flag, field.name, type=TYPES[str(field.type)], default=field.default, show_default=has_default, help=text
    )


@click.command(epilog=EPILOG)
@click.option(
    "--engine",
    type=click.Choice(["nmt", "smt"]),
    default="nmt",
    show_default=True,
    help="nmt: Marian; smt: Thot (phrase-based).",
)
@click.option("--data", multiple=True, type=PATH, help="File with sources and targets. Repeat for more files.")
@click.option("--src", "sources", multiple=True, type=PATH, help="Source text, one line per segment; needs --tgt.")
@click.option("--tgt", "targets", multiple=True, type=PATH, help="Target text, in the order of --src.")
@click.option("--columns", default="", metavar="source=A,target=B", help="Column names in --data.")
@language_options
@click.option(
    "--valid", type=PATH, help="Validation data: selects the checkpoint with the best BLEU; smt: tunes the weights."
)
@click.option("--test", "tests", multiple=True, metavar="NAME=FILE", help="Test data, scored after training.")
@click.option("--out", required=True, type=PATH, help="Folder for the model.")
@click.option("--work-dir", type=PATH, help="Folder for the tokenised data and the checkpoint.  [default: OUT/work]")
@click.option("--resume", is_flag=True, help="Resume an interrupted training.")
@click.option(
    "--spm", nargs=2, type=PATH, default=None, help="Source and target SentencePiece models of an earlier training."
)
@click.option("--shard-mb", type=click.FloatRange(min=0, min_open=True), help="Maximum size of a weights file in MB.")
@click.option("--about", type=PATH, help="Markdown file for the model card: the data and their licences.")
@click.option("--device", help="Device for the training.  [default: cuda if available, else cpu]")
@click.option(
    "--workers", default=os.cpu_count() or 1, help="Number of processes that encode text.  [default: all cores]"
)
@recipe_options
@click.option(
    "--ngram-order",
    default=3,
    show_default=True,
    type=click.IntRange(2, 5),
    help="smt: order of the n-gram language model.",
)
@click.option(
    "--max-phrase-length",
    default=6,
    show_default=True,
    type=click.IntRange(1, 10),
    help="smt: maximum number of words in a phrase.",
)
@click.pass_context
def command(
    context: click.Context,
    /,
    engine: str,
    ngram_order: int,
    max_phrase_length: int,
    data: tuple[Path, ...],
    sources: tuple[Path, ...],
    targets: tuple[Path, ...],
    columns: str,
    source_lang: str | None,
    target_lang: str | None,
    valid: Path | None,
    tests: tuple[str, ...],
    spm: tuple[Path, Path] | None,
    about: Path | None,
    **settings: Any,
) -> None:
    """Train a model from parallel text. `run` and `translate` can use the model folder as --model."""
    need_extras("smt" if engine == "smt" else "nmt")
    _refuse_options_of_other_engine(engine, context)
    if not data and not sources:
        raise InputError("no training data: give --data, or --src and --tgt")
    reader = partial(text_pairs, columns=columns, source_lang=source_lang, target_lang=target_lang)
    test_files = dict(map(_parse_test, tests))
    files = [*data, *([valid] if valid else []), *test_files.values()]
    languages = training_languages(files, source_lang or "", target_lang or "")
    common: dict[str, Any] = {
        "pairs": _pairs(data, sources, targets, reader),
        "valid": list(reader(valid)) if valid else (),
        "tests": {name: list(reader(path)) for name, path in test_files.items()},
        "log": lambda text: click.echo(text, err=True),
    }
    if engine == "smt":
        scores = _train_smt(common, settings["out"], languages, ngram_order, max_phrase_length)
    else:
        scores = _train_nmt(common, spm, about, settings | _labels(languages))
    for name, score in scores.items():
        click.echo(f"{name}\t{score:.2f}")


def _train_nmt(
    common: dict[str, Any], spm: tuple[Path, Path] | None, about: Path | None, settings: dict[str, Any]
) -> dict[str, float]:
    from mtloop.nmt.training import TrainingJob

    recipe = Recipe(**{field.name: settings.pop(field.name) for field in fields(Recipe)})
    vocabularies = _vocabularies(spm) if spm else None
    text = "\n".join(iter_lines(about)) if about else ""
    return TrainingJob(recipe=recipe, vocabularies=vocabularies, about=text, **common, **settings).run()


def _labels(languages: tuple[str, str]) -> dict[str, str]:
    """The languages of a neural model: those of the data, else the recipe's defaults, which are then reported."""
    labels = {"source_lang": languages[0] or Recipe.source_lang, "target_lang": languages[1] or Recipe.target_lang}
    if not all(languages):
        message = "the data does not name its languages; the model is labelled %s; see --source-lang, --target-lang"
        logger.warning(message, pair_name(*labels.values()))
    return labels


def _train_smt(
    common: dict[str, Any], out: Path, languages: tuple[str, str], ngram_order: int, max_phrase_length: int
) -> dict[str, float]:
    from mtloop.smt.training import SmtJob

    source, target = languages
    settings: dict[str, Any] = {"order": ngram_order, "max_phrase_length": max_phrase_length}
    return SmtJob(out=out, source_lang=source, target_lang=target, **settings, **common).run()


def _refuse_options_of_other_engine(engine: str, context: click.Context) -> None:
    """Raise InputError if an option was given that the engine ignores."""
    for parameter in context.command.params:
        name = str(parameter.name)
        typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        foreign = name in SMT_ONLY if engine == "nmt" else name not in SHARED | SMT_ONLY
        if typed and foreign:
            other = "smt" if engine == "nmt" else "nmt"
            raise InputError(f"{parameter.opts[0]} is an option of --engine {other}, not of {engine}")


def _pairs(
    data: Sequence[Path], sources: Sequence[Path], targets: Sequence[Path], reader: PairReader
) -> Iterator[tuple[str, str]]:
    """Yield the sentence pairs of all files. A file is read when its first pair is needed."""
    if len(sources) != len(targets):
        raise InputError(f"{len(sources)} --src but {len(targets)} --tgt; expected the same number of each")
    for path in data:
        yield from reader(path)
    for source, target in zip(sources, targets, strict=True):
        yield from zip(*read_aligned(source, target), strict=True)


def _parse_test(test: str) -> tuple[str, Path]:
    name, equals, path = test.partition("=")
    if not (name and equals and path):
        raise InputError(f"--test expects NAME=FILE, not {test!r}")
    return name, Path(path)


def _vocabularies(spm: tuple[Path, Path]) -> tuple[SentencePieceModel, SentencePieceModel]:
    from mtloop.nmt.training.sentencepiece_model import SentencePieceModel

    return SentencePieceModel.load(spm[0]), SentencePieceModel.load(spm[1])
