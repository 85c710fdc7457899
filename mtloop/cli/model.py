"""`mtloop model`: convert or inspect a model, or choose the tensors of method `fixed`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mtloop.cli._options import PATH, POSITIVE, language_options
from mtloop.core.extras import need_extras

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
    need_extras("nmt")
    from mtloop.nmt.engine import convert as converter
    from mtloop.nmt.engine.marian import Marian

    written = converter.convert(folder, out, half=half)
    Marian.load(out)  # check that the new model loads
    click.echo(written)


@command.command()
@click.argument("name", default="en-de")
def info(name: str) -> None:
    """Print the shape, vocabularies, parameters and fingerprint of a model, or the contents and size of a delta."""
    if name.rstrip("/").endswith((".safetensors", ".state")):
        _info_of_delta(name)
        return
    from mtloop.smt.card import CARD_FILE

    if (Path(name) / CARD_FILE).is_file():
        _info_of_smt(Path(name))
        return
    need_extras("nmt")
    from mtloop.data.languages import pair_name
    from mtloop.nmt.engine.find_model import find_model
    from mtloop.nmt.engine.marian import Marian
    from mtloop.nmt.engine.model_languages import model_languages

    folder = find_model(name)
    model = Marian.load(folder)
    shape, weights = model.shape, model.weights
    parameters = sum(weights[name].numel() for name in weights)
    click.echo(f"languages    {pair_name(*model_languages(folder))}")
    click.echo(f"layers       {shape.encoder_layers} encoder, {shape.decoder_layers} decoder")
    click.echo(f"width        {shape.width}, {shape.heads} heads")
    click.echo(f"vocabulary   {len(model.source)} source, {len(model.target)} target")
    click.echo(f"parameters   {parameters:,}")
    click.echo(f"fingerprint  {weights.fingerprint}")


def _info_of_smt(folder: Path) -> None:
    from mtloop.smt.card import SmtModelCard

    card = SmtModelCard.read(folder)
    for name, value in card.facts.items():
        click.echo(f"{name:12} {value}")
    click.echo(f"weights      {', '.join(f'{name} {value:.3g}' for name, value in card.weights.items())}")
    click.echo(f"bytes        {sum(card.sizes.values()):,}")
    click.echo(f"fingerprint  {card.fingerprint}")


def _info_of_delta(path: str) -> None:
    from mtloop.nmt.delta import Delta
    from mtloop.nmt.delta_files import find_delta

    delta = Delta.read(find_delta(Path(path)))
    from_rewards = "rewards" in delta.counters
    learned = f"{delta.counters['rewards']:,} rewards" if from_rewards else f"{delta.counters['lessons']:,} corrections"
    click.echo(f"method       {delta.method}")
    click.echo(f"learned      {learned}, {delta.counters['updates']:,} updates")
    click.echo(f"parameters   {delta.parameters:,}")
    click.echo(f"memory       {delta.stored_segments:,} segments")
    click.echo(f"bytes        {delta.size:,}")
    click.echo(f"base         {delta.base}")


@command.command()
@click.option("--data", type=PATH, required=True, help="Held-out data of the domain. Do not use test data.")
@language_options
@click.option(
    "--model", default="en-de", show_default=True, help="The embedded en-de, a folder, or a Hugging Face name."
)
@click.option("--limit", default=200, show_default=True, type=POSITIVE, help="Number of segments to adapt on.")
@click.option(
    "--budget", default=2_000_000, show_default=True, type=POSITIVE, help="Maximum number of parameters to choose."
)
@click.option("--out", type=PATH, required=True, help="File for the chosen tensor names (JSON).")
def choose(
    data: Path, source_lang: str | None, target_lang: str | None, model: str, limit: int, budget: int, out: Path
) -> None:
    """Choose the tensors that method `fixed` updates: those that change most when all weights are updated."""
    need_extras("nmt")
    from mtloop.core.atomic import write_text
    from mtloop.data import check_corpus, read, take
    from mtloop.judges import PostEditor
    from mtloop.nmt.choose_tensors import choose_tensors
    from mtloop.nmt.engine.find_model import find_model
    from mtloop.nmt.engine.marian import Marian
    from mtloop.nmt.engine.model_languages import model_languages

    corpus, folder = read(data, source_lang=source_lang, target_lang=target_lang), find_model(model)
    check_corpus(corpus, *model_languages(folder))
    base = Marian.load(folder)
    names = choose_tensors(base, list(take(corpus, limit)), PostEditor(), budget)
    choice = {"data": data.name, "segments": limit, "budget": budget, "fingerprint": base.weights.fingerprint}
    write_text(out, json.dumps(choice | {"tensors": names}, indent=1) + "\n")
    click.echo(f"{out}: {len(names)} tensors")
