"""`mtloop train`: a base model from parallel text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from mtloop.core.errors import InputError
from mtloop.data import read_aligned
from mtloop.data.training_pairs import text_pairs
from mtloop.nmt.training.recipe import Recipe
from mtloop.text.files import lines

if TYPE_CHECKING:
    from mtloop.nmt.training.sentencepiece_model import SentencePieceModel

F = TypeVar("F", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)
SHARED = frozenset({"engine", "data", "sources", "targets", "columns", "valid", "tests", "out"})
SMT_ONLY = frozenset({"order", "phrase"})
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
  all of them also packed (.gz .xz .zst). The model folder loads with Hugging Face's MarianMTModel;
  that of --engine smt with the smt-* methods of `run` and `compare`.
"""


def recipe_options(command: F) -> F:
    """An option for each part of a recipe."""
    for part in reversed(fields(Recipe)):
        command = _option(part)(command)
    return command


def _option(part: Field[Any]) -> Callable[[F], F]:
    flag, text = "--" + part.name.replace("_", "-"), part.metadata["help"]
    if part.default is False:
        return click.option(flag, part.name, is_flag=True, help=text)
    shown = part.default is not None
    return click.option(
        flag, part.name, type=TYPES[str(part.type)], default=part.default, show_default=shown, help=text
    )


@click.command(epilog=EPILOG)
@click.option(
    "--engine", type=click.Choice(["nmt", "smt"]), default="nmt", show_default=True, help="Marian, or Thot (phrases)."
)
@click.option("--data", multiple=True, type=PATH, help="Source and target in one file; again for a further file.")
@click.option("--src", "sources", multiple=True, type=PATH, help="Source text, a line a segment; with --tgt.")
@click.option("--tgt", "targets", multiple=True, type=PATH, help="Target text, in the order of --src.")
@click.option("--columns", default="", metavar="source=A,target=B", help="Names of the columns in --data.")
@click.option("--valid", type=PATH, help="Pairs that choose the best checkpoint, by BLEU; smt: that tune the weights.")
@click.option("--test", "tests", multiple=True, metavar="NAME=FILE", help="Pairs that are only reported.")
@click.option("--out", required=True, type=PATH, help="Folder for the model.")
@click.option("--work", type=PATH, help="Folder for tokens and checkpoint.  [default: OUT/work]")
@click.option("--resume", is_flag=True, help="Go on with a training that was stopped.")
@click.option("--spm", nargs=2, type=PATH, default=None, help="Vocabularies of an earlier training: source, target.")
@click.option("--shard-mb", type=click.FloatRange(min=0, min_open=True), help="Write weights in files of this size.")
@click.option("--about", type=PATH, help="Markdown for the model card: the data and their licences.")
@click.option("--device", help="Where to compute.  [default: cuda where there is one, else cpu]")
@click.option("--workers", default=os.cpu_count() or 1, help="Processes that encode text.  [default: all cores]")
@recipe_options
@click.option("--order", default=3, show_default=True, type=click.IntRange(2, 5), help="smt: words an n-gram has.")
@click.option("--phrase", default=6, show_default=True, type=click.IntRange(1, 10), help="smt: words a phrase has.")
@click.pass_context
def command(
    context: click.Context,
    /,
    engine: str,
    order: int,
    phrase: int,
    data: tuple[Path, ...],
    sources: tuple[Path, ...],
    targets: tuple[Path, ...],
    columns: str,
    valid: Path | None,
    tests: tuple[str, ...],
    spm: tuple[Path, Path] | None,
    about: Path | None,
    **settings: Any,
) -> None:
    """Train a model from parallel text; its folder is a base for `run` and `translate`."""
    _refuse_options_of_the_other(engine, context)
    if not data and not sources:
        raise InputError("nothing to train on: give --data, or --src and --tgt")
    common: dict[str, Any] = {
        "pairs": _pairs(data, sources, targets, columns),
        "valid": list(text_pairs(valid, columns)) if valid else (),
        "tests": {name: list(text_pairs(path, columns)) for name, path in map(_named, tests)},
        "say": lambda text: click.echo(text, err=True),
    }
    if engine == "smt":
        scores = _train_smt(common, settings["out"], order, phrase)
    else:
        scores = _train_nmt(common, spm, about, settings)
    for name, score in scores.items():
        click.echo(f"{name}\t{score:.2f}")


def _train_nmt(
    common: dict[str, Any], spm: tuple[Path, Path] | None, about: Path | None, settings: dict[str, Any]
) -> dict[str, float]:
    from mtloop.nmt.training import Job

    recipe = Recipe(**{part.name: settings.pop(part.name) for part in fields(Recipe)})
    vocabularies = _vocabularies(spm) if spm else None
    text = "\n".join(lines(about)) if about else ""
    return Job(recipe=recipe, vocabularies=vocabularies, about=text, **common, **settings).run()


def _train_smt(common: dict[str, Any], out: Path, order: int, phrase: int) -> dict[str, float]:
    from mtloop.smt.training import SmtJob

    return SmtJob(out=out, order=order, phrase=phrase, **common).run()


def _refuse_options_of_the_other(engine: str, context: click.Context) -> None:
    """An option that the engine would not look at is a mistake."""
    for parameter in context.command.params:
        name = str(parameter.name)
        typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        foreign = name in SMT_ONLY if engine == "nmt" else name not in SHARED | SMT_ONLY
        if typed and foreign:
            other = "smt" if engine == "nmt" else "nmt"
            raise InputError(f"{parameter.opts[0]} is an option of --engine {other}, not of {engine}")


def _pairs(
    data: Sequence[Path], sources: Sequence[Path], targets: Sequence[Path], columns: str
) -> Iterator[tuple[str, str]]:
    """Every pair of every file; read only when the training asks for them."""
    if len(sources) != len(targets):
        raise InputError(f"{len(sources)} --src but {len(targets)} --tgt; expected as many of each")
    for path in data:
        yield from text_pairs(path, columns)
    for source, target in zip(sources, targets, strict=True):
        yield from zip(*read_aligned(source, target), strict=True)


def _named(test: str) -> tuple[str, Path]:
    name, equals, path = test.partition("=")
    if not (name and equals and path):
        raise InputError(f"--test {test!r} is not NAME=FILE")
    return name, Path(path)


def _vocabularies(spm: tuple[Path, Path]) -> tuple[SentencePieceModel, SentencePieceModel]:
    from mtloop.nmt.training.sentencepiece_model import SentencePieceModel

    return SentencePieceModel.load(spm[0]), SentencePieceModel.load(spm[1])
