"""`mtloop select`: replay policies on recorded human ratings."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._options import COUNT, PATH, POSITIVE, split_names
from mtloop.core.errors import InputError

if TYPE_CHECKING:
    from mtloop.experiments.replays import ReplayResult

EPILOG = """
\b
Examples:
  mtloop select --ratings ad-seg-scores-en-de.csv --gold ad-sys-scores-en-de.csv --policy ewaf --missing zero
  mtloop select --ratings ratings.tsv --policies exp3,thompson,race --missing skip --runs 30 --orders each --out found
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
    "--ratings", type=PATH, required=True, help="File with human ratings: WMT, MQM, or a long table (docs/data.md)."
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
    "--runs", default=10, show_default=True, type=POSITIVE, help="Number of runs with different random numbers."
)
@click.option("--seed", default=1, show_default=True, type=COUNT, help="Random seed.")
@click.option(
    "--orders",
    type=click.Choice(["one", "each"]),
    default="one",
    show_default=True,
    help="Shuffle the segments once for all runs (one) or in each run (each).",
)
@click.option(
    "--tie",
    default=1.0,
    show_default=True,
    help="Raw score difference, in points of 100, up to which a system counts as correct.",
)
@click.option(
    "--checkpoints",
    default="10,50,100,500,1000,end",
    show_default=True,
    help="Iterations at which the results are reported.",
)
@click.option("--out", type=PATH, help="Folder for plots and for the trace of the first run of each policy.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Output format.",
)
def command(
    policy: str | None,
    policies: str | None,
    checkpoints: str,
    out: Path | None,
    output_format: str,
    missing: str,
    decimals: int,
    runs: int,
    seed: int,
    orders: str,
    **inputs: Any,
) -> None:
    """Replay human ratings: measure how soon policies find the best systems, and how many ratings they need."""
    from mtloop.experiments.replays import ReplayPlan, as_json, as_table
    from mtloop.selection.policies.registry import check_spec
    from mtloop.selection.replay_input import ReplayInput

    if policy and policies:
        raise InputError("give --policy or --policies, not both")
    specs = split_names(policies, "--policies", "policy", "exp3,race") if policies else [policy or "ewaf"]
    for spec in specs:
        check_spec(spec)
    replay_input = ReplayInput(**inputs)
    recording, gold, notes = replay_input.read()
    plan = ReplayPlan(
        recording, gold, missing, decimals, runs, seed, orders == "each", _iterations(checkpoints, recording.segments)
    )
    for note in [*notes, *_warnings(specs, missing)]:
        click.echo(f"mtloop: {note}", err=True)
    results = [plan.result(spec, trace=out is not None) for spec in specs]
    if out is not None:
        write(results, plan.header_config() | {"ratings": replay_input.ratings.name}, seed, out)
    objects = [as_json(result) for result in results]
    text = (
        json.dumps(objects if policies else objects[0], indent=2, ensure_ascii=False) if output_format == "json" else ""
    )
    click.echo(text or as_table(results))


def write(results: Sequence[ReplayResult], config: dict[str, Any], seed: int, out: Path) -> None:
    """Write plots and traces. An existing trace of the same name is replaced."""
    from mtloop import __version__
    from mtloop.core.trace import Header, TraceWriter
    from mtloop.experiments.replays import effort_chart, weights_chart
    from mtloop.report.matplotlib_charts import save

    for result in results:
        name = re.sub(r"[^\w.=-]+", "-", f"{result.policy}-{result.missing}")
        trace = out / f"{name}.jsonl"
        trace.unlink(missing_ok=True)
        header = Header(config | {"policy": result.policy}, seed, {"mtloop": __version__})
        with TraceWriter(trace, header) as writer:
            for step in result.history.steps:
                writer.write(step)
        save(weights_chart(result), out / f"{name}.png")
    save(effort_chart(results), out / "effort.png")
    click.echo(f"mtloop: plots and traces in {out}", err=True)


def _warnings(specs: Sequence[str], missing: str) -> list[str]:
    """Warn that the confidence of a stopping rule is not valid with replaced ratings."""
    from mtloop.selection.policies.registry import has_stopping_rule

    stopping = [spec for spec in specs if has_stopping_rule(spec)]
    if not stopping or missing == "skip":
        return []
    return [f"the confidence of {' and '.join(stopping)} is valid with --missing skip, not with {missing}"]


def _iterations(text: str, segments: Sequence[object]) -> list[int]:
    """Parse the checkpoints. `end` is the last iteration; checkpoints after it are left out."""
    iterations = []
    for part in split_names(text, "--checkpoints", "iteration", "10,100,end"):
        if part != "end" and not (part.isdigit() and int(part)):
            raise InputError(f"checkpoint {part!r}; expected numbers from 1 and `end`, separated by commas")
        iterations.append(len(segments) if part == "end" else int(part))
    return sorted({number for number in iterations if number <= len(segments)}) or [len(segments)]
