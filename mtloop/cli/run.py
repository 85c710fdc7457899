"""`mtloop run`: translate one stream with one method, segment by segment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mtloop.cli._options import PATH, POSITIVE, experiment_options, parse_settings, preset_option
from mtloop.methods.defaults import DEFAULT_METHOD

EPILOG = """
\b
Examples:
  mtloop run --data manual.tsv --method full --out full.jsonl
  mtloop run --data manual.tsv --method full --out full.jsonl --resume      (after an interruption)
  mtloop run --data manual.tsv --method lasso --set lasso_penalty=1e-3 --limit 500 --out lasso.jsonl
  mtloop run --data tuesday.tsv --delta monday.state --out tuesday.jsonl
  mtloop run --config experiment.toml --out run.jsonl
  mtloop run --data manual.tsv --method smt-adapting --model smt-model --shuffle 1 --out smt.jsonl
  mtloop run --data manual.tsv --method mine.py:Engine --out mine.jsonl      (your own engine)
  mtloop run --data manual.tsv --method http://localhost:8017/manual --out server.jsonl   (a project; key: MTLOOP_KEY)
\b
`mtloop methods` lists the methods, `mtloop methods NAME` the settings of one.
"""


@click.command(epilog=EPILOG)
@experiment_options
@click.option(
    "--method",
    help="Learning method: baseline, full, memory, lasso, smt-adapting ..., or your own: file.py:Class, module:Class, "
    f"exec:COMMAND, or a project of a server: http://HOST/PROJECT.  [default: {DEFAULT_METHOD}]",
)
@click.option(
    "--delta", type=PATH, help="Start from this delta: a file, or RUN.state. The default of --method is its method."
)
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Setting of the method. Repeat for more.")
@preset_option
@click.option("--out", type=PATH, required=True, help="File for the trace (JSON lines).")
@click.option("--resume", is_flag=True, help="Resume the trace if it exists.")
@click.option(
    "--stop-after", type=POSITIVE, help="Stop when the trace has this number of segments; --resume continues."
)
@click.option(
    "--snapshot-every", default=100, show_default=True, type=POSITIVE, help="Number of segments between snapshots."
)
def command(out: Path, pairs: tuple[str, ...], **options: Any) -> None:
    """Translate a stream, learn from each correction, and record every step in a trace."""
    from mtloop.experiments.run import run

    run(out=out, settings=parse_settings(pairs), **options)
    click.echo(out)
