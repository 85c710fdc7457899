"""Filling in Qt's TS files: every byte but that of the filled messages stays as it was."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.filling_checks import filled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from translate.storage.ts2 import tsfile

from mtloop.core.errors import InputError
from mtloop.data import read
from mtloop.data.formats.filling import Filling, UnitState, open_file

# The form that lupdate and lconvert of Qt 5.15 write.
SAMPLE = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE" sourcelanguage="en">
<context>
    <name>MainWindow</name>
    <message>
        <location filename="../src/main.cpp" line="12"/>
        <source>&amp;Open &quot;%1&quot;</source>
        <comment>menu</comment>
        <extracomment>Shown in the menu</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <location line="+3"/>
        <source>%n file(s)</source>
        <translation type="unfinished">
            <numerusform></numerusform>
            <numerusform></numerusform>
        </translation>
    </message>
    <message id="remove">
        <source>Remove</source>
        <translation type="unfinished">Lösche</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>Fertig</translation>
    </message>
    <message>
        <source>Gone</source>
        <translation type="vanished">Weg</translation>
    </message>
    <message>
        <source>Old</source>
        <translation type="obsolete">Alt</translation>
    </message>
</context>
</TS>
"""


def ts(*messages: str) -> str:
    head = '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n<TS version="2.1" language="de_DE">\n'
    return f"{head}<context>\n    <name>A</name>\n{''.join(messages)}</context>\n</TS>\n"


def message(source: str, translation: str) -> str:
    return f"    <message>\n        <source>{source}</source>\n        {translation}\n    </message>\n"


def test_units(write) -> None:
    file = open_file(write("de.ts", SAMPLE))
    assert [(unit.id, unit.source, unit.target, unit.state.value) for unit in file.units] == [
        ("1", '&Open "%1"', "", "untranslated"),
        ("2[0]", "%n file(s)", "", "untranslated"),
        ("2[1]", "%n file(s)", "", "untranslated"),
        ("3", "Remove", "Lösche", "fuzzy"),
        ("4", "Done", "Fertig", "translated"),
        ("5", "Gone", "Weg", "locked"),
        ("6", "Old", "Alt", "locked"),
    ]
    assert file.languages == ("en", "de-DE")
    assert file.units[0].context == {
        "document": "../src/main.cpp",
        "context": "MainWindow",
        "comment": "menu",
        "note": "Shown in the menu",
    }
    assert file.units[2].context == {"document": "../src/main.cpp", "context": "MainWindow", "plural": 1}
    assert file.units[3].context == {"document": "MainWindow", "context": "MainWindow", "id": "remove"}
    assert list(file.notes) == []


def test_filled_units_stay_unfinished(write) -> None:
    texts = {"1": "„%1“ <ö&ffnen> '\"", "2[0]": "%n Datei", "2[1]": "%n Dateien", "3": "Entfernen"}
    expected = (
        SAMPLE.replace('"></translation>', '">„%1“ &lt;ö&amp;ffnen&gt; &apos;&quot;</translation>')
        .replace("<numerusform></numerusform>", "<numerusform>%n Datei</numerusform>", 1)
        .replace("<numerusform></numerusform>", "<numerusform>%n Dateien</numerusform>", 1)
        .replace("Lösche", "Entfernen")
    )
    assert filled(write("de.ts", SAMPLE), texts).decode() == expected


def test_approved_units_are_finished(write) -> None:
    yes = Filling("x", approved=True)
    content = open_file(write("de.ts", SAMPLE)).filled({0: yes, 1: yes, 2: yes, 3: Filling("Lösche", approved=True)})
    expected = SAMPLE.replace(' type="unfinished"></t', ">x</t").replace(' type="unfinished"', "")
    assert content.decode() == expected.replace("<numerusform></n", "<numerusform>x</n")


def test_a_plural_is_finished_as_a_whole(write) -> None:
    file = open_file(write("de.ts", SAMPLE))
    assert file.filled({1: Filling("x", approved=True)}).count(b"unfinished") == SAMPLE.count("unfinished")


