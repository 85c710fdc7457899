"""The registry of files that are filled in, and splicing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import FILES, BilingualFile, Edit, Filling, UnitState, check_targets, open_file, splice

PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Open"\nmsgstr ""\n'


def test_an_unknown_suffix_names_the_known_ones(write) -> None:
    with pytest.raises(InputError, match=r"unknown file type '\.doc'; known: \.po, \.pot, \.ts"):
        open_file(write("a.doc", "x"))


def test_a_compressed_file_is_refused(write) -> None:
    with pytest.raises(InputError, match="decompress it first"):
        open_file(write("a.po.gz", b"\x1f\x8b"))


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(InputError, match=r"a\.po: no such file"):
        open_file(tmp_path / "a.po")


def test_the_suffix_may_be_in_capitals(write) -> None:
    assert [unit.source for unit in open_file(write("DE.PO", PO)).units] == ["", "Open"]


@pytest.mark.parametrize("suffix", FILES)
def test_every_opener_exists(suffix: str, write) -> None:
    with pytest.raises(InputError):
        open_file(write(f"a{suffix}", b""))


def test_an_index_without_a_unit(write) -> None:
    file = open_file(write("de.po", PO))
    with pytest.raises(IndexError, match="2 units"):
        file.filled({2: Filling("x")})


def test_a_locked_unit_is_refused(write) -> None:
    file: BilingualFile = open_file(write("de.po", PO))
    assert file.units[0].state is UnitState.LOCKED
    with pytest.raises(InputError, match="unit header is locked"):
        check_targets(file, {0: Filling("x")})


def test_half_a_character_is_refused(write) -> None:
    with pytest.raises(InputError, match=r"unit 1 has half a character, U\+DC80"):
        open_file(write("de.po", PO)).filled({1: Filling("a\udc80")})


def test_edits_at_one_place_keep_their_order() -> None:
    assert splice(b"ab", [Edit(1, 2, b"B"), Edit(1, 1, b"1"), Edit(1, 1, b"2")]) == b"a12B"


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap at byte 1"):
        splice(b"abc", [Edit(0, 2, b""), Edit(1, 3, b"")])


@given(st.lists(st.tuples(st.binary(max_size=3), st.binary(max_size=3), st.binary(max_size=3))), st.randoms())
def test_splicing_replaces_the_ranges_and_nothing_else(parts, random) -> None:
    content, edits = b"", []
    for kept, old, new in parts:
        content += kept + b"|" + old
        edits.append(Edit(len(content) - len(old), len(content), new))
    random.shuffle(edits)
    assert splice(content, edits) == b"".join(kept + b"|" + new for kept, _, new in parts)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".po", ".ts"])
def test_a_hundred_thousand_units(suffix: str, write) -> None:
    """A step that takes longer with every unit would need hours here."""
    path = write(f"de{suffix}", _large(suffix, 100_000))
    file = open_file(path)
    targets = {index: Filling("x") for index, unit in enumerate(file.units) if unit.state is UnitState.UNTRANSLATED}
    assert len(targets) == 100_000
    path.write_bytes(file.filled(targets))
    assert sum(unit.target == "x" for unit in open_file(path).units) == 100_000


def _large(suffix: str, size: int) -> str:
    if suffix == ".po":
        return PO + "".join(f'\n#: a.c:{number}\nmsgid "{number}"\nmsgstr ""\n' for number in range(1, size))
    empty = '<translation type="unfinished"></translation>'
    messages = (f"<message><source>{number}</source>{empty}</message>\n" for number in range(size))
    return f'<TS version="2.1"><context><name>A</name>{"".join(messages)}</context></TS>'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.xlf", '<xliff version="1.2"><file source-language="en" target-language="de"><body/></file></xliff>'),
        ("a.ts", '<TS language="de"><context><name>ä</name></context></TS>'),
        (
            "a.tmx",
            '<tmx version="1.4"><header srclang="en"/><body><tu><tuv lang="en"><seg>a</seg></tuv></tu></body></tmx>',
        ),
    ],
)
def test_utf8_that_is_declared_as_something_else(name: str, content: str, write) -> None:
    text = f'<?xml version="1.0" encoding="ISO-8859-1"?>\n<!-- ö -->\n{content}\n'
    with pytest.raises(InputError, match=rf"{name}:2: the file declares iso8859-1, but its bytes are UTF-8"):
        open_file(write(name, text.encode()), source_lang="en", target_lang="de")
    open_file(write(name, text.encode("latin-1")), source_lang="en", target_lang="de")


def test_a_template_and_columns_that_do_not_apply(write) -> None:
    path = write("de.po", PO)
    with pytest.raises(InputError, match=r"de\.po: has its own source texts; leave out --template"):
        open_file(path, template=path.with_name("en.json"))
    with pytest.raises(InputError, match=r"de\.po: is not a table; leave out --columns"):
        open_file(path, columns={"source": "A"})
