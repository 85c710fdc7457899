"""A rating campaign in a folder: its plan, and one file of ratings per rater."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.data import read_lines
from mtloop.selection.campaign_plan import CampaignPlan
from mtloop.selection.rating_campaign import Campaign
from mtloop.selection.rating_log import FolderRatingLog

PLAN, RATINGS = "campaign.json", "ratings"


def create_campaign(
    folder: Path,
    source: Path,
    systems: Mapping[str, Path],
    *,
    reference: Path | None = None,
    top: int | None = None,
    **settings: Any,
) -> CampaignPlan:
    """Create a campaign over text files with one line per segment; `settings` are further fields of `CampaignPlan`.

    `top` None: the best 3 systems, or all but one if there are three or fewer.
    """
    if (folder / PLAN).exists():
        raise InputError("this folder already contains a campaign; choose another folder", path=folder)
    outputs = {name: tuple(read_lines(path)) for name, path in systems.items()}
    references = tuple(read_lines(reference)) if reference else ()
    top = top or max(1, min(3, len(outputs) - 1))
    plan = CampaignPlan(tuple(read_lines(source)), outputs, references, top=top, **settings)
    write_text(folder / PLAN, plan.to_json() + "\n")
    return plan


@contextmanager
def open_campaign(folder: Path) -> Iterator[Campaign]:
    """Open the campaign in a folder."""
    file = folder / PLAN
    if not file.is_file():
        raise InputError("this folder contains no campaign; create one with: mtloop campaign create", path=folder)
    try:
        plan = CampaignPlan.from_json(file.read_text(encoding="utf-8"))
    except (InputError, UnicodeDecodeError) as error:
        raise InputError(str(error), path=file) from error
    with FolderRatingLog(folder / RATINGS, plan.fingerprint) as log:
        yield Campaign(plan, log)
