"""`mtloop translate`: translate standard input to standard output, one line per segment."""

from __future__ import annotations

import sys
from collections.abc import Callable
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

    smt = (Path(model) / CARD_FILE).is_file()
    translate = _statistical(model, delta, beam_size) if smt else _neural(model, delta, beam_size, threads)
    for number, line in enumerate(sys.stdin.buffer, start=1):
        click.echo(translate(decode_line(line, "standard input", number)))


def _statistical(model: str, delta: Path | None, beam_size: int) -> Callable[[str], str]:
    from mtloop.smt.engine import Thot

    if delta or beam_size > 1:
        raise InputError("--delta and --beam-size apply to Marian models, not to statistical models", path=model)
    return Thot.load(model).translate


def _neural(model: str, delta: Path | None, beam_size: int, threads: int) -> Callable[[str], str]:
    from mtloop.core.types import Segment
    from mtloop.methods.registry import make_learner
    from mtloop.nmt.delta_files import apply_delta, read_delta
    from mtloop.nmt.engine.find_model import find_model
    from mtloop.nmt.engine.marian import Marian
    from mtloop.nmt.engine.threads import set_threads

    set_threads(threads)
    learned = read_delta(delta) if delta else None
    base = Marian.load(find_model(model))
    learner = make_learner(method := learned.method if learned else "baseline", base, {"beam_size": beam_size})
    if learned:
        apply_delta(learner, method, learned)
    return lambda line: learner.propose(Segment("", line)).text
