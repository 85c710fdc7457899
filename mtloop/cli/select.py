"""`mtloop select`: policies on recorded human ratings."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._inputs import PATH
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
                --policy exp3:variant=mtol --missing metric
\b
Policies (settings behind colons, as above):
  ewaf exp3    the 2021 paper's (step=fixed|anytime, variant=paper|mtol); ewaf has every system rated
  ucb1 thompson    one rating a segment
  elimination  successive elimination, stops by itself (top, confidence, indifference)
  race         rates systems that could still change the answer, stops by itself (the same settings)
  linucb       a system per segment, by features of its source (alpha, ridge)
"""


@click.command(epilog=EPILOG)
@click.option("--ratings", type=PATH, required=True, help="Human ratings: WMT, MQM, or a long table (docs/data.md).")
@click.option("--score", help="Column of scores, where the file has several.")
@click.option("--lp", help="Language pair, where the file has several.")
@click.option("--scale", help="da, mqm, z, binary, unit or pairwise.  [default: da, or mqm if nothing is above 0]")
@click.option("--metric-scores", type=PATH, help="Automatic scores of the same translations.")
@click.option("--metric", help="Which of them stands in for a missing rating.")
@click.option("--metric-map", default="range", show_default=True, help="range: lowest to 0, highest to 1; none: as is.")
@click.option("--gold", type=PATH, help="Official system scores.  [default: the mean human score]")
@click.option("--gold-column", default="Z.SCR", show_default=True, help="Its column to rank by.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out systems, such as 'HUMAN*'; may repeat.")
@click.option("--policy", help="One policy: an object of JSON.  [default: ewaf]")
@click.option("--policies", help="Several, with commas between: a list of JSON.")
@click.option("--missing", default="zero", show_default=True, help="zero, average, metric or skip.")
@click.option("--decimals", default=2, show_default=True, type=click.IntRange(0), help="Rewards are rounded to these.")
@click.option("--runs", default=10, show_default=True, type=click.IntRange(min=1), help="Runs with other draws.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0))
@click.option(
    "--orders",
    type=click.Choice(["one", "each"]),
    default="one",
    show_default=True,
    help="Shuffle the segments once for all runs, or anew in each.",
)
@click.option(
    "--tie", default=1.0, show_default=True, help="Raw points (of 100) within which a system counts as right."
)
@click.option("--checkpoints", default="10,50,100,500,1000,end", show_default=True)
@click.option("--out", type=PATH, help="Folder for plots, and the trace of each policy's first run.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(
    policy: str | None,
    policies: str | None,
    checkpoints: str,
    out: Path | None,
    form: str,
    missing: str,
    decimals: int,
    runs: int,
    seed: int,
    orders: str,
    **files: Any,
) -> None:
    """Replay human ratings: how soon does a policy find the best systems, and what does that cost?"""
    from mtloop.experiments.replays import ReplayPlan, as_json, as_table
    from mtloop.selection.replay_input import ReplayInput

    if policy and policies:
        raise InputError("--policy or --policies, not both")
    specs = _listed(policies) if policies else [policy or "ewaf"]
    question = ReplayInput(**files)
    recording, gold, notes = question.read()
    plan = ReplayPlan(
        recording, gold, missing, decimals, runs, seed, orders == "each", _places(checkpoints, recording.segments)
    )
    for note in [*notes, *_doubts(specs, missing)]:
        click.echo(f"mtloop: {note}", err=True)
    results = [plan.result(spec, trace=out is not None) for spec in specs]
    if out is not None:
        write(results, plan.header_config() | {"ratings": question.ratings.name}, seed, out)
    objects = [as_json(result) for result in results]
    text = json.dumps(objects if policies else objects[0], indent=2, ensure_ascii=False) if form == "json" else ""
    click.echo(text or as_table(results))


def write(results: Sequence[ReplayResult], config: dict[str, Any], seed: int, out: Path) -> None:
    """Plots and traces; an older trace of the same name is replaced."""
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


def _doubts(specs: Sequence[str], missing: str) -> list[str]:
    """A rule that stops takes what stands in for a rating as evidence, which it is not."""
    from mtloop.selection.policies.registry import stops

    stopping = [spec for spec in specs if stops(spec)]
    if not stopping or missing == "skip":
        return []
    return [f"the confidence of {' and '.join(stopping)} holds with --missing skip, not with {missing}"]


def _listed(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError("--policies names no policy; say, --policies exp3,race")
    return names


def _places(text: str, segments: Sequence[object]) -> list[int]:
    """Iterations at which to look; `end` is the last, and those beyond it are left out."""
    places = []
    for part in _listed(text):
        if part != "end" and not (part.isdigit() and int(part)):
            raise InputError(f"checkpoint {part!r}; expected numbers from 1 and `end`, with commas between")
        places.append(len(segments) if part == "end" else int(part))
    return sorted({place for place in places if place <= len(segments)}) or [len(segments)]
