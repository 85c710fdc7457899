"""`mtloop campaign`: set one up, see where it stands, take its ratings elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._inputs import PATH
from mtloop.core.errors import InputError
from mtloop.core.plural import many

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
    """Find the best of several systems with the fewest ratings people have to give."""


@command.command()
@click.option("--source", type=PATH, required=True, help="The source text, a line a segment.")
@click.option("--system", "systems", multiple=True, required=True, metavar="NAME=FILE", help="A system's output.")
@click.option("--reference", type=PATH, help="Reference translations; shown to the raters.")
@click.option(
    "--top", type=click.IntRange(min=1), help="How many of the best to find.  [default: 3, or all systems but one]"
)
@click.option("--confidence", default=0.95, show_default=True, help="How sure to be before stopping.")
@click.option("--indifference", default=1.0, show_default=True, help="Points of 100 that make no difference.")
@click.option("--enough", default=20, show_default=True, type=click.IntRange(min=2), help="Ratings to know a rater by.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Order of the segments.")
@click.option("--out", type=PATH, required=True, help="A new folder for the campaign.")
def create(
    source: Path,
    systems: tuple[str, ...],
    reference: Path | None,
    top: int | None,
    indifference: float,
    out: Path,
    **settings: Any,
) -> None:
    """Set up a campaign over the outputs of several systems."""
    from mtloop.core.atomic import write_text
    from mtloop.data import read_lines
    from mtloop.selection.rating_campaign import CampaignPlan

    if (out / PLAN).exists():
        raise InputError("there is a campaign already; choose another folder", path=out)
    outputs = {name: tuple(read_lines(path)) for name, path in _named(systems)}
    references = tuple(read_lines(reference)) if reference else ()
    settings |= {"top": top or max(1, min(3, len(outputs) - 1)), "indifference": indifference / 100}
    plan = CampaignPlan(tuple(read_lines(source)), outputs, references, **settings)
    write_text(out / PLAN, plan.to_json() + "\n")
    click.echo(
        f"{out}: {len(outputs)} systems, {len(plan.sources)} segments; rate with: mtloop rate {out} --rater NAME"
    )


@command.command()
@click.argument("folder", type=PATH)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def status(folder: Path, form: str) -> None:
    """Say where a campaign stands: systems, raters, and the verdict if there is one."""
    with open_campaign(folder) as campaign:
        standing = campaign.standing()
    click.echo(json.dumps(_as_json(standing), indent=2, ensure_ascii=False) if form == "json" else _as_table(standing))


@command.command()
@click.argument("folder", type=PATH)
def export(folder: Path) -> None:
    """Write all ratings as a long table: system, segment, source, score (0-100, as given), rater."""
    with open_campaign(folder) as campaign:
        ratings, sources = campaign.ratings(), campaign.plan.sources
    click.echo("system\tsegment\tsource\tscore\trater")
    for rating in ratings:
        source = " ".join(sources[int(rating.segment) - 1].split())
        for system in rating.systems:
            click.echo(f"{system}\t{rating.segment}\t{source}\t{100 * rating.value:g}\t{rating.rater}")


@contextmanager
def open_campaign(folder: Path) -> Iterator[Campaign]:
    """The campaign in a folder."""
    from mtloop.selection.rating_campaign import Campaign, CampaignPlan
    from mtloop.selection.rating_log import FolderRatingLog

    file = folder / PLAN
    if not file.is_file():
        raise InputError("there is no campaign; make one with: mtloop campaign create", path=folder)
    try:
        plan = CampaignPlan.from_json(file.read_text(encoding="utf-8"))
    except (InputError, UnicodeDecodeError) as error:
        raise InputError(str(error), path=file) from error
    with FolderRatingLog(folder / RATINGS, plan.fingerprint) as ledger:
        yield Campaign(plan, ledger)


def verdict_line(standing: CampaignStatus) -> str:
    """The verdict in words."""
    stop = standing.verdict
    if stop is None and not standing.left and standing.total:
        order = sorted(standing.means, key=lambda name: -standing.means[name])
        means = ", ".join(f"{name} {100 * standing.means[name]:.1f}" for name in order)
        return f"nothing is left to rate after {many(standing.total, 'rating')}, which do not decide it; means: {means}"
    if stop is None:
        asked = many(len(standing.asked), "system")
        return f"not decided yet after {many(standing.total, 'rating')}; {asked} still in question"
    best = f"stop: with {100 * stop.confidence:g} % confidence the top {len(stop.best)} are {', '.join(stop.best)}"
    return f"{best} (none of them worse than another by more than {many(100 * stop.within, 'point')})"


def _as_json(standing: CampaignStatus) -> dict[str, Any]:
    stop = standing.verdict
    return {
        "systems": {
            name: {"mean": 100 * mean, "ratings": standing.ratings[name], "asked": name in standing.asked}
            for name, mean in standing.means.items()
        },
        "raters": {
            name: {"ratings": habit.ratings, "mean": 100 * habit.mean, "spread": 100 * habit.spread}
            for name, habit in standing.raters.items()
        },
        "ratings": standing.total,
        "stop": None
        if stop is None
        else {"best": list(stop.best), "confidence": stop.confidence, "within": stop.within},
    }


def _as_table(standing: CampaignStatus) -> str:
    from tabulate import tabulate

    order = sorted(standing.means, key=lambda name: (-standing.means[name], name))
    rows = [
        [name, f"{100 * standing.means[name]:.1f}" if standing.ratings[name] else "-", standing.ratings[name],
         "yes" if name in standing.asked else "no"]
        for name in order
    ]  # fmt: skip
    systems = tabulate(rows, ["system", "mean", "ratings", "still asked"], disable_numparse=True)
    return "\n".join([systems, *_rater_lines(standing), "", verdict_line(standing)])


def _rater_lines(standing: CampaignStatus) -> Iterator[str]:
    for name, habit in standing.raters.items():
        mean, spread = 100 * habit.mean, 100 * habit.spread
        yield f"rater {name}: {many(habit.ratings, 'rating')}, mean {mean:.1f}, spread {spread:.1f}"


def _named(systems: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    seen: set[str] = set()
    for system in systems:
        name, equals, file = system.partition("=")
        if not (name and equals and file):
            raise InputError(f"--system takes NAME=FILE, not {system!r}")
        if name in seen:
            raise InputError(f"two systems are called {name!r}; give each its own name")
        seen.add(name)
        yield name, Path(file)
