"""The scanner of PO files: entries and places, and syntax errors with their lines."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from translate.storage.pypo import pofile

from mtloop.core.errors import InputError
from mtloop.data.formats.po_syntax import PoCatalogue, escape

HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=%s\\n"\n'
PATH = Path("de.po")


def entries(text: str, charset: str = "UTF-8") -> list[tuple[str, str | None, list[str]]]:
    """Return msgid, msgid_plural and the targets of each message after the header."""
    catalogue = PoCatalogue.parse((HEADER % charset + text).encode(charset), PATH)
    return [
        (entry.text("msgid") or "", entry.text("msgid_plural"), [form.text for form in entry.forms])
        for entry in catalogue.entries
        if not entry.is_header
    ]


def test_comments_and_strings() -> None:
    comments = '#. note\n#: a.c:1 b.c:2\n#, fuzzy, c-format\n#| msgid "old"\n'
    text = comments + 'msgctxt "menu"\nmsgid ""\n  "a"\n\t"b"\nmsgstr "x"\n'
    catalogue = PoCatalogue.parse((HEADER % "UTF-8" + text).encode(), PATH)
    entry = catalogue.entries[1]
    assert [(comment.kind, comment.text) for comment in entry.comments] == [
        (".", "note"),
        (":", "a.c:1 b.c:2"),
        (",", "fuzzy, c-format"),
        ("|", 'msgid "old"'),
    ]
    assert (entry.text("msgctxt"), entry.text("msgid"), entry.flags) == ("menu", "ab", ["fuzzy", "c-format"])
    string = entry.strings["msgid"]
    assert catalogue.utf8[string.start : string.end] == b'""\n  "a"\n\t"b"'
    assert (entry.line, string.line) == (7, 8)


def test_several_messages_in_a_line() -> None:
    assert entries('msgid "a" msgstr "b" msgid "c" msgstr "d"') == [("a", None, ["b"]), ("c", None, ["d"])]


def test_plural_forms_may_have_spaces() -> None:
    assert entries('msgid "a"\nmsgid_plural "b"\nmsgstr [0] "c"\nmsgstr[ 1 ] "d"\n') == [("a", "b", ["c", "d"])]


def test_a_remark_with_commas_has_no_flags() -> None:
    text = '# first, fuzzy\nmsgid "a"\nmsgstr "b"\n'
    assert PoCatalogue.parse(text.encode(), PATH).entries[0].flags == []


@pytest.mark.parametrize(
    ("charset", "written", "text"),
    [
        ("UTF-8", r"a\tb\\n\"\n\r\a\b\f\v", 'a\tb\\n"\n\r\a\b\f\v'),
        ("UTF-8", r"\303\274\x41\1012", "üAA2"),
        ("ISO-8859-1", r"ü\374", "üü"),
        ("Shift_JIS", "ソ表", "ソ表"),  # the second byte of each is a backslash
    ],
)
def test_escapes(charset: str, written: str, text: str) -> None:
    assert entries(f'msgid "{written}"\nmsgstr ""\n', charset) == [(text, None, [""])]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_escaped_texts_are_read_back(text: str) -> None:
    assert entries(f'msgid "x"\nmsgstr "{escape(text)}"\n') == [("x", None, [text])]


@given(st.text(st.sampled_from('a\\n"\t\n é0')))
def test_translate_toolkit_reads_the_escapes(text: str) -> None:
    toolkit = pofile()
    toolkit.parse((HEADER % "UTF-8" + f'\nmsgid "x"\nmsgstr "{escape(text)}"\n').encode())
    assert str(toolkit.units[1].target) == text


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('msgid "a"\nmsgstr "b\n', 4, "a string without a closing quote in its line"),
        ('msgid "a"\nmsgstr "b" c"\n', 4, "unknown keyword 'c'"),
        ('msgid "a"\nmsgst "b"\n', 4, "unknown keyword 'msgst'; expected one of domain, msgctxt, msgid"),
        ('msgid "a"\n\nmsgid "c"\nmsgstr "d"\n', 5, "unexpected msgid; expected msgid_plural or msgstr"),
        ('msgid "a"\n', 4, "the message of line 3 has no msgid_plural or msgstr"),
        ('msgid "a"\nmsgstr\n\nmsgid "b"\nmsgstr "c"\n', 6, "no string after msgstr"),
        ('msgid "a"\n# remark\nmsgstr "b"\n', 4, "a comment after msgid"),
        ('msgid "a"\nmsgstr "b"\n# remark\n"c"\n', 6, "a string without a keyword"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr "c"\n', 5, "unexpected msgstr; expected msgstr[]"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[1] "c"\n', 5, "msgstr[1]; expected msgstr[0]"),
        ('msgid "a"\nmsgstr[0] "c"\n', 4, "unexpected msgstr[]; expected msgid_plural or msgstr"),
        ('msgid "a"\n#~ msgstr "b"\n', 4, "'#~' is not before all lines"),
        ('#~ msgid "a"\n"b"\n#~ msgstr "b"\n', 4, "'#~' is not before all lines"),
        ('msgid "a"\nmsgstr "\\q"\n', 4, "unknown escape \\q"),
        ('msgid "a"\nmsgstr "\\0"\n', 4, "unknown escape \\0"),
        ('msgid "a"\nmsgstr "\\377"\n', 4, "an escape that is invalid in utf-8"),
        ('msgid "a"\nmsgstr „b“\n', 4, "unexpected '„'"),
        ('msgid "a"\nmsgstr "b"\n\nmsgid "a"\nmsgstr "c"\n', 6, "the message of line 3 a second time"),
    ],
)
def test_syntax_errors(text: str, line: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        entries(text)
    assert str(caught.value).startswith(f"de.po:{line}: {message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'msgid "a"\nmsgstr "\0"\n', "de.po:2: NUL byte"),
        (b'msgid "a"\nmsgstr "\xff"\n', "de.po:2: invalid bytes for the charset utf-8"),
        ((HEADER % "EUC-JP").encode() + b'msgid "a"\nmsgstr "\xff"\n', "de.po:4: invalid bytes for the charset euc_jp"),
        (
            (HEADER % "ISO-8859-1").encode() + b'msgid "a"\nmsgstr ""\n"\xc3\xa4"\n',
            "de.po:5: the file declares iso8859-1, but its bytes are UTF-8; correct the declaration",
        ),
        ((HEADER % "KOI8-R").encode() + 'msgid "a"\nmsgstr "я"\n'.encode(), "de.po:4: the file declares koi8-r, but"),
        ((HEADER % "no-such").encode(), "de.po: the header declares the unknown charset 'no-such'"),
        ((HEADER % "rot13").encode(), "de.po: the charset 'rot-13' is not supported"),
        ((HEADER % "UTF-7").encode() + b'msgid "+AGE-"\nmsgstr ""\n', "cannot be written back unchanged"),
    ],
)
def test_wrong_bytes(content: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        PoCatalogue.parse(content, PATH)
    assert message in str(caught.value)


def test_equal_sources_in_other_contexts_domains_and_obsolete() -> None:
    text = 'msgid "a"\nmsgstr "b"\nmsgctxt "x"\nmsgid "a"\nmsgstr "c"\n#~ msgid "a"\n#~ msgstr "e"\n'
    assert len(entries(text + 'domain "other"\n# remark\nmsgid "a"\nmsgstr "d"\n')) == 4


@given(st.lists(st.sampled_from(['msgid "a"', 'msgstr "b"', "\n", "#, x", '#~ msgid "c"', "msgstr[0]", '"', "\\"])))
def test_any_text_is_read_or_refused(parts: list[str]) -> None:
    with suppress(InputError):
        PoCatalogue.parse("".join(parts).encode(), PATH)
