"""Names that stay as they are."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from mtloop.translators.copying import Copying, Push
from mtloop.translators.marian.search import Moment
from mtloop.translators.words import Words

WORDS = Words(("Open", "InDesign", "."), torch.tensor([0, 1, 2]))


def spell(word: str) -> list[int]:
    return [ord(c) for c in word]


def test_a_name_is_pushed_from_the_start_and_a_plain_word_is_not() -> None:
    push = Copying().of(WORDS, spell)
    assert push is not None
    assert [number for number, _ in push.kept] == [1]
    assert Copying().of(Words(("open", "file"), torch.tensor([0, 1])), spell) is None


def test_translators_decide_what_is_kept() -> None:
    """A product's name is kept after one correction, a word that was translated is not; each can change its mind."""
    copying = Copying()
    words = Words(("the", "Flash", "player"), torch.tensor([0, 1, 2]))
    assert copying.of(words, spell) is None
    copying.learn("the Flash player", "der Flash Player")
    assert copying.of(words, spell) is not None
    for _ in range(3):
        copying.learn("the Flash player", "der Blitzspieler")
    assert copying.of(words, spell) is None


def test_a_word_is_begun_where_the_decoder_looks_and_carried_on_once_begun() -> None:
    push = Push(WORDS, [(1, (5, 6, 7))], start=4.0, go_on=6.0)
    looks = torch.tensor([[0.1, 0.8, 0.1]])
    begun = push(Moment(torch.zeros(1, 1), looks, [[1, 2]]), torch.zeros(1, 9))
    torch.testing.assert_close(begun[0, 5], torch.tensor(3.2))
    on = push(Moment(torch.zeros(1, 1), looks, [[1, 5, 6]]), torch.zeros(1, 9))
    assert on[0].nonzero().flatten().tolist() == [7]
    assert float(on[0, 7]) == 6.0


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), max_size=8))
def test_counts_survive_saving(pairs: list[tuple[str, str]]) -> None:
    one, other = Copying(), Copying()
    for source, target in pairs:
        one.learn(source, target)
    other.restore(one.counts())
    assert +one.kept_ == +other.kept_
    assert one.seen_ == other.seen_
