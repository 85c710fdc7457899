"""`mtloop score`: compute metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._inputs import make_evaluation
from mtloop.cli._options import PATH, format_option, input_options
from mtloop.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

EPILOG = """
\b
Examples:
  mtloop score --ref ref.txt --hyp system.txt --lang de
  mtloop score --ref ref.txt --hyp a.txt --hyp b.txt --baseline a.txt --metrics bleu,ter,r1,slope-ca --lang de
  mtloop score run.jsonl --baseline base.jsonl --lang de --format json
  mtloop score run.jsonl --baseline base.jsonl --lang de --metrics ter,near-better,near-worse,flips
  mtloop score --data postedits.tsv --lang de        (columns source, mt, post_edit)
  mtloop score --ref ref.txt --hyp system.txt --lang ja          (MeCab's words; needs mtloop[ja])
  mtloop score --ref ref.txt --src src.txt --hyp system.txt --scorer comet='comet-env/bin/python scorer.py'
  mtloop score --ref ref.txt --hyp system.txt --scores metricx=metricx.txt --lower-is-better metricx
  mtloop score --data strings.csv --columns source=en,target=de --hyp system.txt --metrics ter,bleu --curves curves.csv
  mtloop score run.jsonl --lang de --metrics r0,r1 --truecase train.de --seen train.de      (words new to the training)
  mtloop score run.jsonl --lang ja --metrics r0,r1 --spm target.spm                         (subwords instead of words)
  mtloop score run.jsonl --metrics rr,oov --vocabulary train.en
  mtloop score run.jsonl --lang de --metrics terms --glossary terms.tsv
  mtloop score rewards.jsonl --metrics reward,regret --oracle oracle.jsonl
\b
Metrics:
  quality      bleu chrf ter (sacreBLEU's, with its signature); sbleu: mean sentence BLEU; wmt17: the reward of the
               2017 shared task
  learning     r0 r1 r01 r2 ...: recall of words at their first, second, ... occurrence;
               rer: share of corrected words that are wrong again later
  collateral   near-better near-worse flips lost-changes (with --baseline and the source text): segments that differ by
               a word or two from an earlier one; flips: the earlier one's translation is taken over; lost-changes: the
               changed words left no trace in the output
  slope        slope-u slope-ca (of TER), slope-ca-bleu ...: 100 means no learning, less than 100 means learning
  effort       hter: TER against the post-edit of the output; ksmr: keystrokes and mouse actions; wpa: share of words
               that were predicted correctly
  rewards      reward: mean reward; regret (with --oracle): how far it is from the oracle's
  glossary     terms (with --glossary): share of the terms in the source that are translated as the glossary says
  text         rr: repetition rate of the source; oov (with --vocabulary)
  learned      COMET and others: scores from a file (--scores) or from a program (--scorer)
"""


@click.command(epilog=EPILOG)
@input_options
@format_option("table", "json", "csv")
@click.option(
    "--curves",
    type=PATH,
    help="CSV file for the learning curves: the scores of all segments so far, after each segment.",
)
def command(output_format: str, curves: Path | None, **inputs: Any) -> None:
    """Score the output of MT systems against references or post-edits, in the order of the stream."""
    from mtloop.core.atomic import write_text
    from mtloop.report import text_tables

    if curves is not None and curves.is_dir():
        raise InputError("is a folder; --curves expects a file", path=curves)
    evaluation = make_evaluation(**inputs)
    results = list(_progress(evaluation.results(), len(evaluation.systems) * len(evaluation.metrics)))
    if curves is not None:
        write_text(curves, text_tables.curves_csv(evaluation))
    click.echo(text_tables.FORMATTERS[output_format](evaluation, results), nl=False)


def _progress(results: Iterator[Any], total: int) -> Iterator[Any]:
    from tqdm import tqdm

    return iter(tqdm(results, total=total, desc="scoring", unit="score", delay=1, leave=False, disable=None))
