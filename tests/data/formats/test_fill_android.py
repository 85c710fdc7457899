"""Filling in Android's string resources with a template."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.file_samples import bomb
from helpers.filling_checks import filled, open_ids
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from translate.storage.aresource import AndroidResourceFile

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import Filling, UnitState, open_file
from mtloop.text.text_unit import TextUnit

ENGLISH = r"""<?xml version="1.0" encoding="utf-8"?>
<!-- Licence -->
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2" xmlns:tools="http://schemas.android.com/tools">
    <string name="app" translatable="false">MyApp</string>

    <!-- Button -->
    <string name="save" tools:ignore="X">Don\'t \"save\"</string> <!-- short -->
    <string name="hello">Hello <b>you</b> &amp; <xliff:g id="name" example="Bob">%1$s</xliff:g>!\nBye</string>
    <string name="html"><![CDATA[<a href=\"x\">It\'s</a> & more]]></string>
    <string name="app_again">@string/app</string>
    <color name="red">#f00</color>
    <string-array name="days">
        <item>Monday</item>
        <item>Tuesday</item>
        <item>@string/app</item>
    </string-array>
    <plurals name="files">
        <!-- one -->
        <item quantity="one">%d file</item>
        <item quantity="other">%d files</item>
    </plurals>
    <string name="quit">Quit</string>
</resources>
"""
texts = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]) | st.sampled_from("\n\t \\'\"@?<&>")
)


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "values" / "strings.xml"
    path.parent.mkdir()
    path.write_bytes(ENGLISH.encode())
    return path


def target_path(template: Path, language: str, content: bytes | str | None = None) -> Path:
    path = template.parent.with_name(f"values-{language}") / "strings.xml"
    path.parent.mkdir(exist_ok=True)
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_units(template) -> None:
    german = '<resources><string name="save">Sichern</string><string name="html"/></resources>'
    file = open_file(target_path(template, "de-rAT", german), template=template)
    assert (file.languages, file.marks_review) == (("", "de-AT"), False)
    assert [(unit.id, unit.source, unit.state.value, unit.syntax) for unit in file.units] == [
        ("app", "MyApp", "locked", "plain"),
        ("save", 'Don\'t "save"', "translated", "plain"),
        (
            "hello",
            'Hello <b>you</b> &amp; <xliff:g id="name" example="Bob">%1$s</xliff:g>!&#10;Bye',
            "untranslated",
            "xml",
        ),
        ("html", '<a href="x">It\'s</a> & more', "untranslated", "plain"),
        ("app_again", "@string/app", "locked", "plain"),
        ("days[0]", "Monday", "untranslated", "plain"),
        ("days[1]", "Tuesday", "untranslated", "plain"),
        ("days[2]", "@string/app", "locked", "plain"),
        ("files[one]", "%d file", "untranslated", "plain"),
        ("files[other]", "%d files", "untranslated", "plain"),
        ("quit", "Quit", "untranslated", "plain"),
    ]
    assert file.units[1].context == {"note": "Button"}


def test_a_new_file_is_the_template_without_what_is_not_translated(template) -> None:
    new = {
        "hello": 'Für <xliff:g id="name" example="Bob">%1$s</xliff:g>:&#10;Hallo <b>du</b> &amp; ihr',
        "html": '<a href="x">Es ist\'s</a> & mehr',
        "days[1]": "Dienstag",
        "files[other]": "%d Dateien",
    }
    content = filled(target_path(template, "de"), new, template=template)
    assert content.decode() == (
        r"""<?xml version="1.0" encoding="utf-8"?>
<!-- Licence -->
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2" xmlns:tools="http://schemas.android.com/tools">

    <string name="hello">Für <xliff:g id="name" example="Bob">%1$s</xliff:g>:\nHallo <b>du</b> &amp; ihr</string>
    <string name="html"><![CDATA[<a href=\"x\">Es ist\'s</a> & mehr]]></string>
    <string-array name="days">
        <item>Monday</item>
        <item>Dienstag</item>
        <item>@string/app</item>
    </string-array>
    <plurals name="files">
        <!-- one -->
        <item quantity="one">%d file</item>
        <item quantity="other">%d Dateien</item>
    </plurals>
</resources>
"""
    )


def test_missing_resources_are_inserted_where_the_template_has_them(template) -> None:
    german = (
        "<resources>\r\n  <!-- mein -->\r\n  <string name='quit' >Aus</string>\r\n  <string name='mine'>x</string>\r\n"
        '  <string-array name="days">\r\n    <item>Montag</item>\r\n  </string-array>\r\n</resources>\r\n'
    )
    path = target_path(template, "de", german)
    new = {"save": "Sichern?", "hello": "<b>Hallo</b>", "days[1]": "Dienstag", "files[one]": "%d Datei"}
    content = filled(path, new, template=template).decode()
    expected = german.replace("<resources>", '<resources xmlns:tools="http://schemas.android.com/tools">')
    expected = expected.replace(
        "  <!-- mein -->",
        '    <!-- Button -->\r\n    <string name="save" tools:ignore="X">Sichern?</string> <!-- short -->\r\n'
        '    <string name="hello"><b>Hallo</b></string>\r\n  <!-- mein -->',
    )
    expected = expected.replace("Montag</item>", "Montag</item>\r\n    <item>Dienstag</item>")
    plural = (
        '    <plurals name="files">\r\n        <!-- one -->\r\n        <item quantity="one">%d Datei</item>\r\n'
        '        <item quantity="other">%d files</item>\r\n    </plurals>\r\n'
    )
    assert content == expected.replace("</string-array>\r\n", f"</string-array>\r\n{plural}")


@pytest.mark.parametrize(
    ("language", "quantities"),
    [
        ("de", "one other"),
        ("it", "one other"),
        ("pl", "one few many other"),
        ("ja", "other"),
        ("ar", "zero one two few many other"),
        ("b+sr+Latn", "one few other"),
    ],
)
def test_plurals_have_the_quantities_of_the_target_language(language: str, quantities: str, template) -> None:
    path = target_path(template, language)
    file = open_file(path, template=template)
    units = [unit for unit in file.units if "plural" in unit.context]
    assert [unit.context["quantity"] for unit in units] == quantities.split()
    assert [unit.source for unit in units] == [
        "%d file" if quantity == "one" else "%d files" for quantity in quantities.split()
    ]
    content = filled(path, {unit.id: f"{unit.id} %d" for unit in units}, template=template)
    items = etree.fromstring(content).findall("plurals/item")
    assert [(item.get("quantity"), item.text) for item in items] == [
        (quantity, f"files[{quantity}] %d") for quantity in quantities.split()
    ]


def test_quantities_are_added_to_a_plural(template) -> None:
    polish = (
        '<resources>\n  <plurals name="files">\n    <item quantity="one">plik</item>\n'
        '    <item quantity="other"/>\n  </plurals>\n</resources>'
    )
    path = target_path(template, "pl", polish)
    new = {"files[many]": "plików", "files[few]": "pliki", "files[other]": "pliku"}
    assert filled(path, new, template=template).decode() == polish.replace(
        '<item quantity="other"/>',
        '<item quantity="few">pliki</item>\n    <item quantity="many">plików</item>\n'
        '    <item quantity="other">pliku</item>',
    )
    path = target_path(
        template, "pl", '<resources><plurals name="files"><item quantity="other">x</item></plurals></resources>'
    )
    assert b'<plurals name="files"><item quantity="one">plik</item><item quantity="other">x' in filled(
        path, {"files[one]": "plik"}, template=template
    )


def test_empty_resources(template) -> None:
    for empty in ("<resources/>", "<resources></resources>", "<resources>\n</resources>\n"):
        content = filled(target_path(template, "de", empty), {"quit": "Aus", "save": "S"}, template=template)
        root = etree.fromstring(content)
        assert [(one.get("name"), one.text) for one in root if isinstance(one.tag, str)] == [
            ("save", "S"),
            ("quit", "Aus"),
        ]
    path = target_path(template, "de", '<resources><string-array name="days"/><plurals name="files"/></resources>')
    root = etree.fromstring(filled(path, {"days[0]": "Montag", "files[one]": "Datei"}, template=template))
    assert [item.text for item in root.iter("item")] == ["Montag", "Tuesday", "@string/app", "Datei", "%d files"]


def test_what_the_template_lacks_stays_and_is_named(template) -> None:
    path = target_path(
        template, "de", '<resources><color name="x">#fff</color><string name="old">O</string></resources>'
    )
    notes = open_file(path, template=template).notes
    assert list(notes) == [f"1 key is not in {template} and is left as it is: old"]
    assert b'<color name="x">#fff</color><string name="old">O</string>' in filled(
        path, {"quit": "A"}, template=template
    )


def test_the_locale_for_the_tools_and_products(tmp_path) -> None:
    template = tmp_path / "strings.xml"
    template.write_text(
        '<resources xmlns:tools="http://schemas.android.com/tools" tools:locale="en">'
        '<string name="a" product="tablet">Tablet</string><string name="a">Phone</string></resources>'
    )
    path = target_path(template, "pt-rBR")
    content = filled(path, {"a@tablet": "T", "a": "F"}, template=template, target_lang="pt-BR").decode()
    assert 'tools:locale="pt-rBR"><string name="a" product="tablet">T</string><string name="a">F</string>' in content


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (r"  It\'s\u0020\u00e4 \@ \? \\ \# ", "It's ä @ ? \\ #"),
        ("a\n    b\t c", "a b c"),
        ('"  a  b " c', "  a  b  c"),
        (r"a\n b\tc \n", "a\n b\tc \n"),
        ("&lt;b>x&lt;/b> &amp; &#228;", "<b>x</b> & ä"),
        ("a <![CDATA[<i>]]> b", "a <i> b"),
        (r"\ud83d\ude00", "😀"),
        ("a<!-- no -->b", "ab"),
        ("x" * 9000 + r"\'", "x" * 9000 + "'"),
    ],
)
def test_texts_as_android_reads_them(raw: str, text: str, tmp_path) -> None:
    template = tmp_path / "strings.xml"
    template.write_text(f'<resources><string name="a">{raw}</string></resources>', encoding="utf-8")
    path = target_path(template, "de")
    assert open_file(path, template=template).units[0].source == text
    filled(path, {"a": text}, template=template)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sources=st.lists(texts.filter(str.strip), min_size=1, max_size=4),
    new=st.lists(texts, min_size=4, max_size=4),
    cdata=st.booleans(),
    chosen=st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_filled_in_steps(sources, new, cdata, chosen, tmp_path) -> None:
    template = tmp_path / "strings.xml"
    content = "<![CDATA[x]]>" if cdata else "x"
    entries = "".join(
        f'  <!-- {number} -->\n  <string name="s{number}">{content}</string>\n\n' for number in range(len(sources))
    )
    template.write_text(f"<resources>\n{entries}</resources>\n")
    path = target_path(template, "de")
    path.unlink(missing_ok=True)
    names = open_ids(open_file(path, template=template))
    every = dict(zip(names, new, strict=False))
    one = {name: text for (name, text), first in zip(every.items(), chosen, strict=False) if first}
    path.write_bytes(filled(path, one, template=template))
    both = filled(path, {name: text for name, text in every.items() if name not in one}, template=template)
    path.unlink()
    assert both == filled(path, every, template=template)
    assert [string.get("name") for string in etree.fromstring(both).iter("string")] == names


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(new=st.lists(texts.filter(lambda text: "  " not in text and text.strip() == text), min_size=2, max_size=2))
def test_translate_toolkit_reads_the_same(new, tmp_path) -> None:
    template = tmp_path / "strings.xml"
    template.write_text('<resources><string name="a">x</string><string name="b">y</string></resources>')
    path = target_path(template, "de")
    path.unlink(missing_ok=True)
    store = AndroidResourceFile()
    store.parse(filled(path, {"a": f"A{new[0]}.", "b": f"B{new[1]}."}, template=template))
    assert [unit.target for unit in store.units] == [f"A{new[0]}.", f"B{new[1]}."]


def test_a_fragment_goes_through_a_text_unit(template) -> None:
    path = target_path(template, "de")
    file = open_file(path, template=template)
    unit = next(unit for unit in file.units if unit.id == "hello")
    parts = TextUnit.of(unit.source, unit.syntax)
    text = parts.assemble(parts.parts).text
    content = filled(path, {"hello": text.replace("\n", "&#10;")}, template=template)
    string = etree.fromstring(content).find("string")
    assert [child.tag.rpartition("}")[2] for child in string] == ["b", "g"]


def test_line_breaks_are_written_as_escapes(tmp_path) -> None:
    template = tmp_path / "strings.xml"
    template.write_text(r'<resources><string name="a">x\n<b>y</b></string></resources>')
    path = target_path(template, "de")
    file = open_file(path, template=template)
    for text in ("x\n<b>y</b>", "x&#10;<b>y</b>", "x&#xA;<b>y</b>"):
        assert rb"x\n<b>y</b>" in file.filled({0: Filling(text)})


def test_other_encodings(tmp_path) -> None:
    template = tmp_path / "strings.xml"
    template.write_bytes(
        '<?xml version="1.0" encoding="iso-8859-1"?><resources><string name="a">ä</string></resources>'.encode(
            "latin-1"
        )
    )
    content = filled(target_path(template, "pl"), {"a": "ß ł"}, template=template)
    assert b"\xdf &#322;" in content


@pytest.mark.slow
def test_many_strings_and_a_long_one(tmp_path) -> None:
    template = tmp_path / "strings.xml"
    lines = [f'  <string name="k{n}">Text {n}</string>\n' for n in range(100_000)]
    template.write_text(f"<resources>\n{''.join(lines)}</resources>\n")
    path = target_path(template, "de", f"<resources>\n{''.join(lines[::2])}</resources>\n")
    file, long = open_file(path, template=template), "Wort " * 10_000
    new = {index: Filling(long if index == 1 else "x") for index, unit in enumerate(file.units) if not unit.target}
    root = etree.fromstring(file.filled(new), etree.XMLParser(huge_tree=True))
    assert [string.get("name") for string in root] == [f"k{n}" for n in range(100_000)]
    assert len(root[1].text) == len(long) + 5  # the space at the end is an escape


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<resources>\n<string name='a'>x</resources>", "strings.xml:2: not well-formed XML"),
        (
            b"<resources>\n<string name='a'>x</string>\n<string name='a'>y</string></resources>",
            "strings.xml:3: .*line 2",
        ),
        (b"<resources>\n<string>x</string></resources>", "strings.xml:2: <string> has no name"),
        (b"<LinearLayout/>", "expected <resources>, as in Android's strings.xml"),
        (b"<resources><string name='a'>\xe4</string></resources>", "invalid bytes for the encoding utf-8"),
        (b"<resources><string name='a'>\0</string></resources>", "not well-formed"),
        (f"{bomb()}<resources/>".encode(), "DOCTYPE"),
    ],
)
def test_bad_files(content: bytes, message: str, template) -> None:
    with pytest.raises(InputError, match=message):
        open_file(target_path(template, "de", content), template=template)


@pytest.mark.parametrize(
    ("raw", "source", "new"),
    [
        ('<![CDATA[A <a href="x" class="big link">b</a>]]>', 'A <a href="x" class="big link">b</a>', "CDATA"),
        ('&lt;font color="red">A&lt;/font>', '<font color="red">A</font>', '&lt;font color="red"&gt;A&lt;/font&gt;'),
        ('<b>A</b> &lt;i id="1">', '<b>A</b> &lt;i id="1"&gt;', '<b>A</b> &lt;i id="1"&gt;'),
    ],
)
def test_the_quotes_of_tags_stay(raw: str, source: str, new: str, tmp_path) -> None:
    (tmp_path / "en.xml").write_text(f'<resources><string name="a">{raw}</string></resources>')
    file = open_file(tmp_path / "de.xml", template=tmp_path / "en.xml")
    assert file.units[0].source == source
    written = file.filled({0: Filling(source)}).decode()
    assert (raw if new == "CDATA" else new) in written
    (tmp_path / "de.xml").write_text(written)
    assert open_file(tmp_path / "de.xml", template=tmp_path / "en.xml").units[0].target == source


def test_bad_texts(template) -> None:
    file = open_file(target_path(template, "de"), template=template)
    by_id = {unit.id: index for index, unit in enumerate(file.units)}
    with pytest.raises(InputError, match="not well-formed"):
        file.filled({by_id["hello"]: Filling("<b>x")})
    with pytest.raises(InputError, match=r"U\+0007"):
        file.filled({by_id["save"]: Filling("\a")})
    with pytest.raises(InputError, match="app is locked"):
        file.filled({by_id["app"]: Filling("x")})
    assert file.units[by_id["app"]].state is UnitState.LOCKED
