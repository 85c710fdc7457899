"""Characters that are spelt in bytes are complete in the output, and not more frequent than in the source."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core import PostEdit, Segment
from mtloop.methods.defaults import DEFAULT_METHOD
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.engine.byte_spelling import ByteSpellingProcessor
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import SearchState

BYTES = {value + 10: value for value in range(256)}  # ids 0 to 9 are other pieces
RARE = st.lists(st.characters(min_codepoint=0x80, exclude_categories=("Cs",)), min_size=1, max_size=6)


@given(RARE, st.integers(0, 2**32 - 1))
def test_every_started_character_is_completed_to_one_of_the_source(source: list[str], seed: int) -> None:
    """A random model that often starts characters never leaves one incomplete."""
    spelling = ByteSpellingProcessor({one.encode(): source.count(one) for one in source}, BYTES)
    random, tokens = torch.Generator().manual_seed(seed), list[int]()
    firsts = [one.encode()[0] + 10 for one in source]
    for _ in range(40):
        logits = torch.randn(1, 266, generator=random)
        logits[0, 10:] -= 50.0
        logits[0, list(set(firsts))] += 52.0
        logits = spelling(SearchState(torch.empty(1, 0), torch.empty(1, 0), [tokens]), logits)
        tokens.append(int(logits[0].argmax()))
    while tokens and tokens[-1] >= 10:
        tokens.pop()  # the last character may be incomplete
    text = bytes(i - 10 if i >= 10 else 32 for i in tokens).decode()
    assert set(text) - set(source) - {chr(i) for i in range(128)} <= set()


def test_a_model_that_prefers_another_character_may_generate_it() -> None:
    """For example after a correction: an arrow for a dash, which begin with the same byte."""
    dash, arrow = "—".encode(), "→".encode()
    assert dash[0] == arrow[0]
    spelling = ByteSpellingProcessor({dash: 1}, BYTES)
    logits = torch.zeros(1, 266)
    logits[0, arrow[1] + 10] = 5.0
    processed = spelling(SearchState(torch.empty(1, 0), torch.empty(1, 0), [[arrow[0] + 10]]), logits)
    assert int(processed.argmax()) == arrow[1] + 10
    assert processed[0, :10].isinf().all()


def test_only_the_bytes_of_the_source_may_follow() -> None:
    face, snowman = "😀".encode(), "☃".encode()
    spelling = ByteSpellingProcessor({face: 1, snowman: 1}, BYTES)
    assert spelling.remaining([]) == {face, snowman}
    assert spelling.remaining([*face, None]) == {snowman}
    assert spelling.next_bytes(face[:3], [*face[:3]]) == [0x80]
    assert spelling.next_bytes(snowman[:1], [*snowman[:1]]) == [0x98]
    assert spelling.next_bytes(b"\xe3", [0xE3])[0] == 0x80  # no character of the source: any continuation byte


@pytest.mark.parametrize(
    ("source", "prefix"),
    [
        ("Choose File — Open to load the document.", "Wählen Sie Datei → "),
        ("Open 😀 the file.", "Öffnen Sie 😂 die "),
    ],
)
def test_a_typed_prefix_with_other_characters_is_completed(source: str, prefix: str) -> None:
    learner = make_learner("baseline", Marian.load(find_model("en-de")))
    assert isinstance(learner, AdaptiveNMT)
    text = learner.propose(Segment("1", source), prefix=prefix).text
    assert text.startswith(prefix)
    assert len(text.split()) > len(prefix.split())


def test_a_correction_to_another_character_is_learned() -> None:
    learner = make_learner(DEFAULT_METHOD, Marian.load(find_model("en-de")))
    pairs = (
        ("Choose File — Open.", "Wählen Sie Datei → Öffnen."),
        ("Choose Edit — Copy.", "Wählen Sie Bearbeiten → Kopieren."),
        ("Choose View — Zoom.", "Wählen Sie Ansicht → Zoom."),
    )
    for number, (source, target) in enumerate(pairs):
        learner.learn(learner.propose(Segment(str(number), source)), PostEdit(target))
    assert "→" in learner.propose(Segment("4", "Choose Tools — Options.")).text


@pytest.mark.parametrize(("source", "kept"), [("Open 😀 the file.", "😀"), ("Click ☃ to go on.", "☃")])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_an_emoji_survives_translation(source: str, kept: str, beam_size: int) -> None:
    learner = make_learner("baseline", Marian.load(find_model("en-de")), {"beam_size": beam_size})
    text = learner.propose(Segment("1", source)).text
    assert text.count(kept) == 1
    assert "\ufffd" not in text
