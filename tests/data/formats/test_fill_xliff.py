"""Filling in XLIFF 1.2 and 2.x."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.file_samples import bomb, xliff1, xliff2
from helpers.tiers import slow
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from lxml import etree

from mtloop.core.errors import InputError
from mtloop.data import read
from mtloop.data.formats.filling import BilingualFile, Filling, UnitState, open_file
from mtloop.text.text_unit import TextUnit

VERSION_1 = """<?xml version="1.0" encoding="UTF-8"?>
<!-- exported -->
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file original="menu.html" source-language="en" target-language="de" datatype="html">
    <body>
      <trans-unit id="1">
        <source>Click <g id="1">Save</g> to store <x id="2"/>.</source>
      </trans-unit>
      <trans-unit id="2"><source>Undo.</source><target/></trans-unit>
      <trans-unit id="3"><source>Close.</source><target state='needs-translation' >Close.</target></trans-unit>
      <trans-unit id="4" resname="quit"><source>Quit.</source>
        <target state="needs-review-translation" state-qualifier="fuzzy-match">Aus.</target></trans-unit>
      <trans-unit id="5"><source>Open.</source><target state="translated">Öffnen.</target>
        <alt-trans><source>Open</source><target>Offen</target></alt-trans></trans-unit>
      <group translate="no"><trans-unit id="6"><source>F1</source></trans-unit>
        <trans-unit id="7" translate="yes"><source>Help</source><note>A &amp; B</note></trans-unit></group>
      <trans-unit id="8"><source> </source></trans-unit>
    </body>
  </file>
</xliff>
"""

VERSION_2 = """<?xml version="1.0"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de">
  <file id="menu">
    <unit id="u1">
      <originalData><data id="d1">&lt;br/></data></originalData>
      <segment id="s1" state="initial" subState="my:new">
        <source>Press <pc id="1" dataRefStart="d1">Save</pc>.<ph id="2" dataRef="d1"/></source>
      </segment>
      <ignorable><source> </source></ignorable>
      <segment><source>Undo.</source><target> </target></segment>
      <segment state="initial"><source>Close.</source><target>Zu.</target></segment>
      <segment state="final"><source>Open.</source><target>Öffnen.</target></segment>
    </unit>
    <group id="g" translate="no"><unit id="u2"><segment><source>F1</source></segment></unit></group>
  </file>