def test_a_finished_translation_becomes_unfinished(write) -> None:
    content = open_file(write("de.ts", SAMPLE)).filled({4: Filling("Erledigt")})
    expected = SAMPLE.replace("<translation>Fertig", '<translation type="unfinished">Erledigt')
    assert content.decode() == expected


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        ('<translation type="unfinished"/>', '<translation type="unfinished">x</translation>'),
        ("<translation />", '<translation type="unfinished">x</translation>'),
        ("<translation type='unfinished' >\n</translation >", "<translation type='unfinished' >x</translation >"),
        ("<comment>c</comment>", '<comment>c</comment>\n        <translation type="unfinished">x</translation>'),
    ],
)
def test_other_forms_of_an_empty_translation(translation: str, expected: str, write) -> None:
    path = write("de.ts", ts(message("a", translation)))
    assert filled(path, {"1": "x"}).decode() == ts(message("a", expected))


def test_control_characters_and_spaces_as_qt_writes_them(write) -> None:
    text = "a\x1bb\u00a0c\rd\te\nf\u2028"
    written = 'a<byte value="x1b"/>b&#xa0;c<byte value="xd"/>d\te\nf&#x2028;'
    path = write("de.ts", ts(message("a", '<translation type="unfinished"></translation>')))
    content = filled(path, {"1": text}).decode()
    assert content == ts(message("a", f'<translation type="unfinished">{written}</translation>'))


def test_plurals_without_forms_are_locked(write) -> None:
    body = message("%n", '<translation type="unfinished"></translation>').replace("<message", '<message numerus="yes"')
    file = open_file(write("de.ts", ts(body)))
    assert [unit.state for unit in file.units] == [UnitState.LOCKED]
    assert list(file.notes) == ["1 plurals without <numerusform> are left as they are, the first in line 6"]


def test_variants_of_different_length_are_locked(write) -> None:
    variants = "<lengthvariant>Lang</lengthvariant><lengthvariant>L</lengthvariant>"
    body = message("Long", f'<translation variants="yes">{variants}</translation>')
    assert open_file(write("de.ts", ts(body))).units[0].state is UnitState.LOCKED


def test_crlf_and_mixed_line_ends(write) -> None:
    content = SAMPLE.replace("\n", "\r\n").encode().replace(b"</context>\r\n", b"</context>\n")
    new = filled(write("de.ts", content), {"1": "x\ny"})
    assert new == content.replace(b'"></translation>', b'">x\r\ny</translation>')


def test_utf16(write) -> None:
    content = SAMPLE.replace("utf-8", "utf-16").encode("utf-16")
    new = filled(write("de.ts", content), {"1": "„x“"})
    assert new.decode("utf-16") == content.decode("utf-16").replace('"></translation>', '">„x“</translation>')


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("export const a = 1;\n", "a.ts:1: not well-formed XML"),
        ("<xliff/>", "the root element is <xliff>; expected <TS>"),
        (SAMPLE.replace("</source>", "</sorce>", 1), "a.ts:8: not well-formed XML: mismatched tag"),
        (SAMPLE.replace("<!DOCTYPE TS>", '<!DOCTYPE TS [<!ENTITY a "b">]>'), "entities are unsafe"),
        (SAMPLE.encode().replace("ö".encode(), b"\xf6"), "invalid bytes for the encoding utf-8"),
    ],
)
def test_bad_files(content: str | bytes, error: str, write) -> None:
    with pytest.raises(InputError) as caught:
        open_file(write("a.ts", content))
    assert error in str(caught.value)


def test_another_language_is_refused(write) -> None:
    with pytest.raises(InputError, match="the file declares the language de-DE; expected fr"):
        open_file(write("de.ts", SAMPLE), target_lang="fr")


