"""Characters that are spelt byte by byte come out whole, and no more often than they went in."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core import PostEdit, Segment
from mtloop.methods.defaults import DEFAULT
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.engine.byte_spelling import Spelling
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import Moment

BYTES = {value + 10: value for value in range(256)}  # ids 0 to 9 are other pieces
RARE = st.lists(st.characters(min_codepoint=0x80, exclude_categories=("Cs",)), min_size=1, max_size=6)


@given(RARE, st.integers(0, 2**32 - 1))
def test_what_is_begun_is_finished_with_a_character_of_the_source(source: list[str], seed: int) -> None:
    """Whatever a model says that likes to begin characters and knows none: none is left half said."""
    spelling = Spelling({one.encode(): source.count(one) for one in source}, BYTES)
    random, written = torch.Generator().manual_seed(seed), list[int]()
    firsts = [one.encode()[0] + 10 for one in source]
    for _ in range(40):
        logits = torch.randn(1, 266, generator=random)
        logits[0, 10:] -= 50.0
        logits[0, list(set(firsts))] += 52.0
        logits = spelling(Moment(torch.empty(1, 0), torch.empty(1, 0), [written]), logits)
        written.append(int(logits[0].argmax()))
    while written and written[-1] >= 10:
        written.pop()  # the last one may be under way
    text = bytes(i - 10 if i >= 10 else 32 for i in written).decode()
    assert set(text) - set(source) - {chr(i) for i in range(128)} <= set()


def test_a_model_that_knows_another_character_may_say_it() -> None:
    """As after a correction: an arrow for a dash, which begin with the same byte."""
    dash, arrow = "—".encode(), "→".encode()
    assert dash[0] == arrow[0]
    spelling = Spelling({dash: 1}, BYTES)
    logits = torch.zeros(1, 266)
    logits[0, arrow[1] + 10] = 5.0
    told = spelling(Moment(torch.empty(1, 0), torch.empty(1, 0), [[arrow[0] + 10]]), logits)
    assert int(told.argmax()) == arrow[1] + 10
    assert told[0, :10].isinf().all()


def test_only_the_bytes_of_the_source_may_follow() -> None:
    face, snowman = "😀".encode(), "☃".encode()
    spelling = Spelling({face: 1, snowman: 1}, BYTES)
    assert spelling.left([]) == {face, snowman}
    assert spelling.left([*face, None]) == {snowman}
    assert spelling.follow(face[:3], [*face[:3]]) == [0x80]
    assert spelling.follow(snowman[:1], [*snowman[:1]]) == [0x98]
    assert spelling.follow(b"\xe3", [0xE3])[0] == 0x80  # of none in the source: anything that makes it whole


@pytest.mark.parametrize(
    ("source", "prefix"),
    [
        ("Choose File — Open to load the document.", "Wählen Sie Datei → "),
        ("Open 😀 the file.", "Öffnen Sie 😂 die "),
    ],
)
def test_what_was_typed_is_completed_whatever_it_spells(source: str, prefix: str) -> None:
    learner = make_learner("baseline", Marian.load(find_model("en-de")))
    assert isinstance(learner, AdaptiveNMT)
    said = learner.propose(Segment("1", source), prefix=prefix).text
    assert said.startswith(prefix)
    assert len(said.split()) > len(prefix.split())


def test_a_correction_of_such_a_character_is_learned() -> None:
    learner = make_learner(DEFAULT, Marian.load(find_model("en-de")))
    pairs = (
        ("Choose File — Open.", "Wählen Sie Datei → Öffnen."),
        ("Choose Edit — Copy.", "Wählen Sie Bearbeiten → Kopieren."),
        ("Choose View — Zoom.", "Wählen Sie Ansicht → Zoom."),
    )
    for number, (source, target) in enumerate(pairs):
        learner.learn(learner.propose(Segment(str(number), source)), PostEdit(target))
    assert "→" in learner.propose(Segment("4", "Choose Tools — Options.")).text


@pytest.mark.parametrize(("source", "kept"), [("Open 😀 the file.", "😀"), ("Click ☃ to go on.", "☃")])
@pytest.mark.parametrize("beams", [1, 4])
def test_an_emoji_survives_translation(source: str, kept: str, beams: int) -> None:
    learner = make_learner("baseline", Marian.load(find_model("en-de")), {"beams": beams})
    said = learner.propose(Segment("1", source)).text
    assert said.count(kept) == 1
    assert "\ufffd" not in said
