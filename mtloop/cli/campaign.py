"""`mtloop campaign`: create a rating campaign, show its status, export its ratings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._options import COUNT, PATH, POSITIVE
from mtloop.core.errors import InputError
from mtloop.core.plural import pluralise

if TYPE_CHECKING:
    from mtloop.selection.rating_campaign import Campaign, CampaignStatus

PLAN, RATINGS = "campaign.json", "ratings"
EPILOG = """
\b
Examples:
  mtloop campaign create --source src.txt --system ours=a.txt --system theirs=b.txt --out menu-campaign
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
@click.option("--seed", default=1, show_default=True, type=COUNT, help="Random seed of the order of the segments.")
@click.option("--out", type=PATH, required=True, help="New folder for the campaign.")
def create(
    source: Path,
    systems: tuple[str, ...],
    reference: Path | None,
    top: int | None,
    indifference: float,
    min_ratings: int,
    out: Path,
    **settings: Any,
) -> None:
    """Create a campaign over the outputs of several systems."""
    from mtloop.core.atomic import write_text
    from mtloop.data import read_lines
    from mtloop.selection.rating_campaign import CampaignPlan

    if (out / PLAN).exists():
        raise InputError("this folder already contains a campaign; choose another folder", path=out)
    if not 0 <= indifference < 100:
        raise InputError(f"--indifference is {indifference:g}; expected points of 100: 0 or more and less than 100")
    outputs = {name: tuple(read_lines(path)) for name, path in _parse_systems(systems)}
    references = tuple(read_lines(reference)) if reference else ()
    settings |= {
        "top": top or max(1, min(3, len(outputs) - 1)),
        "indifference": indifference / 100,
        "min_ratings": min_ratings,
    }
    plan = CampaignPlan(tuple(read_lines(source)), outputs, references, **settings)
    write_text(out / PLAN, plan.to_json() + "\n")
    click.echo(
        f"{out}: {len(outputs)} systems, {len(plan.sources)} segments; to rate, run: mtloop rate {out} --rater NAME"
    )


@command.command("status")
@click.argument("folder", type=PATH)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Output format.",
)
def show_status(folder: Path, output_format: str) -> None:
    """Show the status of a campaign: systems, raters, and the result if it is decided."""
    with open_campaign(folder) as campaign:
        status = campaign.status()
    click.echo(
        json.dumps(_as_json(status), indent=2, ensure_ascii=False) if output_format == "json" else _as_table(status)
    )


@command.command()
@click.argument("folder", type=PATH)
def export(folder: Path) -> None:
    """Print all ratings as a tab-separated table: system, segment, source, score (0-100, unchanged), rater."""
    with open_campaign(folder) as campaign:
        ratings, sources = campaign.ratings(), campaign.plan.sources
    click.echo("system\tsegment\tsource\tscore\trater")
    for rating in ratings:
        source = " ".join(sources[int(rating.segment) - 1].split())
        for system in rating.systems:
            click.echo(f"{system}\t{rating.segment}\t{source}\t{100 * rating.value:g}\t{rating.rater}")


@contextmanager
def open_campaign(folder: Path) -> Iterator[Campaign]:
    """Open the campaign in a folder."""
    from mtloop.selection.rating_campaign import Campaign, CampaignPlan
    from mtloop.selection.rating_log import FolderRatingLog

    file = folder / PLAN
    if not file.is_file():
        raise InputError("this folder contains no campaign; create one with: mtloop campaign create", path=folder)
    try:
        plan = CampaignPlan.from_json(file.read_text(encoding="utf-8"))
    except (InputError, UnicodeDecodeError) as error:
        raise InputError(str(error), path=file) from error
    with FolderRatingLog(folder / RATINGS, plan.fingerprint) as log:
        yield Campaign(plan, log)


def verdict_line(status: CampaignStatus) -> str:
    """The result of the campaign so far, as one sentence."""
    stop = status.verdict
    if stop is None and not status.left and status.total:
        order = sorted(status.means, key=lambda name: -status.means[name])
        means = ", ".join(f"{name} {100 * status.means[name]:.1f}" for name in order)
        ratings = pluralise(status.total, "rating")
        return f"not decided after {ratings}; no translation of an undecided system is left to rate; means: {means}"
    if stop is None:
        undecided = pluralise(len(status.undecided), "system")
        return f"not decided yet after {pluralise(status.total, 'rating')}; {undecided} still undecided"
    best = f"stop: with {100 * stop.confidence:g} % confidence the top {len(stop.best)} are {', '.join(stop.best)}"
    return f"{best} (none of them worse than another by more than {pluralise(100 * stop.within, 'point')})"


def _as_json(status: CampaignStatus) -> dict[str, Any]:
    stop = status.verdict
    return {
        "systems": {
            name: {"mean": 100 * mean, "ratings": status.ratings[name], "undecided": name in status.undecided}
            for name, mean in status.means.items()
        },
        "raters": {
            name: {
                "ratings": rater.ratings,
                "mean": 100 * rater.mean,
                "standard_deviation": 100 * rater.standard_deviation,
            }
            for name, rater in status.raters.items()
        },
        "ratings": status.total,
        "stop": None
        if stop is None
        else {"best": list(stop.best), "confidence": stop.confidence, "within": stop.within},
    }


def _as_table(status: CampaignStatus) -> str:
    from tabulate import tabulate

    order = sorted(status.means, key=lambda name: (-status.means[name], name))
    rows = [
        [name, f"{100 * status.means[name]:.1f}" if status.ratings[name] else "-", status.ratings[name],
         "yes" if name in status.undecided else "no"]
        for name in order
    ]  # fmt: skip
    systems = tabulate(rows, ["system", "mean", "ratings", "undecided"], disable_numparse=True)
    return "\n".join([systems, *_rater_lines(status), "", verdict_line(status)])


def _rater_lines(status: CampaignStatus) -> Iterator[str]:
    for name, rater in status.raters.items():
        mean, deviation = 100 * rater.mean, 100 * rater.standard_deviation
        ratings = pluralise(rater.ratings, "rating")
        yield f"rater {name}: {ratings}, mean {mean:.1f}, standard deviation {deviation:.1f}"


def _parse_systems(systems: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    seen: set[str] = set()
    for system in systems:
        name, equals, file = system.partition("=")
        if not (name and equals and file):
            raise InputError(f"--system expects NAME=FILE, not {system!r}")
        if name in seen:
            raise InputError(f"two systems are named {name!r}; names must be unique")
        seen.add(name)
        yield name, Path(file)
