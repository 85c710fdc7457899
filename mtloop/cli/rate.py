"""`mtloop rate`: rate translations in the terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mtloop.cli._options import PATH
from mtloop.core.errors import InputError

if TYPE_CHECKING:
    from mtloop.core.types import Step
    from mtloop.selection.rating_campaign import Campaign
    from mtloop.selection.rating_item import RatingItem

KEYS = "0-100, s skip, u undo, q quit"
WIDTH = 80  # characters of a line of the instructions
EPILOG = """
\b
Examples:
  mtloop rate menu-campaign --rater kim
\b
At the prompt, enter a number from 0 (no meaning preserved) to 100 (perfect), s to skip, u to undo the last rating or
skip, or q to quit. Every rating is saved before the next translation is shown. `mtloop campaign status` shows the
result, to organisers.
"""


@click.command(epilog=EPILOG)
@click.argument("folder", type=PATH)
@click.option("--rater", required=True, help="Your name: letters, digits and . _ @ -")
def command(folder: Path, rater: str) -> None:
    """Rate translations of a campaign. You can quit and continue at any time."""
    from mtloop.selection.campaign_folder import open_campaign
    from mtloop.selection.rating_instructions import instructions

    with open_campaign(folder) as campaign:
        click.echo(click.wrap_text(instructions(campaign.plan), WIDTH, preserve_paragraphs=True))
        while (item := campaign.next(rater)) is not None:
            show(item)
            if not handle_reply(campaign, rater, item):
                break
        else:
            offer_undo(campaign, rater)
        click.echo(f"\n{progress(campaign, rater)}")


def progress(campaign: Campaign, rater: str) -> str:
    """How much the rater has rated. It says nothing about systems."""
    from mtloop.core.plural import pluralise

    least = campaign.plan.min_per_rater
    return f"you have rated {pluralise(campaign.done(rater), 'translation')}{f' of {least} or more' if least else ''}"


def offer_undo(campaign: Campaign, rater: str) -> None:
    """Let the rater undo the last act when no translation is left to rate."""
    click.echo("\nThere is nothing left for you to rate. [u undo your last rating or skip, q quit] ", nl=False)
    if sys.stdin.readline().strip().lower() in ("u", "undo") and (undone := campaign.undo(rater)):
        click.echo(f"{act_of(undone)} undone; run the same command to rate it again")


def act_of(step: Step) -> str:
    return "skip" if step.feedback is None else "rating"


def show(item: RatingItem) -> None:
    click.echo(f"\nsource       {item.source}")
    if item.reference:
        click.echo(f"reference    {item.reference}")
    click.echo(f"translation  {item.text}")


def handle_reply(campaign: Campaign, rater: str, item: RatingItem) -> bool:
    """Prompt until the reply is valid, and apply it. Return False if the rater quits."""
    while True:
        left = campaign.left(rater)
        click.echo(f"[{campaign.done(rater)} rated{'' if left is None else f', {left} left'}; {KEYS}] ", nl=False)
        line = sys.stdin.readline()
        reply = line.strip().lower()
        if not line or reply in ("q", "quit"):
            return False
        if reply in ("s", "skip"):
            campaign.skip(rater, item)
            return True
        if reply in ("u", "undo"):
            undone = campaign.undo(rater)
            click.echo(f"{act_of(undone)} undone" if undone else "there is no rating to undo")
            if undone:
                return True
        elif _save_rating(campaign, rater, item, reply):
            return True


def _save_rating(campaign: Campaign, rater: str, item: RatingItem, reply: str) -> bool:
    """Save the rating. Return False if the reply is not a valid rating."""
    try:
        campaign.rate(rater, item, float(reply.replace(",", ".")))
    except (ValueError, InputError):
        click.echo(f"{reply!r} is not a valid rating; expected {KEYS}")
        return False
    return True