</xliff>
"""

LOCKED, FUZZY, TRANSLATED, UNTRANSLATED = (
    UnitState.LOCKED,
    UnitState.FUZZY,
    UnitState.TRANSLATED,
    UnitState.UNTRANSLATED,
)


def states(file: BilingualFile) -> list[UnitState]:
    return [unit.state for unit in file.units]


def test_units_of_version_1(write) -> None:
    file = open_file(write("a.xlf", VERSION_1))
    assert states(file) == [UNTRANSLATED] * 3 + [FUZZY, TRANSLATED, LOCKED, UNTRANSLATED, LOCKED]
    assert [unit.id for unit in file.units] == ["1", "2", "3", "4", "5", "6", "7", "8"]
    assert file.units[0].source == 'Click <g id="1">Save</g> to store <x id="2"/>.'
    assert (file.units[4].source, file.units[4].target) == ("Open.", "Öffnen.")
    assert {unit.syntax for unit in file.units} == {"xml"}
    assert file.units[0].context == {"document": "menu.html"}
    assert file.languages == ("en", "de")
    assert file.filled({}) == VERSION_1.encode()


def test_fill_version_1(write) -> None:
    file = open_file(write("a.xlf", VERSION_1))
    first = 'Zum Speichern von <x id="2"/> <g id="1">Sichern</g>.'
    fillings = [Filling(first), Filling("Zurück."), Filling("Zu.", approved=True), Filling("Ende.", approved=True)]
    review = 'state="needs-review-translation"'
    expected = (
        VERSION_1.replace('<x id="2"/>.</source>', f'<x id="2"/>.</source>\n        <target {review}>{first}</target>')
        .replace("<target/>", f"<target {review}>Zurück.</target>")
        .replace("<target state='needs-translation' >Close.", "<target state='translated' >Zu.")
        .replace(f'<target {review} state-qualifier="fuzzy-match">Aus.', '<target state="translated">Ende.')
    )
    assert file.filled(dict(enumerate(fillings))).decode() == expected


def test_units_of_version_2(write) -> None:
    file = open_file(write("a.xlf", VERSION_2))
    assert states(file) == [UNTRANSLATED, UNTRANSLATED, FUZZY, TRANSLATED, LOCKED]
    assert [unit.id for unit in file.units] == ["u1/s1", "u1/2", "u1/3", "u1/4", "u2/1"]
    assert file.units[0].source == 'Press <pc id="1" dataRefStart="d1">Save</pc>.<ph id="2" dataRef="d1"/>'
    assert file.units[0].context == {"document": "menu"}
    assert file.languages == ("en", "de")


def test_fill_version_2(write) -> None:
    file = open_file(write("a.xliff", VERSION_2))
    first = '<pc id="1" dataRefStart="d1">Sichern</pc> drücken.<ph id="2" dataRef="d1"/>'
    expected = (
        VERSION_2.replace('state="initial" subState="my:new"', 'state="initial"')
        .replace(
            '</pc>.<ph id="2" dataRef="d1"/></source>',
            f'</pc>.<ph id="2" dataRef="d1"/></source>\n        <target>{first}</target>',
        )
        .replace(
            "<segment><source>Undo.</source><target> </target>",
            '<segment state="translated"><source>Undo.</source><target>Zurück.</target>',
        )
    )
    assert file.filled({0: Filling(first), 1: Filling("Zurück.", approved=True)}).decode() == expected


def test_a_file_of_version_2_with_targets_names_their_language(write) -> None:
    path = write("a.xlf", VERSION_2.replace(' trgLang="de"', ""))
    with pytest.raises(InputError, match=r"a\.xlf: the file has no trgLang; name the target language with --target-l"):
        open_file(path)
    file = open_file(path, target_lang="de-AT")
    assert file.filled({}) == path.read_bytes()
    assert b'srcLang="en" trgLang="de-AT">' in file.filled({1: Filling("Zurück.")})


@pytest.mark.parametrize(
    ("unit", "target", "state"),
    [
        ("", "", TRANSLATED),
        ("", 'state="final"', TRANSLATED),
        ("", 'state="signed-off"', TRANSLATED),
        ("", 'state="x-mine"', TRANSLATED),
        ("", 'state="new"', UNTRANSLATED),
        ("", 'state="needs-adaptation"', FUZZY),
        ("", 'state="needs-review-l10n"', FUZZY),
        ('approved="yes"', "", TRANSLATED),
        ('approved="no"', "", FUZZY),
        ('approved="no"', 'state="translated"', TRANSLATED),
        ('translate="no"', "", LOCKED),
    ],
)
def test_states_of_version_1(unit: str, target: str, state: UnitState, write) -> None:
    body = f'<trans-unit id="1" {unit}><source>Save.</source><target {target}>Sichern.</target></trans-unit>'
    assert states(open_file(write("a.xlf", xliff1(body)))) == [state]


def test_approved_is_written_where_the_file_uses_it(write) -> None:
    unit = '<trans-unit id="{}"{}><source>Save.</source></trans-unit>'
    body = unit.format(1, ' approved="yes"') + unit.format(2, ' approved="no"') + unit.format(3, "")
    file = open_file(write("a.xlf", xliff1(body)))
    review = file.filled({index: Filling("Sichern.") for index in range(3)})
    assert review.count(b'approved="no"') == 2
    assert b"yes" not in review
    approved = file.filled({index: Filling("Sichern.", approved=True) for index in range(3)})
    assert approved.count(b'approved="yes"><source>Save.</source><target state="translated">') == 3


def test_a_new_target_has_the_attributes_that_the_file_uses(write) -> None:
    body = '<trans-unit id="1"><source xml:lang="en" xml:space="preserve"> Save</source></trans-unit>'
    file = open_file(write("a.xlf", xliff1(body)))
    new = b'<target xml:space="preserve" xml:lang="de" state="needs-review-translation"> Sichern</target></trans-unit>'
    assert new in file.filled({0: Filling(" Sichern")})


def test_the_language_of_a_new_target_without_target_language(write) -> None:
    units = '<trans-unit id="1"><source>Save.</source><target xml:lang="de">Sichern.</target></trans-unit>'
    body = f'{units}<trans-unit id="2"><source>Undo.</source></trans-unit>'
    file = open_file(write("a.xlf", xliff1(body).replace(b' target-language="de"', b"")))
    assert file.languages == ("en", "de")
    new = b'<target xml:lang="de" state="translated">'
    assert new in file.filled({1: Filling("Zurück.", approved=True)})


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_of_a_text_become_those_of_the_file(newline: str, write) -> None:
    file = open_file(write("a.xlf", VERSION_1.replace("\n", newline)))
    assert f">a{newline}b{newline}c&#13;d</target>".encode() in file.filled({1: Filling("a\r\nb\nc\rd")})


def test_prefixes_are_kept(write) -> None:
    content = """<x:xliff version="1.2" xmlns:x="urn:oasis:names:tc:xliff:document:1.2"><x:file original="a"
