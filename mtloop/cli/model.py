"""`mtloop model`: convert or inspect a model, or choose the tensors of method `fixed`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mtloop.cli._options import PATH, POSITIVE, language_options, model_option

EPILOG = """
\b
Examples:
  mtloop model info en-de
  mtloop model info full.state   (method, number of updates and size of a delta)
  mtloop model convert opus-mt-en-it opus-mt-en-it-safe     (a Hugging Face model that has only a .bin file)
  mtloop model choose --data heldout.tsv --out fixed.json    (the tensors that method `fixed` updates)
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Convert or inspect a model, or choose the tensors that method `fixed` updates."""


@command.command()
@click.argument("folder", type=PATH)
@click.argument("out", type=PATH)
@click.option("--half", is_flag=True, help="Store 16-bit floats, which halves the size.")
def convert(folder: Path, out: Path, half: bool) -> None:
    """Convert a model with a .bin file to safetensors. No code in the file is executed."""
    from mtloop.experiments.model import convert_model

    click.echo(convert_model(folder, out, half=half))


@command.command()
@click.argument("name", default="en-de")
def info(name: str) -> None:
    """Print the shape, vocabularies, parameters and fingerprint of a model, or the contents and size of a delta."""
    from mtloop.experiments.model import model_info

    click.echo(model_info(name))


@command.command()
@click.option("--data", type=PATH, required=True, help="Held-out data of the domain. Do not use test data.")
@language_options
@model_option
@click.option("--limit", default=200, show_default=True, type=POSITIVE, help="Number of segments to adapt on.")
@click.option(
    "--budget", default=2_000_000, show_default=True, type=POSITIVE, help="Maximum number of parameters to choose."
)
@click.option("--out", type=PATH, required=True, help="File for the chosen tensor names (JSON).")
def choose(data: Path, out: Path, **options: Any) -> None:
    """Choose the tensors that method `fixed` updates: those that change most when all weights are updated."""
    from mtloop.experiments.model import choose_fixed_tensors

    choice = choose_fixed_tensors(data, out, **options)
    click.echo(f"{out}: {len(choice.tensors)} tensors")
