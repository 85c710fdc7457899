"""Filling in PO files: every byte but that of the filled messages stays as it was."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.filling_checks import filled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from translate.storage.pypo import pofile

from mtloop.core.errors import InputError
from mtloop.data.formats.fill_gettext import PoStyle
from mtloop.data.formats.filling import Filling, UnitState, open_file

POLISH = "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"
HEADER = (
    '# Head\nmsgid ""\nmsgstr ""\n"Project-Id-Version: x\\n"\n"PO-Revision-Date: 2026-01-01 00:00+0000\\n"\n'
    '"Last-Translator: x <x@example.org>\\n"\n"Language-Team: de\\n"\n"Language: de\\n"\n"MIME-Version: 1.0\\n"\n'
    '"Content-Type: text/plain; charset={charset}\\n"\n"Content-Transfer-Encoding: 8bit\\n"\n'
    '"Plural-Forms: {plural}\\n"\n\n'
)
SAMPLE = r"""#. Shown in the menu
#: src/menu.c:12
msgid "Open"
msgstr ""

# translator
#: src/menu.c:13
#, c-format
msgctxt "dialog"
msgid "%d of %d"
msgstr ""

#: src/menu.c:14
#, fuzzy, c-format
#| msgid "Delete %s"
msgid "Remove %s"
msgstr "Lösche %s"

#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

msgid "Done"
msgstr "Fertig"

