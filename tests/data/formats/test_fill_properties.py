"""Filling in .properties files with a template."""

from __future__ import annotations

import codecs
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.filling_checks import filled, open_ids
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from translate.storage.properties import propfile

from mtloop.core.errors import InputError
from mtloop.data.formats.fill_properties import PropertiesFile
from mtloop.data.formats.filling import Filling, UnitState, open_file

ENGLISH = r"""# Licence

title = Save
# What opens a file.
# Short.
open: Open it

#, section
long value \
     in three \
     lines
two = One line.\n\
      Another line.
empty =
quit=Quit {0}, don''t
"""
JAVA = """
import java.io.*; import java.nio.charset.StandardCharsets; import java.util.*;
public class Show {
    public static void main(String[] a) throws Exception {
        Properties p = new Properties();
        if (a[1].equals("utf-8")) p.load(new InputStreamReader(new FileInputStream(a[0]), StandardCharsets.UTF_8));
        else p.load(new FileInputStream(a[0]));
        for (String key : p.stringPropertyNames()) System.out.println(hex(key) + " " + hex(p.getProperty(key)));
    }
    static String hex(String text) {
        StringBuilder out = new StringBuilder("x");
        for (char c : text.toCharArray()) out.append(String.format("%04x", (int) c));
        return out.toString();
    }
}
"""
HARD = {
    "spaces": "  two  at both ends  ",
    "lines": "one\n two\n\n  three\n",
    "signs": "a=b:c#d!e\\f\"g'",
    "controls": "tab\t feed\f return\r",
    "letters": "Größe łódź 文 😀",
    "empty": "",
    "end": "back\\",
}

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
keys = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)
line_ends = st.sampled_from(["\n", "\r\n", "\r"])
separators = st.sampled_from(["=", ":", " = ", "\t", " ", " : ", " \\\n  = "])
layouts = st.sampled_from(["", "# comment\n", "\n", "\n! section\n\n# comment\n", "#\n\n"])


def escaped(text: str) -> str:
    """A text in ASCII, with more escapes than are needed."""
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[index : index + 2], "big") for index in range(0, len(units), 2))
    return "".join(chr(code) if chr(code).isalnum() and code < 128 else f"\\u{code:04x}" for code in codes)


def test_a_new_file_is_the_template_without_untranslated_keys(write, tmp_path) -> None:
    new = {"title": "Sichern", "two": "Eine Zeile.\n Noch eine.", "quit": "Ende {0}, 's ist aus"}
    content = filled(tmp_path / "m_de.properties", new, template=write("m.properties", ENGLISH))
    assert content.decode() == (
        "# Licence\n\ntitle = Sichern\n\ntwo = Eine Zeile.\\n\\\n      \\ Noch eine.\nquit=Ende {0}, ''s ist aus\n"
    )


def test_missing_keys_are_inserted_where_the_template_has_them(write) -> None:
    path = write("m_de.properties", b"! meine\r\n\r\nquit = Ende {0}\r\nmine:1\r\ntitle\r\nx=y")
    file_texts = {"title": "Sichern", "open": "Auf", "long": "lang", "two": "a\nb"}
    content = filled(path, file_texts, template=write("m.properties", ENGLISH))
    assert content.decode() == (
        "! meine\r\n\r\nquit = Ende {0}\r\nmine:1\r\ntitle=Sichern\r\n# What opens a file.\r\n# Short.\r\nopen: Auf\r\n"
        "#, section\r\nlong lang\r\ntwo = a\\n\\\r\n      b\r\nx=y"
    )


def test_units(write) -> None:
    path = write("m_it.properties", "title=\nopen=Open it\nquit=L''esci {0}\n")
    file = open_file(path, template=write("m.properties", ENGLISH))
    assert [(unit.id, unit.source, unit.target, unit.state.value) for unit in file.units] == [
        ("title", "Save", "", "untranslated"),
        ("open", "Open it", "Open it", "translated"),
        ("long", "value in three lines", "", "untranslated"),
        ("two", "One line.\nAnother line.", "", "untranslated"),
        ("empty", "", "", "locked"),
        ("quit", "Quit {0}, don't", "L'esci {0}", "translated"),
    ]
    assert file.units[1].context == {"note": "What opens a file.\nShort."}
    assert (file.languages, file.marks_review) == (("", "it"), False)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (b"b=\xc3\xa4\n", "a=ß ł\n".encode()),
        (b"b=\xe4\n", b"a=\xdf \\u0142\n"),
        (b"b=\\u00E4\n", b"a=\\u00DF \\u0142\n"),
        (b"b=\\u00e4\n", b"a=\\u00df \\u0142\n"),
        (b"b=x\n", b"a=\\u00DF \\u0142\n"),
        (codecs.BOM_UTF8 + b"b=x\n", "a=ß ł\n".encode()),
    ],
)
def test_characters_are_written_as_the_file_writes_them(target: bytes, expected: bytes, write) -> None:
    path, template = write("m_de.properties", target), write("m.properties", "b=B\na=A\n")
    assert filled(path, {"a": "ß ł"}, template=template) == target + expected


def test_what_comes_from_the_template_gets_the_encoding_of_the_target(write) -> None:
    template = write("m.properties", "b=B\n# Größe, 文\nschlüssel=ü\n")
    path = write("m_de.properties", b"b=\xe4\n")
    assert filled(path, {"schlüssel": "文ß"}, template=template) == (
        b"b=\xe4\n# Gr\xf6\xdfe, \\u6587\nschl\xfcssel=\\u6587\xdf\n"
    )


