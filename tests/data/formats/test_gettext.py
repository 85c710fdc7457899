"""gettext catalogues with fuzzy, obsolete, untranslated and plural entries."""

from __future__ import annotations

import struct

import pytest
from helpers.file_samples import PAIRS, mo, po
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.core.types import Segment, Truth
from mtloop.data import read

ENTRIES = r"""
# A remark that is about no message.

#: src/menu.c:12 src/tool.c:3
msgid ""
"Save "
"the \"file\".\n"
"Now."
msgstr "Sichern Sie\tdie „Datei“.\nJetzt."

#, fuzzy, c-format
#| msgid "Unmake"
msgid "Undo"
msgstr "Unmachen"

msgctxt "toolbar"
msgid "Close"
msgstr "Zu"

#: src/menu.c:20
msgctxt "menu"
msgid "Close"
msgstr "Schließen"

msgid "Quit"
msgstr ""

#~ msgid "Print"
#~ msgstr "Drucken"
"""

PLURAL = 'msgid "%d file"\nmsgid_plural "%d files"\n'
GERMAN = '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n'
POLISH = '"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);\\n"\n'
SWAPPED = '"Plural-Forms: nplurals=2; plural=(n == 1);\\n"\n'


def test_golden(write) -> None:
    corpus = read(write("de.po", po(ENTRIES)))
    assert list(corpus) == [
        (
            Segment("1", 'Save the "file".\nNow.', {"document": "src/menu.c"}),
            Truth(("Sichern Sie\tdie „Datei“.\nJetzt.",)),
        ),
        (Segment("3", "Close", {"document": "toolbar", "msgctxt": "toolbar"}), Truth(("Zu",))),
        (Segment("4", "Close", {"document": "src/menu.c", "msgctxt": "menu"}), Truth(("Schließen",))),
    ]
    assert corpus.skipped == {"fuzzy": 1, "untranslated": 1, "obsolete": 1}


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_other_newlines_and_a_byte_order_mark(newline: str, write) -> None:
    content = b"\xef\xbb\xbf" + po().replace(b"\n", newline.encode())
    assert len(read(write("a.po", content))) == len(PAIRS)


@pytest.mark.parametrize(
    ("charset", "text"), [("KOI8-R", "Сохранить"), ("ISO-8859-2", "Zapisz złożone"), ("CHARSET", "Größe")]
)
def test_charset_of_the_header(charset: str, text: str, write) -> None:
    path = write("a.po", po(f'msgid "Save"\nmsgstr "{text}"\n', charset))
    assert read(path)[0][1].references == (text,)


def test_no_header(write) -> None:
    assert read(write("a.po", 'msgid "Size"\nmsgstr "Größe"\n'))[0][1].references == ("Größe",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            po('msgid "Size"\nmsgstr "Größe"\n', "ISO-8859-1").replace(b"ISO-8859-1", b"UTF-8"),
            ":6: invalid bytes for the charset utf-8",
        ),
        (b'msgid "Size"\nmsgstr "Gr\xf6\xdfe"\n', ":2: invalid bytes for the charset utf-8"),
        (po().replace(b"UTF-8", b"klingon"), ": the header declares the unknown charset 'klingon'"),
        (po().replace(b"UTF-8", b"rot13"), ": the header declares the unknown charset 'rot13'"),
        (b'msgid "a"\n\0msgstr "b"\n', ":2: NUL byte"),
        (po('msgid "Save\nmsgstr "Sichern"\n'), ":5: not readable as PO: end-of-line within string"),
        (po("Save = Sichern\n"), ":5: not readable as PO: Syntax error"),
        (po(""), ": no translated pair found: the file has no units"),
    ],
)
def test_po_refused(content: bytes, message: str, write) -> None:
    path = write("a.po", content)
    with pytest.raises(InputError, match=f"^{path}{message}"):
        read(path)


SINGULAR, PLURAL_PAIR = ("%d file", "%d Datei"), ("%d files", "%d Dateien")


@pytest.mark.parametrize(
    ("header", "forms", "expected", "skipped"),
    [
        (GERMAN, ["%d Datei", "%d Dateien"], [SINGULAR, PLURAL_PAIR], {}),
        ("", ["%d Datei", "%d Dateien"], [SINGULAR, PLURAL_PAIR], {}),
        (SWAPPED, ["%d Dateien", "%d Datei"], [SINGULAR, PLURAL_PAIR], {}),
        ('"Plural-Forms: nplurals=1; plural=0;\\n"\n', ["%d 個"], [("%d files", "%d 個")], {}),
        (POLISH, ["%d plik", "%d pliki", "%d plików"], [("%d file", "%d plik")], {"plural with several forms": 1}),
        (GERMAN, ["%d Datei", ""], [SINGULAR], {"untranslated": 1}),
    ],
)
def test_plurals(header: str, forms: list[str], expected: list, skipped: dict, write) -> None:
    entry = PLURAL + "".join(f'msgstr[{n}] "{form}"\n' for n, form in enumerate(forms))
    from_po = read(write("a.po", po(entry, header=header)))
    compiled = mo([("%d file\0%d files", "\0".join(forms))], header=header.strip().strip('"').replace("\\n", "\n"))
    for corpus in (from_po, read(write("a.mo", compiled))):
        assert [(segment.source, truth.references[0]) for segment, truth in corpus] == expected
        assert corpus.skipped == skipped


