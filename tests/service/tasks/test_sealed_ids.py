"""The layout of a stream, and opaque sentence ids."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mtloop.data.stream_layout import StreamLayout
from mtloop.service.accounts.keys import new_token
from mtloop.service.tasks.sealed_ids import PassPosition, new_id_key, seal, unseal
from mtloop.service.tasks.tables import runs

LAYOUTS = st.builds(
    lambda normal, held_out, blocks: StreamLayout(normal + held_out, held_out, blocks if held_out else 0),
    st.integers(1, 300),
    st.integers(0, 30),
    st.integers(2, 13),
)
POSITIONS = st.builds(PassPosition, st.integers(1, 2**24 - 1), st.integers(0, 2**40 - 1))


@given(LAYOUTS)
def test_every_sentence_once_and_the_block_at_start_intervals_and_end(layout: StreamLayout) -> None:
    stream = [layout.sentence_at(position) for position in range(len(layout))]
    blocks = [layout.block_at(position) for position in range(len(layout))]
    assert [number for number in stream if number < layout.training_sentences] == list(range(layout.training_sentences))
    assert [block is not None for block in blocks] == [number >= layout.training_sentences for number in stream]
    held = list(range(layout.training_sentences, layout.sentences))
    for block, start in enumerate(layout.block_starts()):
        assert stream[start : start + layout.held_out] == held
        assert set(blocks[start : start + layout.held_out]) == {block}
    if layout.held_out:
        gaps = [b - a for a, b in zip(layout.block_starts(), layout.block_starts()[1:], strict=False)]
        assert layout.block_starts()[0] == 0
        assert layout.block_starts()[-1] == len(layout) - layout.held_out
        assert max(gaps) - min(gaps) <= 1


def test_the_stream_layouts_of_2017() -> None:
    dev, training = StreamLayout(40_000, 700, 4), StreamLayout(1_297_974, 4_000, 12)
    assert len(dev) == 39_300 + 4 * 700
    assert len(training) == 1_293_974 + 12 * 4_000
    assert len(dev.block_starts()) == 4
    assert len(training.block_starts()) == 12


@given(POSITIONS, POSITIONS)
def test_an_id_encodes_one_position(one: PassPosition, other: PassPosition) -> None:
    key, another = new_id_key(), new_id_key()
    assert unseal(key, seal(key, one)) == one
    assert unseal(another, seal(key, one)) is None
    assert (seal(key, one) == seal(key, other)) == (one == other)
    assert len(seal(key, one)) == len(seal(key, other))


@given(st.text())
def test_an_invalid_id_is_unsealed_as_none(text: str) -> None:
    assert unseal(new_id_key(), text) is None


def test_run_ids_do_not_look_like_options() -> None:
    """A url-safe base64 name begins with a dash in one of 64 cases, and a command would take it for an option."""
    names = {new_token() for _ in range(1000)}
    assert len(names) == 1000
    assert not [name for name in names if name.startswith("-")]
    assert max(map(len, names)) <= runs.c.token.type.length
