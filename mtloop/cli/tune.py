"""`mtloop tune`: search for settings on one part of a stream, and evaluate them on another part."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from mtloop.cli._options import COUNT, PATH, POSITIVE, parse_settings, preset_option, stream_options
from mtloop.methods.defaults import DEFAULT_METHOD, REPORTED_METRICS

EPILOG = """
\b
Examples:
  mtloop tune --data manual.tsv --method full --space learning_rate=1e-3:2e-2:log \\
      --space target_perplexity=1.5,2.0,3.0 --tune-rows 1-4000 --report-rows 4001-6000 \\
      --trials 16 --halving --out out/tune
  mtloop tune --data manual.tsv --method lora --space rank=4:32 --metric ter,r1 --tune-rows 1-1000 \\
      --report-rows 1001-2000 --out out/lora
\b
Run the same command again to resume after an interruption; it finds the same winner. The last line says whether the
winner is better than the defaults on the report rows. To use the winner:
  mtloop run --config out/tune/winner.toml --data other.tsv --out other.jsonl
"""


@click.command(epilog=EPILOG)
@stream_options
@click.option("--method", help=f"Method to tune.  [default: {DEFAULT_METHOD}]")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Setting of all trials. Repeat for more.")
@preset_option
@click.option(
    "--space",
    multiple=True,
    required=True,
    metavar="KEY=...",
    help="Search space of a setting: LOW:HIGH, LOW:HIGH:log, or A,B,... Repeat for more settings.",
)
@click.option("--tune-rows", required=True, metavar="A-B", help="Rows of the stream to tune on, from 1.")
@click.option(
    "--report-rows", required=True, metavar="A-B", help="Rows to report on. They must not overlap with --tune-rows."
)
@click.option(
    "--trials",
    default=16,
    show_default=True,
    type=click.IntRange(min=2),
    help="Number of trials. The first uses the default settings.",
)
@click.option(
    "--halving", is_flag=True, help="Successive halving: start on few rows, continue only the best trials on more rows."
)
@click.option(
    "--factor",
    default=2,
    show_default=True,
    type=click.IntRange(min=2),
    help="With --halving: one trial in this number continues.",
)
@click.option(
    "--sampler",
    type=click.Choice(["tpe", "random"]),
    help="How trials are drawn: by the results of earlier trials (tpe), or at random.  "
    "[default: tpe; with --halving: random]",
)
@click.option(
    "--batch",
    default=4,
    show_default=True,
    type=POSITIVE,
    help="With tpe: number of trials drawn together. At most this number runs in parallel.",
)
@click.option(
    "--metric",
    default="ter",
    show_default=True,
    help="Metric to optimise; for several (ter,r1), their mean relative gain.",
)
@click.option(
    "--report-metrics",
    help=f"Metrics of the report.  [default: {REPORTED_METRICS}; without r* and rer if the language is unknown]",
)
@click.option("--jobs", default=2, show_default=True, type=POSITIVE, help="Number of trials in parallel.")
@click.option("--seed", default=1, show_default=True, type=COUNT, help="Random seed of the trial settings.")
@click.option(
    "--snapshot-every", default=100, show_default=True, type=POSITIVE, help="Number of segments between snapshots."
)
@click.option("--out", type=PATH, required=True, help="Folder for traces, trials.jsonl and winner.toml.")
def command(pairs: tuple[str, ...], **options: Any) -> None:
    """Search for the best settings of a method on one part of a stream, and report on another part."""
    from mtloop.experiments.tuning.tune import tune

    click.echo(tune(settings=parse_settings(pairs), log=partial(click.echo, err=True), **options))