@pytest.mark.parametrize("rule", ["n/0", "((((", "__import__('os')", "5"])
def test_an_invalid_plural_rule(rule: str, write) -> None:
    entry = f'{PLURAL}msgstr[0] "a"\nmsgstr[1] "b"\n\nmsgid "Save"\nmsgstr "Sichern"\n'
    corpus = read(write("a.po", po(entry, header=f'"Plural-Forms: nplurals=2; plural={rule};\\n"\n')))
    assert [segment.source for segment, _ in corpus] == ["Save"]
    assert corpus.skipped == {"plural without a rule": 1}


def test_untranslated_plural(write) -> None:
    entry = f'{PLURAL}msgstr[0] ""\nmsgstr[1] ""\n\nmsgid "Save"\nmsgstr "Sichern"\n'
    assert read(write("a.po", po(entry))).skipped == {"untranslated": 2}


@pytest.mark.parametrize("order", ["<", ">"])
def test_mo_of_either_byte_order(order: str, write) -> None:
    corpus = read(write("a.mo", mo([("menu\x04Close", "Schließen"), *PAIRS], order)))
    assert corpus[-1][0] == Segment("4", "Close", {"document": "menu", "msgctxt": "menu"})
    assert [(segment.source, truth.references[0]) for segment, truth in corpus[:3]] == PAIRS


def test_mo_in_another_charset(write) -> None:
    content = mo([("Yes", "Да")]).replace(b"UTF-8", b"cp866").replace("Да".encode(), "Дада".encode("cp866"))
    assert read(write("a.mo", content))[0][1].references == ("Дада",)


def overlapping(count: int = 10_000) -> bytes:
    """Return a small file in which every text is the whole file."""
    size = 28 + 16 * count
    return struct.pack("<Iiiiiii", 0x950412DE, 0, count, 28, 28, 0, 0) + struct.pack("<ii", size - 1, 0) * 2 * count


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"msgid", "not an MO file"),
        (mo()[:20], "unpack"),
        (mo()[:-9], "a text outside the file; the file may be truncated"),
        (mo()[:16] + b"\xff" * 4 + mo()[20:], "a table outside the file"),
        (mo()[:8] + b"\xff\xff\xff\x7f" + mo()[12:], "more than 2,000,000 messages"),
        (mo()[:8] + b"\xff\xff\0\0" + mo()[12:], "unpack"),
        (overlapping(), "texts that overlap"),
        (b"\xde\x12\x04\x95\0\0\1\0" + mo()[8:], "version 1"),
    ],
)
def test_mo_refused(content: bytes, message: str, write) -> None:
    path = write("a.mo", content)
    with pytest.raises(InputError, match=f"^{path}: not readable as MO: .*{message}"):
        read(path)


@pytest.mark.parametrize(
    ("header", "languages"),
    [
        ("Language: de_AT", ("", "de-AT")),
        ("Language: sr@latin", ("", "sr-latin")),
        ("X-Source-Language: en-GB\nLanguage: de_DE.UTF-8", ("en-GB", "de-DE")),
        ("Language: ", ("", "")),
        ("Language: German", ("", "")),
        ("", ("", "")),
    ],
)
def test_languages_of_the_header(header: str, languages: tuple[str, str], write) -> None:
    lines = "".join(f'"{line}\\n"\n' for line in header.split("\n") if line)
    for path in (write("a.po", po(header=lines)), write("a.mo", mo(header=header + "\n" if header else ""))):
        corpus = read(path)
        assert (corpus.source_lang, corpus.target_lang) == languages


def test_a_catalogue_in_another_language_is_refused(write) -> None:
    path = write("a.po", po(header='"Language: it\\n"\n'))
    with pytest.raises(
        InputError, match=r"3 skipped \(3 in other languages\); the file has: it; choose with --target-lang"
    ):
        read(path, target_lang="de")
    assert len(read(path, source_lang="en", target_lang="it-IT")) == len(PAIRS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flags=st.lists(st.sampled_from(["translated", "fuzzy", "untranslated", "obsolete"]), min_size=1, max_size=12))
def test_no_message_is_lost_without_a_word(flags: list[str], write) -> None:
    mark = {"fuzzy": "#, fuzzy\n", "obsolete": "#~ "}
    entries = "".join(
        f'{mark.get(flag, "")}msgid "Save {number}"\n{mark[flag] if flag == "obsolete" else ""}'
        f'msgstr "{"" if flag == "untranslated" else "Sichern"}"\n\n'
        for number, flag in enumerate(flags)
    )
    path = write("a.po", po(entries + 'msgid "Close"\nmsgstr "Zu"\n'))
    corpus = read(path)
    assert len(corpus) == 1 + flags.count("translated")
    assert corpus.skipped == {flag: flags.count(flag) for flag in set(flags) - {"translated"}}
