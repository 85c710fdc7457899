"""XLIFF 1.2 and 2.x."""

from __future__ import annotations

import pytest
from helpers.file_samples import PAIRS, bomb, segment2, unit1, xliff1, xliff2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.core.types import Segment, Truth
from mtloop.data import by_document, read

UNITS1 = """
<group id="g"><trans-unit id="1" approved="no"><source>Press <g id="1">Save</g><x id="2"/> or
    <bpt id="3">&lt;b></bpt>F2<ept id="3">&lt;/b></ept>.</source>
  <seg-source><mrk mtype="seg" mid="1">ignored</mrk></seg-source>
  <target state="translated"><mrk mtype="seg" mid="1">Drücken Sie <g id="1">Sichern</g></mrk> oder F2.</target>
  <alt-trans><source>Press</source><target>Drück</target></alt-trans></trans-unit></group>
<trans-unit id="2"><source>Undo.</source></trans-unit>
<trans-unit id="3"><source>Close.</source><target/></trans-unit>
<trans-unit id="4"><source>Quit.</source><target state="needs-review-translation">Aus.</target></trans-unit>
<trans-unit id="5" translate="no"><source>F1</source><target>F1</target></trans-unit>
<trans-unit id="6" xml:space="preserve"><source> a  b </source><target> c
 d </target></trans-unit>
"""

UNITS2 = """
<unit id="u1"><notes><note>Not this.</note></notes>
  <originalData><data id="d1">&lt;br/></data></originalData>
  <segment id="s1" state="final"><source>Press <pc id="1">Save</pc>.</source><target>Drücken Sie <pc id="1"
    ><mrk id="m">Sichern</mrk></pc>.<ph id="2" dataRef="d1"/></target></segment>
  <ignorable><source> </source></ignorable>
  <segment><source>Then undo.</source><target>Dann zurück.</target></segment></unit>
<unit id="u2"><segment state="initial"><source>Close.</source><target>Zu.</target></segment></unit>
<group id="g"><unit id="u3" translate="no"><segment><source>F1</source><target>F1</target></segment></unit>
<unit id="u4"><segment><source>Quit.</source></segment></unit></group>
"""


def test_golden_version_1(write) -> None:
    corpus = read(write("a.xlf", xliff1(UNITS1)))
    assert list(corpus) == [
        (Segment("1", "Press Save or F2.", {"document": "menu.html"}), Truth(("Drücken Sie Sichern oder F2.",))),
        (Segment("6", " a  b ", {"document": "menu.html"}), Truth((" c\n d ",))),
    ]
    assert corpus.skipped == {"untranslated": 2, "not confirmed": 1, "not to be translated": 1}


def test_golden_version_2(write) -> None:
    corpus = read(write("a.xliff", xliff2(UNITS2)))
    assert list(corpus) == [
        (Segment("1", "Press Save.", {"document": "menu"}), Truth(("Drücken Sie Sichern.",))),
        (Segment("2", "Then undo.", {"document": "menu"}), Truth(("Dann zurück.",))),
    ]
    assert corpus.skipped == {"not confirmed": 1, "not to be translated": 1, "untranslated": 1}


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_later_versions(version: str, write) -> None:
    content = xliff2().replace(b'version="2.0"', f'version="{version}"'.encode())
    if version == "2.2":
        content = content.replace(b"document:2.0", b"document:2.2")
    assert len(read(write("a.xlf", content))) == len(PAIRS)


def two_files(first: str, second: str, languages: str) -> bytes:
    """Return XLIFF 1.2 with two <file> elements; the first one is en to de."""
    middle = f'</body></file><file original="edit.html" {languages}><body>'
    return xliff1(f"{unit1(first, 'Sichern.')}SECOND{unit1(second, 'Zweitens.')}").replace(b"SECOND", middle.encode())


def test_each_file_element_is_a_document(write) -> None:
    path = write("a.xlf", two_files("Save.", "Undo.", 'source-language="en-GB" target-language="de-AT"'))
    corpus = read(path)
    assert [document[0][0].document for document in by_document(corpus)] == ["menu.html", "edit.html"]
    assert (corpus.source_lang, corpus.target_lang) == ("en", "de")


