"""`mtloop select`: replay policies on recorded human ratings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from mtloop.cli._options import COUNT, PATH, POSITIVE, format_option, typed_command
from mtloop.core.errors import InputError
from mtloop.core.names import list_names

EPILOG = """
\b
Examples:
  mtloop select --ratings ad-seg-scores-en-de.csv --gold ad-sys-scores-en-de.csv --policy ewaf --missing zero
  mtloop select --ratings ratings.tsv --policies exp3,thompson,race --missing skip --runs 30 --out found
  mtloop select --ratings mqm.tsv --policy race:top=1:confidence=0.9 --format json
  mtloop select --ratings ad-seg-scores-de-en.csv --metric-scores metric-seg-scores-de-en.tsv.gz --metric chrF \\
                --policy exp3:variant=published --missing metric
\b
Policies (settings follow after colons, as above):
  ewaf exp3      policies of the 2021 paper (step_size=fixed|anytime, variant=paper|published); ewaf rates all
                 systems; published: as in the published code, which differs from the equations
  ucb1 thompson  one rating per segment
  elimination    successive elimination with a stopping rule: top; confidence (0 to 1); indifference, the difference
                 below which two systems count as equal (0 to 1: 0.01 is one point of 100)
  race           rates only systems that can still change the result, with a stopping rule: the same settings;
                 min_ratings per system before it stops; evaluation_interval, the number of segments between tests
  linucb         chooses a system per segment from features of its source (alpha, ridge_penalty)
"""


@click.command(epilog=EPILOG)
@click.option(
    "--ratings",
    type=PATH,
    required=True,
    help="File with human ratings: WMT, MQM, or a long table (docs/reference/data.md).",
)
@click.option("--score", help="Column with the scores, if the file has several.")
@click.option("--language-pair", help="Language pair, if the file has several.")
@click.option(
    "--scale", help="Scale: da, mqm, z, binary, unit or pairwise.  [default: da, or mqm if no score is above 0]"
)
@click.option("--metric-scores", type=PATH, help="File with automatic scores of the same translations.")
@click.option("--metric", help="Automatic metric that replaces missing ratings (--missing metric).")
@click.option(
    "--metric-map",
    default="range",
    show_default=True,
    help="Scaling of the automatic scores: range (minimum to 0, maximum to 1) or none.",
)
@click.option("--gold", type=PATH, help="File with official system scores.  [default: the mean human scores]")
@click.option("--gold-column", default="Z.SCR", show_default=True, help="Column of --gold that ranks the systems.")
@click.option(
    "--exclude", multiple=True, metavar="PATTERN", help="Leave out these systems, e.g. 'HUMAN*'. Repeat for more."
)
@click.option("--policy", help="One policy; --format json prints one object.  [default: ewaf]")
@click.option("--policies", help="Several policies, separated by commas; --format json prints a list.")
@click.option(
    "--missing",
    default="zero",
    show_default=True,
    help="Replacement of missing ratings: zero, average, metric or skip.",
)
@click.option(
    "--decimals", default=2, show_default=True, type=COUNT, help="Number of decimals to which rewards are rounded."
)
@click.option(
    "--runs", default=10, show_default=True, type=POSITIVE, help="Number of runs; the result says how many differ."
)
@click.option("--seed", default=1, show_default=True, type=COUNT, help="Random seed.")
@click.option(
    "--orders",
    type=click.Choice(["each", "one"]),
    default="each",
    show_default=True,
    help="Shuffle the segments in each run (each), or once for all runs (one) as in the paper.",
)
@click.option(
    "--tie",
    default=1.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="A system this many points of 100 below the lowest of the gold top 3, or fewer, is right within the tie.",
)
@click.option(
    "--checkpoints",
    default="10,50,100,500,1000,end",
    show_default=True,
    help="Iterations at which the results are reported.",
)
@click.option("--out", type=PATH, help="Folder for plots, result.json, and the trace of the first run of each policy.")
@format_option("table", "json")
@click.pass_context
def command(
    context: click.Context, /, ratings: Path, policy: str | None, policies: str | None, checkpoints: str,
    output_format: str, **options: Any,
) -> None:  # fmt: skip
    """Replay human ratings: measure how soon policies find the best systems, and how many ratings they need."""
    from mtloop.experiments.select import select
    from mtloop.report.result_file import FILE_NAME

    if policy and policies:
        raise InputError("give --policy or --policies, not both")
    specs = policies or policy or "ewaf"
    iterations = list_names(checkpoints, "iteration")
    result = select(ratings, specs, checkpoints=iterations, **options)
    for note in result.notes:
        click.echo(f"mtloop: {note}", err=True)
    if options["out"] is not None:
        result.save(options["out"] / FILE_NAME, command=typed_command(context))
        click.echo(f"mtloop: plots and traces in {options['out']}", err=True)
    if output_format == "table":
        click.echo(f"{result.table}\n\n{result.checkpoints}")
    else:
        objects = result.to_json()
        click.echo(json.dumps(objects if policies else objects[0], indent=2, ensure_ascii=False))
