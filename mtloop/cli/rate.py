"""`mtloop rate`: a rater in a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mtloop.cli._inputs import PATH
from mtloop.cli.campaign import open_campaign, verdict_line
from mtloop.core.errors import InputError

if TYPE_CHECKING:
    from mtloop.selection.rating_campaign import Campaign, RatingItem

KEYS = "0-100, s skip, u undo, q leave"
EPILOG = """
\b
Examples:
  mtloop rate menu-campaign --rater kim
\b
At the prompt: a number from 0 (nothing of the meaning is there) to 100 (perfect), s to skip, u to take the last
rating back, q to leave. Every rating is on disk before the next translation is shown.
"""


@click.command(epilog=EPILOG)
@click.argument("folder", type=PATH)
@click.option("--rater", required=True, help="Your name: letters, digits, . _ @ -")
def command(folder: Path, rater: str) -> None:
    """Rate translations of a campaign; leave and come back at any time."""
    with open_campaign(folder) as campaign:
        while (task := campaign.next(rater)) is not None:
            show(task)
            if not answer(campaign, rater, task):
                break
        else:
            offer_undo(campaign, rater)
        click.echo(f"\n{verdict_line(campaign.standing())}")


def offer_undo(campaign: Campaign, rater: str) -> None:
    """Where nothing is left to show, the last rating can still be taken back."""
    if rater not in campaign.standing().raters:
        return
    click.echo("\nThere is nothing left for you to rate. [u undo your last rating, q leave] ", nl=False)
    if sys.stdin.readline().strip().lower() in ("u", "undo") and campaign.undo(rater):
        click.echo("taken back; the same command shows it again")


def show(task: RatingItem) -> None:
    click.echo(f"\nsource       {task.source}")
    if task.reference:
        click.echo(f"reference    {task.reference}")
    click.echo(f"translation  {task.text}")


def answer(campaign: Campaign, rater: str, task: RatingItem) -> bool:
    """Ask until there is an answer that can be used; False when the rater leaves."""
    while True:
        click.echo(f"[{KEYS}] ", nl=False)
        line = sys.stdin.readline()
        reply = line.strip().lower()
        if not line or reply in ("q", "quit"):
            return False
        if reply in ("s", "skip"):
            campaign.skip(rater, task)
            return True
        if reply in ("u", "undo"):
            taken = campaign.undo(rater)
            click.echo("taken back" if taken else "there is nothing to take back")
            if taken:
                return True
        elif _rated(campaign, rater, task, reply):
            return True


def _rated(campaign: Campaign, rater: str, task: RatingItem, reply: str) -> bool:
    try:
        campaign.rate(rater, task, float(reply.replace(",", ".")))
    except (ValueError, InputError):
        click.echo(f"{reply!r} is no rating; expected {KEYS}")
        return False
    return True