def test_a_character_that_xml_cannot_hold(write) -> None:
    with pytest.raises(InputError, match=r"U\+FFFE"):
        open_file(write("de.ts", SAMPLE)).filled({0: Filling("\ufffe")})


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\ufffe\uffff\0"), max_size=40)
TRANSLATIONS = st.sampled_from(
    [
        "<translation/>",
        "<translation >&#228;</translation>",
        '<translation type="unfinished"></translation>',
        "<translation type='unfinished'>a\n<!-- b --></translation>",
        "<translation><![CDATA[<a>]]></translation>",
        '<translation type="vanished">x</translation>',
        "",
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(translations=st.lists(TRANSLATIONS, min_size=1, max_size=6), end=st.sampled_from(["\n", "\r\n"]), data=st.data())
def test_only_the_filled_message_changes(translations: list[str], end: str, data, tmp_path: Path) -> None:
    parts = [message(f"s{index}", text).replace("\n", end).encode() for index, text in enumerate(translations)]
    head, tail = ts("\0").replace("\n", end).encode().split(b"\0")
    path = tmp_path / "x.ts"
    path.write_bytes(head + b"".join(parts) + tail)
    file = open_file(path)
    assert file.filled({}) == path.read_bytes()
    ready = [index for index, unit in enumerate(file.units) if unit.state is not UnitState.LOCKED]
    fillings = {index: Filling(data.draw(TEXTS), data.draw(st.booleans())) for index in ready[:1] or ()}
    new = file.filled(fillings)
    for index in fillings:
        assert new.startswith(head + b"".join(parts[:index]))
        assert new.endswith(b"".join(parts[index + 1 :]) + tail)
    path.write_bytes(new)
    for index, (old, unit) in enumerate(zip(file.units, open_file(path).units, strict=True)):
        filling = fillings.get(index)
        assert unit.source == old.source
        assert unit.target == (filling.text if filling else old.target)
        if filling and filling.text:
            assert unit.state is (UnitState.TRANSLATED if filling.approved else UnitState.FUZZY)


def test_translate_toolkit_reads_the_same(write) -> None:
    texts = {"1": "<b>&x</b>", "2[0]": "eins", "2[1]": "zwei", "4": "Fertig!"}
    store = tsfile.parsestring(filled(write("de.ts", SAMPLE), texts))
    assert [str(unit.target) for unit in store.units][:4] == ["<b>&x</b>", "eins", "Lösche", "Fertig!"]
    assert list(store.units[1].target.strings) == ["eins", "zwei"]
    assert [unit.isfuzzy() for unit in store.units][:4] == [True, True, True, True]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("lconvert") is None, reason="needs Qt's lconvert")
def test_lconvert_would_write_the_file_so(write, tmp_path: Path) -> None:
    lines = SAMPLE.splitlines(keepends=True)
    sample = "".join(line for line in lines if "<location" not in line)  # lconvert counts their lines anew
    texts = {"1": "a\nb\tc\u00a0„d“ \"<&>'", "2[0]": "x", "2[1]": "y\x1b"}
    path = write("new.ts", filled(write("de.ts", sample), texts))
    subprocess.run(["lconvert", "-i", str(path), "-o", str(tmp_path / "again.ts")], check=True, capture_output=True)
    assert (tmp_path / "again.ts").read_bytes() == path.read_bytes()


def test_finished_messages_are_read_as_pairs(write) -> None:
    message = "<message{}><source>{}</source><translation{}>{}</translation></message>"
    forms = "<numerusform>%n Datei</numerusform><numerusform>%n Dateien</numerusform>"
    messages = [
        message.format("", "Open &amp; save", "", "Öffnen &amp; sichern"),
        message.format("", "Close", ' type="unfinished"', "Zu"),
        message.format("", "Old", ' type="vanished"', "Alt"),
        message.format("", "New", ' type="unfinished"', ""),
        message.format(' numerus="yes"', "%n file(s)", "", forms),
    ]
    context = f"<context><name>A</name>{''.join(messages)}</context>"
    corpus = read(write("de.ts", f'<TS version="2.1" language="de" sourcelanguage="en">{context}</TS>'))
    assert [(segment.source, truth.references[0]) for segment, truth in corpus] == [
        ("Open & save", "Öffnen & sichern"),
        ("%n file(s)", "%n Datei"),
        ("%n file(s)", "%n Dateien"),
    ]
    assert corpus.skipped == {"not confirmed": 1, "not to be translated": 1, "untranslated": 1}
    assert (corpus.source_lang, corpus.target_lang) == ("en", "de")
    assert corpus[0][0].context["document"] == "A"
