"""Characters that are spelt byte by byte come out whole, and no more often than they went in."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mtloop.config.methods import make_learner
from mtloop.core import Segment
from mtloop.translators.marian.find import find_model
from mtloop.translators.marian.model import Marian
from mtloop.translators.marian.search import Moment
from mtloop.translators.marian.spelling import Spelling

BYTES = {value + 10: value for value in range(256)}  # ids 0 to 9 are other pieces
RARE = st.lists(st.characters(min_codepoint=0x80, exclude_categories=("Cs",)), min_size=1, max_size=6)


@given(RARE, st.integers(0, 2**32 - 1))
def test_what_is_begun_is_finished_as_the_source_has_it_and_not_said_too_often(source: list[str], seed: int) -> None:
    """A model that says anything at all: what it spells is made of the source's characters."""
    spelling = Spelling({one.encode(): source.count(one) for one in source}, BYTES)
    random, written = torch.Generator().manual_seed(seed), list[int]()
    firsts = [one.encode()[0] + 10 for one in source]
    for _ in range(40):
        logits = torch.randn(1, 266, generator=random)
        logits[0, firsts] += 2.0  # it likes to begin
        logits = spelling(Moment(torch.empty(1, 0), torch.empty(1, 0), [written]), logits)
        inside = logits[0, :10].isinf().all()  # of a character: nothing else may come
        choices = range(266) if inside else [*range(10), *firsts]
        written.append(max(choices, key=lambda i: float(logits[0, i])))
    said = Counter(bytes(i - 10 for i in written if i >= 10).decode(errors="ignore"))
    assert said <= Counter(source)
    assert said or not source


def test_only_the_bytes_of_the_source_may_follow() -> None:
    face, snowman = "😀".encode(), "☃".encode()
    spelling = Spelling({face: 1, snowman: 1}, BYTES)
    both = spelling.left([])
    assert both == {face, snowman}
    assert spelling.follow(b"", both) == []
    assert spelling.follow(face[:3], both) == [0x80]
    assert spelling.follow(snowman[:1], both) == [0x98]
    assert spelling.follow(b"\xe3", both)[0] == 0x80  # of none in the source: anything that makes it whole
    assert spelling.follow(face, both) == []
    assert spelling.left([*face, None]) == {snowman}


@pytest.mark.parametrize(("source", "kept"), [("Open 😀 the file.", "😀"), ("Click ☃ to go on.", "☃")])
@pytest.mark.parametrize("beams", [1, 4])
def test_an_emoji_survives_translation(source: str, kept: str, beams: int) -> None:
    learner = make_learner("baseline", Marian.load(find_model("en-de")), {"beams": beams})
    said = learner.propose(Segment("1", source)).text
    assert said.count(kept) == 1
    assert "\ufffd" not in said
