"""`mtloop translate`: translate standard input to standard output, one line per segment."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mtloop.cli._options import PATH, POSITIVE
from mtloop.core.errors import InputError
from mtloop.text.files import decode_line

EPILOG = """
\b
Examples:
  echo 'Save the file.' | mtloop translate
  mtloop translate --model smt-model < manual.en.txt > manual.de.txt
  mtloop translate --delta full.state < manual.en.txt > manual.de.txt
"""


@click.command(epilog=EPILOG)
@click.option(
    "--model",
    default="en-de",
    show_default=True,
    help="The embedded en-de, a folder (neural or statistical), or a Hugging Face name.",
)
@click.option("--delta", type=PATH, help="Delta learned on this model: a file, or RUN.state for its newest snapshot.")
@click.option(
    "--beam-size", default=1, show_default=True, type=POSITIVE, help="Number of hypotheses in beam search; 1: greedy."
)
@click.option("--threads", default=2, show_default=True, type=POSITIVE, help="Number of CPU threads.")
def command(model: str, delta: Path | None, beam_size: int, threads: int) -> None:
    """Translate standard input, optionally with a learned delta."""
    from mtloop.smt.card import CARD_FILE
    from mtloop.translation.translator import load

    statistical = (Path(model) / CARD_FILE).is_file()
    if statistical and (delta or beam_size > 1):
        raise InputError("--delta and --beam-size apply to Marian models, not to statistical models", path=model)
    method = "smt-baseline" if statistical else None if delta else "baseline"
    settings = {} if statistical else {"beam_size": beam_size}
    translator = load(model, method=method, settings=settings, delta=delta, threads=threads)
    for number, line in enumerate(sys.stdin.buffer, start=1):
        click.echo(translator.translate(decode_line(line, "standard input", number)))