source-language="en" target-language="de"><x:body><x:trans-unit id="1"><x:source>A <x:x id="1"/></x:source>
</x:trans-unit></x:body></x:file></x:xliff>"""
    path = write("a.xlf", content)
    file = open_file(path)
    assert file.units[0].source == 'A <x:x id="1"/>'
    path.write_bytes(file.filled({0: Filling('Ein <x:x id="1"/>', approved=True)}))
    assert '</x:source><x:target state="translated">Ein <x:x id="1"/></x:target>\n' in path.read_text()
    assert open_file(path).units[0].target == 'Ein <x:x id="1"/>'


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("encoding", "bom"),
    [
        ("UTF-8", b""),
        ("UTF-8", codecs.BOM_UTF8),
        ("UTF-16LE", codecs.BOM_UTF16_LE),
        ("UTF-16BE", codecs.BOM_UTF16_BE),
        ("ISO-8859-1", b""),
        ("windows-1252", b""),
    ],
)
def test_encodings_and_line_ends(encoding: str, bom: bytes, newline: str, write) -> None:
    declared = encoding if encoding[:3] != "UTF" else encoding[:6].rstrip("L")
    text = VERSION_1.replace("UTF-8", declared).replace("\n", newline)
    path = write("a.xlf", bom + text.encode(encoding))
    file = open_file(path)
    assert file.filled({}) == path.read_bytes()
    path.write_bytes(file.filled({0: Filling("„Größe“\nЖ &amp; 中", approved=True)}))
    again = open_file(path)
    etree.parse(path)
    written = path.read_bytes().removeprefix(bom).decode(encoding)
    assert "\r\r" not in written
    assert written.count("\n") == written.count(newline)
    line = next(line for line in written.split(newline) if "Größe" in line)
    assert line.startswith(" " * 8 + '<target state="translated">')
    assert again.units[0].target in (
        "„Größe“\nЖ &amp; 中",
        "&#8222;Größe&#8220;\n&#1046; &amp; &#20013;",
        "„Größe“\n&#1046; &amp; &#20013;",
    )
    assert next(truth.references[0] for _, truth in read(path)) == "„Größe“ Ж & 中"


def test_cdata_is_escaped_text(write) -> None:
    texts = "<source>Press <![CDATA[<b> & ]]><x id='1'/></source><target><![CDATA[]]></target>"
    path = write("a.xlf", xliff1(f"<trans-unit id='1'>{texts}</trans-unit>"))
    file = open_file(path)
    assert (file.units[0].source, file.units[0].state) == ("Press &lt;b&gt; &amp; <x id='1'/>", UNTRANSLATED)
    filled = file.filled({0: Filling("<x id='1'/> <![CDATA[<b>]]>")})
    assert b"<![CDATA[<b> & ]]><x id='1'/></source>" in filled
    assert b"<x id='1'/> &lt;b&gt;</target>" in filled


def test_inline_elements_survive_the_translation_of_a_text(write) -> None:
    path = write("a.xlf", VERSION_1)
    file = open_file(path)
    text = TextUnit.of(file.units[0].source, "xml")
    assert "<" not in "".join(text.parts)
    path.write_bytes(file.filled({0: Filling(text.assemble(text.parts).text)}))
    target = etree.parse(path).find(".//{*}target")
    assert [etree.QName(child).localname for child in target] == ["g", "x"]


def test_units_in_other_languages_are_locked(write) -> None:
    second = '</body></file><file original="b" source-language="en" target-language="fr"><body>'
    unit = '<trans-unit id="1"><source>Save.</source></trans-unit>'
    path = write("a.xlf", xliff1(f"{unit}{second}{unit}"))
    with pytest.raises(InputError, match=r"several target languages \(de, fr\); choose one with --target-lang"):
        open_file(path)
    file = open_file(path, target_lang="fr")
    assert states(file) == [LOCKED, UNTRANSLATED]
    assert [unit.id for unit in file.units] == ["1", "1#2"]
    assert file.languages == ("en", "fr")
    with pytest.raises(InputError, match="no unit in these languages; the file has: en, de, fr; choose with"):
        open_file(path, target_lang="it")
    with pytest.raises(InputError, match="unit 1 is locked"):
        file.filled({0: Filling("Enregistrer.")})


@pytest.mark.parametrize("suffix", [".xlf", ".xliff", ".sdlxliff", ".mqxliff"])
def test_a_unit_without_source_is_locked(suffix: str, write) -> None:
    file = open_file(write(f"a{suffix}", xliff1('<trans-unit id="1"><target>A</target></trans-unit><trans-unit/>')))
    assert states(file) == [LOCKED, LOCKED]
    assert states(open_file(write("b.xlf", xliff2('<unit id="u"><segment/></unit>')))) == [LOCKED]


@pytest.mark.parametrize("text", ["<g>", "</target><target>", "a & b", "&nbsp;", "\x01", "]]>", "<g id='1'></x>"])
def test_texts_that_break_the_file_are_refused(text: str, write) -> None:
    file = open_file(write("a.xlf", VERSION_1))
    with pytest.raises(InputError, match=r"a\.xlf: "):
        file.filled({0: Filling(text)})


def test_bad_files(write) -> None:
    def message(content: str | bytes) -> str:
        with pytest.raises(InputError) as caught:
            open_file(write("a.xlf", content))
        return str(caught.value).removeprefix(str(tmp))

    tmp = write("a.xlf", "")
    assert "a DOCTYPE with declarations in brackets is not allowed" in message(xliff1(doctype=bomb()))
    assert message(VERSION_1[: VERSION_1.index("Undo")]).startswith(":9: not well-formed XML")
    assert message("<tmx/>") == ": the root element is <tmx>; expected <xliff>"
    assert message('<xliff version="3.0"/>') == ": XLIFF version '3.0'; expected 1.2 or 2.x"
    assert message("<?xml version='1.0' encoding='UTF-8'?><xliff>\n\xff".encode("latin-1")).startswith(
        ":2: invalid byt"
    )
    assert message("") == ": the file is empty"
    assert message("msgid").startswith(":1: not well-formed XML")


def test_a_file_without_units_comes_back(write) -> None:
    file = open_file(write("a.xlf", xliff1("")))
    assert (len(file.units), file.filled({})) == (0, xliff1(""))


@pytest.mark.parametrize("count", [3000, slow(100_000)])
def test_many_units(count: int, write) -> None:
    unit = '<trans-unit id="{0}">\n<source>Text <g id="1">{0}</g>.</source>\n</trans-unit>\n'
    path = write("a.xlf", xliff1("".join(unit.format(number) for number in range(count))))
    file = open_file(path)
    path.write_bytes(file.filled({index: Filling(one.source, approved=True) for index, one in enumerate(file.units)}))
    again = open_file(path)
    assert [one.target for one in again.units] == [one.source for one in file.units]
    assert set(states(again)) == {TRANSLATED}


def test_a_long_unit(write) -> None:
    text = "Press <x id='1'/> &amp; wait. " * 2000
    path = write("a.xlf", xliff1(f"<trans-unit id='1'><source>{text}</source></trans-unit>"))
    file = open_file(path)
    assert len(file.units[0].source) > 50_000
    assert f'<target state="translated">{text}</target>'.encode() in file.filled({0: Filling(text, approved=True)})


WORDS = st.sampled_from(["Save", "Größe", "„a“", " ", "\n", "&amp;", "&lt;b&gt;", "&#160;", "é"])
CODES = st.sampled_from(['<x id="1"/>', "<!-- c -->", "<?pi?>", '<ph id="2">&lt;br></ph>', "<bx id='3'/>"])


def element(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return inner.map(lambda text: f'<g id="4">{text}</g>')


FRAGMENTS = st.recursive(
    WORDS | CODES, lambda inner: element(inner) | st.lists(inner, max_size=4).map("".join), max_leaves=8
)
TARGETS = st.sampled_from(
    ["", "<target/>", "<target></target>", "\n  <target state='new'>x</target>", "<target>Ja</target>"]
)
UNITS = st.lists(st.tuples(FRAGMENTS, TARGETS, st.none() | FRAGMENTS, st.booleans()), min_size=1, max_size=6)


def body(units: Sequence[tuple[str, str, str | None, bool]], version: int) -> bytes:
    texts = [f"<source>{source}</source>{target}" for source, target, *_ in units]
    if version == 1:
        return xliff1("\n".join(f'<trans-unit id="{number}">{text}</trans-unit>' for number, text in enumerate(texts)))
    return xliff2(
        "\n".join(f'<unit id="{number}"><segment>{text}</segment></unit>' for number, text in enumerate(texts))
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(units=UNITS, version=st.sampled_from([1, 2]), newline=st.sampled_from(["\n", "\r\n"]))
@example(units=[("A", "", "B", True)], version=1, newline="\r\n")
def test_what_is_filled_is_read_and_the_rest_stays(
    units: list[tuple[str, str, str | None, bool]], version: int, newline: str, write
) -> None:
    content = body(units, version)
    if version == 2:
        content = content.replace(b" state='new'", b"")
    content = content.replace(b"\n", newline.encode())
    path: Path = write("a.xlf", content)
    file = open_file(path)
    assert file.filled({}) == content
    fillings = {
        index: Filling(text, approved)
        for index, (_, _, text, approved) in enumerate(units)
        if text is not None and file.units[index].state is not LOCKED
    }
    filled = file.filled(fillings)
    path.write_bytes(filled)
    again = open_file(path)
    for index, (before, after) in enumerate(zip(file.units, again.units, strict=True)):
        wanted = fillings.get(index, Filling(before.target)).text
        assert (after.id, after.source, after.target) == (before.id, before.source, wanted)
        if index in fillings and wanted.strip():
            assert after.state is (TRANSLATED if fillings[index].approved else FUZZY)
        elif index not in fillings:
            assert after.state is before.state
    etree.fromstring(filled)
    assert without_targets(filled) == without_targets(content)
    check_reader(path, again)


def without_targets(content: bytes) -> bytes:
    """Return a file without its targets and the states of its segments."""
    content = re.sub(rb"\s*(<target\b[^>]*/>|<target\b[^>]*>.*?</target>)", b"", content, flags=re.DOTALL)
    return re.sub(rb'<segment state="\w+"', b"<segment", content)


def check_reader(path: Path, file: BilingualFile) -> None:
    """Check that the reader of corpora finds the same translated units."""
    done = [unit for unit in file.units if unit.state is TRANSLATED and plain(unit.source) and plain(unit.target)]
    if not done:
        return
    pairs = [(segment.source, truth.references[0]) for segment, truth in read(path)]
    assert pairs == [(plain(unit.source), plain(unit.target)) for unit in done]


def plain(text: str) -> str:
    root = etree.fromstring(f"<t>{text}</t>")
    etree.strip_elements(root, "ph", with_tail=False)
    etree.strip_tags(root, "*", etree.Comment, etree.PI)
    return " ".join((root.text or "").replace("\xa0", "\0").split()).replace("\0", "\xa0")
