"""Names that stay as they are."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mtloop.nmt.decoding.copying import Copying, Kept, Push, Speller, candidates, stands_in
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import Moment
from mtloop.nmt.engine.vocabulary import SPACE

PIECES = ["", f"{SPACE}In", "Design", f'{SPACE}"', "In", f"{SPACE}Inn", "n", "Des", "ign", f"{SPACE}x"]


def words(text: str) -> SourceWords:
    """A word a piece."""
    texts = tuple(text.split())
    return SourceWords(texts, torch.arange(len(texts)))


def spell(word: str) -> list[int]:
    """By the longest pieces; a space stands before the first."""
    left, ids = SPACE + word, []
    while left:
        piece = max((piece for piece in PIECES[1:] if left.startswith(piece)), key=len, default=None)
        if piece is None:
            return [9]
        ids.append(PIECES.index(piece))
        left = left[len(piece) :]
    return ids


def kept(copying: Copying, text: str) -> list[str]:
    push = copying.of(words(text), spell, PIECES)
    return [one.text for one in push.kept] if push else []


def test_a_name_is_pushed_from_the_start_and_a_plain_word_is_not() -> None:
    assert kept(Copying(), "Open InDesign .") == ["InDesign"]
    assert kept(Copying(), "open file") == []


def test_translators_decide_what_is_kept() -> None:
    """A product's name is kept after one correction, a word that was translated is not; each can change its mind."""
    copying, text = Copying(), "the Flash player"
    assert kept(copying, text) == []
    copying.learn(words(text), "der Flash Player")
    assert kept(copying, text) == ["Flash"]
    for _ in range(3):
        copying.learn(words(text), "der Blitzspieler")
    assert kept(copying, text) == []


def test_a_name_in_a_compound_was_kept() -> None:
    """In German most names end up in one; to count them as changed would teach not to copy."""
    copying = Copying()
    for name in ("XMLSocket", "TextInput", "SimpleButton", "DataGrid"):
        copying.learn(words(f"the {name} object"), f"das {name}-Objekt")
    assert copying.rate("MenuBar", "camel") > 0.8
    assert not stands_in("Text", "das TextInput-Objekt")


def test_a_word_that_comes_often_says_no_more_of_its_shape_than_others() -> None:
    copying, once = Copying(), Copying()
    for times, one in ((9, copying), (1, once)):
        for _ in range(times):
            one.learn(words("the Flash player"), "der Flash Player")
    assert copying.rate("Bridge", "capital") == once.rate("Bridge", "capital")


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
def test_a_word_is_known_by_its_shape_and_by_what_stands_beside_it(text: str, word: str, shape: str) -> None:
    assert {one.text: one.shape for one in candidates(words(text))}[word] == shape


def test_a_capitalised_word_of_many_pieces_is_strange() -> None:
    text = SourceWords(("the", "Dainippon"), torch.tensor([0, 1, 1, 1]))
    assert [one.shape for one in candidates(text)] == ["plain", "strange"]


def test_what_the_pieces_cut_at_a_mark_is_one_word_again(small: Marian) -> None:
    found = list(candidates(SourceWords.of(small.source.encode("Open the file a.b-c now."), small.source)))
    assert [one.text for one in found] == ["Open", "the", "file", "a.b-c", "now"]
    assert all(one.first <= one.last for one in found)


def test_what_the_vocabulary_cannot_spell_is_no_candidate(small: Marian) -> None:
    found = candidates(SourceWords.of(small.source.encode("Open ☃ snow☃man now."), small.source))
    assert [one.text for one in found] == ["Open", "snow", "man", "now"]


def pushed(written: list[int], looks: list[float]) -> dict[int, float]:
    push = Push(words("Open InDesign ."), [Kept("InDesign", 1, 1, 4.0)], 6.0, Speller(spell, PIECES))
    logits = push(Moment(torch.zeros(1, 1), torch.tensor([looks]), [written]), torch.zeros(1, len(PIECES)))[0]
    return {int(piece): round(float(logits[piece]), 3) for piece in logits.nonzero().flatten()}


def test_a_word_is_begun_where_the_decoder_looks_and_carried_on_once_begun() -> None:
    looks = [0.1, 0.8, 0.1]
    assert pushed([], looks) == {PIECES.index(f"{SPACE}In"): 3.2}
    assert pushed([9, PIECES.index(f"{SPACE}In")], looks) == {PIECES.index("Design"): 6.0}


def test_after_an_opening_mark_a_word_is_spelled_without_a_space() -> None:
    assert pushed([PIECES.index(f'{SPACE}"')], [0.0, 1.0, 0.0]) == {PIECES.index("In"): 4.0}


def test_a_word_begun_in_other_pieces_is_carried_on_from_there() -> None:
    assert pushed([PIECES.index(f"{SPACE}In"), PIECES.index("Des")], [0.0, 0.0, 1.0]) == {PIECES.index("ign"): 6.0}


def test_a_word_that_went_another_way_is_left_alone() -> None:
    assert pushed([PIECES.index(f"{SPACE}Inn")], [0.0, 0.0, 1.0]) == {}


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), max_size=8))
def test_counts_survive_saving(pairs: list[tuple[str, str]]) -> None:
    one, other = Copying(), Copying()
    for source, target in pairs:
        one.learn(words(source), target)
    other.restore(one.counts())
    assert +one.kept_ == +other.kept_
    assert one.seen_ == other.seen_
