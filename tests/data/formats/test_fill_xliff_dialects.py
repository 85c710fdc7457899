"""Filling in XLIFF 1.2 with segments, as Trados and memoQ write it. The files are written for the test in that form."""

from __future__ import annotations

import pytest
from helpers.file_samples import xliff1
from helpers.tool_files import MQXLIFF, SDLXLIFF
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from mtloop.core.errors import InputError
from mtloop.data import read
from mtloop.data.formats.filling import Filling, UnitState, open_file

LOCKED, FUZZY, TRANSLATED, UNTRANSLATED = (
    UnitState.LOCKED,
    UnitState.FUZZY,
    UnitState.TRANSLATED,
    UnitState.UNTRANSLATED,
)


def test_units_of_trados(write) -> None:
    path = write("a.sdlxliff", SDLXLIFF)
    file = open_file(path)
    assert [(unit.id, unit.source, unit.target, unit.state) for unit in file.units] == [
        ("a1/1", "First one.", "Erstens.", TRANSLATED),
        ("a1/2", 'Second <g id="5">one</g>.', "", UNTRANSLATED),
        ("a1/3", "Third.", "Drei.", FUZZY),
        ("a2/4", 'Close <x id="7"/> the valve.', "", UNTRANSLATED),
        ("a3/5", "Fixed.", "Fest.", LOCKED),
        ("lockTU_1", "F1", "", LOCKED),
    ]
    assert file.languages == ("en-US", "de-DE")
    assert file.filled({}) == path.read_bytes()


def test_fill_a_file_of_trados(write) -> None:
    file = open_file(write("a.sdlxliff", SDLXLIFF))
    second, valve = 'Zweitens: <g id="5">eins</g>.', '<x id="7"/>-Ventil schließen.'
    filled = file.filled({1: Filling(second), 2: Filling("Drittens.", approved=True), 3: Filling(valve)})
    expected = (
        SDLXLIFF.replace('<mrk mtype="seg" mid="2"/>', f'<mrk mtype="seg" mid="2">{second}</mrk>')
        .replace("Drei.", "Drittens.")
        .replace('<sdl:seg id="2"/>', '<sdl:seg id="2" conf="Draft" origin="mt"/>')
        .replace(
            'conf="Draft" origin="tm" origin-system="main" percent="87" struct-match="true"',
            'conf="Translated" origin="interactive"',
        )
        .replace(
            "</g></seg-source>",
            f'</g></seg-source><target><g id="9"><mrk mtype="seg" mid="4">{valve}</mrk></g></target>',
        )
        .replace('<sdl:seg id="4"/>', '<sdl:seg id="4" conf="Draft" origin="mt"/>')
    )
    assert filled.decode() == expected
    etree.fromstring(filled)


def test_units_of_memoq(write) -> None:
    path = write("a.mqxliff", MQXLIFF)
    file = open_file(path)
    assert [unit.state for unit in file.units] == [UNTRANSLATED, TRANSLATED, FUZZY, LOCKED, UNTRANSLATED]
    assert file.units[0].source == '<bpt id="1" ctype="bold">{}</bpt>Open<ept id="1">{}</ept> the valve.'
    assert file.filled({}) == path.read_bytes()


def test_fill_a_file_of_memoq(write) -> None:
    file = open_file(write("a.mqxliff", MQXLIFF))
    first = 'Das Ventil <bpt id="1" ctype="bold">{}</bpt>öffnen<ept id="1">{}</ept>.'
    filled = file.filled({0: Filling(first), 2: Filling("Warten Sie.", approved=True), 4: Filling("Ohne.")})
    expected = (
        MQXLIFF.replace('<target xml:space="preserve"></target>', f'<target xml:space="preserve">{first}</target>')
        .replace('id="1" mq:status="NotStarted"', 'id="1" mq:status="Pretranslated"')
        .replace("Warte.", "Warten Sie.")
        .replace('id="3" mq:status="Pretranslated"', 'id="3" mq:status="ManuallyConfirmed"')
        .replace("No status.</source>", 'No status.</source><target state="needs-review-translation">Ohne.</target>')
    )
    assert filled.decode() == expected


@pytest.mark.parametrize(
    ("status", "state"),
    [("Reviewer1Confirmed", TRANSLATED), ("PartiallyEdited", FUZZY), ("Rejected", FUZZY), ("NotStarted", UNTRANSLATED)],
)
def test_states_of_memoq(status: str, state: UnitState, write) -> None:
    content = MQXLIFF.replace("ManuallyConfirmed", status)
    assert open_file(write("a.mqxliff", content)).units[1].state is state


@pytest.mark.parametrize(("conf", "state"), [("ApprovedTranslation", TRANSLATED), ("RejectedSignOff", FUZZY)])
def test_states_of_trados(conf: str, state: UnitState, write) -> None:
    content = SDLXLIFF.replace('conf="Translated"', f'conf="{conf}"')
    assert open_file(write("a.sdlxliff", content)).units[0].state is state


SEGMENTED = """<trans-unit id="1"><source>One. Two. </source>
  <seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk><mrk mtype="seg" mid="3"> \
</mrk></seg-source>{}</trans-unit>"""


