"""What raters are told: the same in the terminal and in the browser. An organiser may write another text."""

from __future__ import annotations

from mtloop.selection.campaign_plan import CampaignPlan
from mtloop.selection.rating_kinds import RatingKind

SCALE = (
    "0: nothing of the meaning is preserved. 50: the main points are there, with important errors. 100: all of the "
    "meaning, without errors."
)
INSTRUCTIONS: dict[RatingKind, str] = {
    "score": (
        f"Read the source, then the translation. Give a number from 0 to 100. {SCALE} Judge each translation by "
        "itself. Skip what you cannot judge."
    ),
    "thumbs": (
        "Read the source, then the translation. Thumbs up: you would use the translation as it is, or after a small "
        "change. Thumbs down: it has an important error. Skip what you cannot judge."
    ),
    "pair": (
        "Read the source, then both translations. Choose the better one: first by meaning, then by how well it reads. "
        "If both are equally good, say so. Skip what you cannot judge."
    ),
    "mqm": (
        "Mark every error in the translation, with its category and severity. Major: the meaning changes, or a reader "
        "is confused. Minor: a reader notices it, but the meaning is clear. Neutral: you would write it in another "
        "way, but it is not wrong. If nothing of the source is translated, mark the whole text as non-translation. "
        "A translation without errors has no mark."
    ),
}


def instructions(plan: CampaignPlan) -> str:
    """The instructions of the organiser with what 0 and 100 mean, or those of the kind of rating."""
    own = plan.instructions.strip()
    if not own:
        return INSTRUCTIONS[plan.kind]
    return f"{own}\n\n{SCALE}" if plan.kind == "score" else own
