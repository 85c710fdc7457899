"""A short stream, a post-editing judge, and all schedules."""

from __future__ import annotations

from mtloop.core import Blocks, Delay, Each, PostEdit, Proposal, Schedule, Segment, Truth

STREAM = [(Segment(str(i), "ein Wort " * (i % 3 + 1)), Truth((f"ref {i}",))) for i in range(12)]
SCHEDULES: list[Schedule] = [Each(), Delay(0), Delay(3), Delay(50), Blocks(10), Blocks(10, unfair=True)]


def post_editor(proposal: Proposal, truth: Truth | None) -> PostEdit | None:
    return PostEdit(truth.references[0]) if truth else None
