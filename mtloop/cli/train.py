"""`mtloop train`: train a base model from parallel text."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import Field, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from mtloop.cli._options import PATH, is_given, language_options
from mtloop.core.errors import InputError
from mtloop.nmt.training.recipe import Recipe

F = TypeVar("F", bound=Callable[..., Any])
LANGUAGES = frozenset({"source_lang", "target_lang"})
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
def command(context: click.Context, /, engine: str, tests: tuple[str, ...], **options: Any) -> None:
    """Train a model from parallel text. `run` and `translate` can use the model folder as --model."""
    from mtloop.experiments.train import OPTIONS, train

    unused = OPTIONS["smt" if engine == "nmt" else "nmt"]
    _refuse_options_of_other_engine(engine, context, unused)
    used = {name: value for name, value in options.items() if name not in unused}
    result = train(engine=engine, tests=dict(map(_parse_test, tests)), log=partial(click.echo, err=True), **used)
    for name, score in result.scores.items():
        click.echo(f"{name}\t{score:.2f}")


def _refuse_options_of_other_engine(engine: str, context: click.Context, unused: Collection[str]) -> None:
    """Raise InputError if an option was given that the engine ignores."""
    for parameter in context.command.params:
        if parameter.name in unused and is_given(context, parameter.name):
            other = "smt" if engine == "nmt" else "nmt"
            raise InputError(f"{parameter.opts[0]} is an option of --engine {other}, not of {engine}")


def _parse_test(test: str) -> tuple[str, Path]:
    name, equals, path = test.partition("=")
    if not (name and equals and path):
        raise InputError(f"--test expects NAME=FILE, not {test!r}")
    return name, Path(path)