def test_apostrophes_of_messages_with_arguments(write, tmp_path) -> None:
    template = write("m.properties", "a={0} is\nb='{'0'}' {0}\nc=don't\nd=it''s {0,number}\n")
    file = open_file(tmp_path / "m_it.properties", template=template)
    assert [unit.source for unit in file.units] == ["{0} is", "'{'0'}' {0}", "don't", "it's {0,number}"]
    new = dict.fromkeys(open_ids(file), "l'ora")
    assert filled(tmp_path / "m_it.properties", new, template=template) == (b"a=l''ora\nb=l'ora\nc=l'ora\nd=l''ora\n")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    entries=st.lists(st.tuples(layouts, keys, separators, texts), min_size=1, max_size=6, unique_by=lambda one: one[1]),
    line_end=line_ends,
    new=st.lists(texts, min_size=6, max_size=6),
    chosen=st.lists(st.booleans(), min_size=6, max_size=6),
    plain=st.sampled_from(["", "ä", "\\u00e4"]),
)
@example(entries=[("", "a", "=", "b")], line_end="\n", new=[HARD["lines"]] * 6, chosen=[True] * 6, plain="")
def test_filled_in_steps(entries, line_end, new, chosen, plain, write, tmp_path) -> None:
    lines = [f"{layout}{escaped(key)}{separator}{escaped(text)}\n" for layout, key, separator, text in entries]
    template = write("m.properties", f"#{plain}\n\n{''.join(lines)}".replace("\n", line_end))
    path = tmp_path / "m_de.properties"
    path.unlink(missing_ok=True)
    names = open_ids(open_file(path, template=template))
    fillings = dict(zip(names, new, strict=False))
    one = {name: text for (name, text), first in zip(fillings.items(), chosen, strict=False) if first}
    path.write_bytes(filled(path, one, template=template) or b"#")
    rest = {name: text for name, text in fillings.items() if name not in one}
    both = filled(path, rest, template=template)
    parsed = PropertiesFile.parse(both, path)
    assert {str(entry.key) for entry in parsed.entries} == set(names)
    path.unlink()
    assert both == filled(path, fillings, template=template)


def test_translate_toolkit_reads_the_same(write, tmp_path) -> None:
    template = write("m.properties", "".join(f"{name}=x\n" for name in HARD))
    hard = {name: text for name, text in HARD.items() if name not in ("controls", "end", "spaces")}
    content = filled(tmp_path / "m_de.properties", hard, template=template)
    store = propfile(personality="java")
    store.parse(content)
    found = {unit.name: unit.source.encode("utf-16", "surrogatepass").decode("utf-16") for unit in store.units}
    assert {name: text for name, text in found.items() if name} == hard


@pytest.mark.skipif(shutil.which("java") is None, reason="needs a JDK")
@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
def test_java_reads_the_same(encoding: str, write, tmp_path: Path) -> None:
    names = [*HARD, "key with spaces", "schlüssel", "a:b=c"]
    head = "# ä\n" if encoding == "utf-8" else "# \\u00e4\n"
    lines = [f"{escaped(name)} = x\\n\\\n  y\n" for name in names]
    template = write("m.properties", head + "".join(lines))
    new = {name: HARD.get(name, name) for name in names}
    write("m_de.properties", filled(tmp_path / "m_de.properties", new, template=template))
    command = ["java", "-XX:TieredStopAtLevel=1", write("Show.java", JAVA), tmp_path / "m_de.properties", encoding]
    shown = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout
    pairs = [[bytes.fromhex(text[1:]).decode("utf-16-be") for text in line.split()] for line in shown.splitlines()]
    assert dict(pairs) == new


@pytest.mark.slow
def test_many_keys_and_a_long_text(write) -> None:
    template = write("m.properties", "".join(f"k{n}=Text {n}\n" for n in range(100_000)))
    path = write("m_de.properties", "".join(f"k{n}=Wort {n}\n" for n in range(0, 100_000, 2)))
    file, long = open_file(path, template=template), "Wort " * 10_000
    new = {index: Filling(long if index == 1 else "x") for index, unit in enumerate(file.units) if not unit.target}
    lines = file.filled(new).decode().splitlines()
    assert [line.partition("=")[0] for line in lines] == [f"k{n}" for n in range(100_000)]
    assert lines[1] == f"k1={long}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a=1\nb=\\u12\n", "m_de.properties:2: wrong escape"),
        (b"a=1\n\nb=2\na:3\n", "m_de.properties:4: the key 'a' is already on line 1; remove one"),
        (b"a=1\nb=\0\n", "m_de.properties:2: NUL byte"),
        ("a=1\n".encode("utf-16"), "NUL byte"),
    ],
)
def test_bad_files(content: bytes, message: str, write) -> None:
    with pytest.raises(InputError, match=message):
        open_file(write("m_de.properties", content), template=write("m.properties", "a=A\n"))


def test_keys_that_the_template_lacks_are_named(write) -> None:
    file = open_file(write("m_de.properties", "x=1\na=2\n"), template=write("m.properties", "a=A\n"))
    assert len(file.notes) == 1
    assert "1 key is not in" in file.notes[0]
    assert file.notes[0].endswith("x")


def test_a_text_that_no_encoding_has_is_locked(write, tmp_path) -> None:
    file = open_file(tmp_path / "m_de.properties", template=write("m.properties", "a=\\ud800\n"))
    assert file.units[0].state is UnitState.LOCKED