def test_a_new_target_has_the_segments_of_the_source(write) -> None:
    content = xliff1(SEGMENTED.format("")).decode()
    file = open_file(write("a.xlf", content))
    assert [unit.state for unit in file.units] == [UNTRANSLATED, UNTRANSLATED, LOCKED]
    written = '</seg-source>\n  <target state="{}"><mrk mtype="seg" mid="1">{}</mrk> <mrk mtype="seg" mid="2">{}</mrk>'
    end = '<mrk mtype="seg" mid="3"> </mrk></target>'
    one = content.replace("</seg-source>", written.format("needs-review-translation", "", "Zwei.") + end)
    assert file.filled({1: Filling("Zwei.", approved=True)}).decode() == one
    both = content.replace("</seg-source>", written.format("translated", "Eins.", "Zwei.") + end)
    assert file.filled({0: Filling("Eins.", approved=True), 1: Filling("Zwei.", approved=True)}).decode() == both


def test_a_target_with_some_segments_keeps_them(write) -> None:
    content = xliff1(SEGMENTED.format('<target state="translated"><mrk mtype="seg" mid="2">Zwei.</mrk></target>'))
    file = open_file(write("a.xlf", content))
    assert [unit.target for unit in file.units] == ["", "Zwei.", ""]
    target = '<mrk mtype="seg" mid="1">Eins.</mrk> <mrk mtype="seg" mid="2">Zwei.</mrk>'
    filled = file.filled({0: Filling("Eins.", approved=True)})
    assert f'<target state="translated">{target}</target>'.encode() in filled


def test_a_target_without_segments_belongs_to_the_whole_unit(write) -> None:
    file = open_file(write("a.xlf", xliff1(SEGMENTED.format("<target>Eins. Zwei.</target>"))))
    assert [(unit.id, unit.source, unit.target) for unit in file.units] == [("1", "One. Two. ", "Eins. Zwei.")]


def test_a_source_without_segments(write) -> None:
    body = (
        '<trans-unit id="1"><source>A <x id="1"/></source><seg-source>A <x id="1"/></seg-source><target/></trans-unit>'
    )
    file = open_file(write("a.sdlxliff", xliff1(body)))
    assert [(unit.id, unit.source) for unit in file.units] == [("1", 'A <x id="1"/>')]
    assert b'<target state="translated">Ein</target>' in file.filled({0: Filling("Ein", approved=True)})


def test_a_segment_inside_a_segment_is_a_tag(write) -> None:
    inner = 'One <mrk mtype="seg" mid="9">more</mrk>.'
    file = open_file(write("a.xlf", xliff1(SEGMENTED.format("").replace("One.</mrk>", f"{inner}</mrk>"))))
    assert [(unit.id, unit.source) for unit in file.units] == [("1/1", inner), ("1/2", "Two."), ("1/3", " ")]


def test_segments_with_the_same_mid_are_refused(write) -> None:
    path = write("a.xlf", xliff1(SEGMENTED.format("").replace('mid="2"', 'mid="1"')))
    with pytest.raises(InputError, match=r"a\.xlf:1: 2 segments of one unit have the mid '1'; correct the file"):
        open_file(path)


TEXTS = st.sampled_from(["Eins", 'a <g id="1">b</g>', "&amp; <x id='2'/>", "Größe\n "])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    sources=st.lists(TEXTS, min_size=1, max_size=4),
    targets=st.lists(st.none() | st.just("") | TEXTS, min_size=4, max_size=4),
    new=st.lists(st.none() | TEXTS, min_size=4, max_size=4),
    has_target=st.booleans(),
)
def test_segments_are_filled_and_the_others_stay(
    sources: list[str], targets: list[str | None], new: list[str | None], has_target: bool, write
) -> None:
    def marks(texts: list[str | None]) -> str:
        found = [f'<mrk mtype="seg" mid="{mid}">{text}</mrk>' for mid, text in enumerate(texts) if text is not None]
        return " ".join(found)

    targets = targets[: len(sources)]
    target = f"<target>{marks(targets)}</target>" if has_target else ""
    start = f'<trans-unit id="1"><source>{" ".join(sources)}</source><seg-source>{marks([*sources])}</seg-source>'
    content = xliff1(f"{start}{target}</trans-unit>")
    path = write("a.xlf", content)
    file = open_file(path)
    assert file.filled({}) == content
    assert [unit.source for unit in file.units] == sources
    fillings = {mid: Filling(text, approved=True) for mid, text in enumerate(new[: len(sources)]) if text is not None}
    path.write_bytes(file.filled(fillings))
    old = targets if has_target else [None] * len(sources)
    expected = [fillings[mid].text if mid in fillings else old[mid] or "" for mid in range(len(sources))]
    assert [unit.target for unit in open_file(path).units] == expected
    assert path.read_bytes().startswith(content[: content.index(b"</seg-source>")])
    if fillings and all(expected):
        assert len(read(path)) == 1


def test_confirmed_segments_are_read_as_pairs(write) -> None:
    trados = read(write("a.sdlxliff", SDLXLIFF))
    assert [(segment.id, segment.source, truth.references[0]) for segment, truth in trados] == [
        ("a1/1", "First one.", "Erstens.")
    ]
    assert (trados.source_lang, trados.target_lang) == ("en-US", "de-DE")
    assert trados.skipped == {"untranslated": 3, "not confirmed": 1, "not to be translated": 1}
    memoq = read(write("a.mqxliff", MQXLIFF))
    assert [(segment.id, segment.source) for segment, _ in memoq] == [("2", "Close it.")]
    assert memoq.skipped == {"untranslated": 2, "not confirmed": 1, "not to be translated": 1}
