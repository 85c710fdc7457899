"""`mtloop score`: numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._inputs import PATH, Inputs, input_options
from mtloop.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

EPILOG = """
\b
Examples:
  mtloop score --ref ref.txt --hyp system.txt --lang de
  mtloop score --ref ref.txt --hyp a.txt --hyp b.txt --baseline a.txt --metrics bleu,ter,r1,slope-ca --lang de
  mtloop score run.jsonl --baseline base.jsonl --lang de --format json
  mtloop score --data postedits.tsv --lang de        (columns source, mt, post_edit)
\b
Metrics:
  quality      bleu chrf ter (sacreBLEU's, with its signature) sbleu wmt17
  learning     r0 r1 r01 r2 ...: recall of words at their first, second, ... appearance;
               rer: share of corrected words that come out wrong again
  slope        slope-u slope-ca (of TER), slope-ca-bleu ...: 100 is no learning, below is learning
  effort       hter ksmr wpa
  bandit       reward regret (with --oracle)
  text         rr: repetition rate of the source; oov (with --vocabulary)
"""


@click.command(epilog=EPILOG)
@input_options
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@click.option("--curves", type=PATH, help="Also write the score of every prefix of the stream to this CSV file.")
def command(form: str, curves: Path | None, **inputs: Any) -> None:
    """Score what MT systems said against what the translator made of it, in order."""
    from mtloop.core.atomic import write_text
    from mtloop.report import text_tables

    if curves is not None and curves.is_dir():
        raise InputError("is a folder; --curves takes the name of a file", path=curves)
    evaluation = Inputs(**inputs).evaluation()
    results = list(_progress(evaluation.results(), len(evaluation.systems) * len(evaluation.metrics)))
    if curves is not None:
        write_text(curves, text_tables.curves_csv(evaluation))
    click.echo(text_tables.FORMS[form](evaluation, results), nl=False)


def _progress(results: Iterator[Any], total: int) -> Iterator[Any]:
    from tqdm import tqdm

    return iter(tqdm(results, total=total, desc="scoring", unit="score", delay=1, leave=False, disable=None))
