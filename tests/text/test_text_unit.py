"""Protected text: whatever a model does, everything protected comes out exactly once, in legal nesting."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lxml import etree

from mtloop.text.protected.placeholders import find_placeholders
from mtloop.text.protected.tags import find_tags
from mtloop.text.text_unit import TextUnit

PLAIN = [
    "Open",
    "the file",
    "Dateien",
    " ",
    "  ",
    "\n",
    "\n\n",
    ". ",
    "! ",
    "? ",
    "-",
    "(",
    ")",
    "é",
    "日本。",
    "'",
    "1. ",
    "50% ",
    "\t",
]
PLACEHOLDERS = [
    "%s",
    "{name}",
    "%(n)d",
    "%%",
    "{0}",
    " https://example.org/x ",
    " /usr/lib/x ",
    " a@example.org ",
    "${x}",
    "{{ y }}",
]
TAGS = [
    "<b>",
    "</b>",
    "<i>",
    "</i>",
    "<br/>",
    "<x id='1'/>",
    "<g id='2'>",
    "</g>",
    "<bpt id='1'>a</bpt>",
    "<ept id='1'>b</ept>",
]
texts = st.lists(st.sampled_from([*PLAIN[:-8], *PLACEHOLDERS, *TAGS]), max_size=14).map("".join)
translations = st.lists(st.sampled_from([*PLAIN, "%1", "%2", "%3", "%1 %1", "%s", "<b>"]), max_size=8).map("".join)


def protected(text: str, *, xml: bool) -> Counter[str]:
    """Everything in a text that must not change."""
    tags = [(tag.start, tag.end) for tag in find_tags(text, xml=xml)]
    outside = list(text)
    for start, end in tags:
        outside[start:end] = "\n" * (end - start)
    rest = "".join(outside)
    return Counter([text[a:b] for a, b in tags] + [re.sub(r"\d+$", "", rest[a:b]) for a, b in find_placeholders(rest)])


@settings(max_examples=400)
@given(texts, st.data())
def test_whatever_the_model_does_everything_protected_comes_out_once(source: str, data: st.DataObject) -> None:
    unit = TextUnit.of(source)
    given_texts = [data.draw(translations) for _ in unit.parts]
    assembled = unit.assemble(given_texts)
    for text in {*protected(source, xml=False), "%s", "<b>"}:
        assert assembled.text.count(text) == source.count(text), text


def is_well_formed(text: str) -> bool:
    try:
        etree.fromstring(f"<r>{text}</r>")
    except etree.XMLSyntaxError:
        return False
    return True


@settings(max_examples=400)
@given(texts, st.data())
def test_a_fragment_of_xml_stays_well_formed(source: str, data: st.DataObject) -> None:
    assume(is_well_formed(source))
    unit = TextUnit.of(source, "xml")
    assembled = unit.assemble([data.draw(translations) for _ in unit.parts])
    assert is_well_formed(assembled.text)
    assert Counter(re.findall("<[^<>]*>", assembled.text)) == Counter(re.findall("<[^<>]*>", source))


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PLAIN), max_size=10).map("".join))
def test_plain_text_is_unchanged(source: str) -> None:
    unit = TextUnit.of(source)
    assert unit.assemble(unit.parts).text == source
    assert not unit.assemble(unit.parts).repaired


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("Open the file.", ("Open the file.",)),
        ("Delete %(count)d files from {folder}?", ("Delete %1 files from %2?",)),
        ("  _File\n", ("File",)),
        ("E&xit", ("Exit",)),
        ("AT&T and R&D", ("AT&T and R&D",)),
        ("100% done", ("100% done",)),
        ("%s: %d", ()),
        ("Hello<br>World, %s!", ("Hello", "World, %1!")),
        ("See\nthe file /etc/fstab and mail me@example.org.", ("See the file %1 and mail %2.",)),
        ("<p>One. Two <b>three. Four</b> five.</p>", ("One.", "Two three. Four five.")),
        ("Visit https://example.org/a_(b), please.", ("Visit %1, please.",)),
        ("Run <code>make test</code> twice.", ("Run %1 twice.",)),
        ("First line:\n  - one\n  - two", ("First line:", "- one", "- two")),
        ("", ()),
    ],
)
def test_what_the_model_sees(source: str, parts: tuple[str, ...]) -> None:
    unit = TextUnit.of(source)
    assert unit.parts == parts
    assert unit.assemble(unit.parts).text == source


@pytest.mark.parametrize(
    ("source", "translations", "expected", "repaired"),
    [
        ("Delete %s?", ["%1 löschen?"], "%s löschen?", ()),
        ("Delete %s?", ["Löschen?"], "Löschen %s?", ("%s",)),
        ("Delete %s?", ["%1 und %1 löschen?"], "%s und löschen?", ("%1",)),
        ("Delete it?", ["%1 löschen?"], "löschen?", ("%1",)),
        ("Press <b>Save</b>.", ["Drücken Sie Save."], "Drücken Sie <b>Save</b>.", ()),
        ("<b>Note:</b> %s is open.", ["Hinweis: %1 ist offen."], "<b>Hinweis:</b> %s ist offen.", ()),
        ("Save _As…", ["Speichern unter …"], "Speichern unter …", None),
    ],
)
def test_what_the_user_gets(
    source: str, translations: list[str], expected: str, repaired: tuple[str, ...] | None
) -> None:
    assembled = TextUnit.of(source).assemble(translations)
    if repaired is None:
        assert assembled.text.replace("_", "") == expected
        assert assembled.text.count("_") == 1
    else:
        assert assembled == type(assembled)(expected, repaired)


def test_alignment_decides_where_a_tag_goes() -> None:
    unit = TextUnit.of("the <b>red</b> house")
    links = [(0, 3, 0, 3), (4, 8, 8, 13), (9, 13, 4, 7)]  # "das Haus rote": rote comes from red
    assert unit.assemble(["das Haus rote"], lambda source, target: links).text == "das Haus <b>rote</b>"


@pytest.mark.parametrize(
    "message",
    [
        "{n, plural, one {# file} other {# files}} left",
        "{g, select, male {He} other {They {n, plural, other {# x}}}} came.",
    ],
)
def test_icu_messages_keep_their_syntax(message: str) -> None:
    unit = TextUnit.of(message)
    assert unit.assemble(unit.parts).text == message
    assert all("plural" not in part for part in unit.parts)


@pytest.mark.parametrize("message", ["{n, plural, one {x}", "{n, plural, one {x} }", "{n, select, a {b}} }"])
def test_icu_that_does_not_parse_is_left_alone(message: str) -> None:
    unit = TextUnit.of(message)
    assert unit.problem
    assert unit.assemble(()).text == message
    assert unit.lessons(message) == ()


@pytest.mark.parametrize(
    ("source", "target", "lessons"),
    [
        ("Open it.", "Öffnen.", (("Open it.", "Öffnen."),)),
        (
            "Delete {n}? This is final.",
            "{n} löschen? Das ist endgültig.",
            (("Delete %1?", "%1 löschen?"), ("This is final.", "Das ist endgültig.")),
        ),
        ("Press <b>OK</b>.", "<b>OK</b> drücken.", (("Press OK.", "OK drücken."),)),
        ("Delete %s?", "Löschen?", ()),
        ("%s to %s", "von %s nach %s", (("%1 to %2", "von %1 nach %2"),)),
        ("_Open", "Ö_ffnen", (("Open", "Öffnen"),)),
    ],
)
def test_what_a_correction_teaches(source: str, target: str, lessons: tuple[tuple[str, str], ...]) -> None:
    assert TextUnit.of(source).lessons(target, "de") == lessons
