from __future__ import annotations

from mtloop.core import PostEdit, Proposal, Segment, Truth
from mtloop.judges import PostEditor

PROPOSAL = Proposal(Segment("1", "Save"), "Sichern")


def test_the_first_reference_is_the_post_edit() -> None:
    assert PostEditor(rater="ann")(PROPOSAL, Truth(("Speichern", "Sichern"))) == PostEdit("Speichern", "ann")


def test_without_a_reference_it_returns_none() -> None:
    assert PostEditor()(PROPOSAL, None) is None
    assert PostEditor()(PROPOSAL, Truth()) is None