def test_two_target_languages(write) -> None:
    path = write("a.xlf", two_files("Save.", "Undo.", 'source-language="en" target-language="fr"'))
    with pytest.raises(
        InputError, match=rf"^{path}: several target languages \(de, fr\); choose one with --target-lang$"
    ):
        read(path)
    only = read(path, source_lang="en-US", target_lang="fr")
    assert [segment.id for segment, _ in only] == ["2"]
    assert only.skipped == {"in other languages": 1}
    assert (only.source_lang, only.target_lang) == ("en", "fr")


def test_another_variety_is_skipped_if_one_is_named(write) -> None:
    path = write("a.xlf", two_files("Save.", "Undo.", 'source-language="en" target-language="de-CH"'))
    assert read(path, target_lang="de-AT").skipped == {"in another variety": 1}
    assert read(path, target_lang="de").skipped == {}


def test_the_language_of_the_target_element(write) -> None:
    content = xliff1().replace(b' target-language="de"', b"").replace(b"<target>", b'<target xml:lang="de-AT">')
    corpus = read(write("a.xlf", content))
    assert (corpus.source_lang, corpus.target_lang) == ("en", "de-AT")


def test_languages_of_version_2(write) -> None:
    path = write("a.xlf", xliff2())
    assert len(read(path, source_lang="EN", target_lang="de-AT")) == len(PAIRS)
    with pytest.raises(
        InputError, match=r"3 skipped \(3 in other languages\); the file has: en, de; choose with --target"
    ):
        read(path, target_lang="it")


states = st.sampled_from(["", "new", "needs-translation", "translated", "signed-off", "final"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(units=st.lists(st.tuples(states, st.booleans(), st.booleans()), min_size=1, max_size=8))
def test_no_unit_is_lost_without_a_word(units: list[tuple[str, bool, bool]], write) -> None:
    body = "".join(
        f'<trans-unit id="{number}" translate="{"yes" if translate else "no"}"><source>Save.</source>'
        + (f'<target state="{state}">Sichern.</target>' if state and target else "<target>Ja.</target>" * target)
        + "</trans-unit>"
        for number, (state, target, translate) in enumerate(units)
    )
    path = write("a.xlf", xliff1(body))
    usable = sum(t and ok and state not in ("new", "needs-translation") for state, t, ok in units)
    if not usable:
        with pytest.raises(InputError, match=f"{len(units)} skipped"):
            read(path)
    else:
        corpus = read(path)
        assert (len(corpus), sum(corpus.skipped.values())) == (usable, len(units) - usable)


def test_a_file_without_a_name(write) -> None:
    assert read(write("a.xlf", xliff1(attributes="")))[0][0].context == {}


@pytest.mark.parametrize("content", [xliff1(doctype=bomb().replace("tmx", "xliff", 1)), bomb().encode() + xliff2()])
def test_entities_are_refused(content: bytes, write) -> None:
    with pytest.raises(InputError, match=":1: a DOCTYPE with declarations in brackets"):
        read(write("a.xlf", content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<tmx/>", ": the root element is <tmx>; expected <xliff>"),
        (xliff1()[:-10], ":1: not well-formed XML"),
        (xliff2(segment2("Save.", "")), ": no translated pair found: 1 skipped \\(1 untranslated\\)"),
        (b'<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0"/>', ": no translated pair found"),
        (b'<xliff version="2.0"/>', ": <xliff> has no default namespace; expected xmlns='urn:oasis"),
        (b'<xliff version="7"/>', ": XLIFF version '7'; expected 1.2 or 2.x"),
        (b"<xliff><a/></xliff>", ": not readable as XLIFF"),
    ],
)
def test_refused(content: bytes, message: str, write) -> None:
    path = write("a.xlf", content)
    with pytest.raises(InputError, match=f"^{path}{message}"):
        read(path)
