"""`mtloop model`: what one does with a model besides translating."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mtloop.cli._inputs import PATH

EPILOG = """
\b
Examples:
  mtloop model info en-de
  mtloop model info full.state   (what was learned, and how much it costs)
  mtloop model convert opus-mt-en-it opus-mt-en-it-safe     (a hub model that only has a .bin)
  mtloop model choose --data heldout.tsv --out fixed.json    (what method `fixed` learns)
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Convert a model, look at one, or choose what method `fixed` learns."""


@command.command()
@click.argument("folder", type=PATH)
@click.argument("out", type=PATH)
@click.option("--half", is_flag=True, help="Store 16-bit numbers: half the size.")
def convert(folder: Path, out: Path, half: bool) -> None:
    """Write a model that only has a .bin as safetensors, without running anything in it."""
    from mtloop.nmt.engine import convert as converter
    from mtloop.nmt.engine.marian import Marian

    written = converter.convert(folder, out, half=half)
    Marian.load(out)  # what was written must load
    click.echo(written)


@command.command()
@click.argument("name", default="en-de")
def info(name: str) -> None:
    """Say what a model is: shape, vocabularies, parameters, fingerprint; or what a delta holds, and its size."""
    if name.rstrip("/").endswith((".safetensors", ".state")):
        _info_of_delta(name)
        return
    from mtloop.nmt.engine.find_model import find_model
    from mtloop.nmt.engine.marian import Marian
    from mtloop.smt.card import CARD

    if (Path(name) / CARD).is_file():
        _info_of_smt(Path(name))
        return
    model = Marian.load(find_model(name))
    shape, weights = model.shape, model.weights
    parameters = sum(weights[name].numel() for name in weights)
    click.echo(f"layers       {shape.encoder_layers} encoder, {shape.decoder_layers} decoder")
    click.echo(f"width        {shape.width}, {shape.heads} heads")
    click.echo(f"vocabulary   {len(model.source)} source, {len(model.target)} target")
    click.echo(f"parameters   {parameters:,}")
    click.echo(f"fingerprint  {weights.fingerprint}")


def _info_of_smt(folder: Path) -> None:
    from mtloop.smt.card import Card

    card = Card.read(folder)
    for name, value in card.facts.items():
        click.echo(f"{name:12} {value}")
    click.echo(f"weights      {', '.join(f'{name} {value:.3g}' for name, value in card.weights.items())}")
    click.echo(f"bytes        {sum(card.sizes.values()):,}")
    click.echo(f"fingerprint  {card.fingerprint}")


def _info_of_delta(path: str) -> None:
    from mtloop.nmt.delta import Delta
    from mtloop.nmt.delta_files import find_delta

    delta = Delta.read(find_delta(Path(path)))
    heard = "heard" in delta.counters
    learned = f"{delta.counters['heard']:,} rewards" if heard else f"{delta.counters['lessons']:,} lessons"
    click.echo(f"method       {delta.method}")
    click.echo(f"learned      {learned}, {delta.counters['updates']:,} updates")
    click.echo(f"parameters   {delta.parameters:,}")
    click.echo(f"memory       {delta.remembered:,} segments")
    click.echo(f"bytes        {delta.size:,}")
    click.echo(f"base         {delta.base}")


@command.command()
@click.option("--data", type=PATH, required=True, help="Held-out data of the domain; never what is reported on.")
@click.option("--model", default="en-de", show_default=True)
@click.option("--limit", default=200, show_default=True, type=click.IntRange(min=1), help="Segments to adapt on.")
@click.option("--budget", default=2_000_000, show_default=True, type=click.IntRange(min=1), help="Parameters to keep.")
@click.option("--out", type=PATH, required=True, help="The choice, as JSON.")
def choose(data: Path, model: str, limit: int, budget: int, out: Path) -> None:
    """Choose the tensors that method `fixed` learns: those that move most when everything may."""
    from mtloop.core.atomic import write_text
    from mtloop.data import first, read
    from mtloop.judges import PostEditor
    from mtloop.nmt.choose_tensors import choose_tensors
    from mtloop.nmt.engine.find_model import find_model
    from mtloop.nmt.engine.marian import Marian

    base = Marian.load(find_model(model))
    names = choose_tensors(base, list(first(read(data), limit)), PostEditor(), budget)
    choice = {"data": data.name, "segments": limit, "budget": budget, "fingerprint": base.weights.fingerprint}
    write_text(out, json.dumps(choice | {"tensors": names}, indent=1) + "\n")
    click.echo(f"{out}: {len(names)} tensors")
