"""Words that stay unchanged."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mtloop.nmt.decoding.copying import CopyModel, CopyProcessor, PieceSpeller, WordToCopy, candidates, occurs_in
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import SearchState
from mtloop.nmt.engine.vocabulary import SPACE

PIECES = ["", f"{SPACE}In", "Design", f'{SPACE}"', "In", f"{SPACE}Inn", "n", "Des", "ign", f"{SPACE}x"]


def words(text: str) -> SourceWords:
    """Return a source with one piece per word."""
    texts = tuple(text.split())
    return SourceWords(texts, torch.arange(len(texts)))


def spell(word: str) -> list[int]:
    """Spell a word with the longest pieces, after a space."""
    left, ids = SPACE + word, []
    while left:
        piece = max((piece for piece in PIECES[1:] if left.startswith(piece)), key=len, default=None)
        if piece is None:
            return [9]
        ids.append(PIECES.index(piece))
        left = left[len(piece) :]
    return ids


def copied(copying: CopyModel, text: str) -> list[str]:
    processor = copying.processor(words(text), spell, PIECES)
    return [one.text for one in processor.to_copy] if processor else []


def test_a_name_gets_a_bonus_from_the_start_and_a_plain_word_does_not() -> None:
    assert copied(CopyModel(), "Open InDesign .") == ["InDesign"]
    assert copied(CopyModel(), "open file") == []


def test_corrections_decide_which_words_are_copied() -> None:
    """A name is copied after one correction, and no longer copied after several translations."""
    copying, text = CopyModel(), "the Flash player"
    assert copied(copying, text) == []
    copying.learn(words(text), "der Flash Player")
    assert copied(copying, text) == ["Flash"]
    for _ in range(3):
        copying.learn(words(text), "der Blitzspieler")
    assert copied(copying, text) == []


def test_a_name_in_a_compound_counts_as_copied() -> None:
    """In German most names are in compounds; to count them as changed would prevent copying."""
    copying = CopyModel()
    for name in ("XMLSocket", "TextInput", "SimpleButton", "DataGrid"):
        copying.learn(words(f"the {name} object"), f"das {name}-Objekt")
    assert copying.copy_rate("MenuBar", "camel") > 0.8
    assert not occurs_in("Text", "das TextInput-Objekt")


def test_a_frequent_word_counts_once_for_its_shape() -> None:
    copying, once = CopyModel(), CopyModel()
    for times, one in ((9, copying), (1, once)):
        for _ in range(times):
            one.learn(words("the Flash player"), "der Flash Player")
    assert copying.copy_rate("Bridge", "capital") == once.copy_rate("Bridge", "capital")


@pytest.mark.parametrize(
    ("text", "word", "shape"),
    [
        ("call draw ( ) now", "draw", "code"),
        ("the my _ bar file", "my", "code"),
        ("see www.example.org", "www.example.org", "dotted"),
        ("Open it", "Open", "plain"),
        ("to Open it", "Open", "capital"),
    ],
)
def test_the_shape_depends_on_the_word_and_on_its_context(text: str, word: str, shape: str) -> None:
    assert {one.text: one.shape for one in candidates(words(text))}[word] == shape


def test_a_capitalised_word_of_many_pieces_is_strange() -> None:
    text = SourceWords(("the", "Dainippon"), torch.tensor([0, 1, 1, 1]))
    assert [one.shape for one in candidates(text)] == ["plain", "strange"]


def test_words_split_at_punctuation_are_joined_again(small: Marian) -> None:
    found = list(candidates(SourceWords.of(small.source.encode("Open the file a.b-c now."), small.source)))
    assert [one.text for one in found] == ["Open", "the", "file", "a.b-c", "now"]
    assert all(one.first <= one.last for one in found)


def test_text_outside_the_vocabulary_is_not_a_candidate(small: Marian) -> None:
    found = candidates(SourceWords.of(small.source.encode("Open ☃ snow☃man now."), small.source))
    assert [one.text for one in found] == ["Open", "snow", "man", "now"]


def bonuses(tokens: list[int], attention: list[float]) -> dict[int, float]:
    processor = CopyProcessor(
        words("Open InDesign ."), [WordToCopy("InDesign", 1, 1, 4.0)], 6.0, PieceSpeller(spell, PIECES)
    )
    state = SearchState(torch.zeros(1, 1), torch.tensor([attention]), [tokens])
    logits = processor(state, torch.zeros(1, len(PIECES)))[0]
    return {int(piece): round(float(logits[piece]), 3) for piece in logits.nonzero().flatten()}


def test_a_word_is_started_by_attention_and_then_continued() -> None:
    attention = [0.1, 0.8, 0.1]
    assert bonuses([], attention) == {PIECES.index(f"{SPACE}In"): 3.2}
    assert bonuses([9, PIECES.index(f"{SPACE}In")], attention) == {PIECES.index("Design"): 6.0}


def test_after_an_opening_mark_a_word_is_spelled_without_a_space() -> None:
    assert bonuses([PIECES.index(f'{SPACE}"')], [0.0, 1.0, 0.0]) == {PIECES.index("In"): 4.0}


def test_a_word_started_with_other_pieces_is_continued() -> None:
    assert bonuses([PIECES.index(f"{SPACE}In"), PIECES.index("Des")], [0.0, 0.0, 1.0]) == {PIECES.index("ign"): 6.0}


def test_a_different_word_gets_no_bonus() -> None:
    assert bonuses([PIECES.index(f"{SPACE}Inn")], [0.0, 0.0, 1.0]) == {}


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), max_size=8))
def test_counts_survive_saving(pairs: list[tuple[str, str]]) -> None:
    one, other = CopyModel(), CopyModel()
    for source, target in pairs:
        one.learn(words(source), target)
    other.restore(one.counts())
    assert +one.kept_ == +other.kept_
    assert one.seen_ == other.seen_
