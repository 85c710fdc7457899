"""Which sentence stands where, and ids that do not tell."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mtloop.data.stream_layout import StreamLayout
from mtloop.service.tasks.sealed_ids import PassPosition, new_key, new_token, seal, unseal
from mtloop.service.tasks.tables import runs

LAYOUTS = st.builds(
    lambda normal, held_out, blocks: StreamLayout(normal + held_out, held_out, blocks if held_out else 0),
    st.integers(1, 300),
    st.integers(0, 30),
    st.integers(2, 13),
)
PLACES = st.builds(PassPosition, st.integers(1, 2**24 - 1), st.integers(0, 2**40 - 1))


@given(LAYOUTS)
def test_every_sentence_once_and_the_block_at_start_intervals_and_end(layout: StreamLayout) -> None:
    stream = [layout.at(position) for position in range(len(layout))]
    blocks = [layout.block(position) for position in range(len(layout))]
    assert [number for number in stream if number < layout.normal] == list(range(layout.normal))
    assert [block is not None for block in blocks] == [number >= layout.normal for number in stream]
    held = list(range(layout.normal, layout.lines))
    for block, start in enumerate(layout.starts()):
        assert stream[start : start + layout.held_out] == held
        assert set(blocks[start : start + layout.held_out]) == {block}
    if layout.held_out:
        gaps = [b - a for a, b in zip(layout.starts(), layout.starts()[1:], strict=False)]
        assert layout.starts()[0] == 0
        assert layout.starts()[-1] == len(layout) - layout.held_out
        assert max(gaps) - min(gaps) <= 1


def test_the_shapes_of_2017() -> None:
    dev, training = StreamLayout(40_000, 700, 4), StreamLayout(1_297_974, 4_000, 12)
    assert len(dev) == 39_300 + 4 * 700
    assert len(training) == 1_293_974 + 12 * 4_000
    assert len(dev.starts()) == 4
    assert len(training.starts()) == 12


@given(PLACES, PLACES)
def test_an_id_is_its_place_and_nothing_else(one: PassPosition, other: PassPosition) -> None:
    key, another = new_key(), new_key()
    assert unseal(key, seal(key, one)) == one
    assert unseal(another, seal(key, one)) is None
    assert (seal(key, one) == seal(key, other)) == (one == other)
    assert len(seal(key, one)) == len(seal(key, other))


@given(st.text())
def test_what_is_no_id_is_none(text: str) -> None:
    assert unseal(new_key(), text) is None


def test_names_of_runs_can_be_given_to_a_command() -> None:
    """Of names over the url-safe alphabet, one in 64 begins with a dash and is taken for an option."""
    names = {new_token() for _ in range(1000)}
    assert len(names) == 1000
    assert not [name for name in names if name.startswith("-")]
    assert max(map(len, names)) <= runs.c.token.type.length
