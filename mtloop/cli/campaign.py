"""`mtloop campaign`: create a rating campaign, show its status, export its ratings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from mtloop.cli._options import COUNT, PATH, POSITIVE, format_option
from mtloop.core.errors import InputError

EPILOG = """
\b
Examples:
  mtloop campaign create --source src.txt --system ours=a.txt --system theirs=b.txt --out menu-campaign
  mtloop campaign create --source src.txt --system ours=a.txt --system theirs=b.txt --out fast \\
                         --policy race:bound=posterior
  mtloop rate menu-campaign --rater kim
  mtloop campaign status menu-campaign
  mtloop campaign export menu-campaign > ratings.tsv        (for mtloop select --ratings)
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Find the best of several systems with as few human ratings as possible."""


@command.command()
@click.option("--source", type=PATH, required=True, help="Source text, one line per segment.")
@click.option("--system", "systems", multiple=True, required=True, metavar="NAME=FILE", help="Output of a system.")
@click.option("--reference", type=PATH, help="Reference translations. They are shown to the raters.")
@click.option(
    "--top", type=POSITIVE, help="Number of best systems to find.  [default: 3, or the number of systems minus 1]"
)
@click.option("--confidence", default=0.95, show_default=True, help="Confidence at which the campaign stops, 0 to 1.")
@click.option(
    "--indifference",
    default=1.0,
    show_default=True,
    help="Difference, in points of 100, below which two systems count as equal (race:indifference takes 0 to 1).",
)
@click.option(
    "--min-ratings",
    default=20,
    show_default=True,
    type=click.IntRange(min=2),
    help="Number of ratings after which the ratings of a rater are standardised.",
)
@click.option(
    "--policy",
    default="race",
    show_default=True,
    metavar="NAME[:SETTING=VALUE]",
    help="What is rated next, and when the campaign stops: race, elimination, ewaf, exp3, ucb1, thompson, linucb, or "
    "one of a plugin. Only race and elimination stop by themselves; --top, --confidence and --indifference are for "
    "these.",
)
@click.option("--overlap", default=1, show_default=True, type=POSITIVE, help="Number of raters of each translation.")
@click.option(
    "--min-per-rater",
    default=0,
    show_default=True,
    type=COUNT,
    help="Smallest number of ratings of a rater, also when the campaign could stop.",
)
@click.option("--instructions", type=PATH, help="Text file with instructions for raters, in place of the usual ones.")
@click.option("--seed", default=1, show_default=True, type=COUNT, help="Random seed of the order of the segments.")
@click.option("--out", type=PATH, required=True, help="New folder for the campaign.")
def create(
    source: Path,
    systems: tuple[str, ...],
    indifference: float,
    policy: str,
    instructions: Path | None,
    out: Path,
    **settings: Any,
) -> None:
    """Create a campaign over the outputs of several systems."""
    from mtloop.data import read_lines
    from mtloop.selection.campaign_folder import create_campaign
    from mtloop.selection.campaign_plan import STOPPING
    from mtloop.selection.policies.registry import check_spec, parse_spec

    if not 0 <= indifference < 100:
        raise InputError(f"--indifference is {indifference:g}; expected points of 100: 0 or more and less than 100")
    check_spec(policy)
    name, of_policy = parse_spec(policy)
    if given := [key for key in STOPPING if key in of_policy]:
        raise InputError(f"--policy {policy}: leave out {given[0]}; give it with --{given[0]}")
    settings |= {"policy": name, "settings": of_policy}
    if instructions:
        settings["instructions"] = "\n".join(read_lines(instructions))
    plan = create_campaign(out, source, _parse_systems(systems), indifference=indifference / 100, **settings)
    numbers = f"{len(plan.outputs)} systems, {len(plan.sources)} segments"
    click.echo(f"{out}: {numbers}; to rate, run: mtloop rate {out} --rater NAME")


@command.command("status")
@click.argument("folder", type=PATH)
@format_option("table", "json")
def show_status(folder: Path, output_format: str) -> None:
    """Show the status of a campaign: systems, raters, and the result if it is decided."""
    from mtloop.report.campaign_status import status_json, status_table
    from mtloop.selection.campaign_folder import open_campaign

    with open_campaign(folder) as campaign:
        status = campaign.status()
    as_json = output_format == "json"
    click.echo(json.dumps(status_json(status), indent=2, ensure_ascii=False) if as_json else status_table(status))


@command.command()
@click.argument("folder", type=PATH)
def export(folder: Path) -> None:
    """Print all ratings as a table: system, segment, source, score (0-100, unchanged), rater, hypothesis."""
    from mtloop.selection.campaign_folder import open_campaign

    with open_campaign(folder) as campaign:
        ratings, plan = campaign.ratings(), campaign.plan
    click.echo("system\tsegment\tsource\tscore\trater\thypothesis")
    for rating in ratings:
        at, score = int(rating.segment) - 1, f"{100 * rating.value:g}"
        for system in rating.systems:
            cells = (system, rating.segment, plan.sources[at], score, rating.rater, plan.outputs[system][at])
            click.echo("\t".join(" ".join(cell.split()) for cell in cells))


def _parse_systems(systems: tuple[str, ...]) -> dict[str, Path]:
    parsed: dict[str, Path] = {}
    for system in systems:
        name, equals, file = system.partition("=")
        if not (name and equals and file):
            raise InputError(f"--system expects NAME=FILE, not {system!r}")
        if name in parsed:
            raise InputError(f"two systems are named {name!r}; names must be unique")
        parsed[name] = Path(file)
    return parsed
