"""`mtloop translate`: stdin to stdout, a line a segment."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from mtloop.cli._inputs import PATH
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
    help="The embedded en-de, a folder (neural or statistical), or a hub name.",
)
@click.option(
    "--delta", type=PATH, help="What was learned before over this model: a file, or RUN.state, the newest in it."
)
@click.option("--beam", default=1, show_default=True, type=click.IntRange(min=1), help="Hypotheses side by side.")
@click.option("--threads", default=2, show_default=True, type=click.IntRange(min=1))
def command(model: str, delta: Path | None, beam: int, threads: int) -> None:
    """Translate standard input, with what was learned if a delta is given."""
    from mtloop.smt.card import CARD

    smt = (Path(model) / CARD).is_file()
    translate = _statistical(model, delta, beam) if smt else _neural(model, delta, beam, threads)
    for number, line in enumerate(sys.stdin.buffer, start=1):
        click.echo(translate(decode_line(line, "standard input", number)))


def _statistical(model: str, delta: Path | None, beam: int) -> Callable[[str], str]:
    from mtloop.smt.engine import Thot

    if delta or beam > 1:
        raise InputError("--delta and --beam are for Marian models, not for a statistical one", path=model)
    return Thot.load(model).translate


def _neural(model: str, delta: Path | None, beam: int, threads: int) -> Callable[[str], str]:
    from mtloop.core.types import Segment
    from mtloop.methods.registry import make_learner
    from mtloop.nmt.delta_files import read_delta, take_up
    from mtloop.nmt.engine.find_model import find_model
    from mtloop.nmt.engine.marian import Marian
    from mtloop.nmt.engine.threads import set_threads

    set_threads(threads)
    learned = read_delta(delta) if delta else None
    base = Marian.load(find_model(model))
    learner = make_learner(method := learned.method if learned else "baseline", base, {"beams": beam})
    if learned:
        take_up(learner, method, learned)
    return lambda line: learner.propose(Segment("", line)).text
