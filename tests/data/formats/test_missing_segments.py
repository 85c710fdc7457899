"""XLIFF 1.2 with targets that lack segments of the source: the missing ones are put beside their neighbours."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from helpers.file_samples import xliff1
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from mtloop.data.formats.filling import Filling, UnitState, open_file

SHORT = re.compile(r"\[(\d+)([^\]]*)\]")


def marks(text: str) -> str:
    """Write `[1 a="b"|Text]` as the mark of segment 1."""

    def mark(found: re.Match[str]) -> str:
        attributes, _, inner = found[2].partition("|")
        return f'<mrk mtype="seg" mid="{found[1]}"{attributes}>{inner}</mrk>'

    return SHORT.sub(mark, text)


def unit(source: str, target: str, attributes: str = "") -> bytes:
    segmented = f"<seg-source>{marks(source)}</seg-source>"
    written = f"<target{attributes}>{marks(target)}</target>"
    return xliff1(f'<trans-unit id="1"><source>Some text.</source>{segmented}{written}</trans-unit>')


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("[1|A] [2|B] [3|C]", "[1|a] [3|c]", "[1|a] [2|NEW2] [3|c]"),
        ("[1|A] [2|B]", "[2|b]", "[1|NEW1] [2|b]"),
        ("[1|A] [2|B]", "[1|a]", "[1|a] [2|NEW2]"),
        ("[1|A] [2|B]", "[1|a] ", "[1|a] [2|NEW2]"),
        ("[1|A][2|B]", "\n  [1|a]\n", "\n  [1|a][2|NEW2]\n"),
        ("[1|A] [2|B] [3|C] [4|D]", "[4|d]", "[1|NEW1] [2|NEW2] [3|NEW3] [4|d]"),
        # the order of the translator
        ("[1|A] [2|B] [3|C]", "[3|c] [1|a]", "[3|c] [1|a] [2|NEW2]"),
        # attributes, and segments that the source does not have
        ("[1|A] [2|B]", '[1 comment="x"|a] [99|z]', '[1 comment="x"|a] [2|NEW2] [99|z]'),
        ("[1|A] [2|B]", "[99|z] [2|b]", "[99|z] [1|NEW1] [2|b]"),
        # text and tags between segments
        ("[1|A] [2|B]", '[1|a] - loose <x id="9"/>', '[1|a] [2|NEW2] - loose <x id="9"/>'),
        ('[1|A]<x id="5"/>[2|B]', '[1|a]<x id="5"/>', '[1|a]<x id="5"/>[2|NEW2]'),
        ("[1|A], und [2|B]", "[1|a], und mehr", "[1|a], und[2|NEW2] mehr"),
        ("[1|A], und [2|B]", "[99|z], und [2|b]", "[99|z][1|NEW1], und [2|b]"),
        ('[1|A] <x id="5"/>[2|B]', '[1|a]<x id="5"/> more', '[1|a]<x id="5"/>[2|NEW2] more'),
        ('[1|A]<x id="5"/>[2|B]', "[1|a]", '[1|a]<x id="5"/>[2|NEW2]'),
        ('[1|A]<x id="5"/>[2|B]', '<x id="5"/>[2|b]', '[1|NEW1]<x id="5"/>[2|b]'),
        ('[1|A]<x id="5"/>[2|B]<x id="6"/>[3|C]', '[1|a]<x id="5"/><x id="6"/>[3|c]', None),
        # inside other elements
        ('<g id="9">[1|A] [2|B]</g> [3|C]', '<g id="9">[1|a]</g> [3|c]', '<g id="9">[1|a] [2|NEW2]</g> [3|c]'),
        ('<g id="9">[1|A]</g> [2|B]', '<g id="9">[1|a]</g>', '<g id="9">[1|a]</g> [2|NEW2]'),
        ('[1|A] <g id="9">[2|B]</g>', "[1|a]", '[1|a] <g id="9">[2|NEW2]</g>'),
        ('<g id="8"><g id="9">[1|A]</g></g>[2|B]', '<g id="8"><g id="9">[1|a]</g></g>', None),
    ],
)
def test_a_missing_segment_is_put_beside_its_neighbour(source: str, target: str, expected: str | None, write) -> None:
    content = unit(source, target, ' state="final" equiv-trans="no"')
    path = write("a.xlf", content)
    file = open_file(path)
    open_units = [index for index, one in enumerate(file.units) if one.state is UnitState.UNTRANSLATED]
    texts = {index: f"NEW{file.units[index].id.rpartition('/')[2]}" for index in open_units}
    filled = file.filled({index: Filling(text, approved=True) for index, text in texts.items()}).decode()
    if expected is None:
        new = [f'<mrk mtype="seg" mid="{text[3:]}">{text}</mrk>' for text in texts.values()]
        assert len(new) == 1
        assert new[0] in filled
        assert filled.replace(new[0], "").replace("translated", "final") == content.decode()
        return
    start = '<target state="translated" equiv-trans="no">'
    assert f"{start}{marks(expected)}</target>" in filled
    path.write_text(filled)
    assert [one.target for one in open_file(path).units if one.target.startswith("NEW")] == [*texts.values()]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        # no neighbour, or one inside other tags
        ("[1|A] [2|B]", "[99|z]"),
        ('<g id="9">[1|A] [2|B]</g>', "[1|a]"),
        ('<g id="9">[1|A] [2|B]</g>', '<g id="8">[1|a]</g>'),
        ('<g id="9">[1|A]</g> [2|B]', "[1|a]"),
        # the tag between them is elsewhere
        ('[1|A]<x id="5"/>[2|B]', '<x id="5"/>[1|a]'),
        ('[1|A]<x id="5"/>[2|B]', '[1|a <x id="5"/>]'),
        ('[1|A] <g id="9">[2|B]</g>', '[1|a] <g id="9"></g>'),
        ('[1|A]<x id="5"/>[2|B]', "[1|a] loose"),
    ],
)
def test_a_segment_without_a_known_place_is_left_out_and_named(source: str, target: str, write) -> None:
    content = unit(source, target)
    file = open_file(write("a.xlf", content))
    assert [one.state for one in file.units][-1] is UnitState.LOCKED
    (note,) = file.notes
    number = 1 + ("99" in target)
    assert note.startswith(f"{number} segment{'s' * (number > 1)} cannot be filled in, the first one in the unit in li")
    if "99" not in target:
        filled = file.filled({0: Filling("new", approved=True)}).decode()
        assert 'state="needs-review-translation"' in filled  # a part is not translated
        old = re.sub(r'(mid="1">).*?(?=</mrk>)', r"\1new", content[content.index(b"<target") :].decode())
        assert filled.endswith(old.replace("<target", '<target state="needs-review-translation"', 1))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("[1|A], and [2|B]", "[1|a], andere Worte"),
        ("[1|A], and [2|B]", "[1|a], andé [99|z]"),
        ("[1|A], an [2|B]", "[1|a], an\u0301 "),
        ("[2|B] und [1|A]", "Hund [1|a]"),
    ],
)
def test_a_segment_is_not_put_inside_a_word(source: str, target: str, write) -> None:
    file = open_file(write("a.xlf", unit(source, target)))
    assert {one.id: str(one.state) for one in file.units} == {"1/1": "translated", "1/2": "locked"}
    assert len(file.notes) == 1


def test_what_is_not_missing_has_no_note(write) -> None:
    assert open_file(write("a.xlf", unit("[1|A] [2|B]", "[2|b] [1|a]"))).notes == ()
    assert open_file(write("b.xlf", unit("[1|A] [2|B]", "[1|a]"))).notes == ()
    locked = unit("[1|A] [2|B]", "[99|z]").replace(b'<trans-unit id="1"', b'<trans-unit id="1" translate="no"')
    assert open_file(write("c.xlf", locked)).notes == ()


def test_line_ends_and_segments_without_text(write) -> None:
    source = "[1|A]\r\n[2|B]\r\n[3| ][4|D]"
    content = b"<!-- x -->\r\n" + unit(source, "[1|a]\r\n[4|d]")
    filled = open_file(write("a.xlf", content)).filled({1: Filling("b\nb", approved=True)})
    expected = marks("[1|a]\r\n[2|b\r\nb]\r\n[3| ][4|d]")
    assert f'<target state="translated">{expected}</target>'.encode() in filled


PIECES = st.sampled_from(["", " ", '<x id="{}"/>', " \n", "loose", '<ph id="{}">&lt;b&gt;</ph> ', "<!-- {} -->"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(
    gaps=st.lists(PIECES, min_size=5, max_size=5),
    present=st.lists(st.booleans(), min_size=4, max_size=4).filter(any),
    wrapped=st.booleans(),
    own=st.lists(st.booleans(), min_size=5, max_size=5),
    turned=st.booleans(),
)
def test_what_the_target_has_stays(
    gaps: list[str], present: list[bool], wrapped: bool, own: list[bool], turned: bool, write
) -> None:
    """The target has some of the segments, in one or the other order, with all or some of what stands between them."""
    written = [gap.format(number) for number, gap in enumerate(gaps)]

    def text(kept: list[bool], between: list[bool], letter: str, order: list[int]) -> str:
        found = [f"[{n}|{letter}{n}]" if kept[n] else "" for n in order]
        parts = zip([gap if has else "" for gap, has in zip(written, between, strict=True)], [*found, ""], strict=True)
        joined = "".join(gap + mark for gap, mark in parts)
        return f'<g id="7">{joined}</g>' if wrapped else joined

    order = [3, 2, 1, 0] if turned else [0, 1, 2, 3]
    target = text(present, own, "t", order)
    path = write("a.xlf", unit(text([True] * 4, [True] * 5, "s", [0, 1, 2, 3]), target))
    file = open_file(path)
    missing = [n for n, one in enumerate(file.units) if one.state is UnitState.UNTRANSLATED]
    path.write_bytes(file.filled({n: Filling(f"new{n}", approved=True) for n in missing}))
    again = open_file(path)
    assert [one.target for one in again.units] == [
        f"t{n}" if present[n] else f"new{n}" if n in missing else "" for n in range(4)
    ]
    assert bool(file.notes) == (len(missing) + sum(present) < 4)
    content = path.read_text()
    inner = content[content.index("<target") :].partition(">")[2].partition("</target>")[0]
    etree.fromstring(f"<a>{inner}</a>")
    rest = iter(inner)
    assert all(character in rest for character in marks(target))  # in this order, with more between them
    tags = re.findall(r"<(?:x|ph|g) [^>]*>", inner)
    assert len(set(tags)) == len(tags)  # none twice


def opcodes(work: Callable[[], object]) -> int:
    """How many instructions of Python this takes; a time would depend on the machine."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("target", [lambda n: "" if n % 2 else f"[{n}|a]", lambda n: "" if n else "[9999|a]"])
def test_twice_as_many_segments_take_twice_as_long(target: Callable[[int], str], write) -> None:
    def fill(count: int) -> int:
        source = " ".join(f"[{n}|A]" for n in range(count))
        path = write("a.xlf", unit(source, " ".join(map(target, range(count)))))

        def work() -> None:
            file = open_file(path)
            missing = [n for n, one in enumerate(file.units) if one.state is UnitState.UNTRANSLATED]
            file.filled({n: Filling("new", approved=True) for n in missing})

        return opcodes(work)

    fill(100)  # what is imported or made once
    assert fill(600) < 2.2 * fill(300)