#~ msgid "Old"
#~ msgstr "Alt"
"""


def po(body: str = SAMPLE, charset: str = "UTF-8", plural: str = "nplurals=2; plural=(n != 1);") -> bytes:
    return (HEADER.format(charset=charset, plural=plural) + body).encode(charset)


def test_units(write) -> None:
    file = open_file(write("de.po", po()))
    found = [(unit.id, unit.source, unit.target, unit.state.value) for unit in file.units[1:]]
    assert found == [
        ("1", "Open", "", "untranslated"),
        ("2", "%d of %d", "", "untranslated"),
        ("3", "Remove %s", "Lösche %s", "fuzzy"),
        ("4[0]", "%d file", "", "untranslated"),
        ("4[1]", "%d files", "", "untranslated"),
        ("5", "Done", "Fertig", "translated"),
        ("6", "Old", "Alt", "locked"),
    ]
    assert (file.units[0].id, file.units[0].state) == ("header", UnitState.LOCKED)
    assert file.languages == ("", "de")
    assert file.units[1].context == {"document": "src/menu.c", "note": "Shown in the menu"}
    assert file.units[2].context == {
        "document": "src/menu.c",
        "msgctxt": "dialog",
        "flags": ["c-format"],
        "format": "c",
    }
    assert file.units[5].context == {"flags": ["c-format"], "format": "c", "plural": 1}
    assert list(file.notes) == []


def test_filled_units_are_fuzzy(write) -> None:
    texts = {"1": "Öffnen", "2": "%d von %d", "4[0]": "%d Datei", "4[1]": "%d Dateien"}
    expected = (
        po()
        .decode()
        .replace('msgid "Open"\nmsgstr ""', '#, fuzzy\nmsgid "Open"\nmsgstr "Öffnen"')
        .replace('#, c-format\nmsgctxt "dialog"', '#, fuzzy, c-format\nmsgctxt "dialog"')
        .replace('"%d of %d"\nmsgstr ""', '"%d of %d"\nmsgstr "%d von %d"')
        .replace('#, c-format\nmsgid "%d file"', '#, fuzzy, c-format\nmsgid "%d file"')
        .replace('msgstr[0] ""\nmsgstr[1] ""', 'msgstr[0] "%d Datei"\nmsgstr[1] "%d Dateien"')
    )
    assert filled(write("de.po", po()), texts).decode() == expected


def test_an_approved_target_ends_the_fuzzy_state(write) -> None:
    file = open_file(write("de.po", po()))
    expected = po().decode().replace('#, fuzzy, c-format\n#| msgid "Delete %s"\n', "#, c-format\n")
    expected = expected.replace("Lösche %s", "%s entfernen")
    assert file.filled({3: Filling("%s entfernen", approved=True)}).decode() == expected


def test_a_line_with_fuzzy_alone_goes(write) -> None:
    body = '# remark\n#, fuzzy\n#| msgctxt "c"\n#| msgid "A"\n#| "B"\nmsgid "a"\nmsgstr "b"\n'
    file = open_file(write("de.po", po(body)))
    assert file.filled({1: Filling("c", approved=True)}) == po('# remark\nmsgid "a"\nmsgstr "c"\n')


def test_flags_of_a_file_with_crlf(write) -> None:
    body = po('#, fuzzy, c-format\nmsgid "a"\nmsgstr "b"\n').replace(b"\n", b"\r\n")
    file = open_file(write("de.po", body))
    assert file.filled({1: Filling("b", approved=True)}) == body.replace(b"fuzzy, ", b"")


def test_an_approved_target_that_is_the_fuzzy_one_keeps_its_lines(write) -> None:
    body = '#, fuzzy\nmsgid "a"\nmsgstr ""\n  "b"   "c"\n'
    file = open_file(write("de.po", po(body)))
    assert file.filled({1: Filling("bc", approved=True)}) == po(body.removeprefix("#, fuzzy\n"))


def test_an_unapproved_target_stays_fuzzy(write) -> None:
    file = open_file(write("de.po", po()))
    assert file.filled({3: Filling("x %s")}) == po().replace("Lösche %s".encode(), b"x %s")


def test_a_plural_is_approved_as_a_whole(write) -> None:
    body = '#, fuzzy\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\nmsgstr[1] "d"\n'
    file = open_file(write("de.po", po(body)))
    yes = Filling("x", approved=True)
    assert b"#, fuzzy\n" in file.filled({1: yes})
    assert b"#, fuzzy\n" in file.filled({1: yes, 2: Filling("y")})
    assert b"fuzzy" not in file.filled({1: yes, 2: yes})


def test_a_message_without_all_its_forms_is_fuzzy(write) -> None:
    body = 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    file, yes = open_file(write("de.po", po(body))), Filling("x", approved=True)
    assert file.filled({1: yes}) == po("#, fuzzy\n" + body.replace('""', '"x"', 1))
    assert b"fuzzy" not in file.filled({1: yes, 2: yes})
    half = open_file(write("half.po", po(body.replace('[0] ""', '[0] "c"'))))
    assert b"fuzzy" not in half.filled({2: yes})


def test_one_form_in_review_makes_the_message_fuzzy(write) -> None:
    body = 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\nmsgstr[1] ""\n'
    file = open_file(write("de.po", po(body)))
    assert [unit.state.value for unit in file.units[1:]] == ["translated", "untranslated"]
    assert file.filled({2: Filling("d")}) == po("#, fuzzy\n" + body.replace('""', '"d"'))


@pytest.mark.parametrize(
    ("plural", "sources"),
    [
        ("nplurals=1; plural=0;", ["%d files"]),
        ("nplurals=2; plural=(n == 1);", ["%d files", "%d file"]),
        (POLISH, ["%d file", "%d files", "%d files"]),
    ],
)
def test_the_source_of_a_form(plural: str, sources: list[str], write) -> None:
    forms = "".join(f'msgstr[{form}] ""\n' for form in range(len(sources)))
    file = open_file(write("x.po", po(f'msgid "%d file"\nmsgid_plural "%d files"\n{forms}', plural=plural)))
    assert [(unit.source, unit.state.value) for unit in file.units[1:]] == [(text, "untranslated") for text in sources]


@pytest.mark.parametrize(
    ("plural", "source"),
    [
        ("nplurals=2; plural=(n != 1);", "a minute ago"),
        ("nplurals=2; plural=(n > 1);", "a minute ago"),
        ("nplurals=2; plural=(n % 10 != 1);", "%(n)s minutes ago"),  # the form is for 1 and 21
    ],
)
def test_the_source_of_a_singular_without_the_number(plural: str, source: str, write) -> None:
    body = 'msgid "a minute ago"\nmsgid_plural "%(n)s minutes ago"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    assert open_file(write("is.po", po(body, plural=plural))).units[1].source == source


MSGINIT = (
    "; write charset=UTF-8 into the header of the template, then: "
    "msginit --locale=de --input=TEMPLATE.pot --output-file=de.po"
)


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        ("nplurals=3; plural=0;", "3 forms (Plural-Forms of the header)"),
        ("nplurals=2; plural=1/0;", "a valid Plural-Forms in the header"),
        (f"nplurals=2; plural={'(' * 400}n{')' * 400};", "a valid Plural-Forms in the header"),
        ("nplurals=2; plural=n n;", "a valid Plural-Forms in the header"),
        ("", "a valid Plural-Forms in the header"),
        ("nplurals=INTEGER; plural=EXPRESSION;", f"a valid Plural-Forms in the header{MSGINIT}"),
    ],
)
def test_plurals_that_msgfmt_would_refuse_are_not_filled(plural: str, expected: str, write) -> None:
    file = open_file(write("x.po", po(SAMPLE, plural=plural)))
    assert [unit.id for unit in file.units if unit.state is UnitState.LOCKED] == ["header", "4[0]", "4[1]", "6"]
    assert list(file.notes) == [f"1 plurals are left as they are, the first in line 33; expected {expected}"]


LONG = "Dieser Satz ist zu lang für eine einzige Zeile, und deshalb wird er nach dem Leerzeichen umbrochen."
WRAPPED = (
    'msgid ""\n"This sentence is too long for one line, and so it is wrapped at one of its many, many "\n"spaces."\n'
)
UNWRAPPED = 'msgid "This sentence is too long for one line, and still it stands on one line, in this file here."\n'


def test_a_file_that_wraps(write) -> None:
    body = WRAPPED.replace(" many, many", "") + 'msgstr ""\n'
    assert (
        filled(write("de.po", po(body)), {"1": LONG})
        .decode()
        .endswith(
            'msgstr ""\n"Dieser Satz ist zu lang für eine einzige Zeile, und deshalb wird er nach dem "\n'
            '"Leerzeichen umbrochen."\n'
        )
    )


def test_a_file_that_does_not_wrap(write) -> None:
    path = write("de.po", po(UNWRAPPED + 'msgstr ""\n'))
    assert filled(path, {"1": LONG + "\nX"}).decode().endswith(f'msgstr ""\n"{LONG}\\n"\n"X"\n')


def test_a_file_that_does_not_break_at_newlines(write) -> None:
    path = write("de.po", po(UNWRAPPED.replace(", and", r",\nand") + 'msgstr ""\n'))
    assert filled(path, {"1": LONG + "\nX"}).decode().endswith(f'msgstr "{LONG}\\nX"\n')


def test_a_file_with_longer_lines(write) -> None:
    entries = [f'msgid ""\n"{i} {"word " * 20}"\n"word"\nmsgstr ""\n' for i in range(10)]
    content = filled(write("de.po", po("\n".join(entries))), {"1": "wort " * 25 + "."}).decode()
    assert 'msgstr ""\n"' + "wort " * 20 + '"\n"' + "wort " * 5 + '."\n' in content


def test_the_width_of_a_new_target_is_that_of_gettext() -> None:
    style = PoStyle()
    assert style.lines("a" * 70, len("msgstr ")) == ["a" * 70]
    assert style.lines("a" * 71, len("msgstr ")) == ["", "a" * 71]
    assert style.lines("a" * 76 + " b", 7) == ["", "a" * 76 + " ", "b"]
    assert style.lines("a" * 77 + " b", 7) == ["", "a" * 77 + " ", "b"]
    assert style.lines("漢字" * 20, 7) == ["", "漢字" * 19, "漢字"]
    assert style.lines("Text\n", 7) == ["Text\\n"]
    assert style.lines("a" * 76 + " \n", 7) == ["", "a" * 76 + " \\n"]
    assert style.lines("C:\\new\\name\n", 7) == ["C:\\\\new\\\\name\\n"]


def test_indented_lines(write) -> None:
    body = 'msgid\t"a"\n\t"b"\nmsgstr\t""\n'
    assert filled(write("de.po", po(body)), {"1": "x\ny"}) == po(
        '#, fuzzy\nmsgid\t"a"\n\t"b"\nmsgstr\t""\n\t"x\\n"\n\t"y"\n'
    )


def test_crlf_byte_order_mark_and_no_line_end(write) -> None:
    body = po('msgid "a"\nmsgstr ""').replace(b"\n", b"\r\n")
    content = b"\xef\xbb\xbf" + body
    expected = content.replace(b'msgid "a"\r\nmsgstr ""', b'#, fuzzy\r\nmsgid "a"\r\nmsgstr ""\r\n"x\\n"\r\n"y"')
    assert filled(write("de.po", content), {"1": "x\ny"}) == expected


def test_the_first_message_may_stand_after_the_byte_order_mark(write) -> None:
    content = b'\xef\xbb\xbfmsgid "a"\nmsgstr ""\n'
    assert filled(write("de.po", content), {"1": "x"}) == b'\xef\xbb\xbf#, fuzzy\nmsgid "a"\nmsgstr "x"\n'


def test_mixed_line_ends(write) -> None:
    body = po('msgid "a"\r\nmsgstr ""\r\n\nmsgid "b"\nmsgstr ""\n')
    content = filled(write("de.po", body), {"1": "x\ny", "2": "v\nw"})
    assert content.endswith(
        b'#, fuzzy\r\nmsgid "a"\r\nmsgstr ""\r\n"x\\n"\r\n"y"\r\n\n#, fuzzy\nmsgid "b"\nmsgstr ""\n"v\\n"\n"w"\n'
    )


def test_messages_in_one_line(write) -> None:
    content = filled(write("de.po", po('msgid "a" msgstr "" msgid "b" msgstr ""\n')), {"2": "x"})
    assert content == po('msgid "a" msgstr "" \n#, fuzzy\nmsgid "b" msgstr "x"\n')


@pytest.mark.parametrize(
    ("source", "given_text", "written"),
    [(r"\na\n", "b", r"\nb\n"), ("a", "\nb\n", "b"), (r"a\n", "b\n", r"b\n"), (r"\n", "\n\n", "")],
)
def test_line_breaks_at_both_ends_are_those_of_the_source(source, given_text, written, write) -> None:
    file = open_file(write("de.po", po(f'msgid "{source}"\nmsgstr ""\n')))
    (path := Path(file.path)).write_bytes(file.filled({1: Filling(given_text)}))
    assert open_file(path).units[1].target == written.replace(r"\n", "\n")


def test_another_charset(write) -> None:
    path = write("de.po", po("# Ä\n" + SAMPLE, "ISO-8859-1"))
    assert b'msgstr "\xd6ffnen"' in filled(path, {"1": "Öffnen"})
    with pytest.raises(
        InputError, match=r"charset iso8859-1 of the file does not have '„'; .* msgconv --to-code=UTF-8"
    ):
        open_file(path).filled({1: Filling("„Öffnen“")})


def test_a_template_has_no_charset(write) -> None:
    content = HEADER.format(charset="CHARSET", plural="nplurals=2; plural=n!=1;").encode() + SAMPLE.encode()
    file = open_file(write("x.pot", content))
    assert list(file.notes) == ["the header declares no charset; add: charset=UTF-8, in which the file is read"]
    assert "Öffnen" in file.filled({1: Filling("Öffnen")}).decode()


def test_another_language_is_refused(write) -> None:
    path = write("de.po", po())
    assert open_file(path, target_lang="de-AT").languages == ("", "de")
    with pytest.raises(InputError, match="the header declares the language de; expected fr"):
        open_file(path, target_lang="fr")


def test_nul_is_refused(write) -> None:
    with pytest.raises(InputError, match="NUL"):
        open_file(write("de.po", po())).filled({1: Filling("a\0b")})


def test_an_empty_target_takes_the_translation_away(write) -> None:
    file = open_file(write("de.po", po()))
    assert file.filled({6: Filling("")}) == po(SAMPLE.replace('"Fertig"', '""'))


COMMENTS = ["# remark, fuzzy", "#. note", "#: a.c:1", "#, c-format", "#, fuzzy", '#| msgid "old"', "#", "#,"]
TEXTS = st.lists(st.sampled_from(["a", "é", " ", "\\n", '\\"', "\\\\", "%s", "漢", "wort "]), max_size=30).map("".join)


@st.composite
def messages(draw: st.DrawFn, end: str) -> str:
    """A message with the context CONTEXT: comments, and strings in one or several lines."""
    comments = draw(st.lists(st.sampled_from(COMMENTS), max_size=4))
    strings = st.lists(TEXTS, min_size=1, max_size=3).map(lambda texts: end.join(f'"{text}"' for text in texts))
    forms = draw(st.integers(0, 3))
    plural = ["msgid_plural", *(f"msgstr[{form}]" for form in range(forms))] if forms else ["msgstr"]
    keywords = (f"{keyword} {draw(strings)}" for keyword in ["msgid", *plural])
    return end.join([*comments, 'msgctxt "CONTEXT"', *keywords, *[""] * draw(st.integers(1, 3))])


def catalogue(parts: Sequence[str], end: str) -> list[str]:
    """The header, and the messages, each with a context of its own."""
    texts = [text.replace("CONTEXT", str(index)) for index, text in enumerate(parts)]
    return [HEADER.format(charset="UTF-8", plural="nplurals=2; plural=n!=1;").replace("\n", end), *texts]


FILES = st.sampled_from(["\n", "\r\n"]).flatmap(
    lambda end: st.lists(messages(end), max_size=5).map(lambda parts: catalogue(parts, end))
)
TARGETS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=120)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=FILES, data=st.data())
def test_only_the_filled_message_changes(parts: list[str], data, tmp_path: Path) -> None:
    content = "".join(parts).encode()
    path = tmp_path / "x.po"
    path.write_bytes(content)
    file = open_file(path)
    assert file.filled({}) == content
    ready = [index for index, unit in enumerate(file.units) if unit.state is not UnitState.LOCKED]
    if not ready:
        return
    index = data.draw(st.sampled_from(ready))
    filling = Filling(data.draw(TARGETS), data.draw(st.booleans()))
    new = file.filled({index: filling})
    number = int(file.units[index].id.partition("[")[0])
    assert new.startswith("".join(parts[:number]).encode())
    assert new.endswith("".join(parts[number + 1 :]).encode())
    path.write_bytes(new)
    _check_read_back(path, file.units, {index: filling})


def _check_read_back(path: Path, before: Sequence, fillings: dict[int, Filling]) -> None:
    again = open_file(path)
    assert [unit.source for unit in again.units] == [unit.source for unit in before]
    for index, (old, new) in enumerate(zip(before, again.units, strict=True)):
        if index not in fillings:
            assert new.target == old.target
            continue
        assert new.target.strip("\n") == fillings[index].text.strip("\n")
        assert not new.target or fillings[index].approved or new.state is UnitState.FUZZY


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=FILES, data=st.data())
def test_translate_toolkit_reads_the_same(parts: list[str], data, tmp_path: Path) -> None:
    """An independent parser finds the same sources and comments as before, and the new targets."""
    path = tmp_path / "x.po"
    path.write_bytes("".join(parts).replace("\r\n", "\n").encode())
    file = open_file(path)
    ready = [index for index, unit in enumerate(file.units) if unit.state is not UnitState.LOCKED]
    words = st.lists(st.sampled_from(["a", "ß ", "\n", '"', "\\", "wort "]), max_size=40).map("".join)
    fillings = {index: Filling(data.draw(words)) for index in ready}
    before, after = _toolkit(path.read_bytes()), _toolkit(file.filled(fillings))
    assert [unit[:-1] for unit in before] == [unit[:-1] for unit in after]
    path.write_bytes(file.filled(fillings))
    ours = [unit.target for unit in open_file(path).units[1:]]
    assert [target for *_, targets in after[1:] for target in targets] == ours


def _toolkit(content: bytes) -> list[tuple]:
    store = pofile()
    store.parse(content)
    forms = [[str(text) for text in getattr(unit.target, "strings", [unit.target])] for unit in store.units]
    return [
        (unit.source, unit.getnotes(), unit.getlocations(), unit.getcontext(), targets)
        for unit, targets in zip(store.units, forms, strict=True)
    ]


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="needs gettext's msgfmt")
def test_msgfmt_accepts_a_filled_file(tmp_path: Path, write) -> None:
    sources = ["%d of %s", "\\nBegin", "End\\n", 'Say \\"yes\\"', "Tab\\t", "x" * 200, "word " * 60 + "end"]
    body = "".join(f'#, c-format\nmsgid "{source}"\nmsgstr ""\n\n' for source in sources)
    file = open_file(write("de.po", po(body + SAMPLE.replace('"Old"', '"Older"'))))
    targets = {
        index: Filling(f"{unit.source.strip()} ä", approved=index % 2 == 0)
        for index, unit in enumerate(file.units)
        if unit.state in (UnitState.UNTRANSLATED, UnitState.FUZZY)
    }
    approved = {index: Filling(target.text, approved=True) for index, target in targets.items()}
    for name, marks in (("fuzzy.po", targets), ("all.po", approved)):
        path = write(name, file.filled(marks))
        options = ["--check", "--check-format", "--use-fuzzy", "--output-file", str(tmp_path / "x.mo")]
        done = subprocess.run(["msgfmt", *options, str(path)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("msgcat") is None, reason="needs gettext's msgcat")
def test_msgcat_would_write_the_targets_so(write) -> None:
    """msgcat writes a file in gettext's style; of ours it changes nothing."""
    texts = ["Ein kurzer Satz.", LONG, f"{LONG}\n{LONG}\n", "a\n", '\ta\\b "c"\n\nd', "wort " * 40, "ganz-kurz " * 12]
    body = "\n".join(f'msgid "{index}"\nmsgstr ""\n' for index in range(len(texts)))
    file = open_file(write("de.po", po(body)))
    targets = {index: Filling(text.strip(), approved=index % 2 == 0) for index, text in enumerate(texts, start=1)}
    content = file.filled(targets)
    done = subprocess.run(["msgcat", str(write("new.po", content))], capture_output=True, check=True)
    assert done.stdout == content
