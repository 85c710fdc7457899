"""Units of 50,000 characters, and units that nest deeply, go through in reasonable time."""

from __future__ import annotations

import pytest
from helpers.tiers import slow
from lxml import etree

from mtloop.text.sentence_cutting import align_sentences, cut_sentences
from mtloop.text.text_unit import TextUnit

LENGTH = 20_000
REPEATED = [
    "word\n",
    "a\n",
    "<b>Foo</b> bar. ",
    "<b>Foo</b> bar ",
    "<b>Foo</b> bar\n",
    "<b><i>Foo</i> bar</b> ",
    "Press <g id='1'>Save</g> &amp; wait. ",
    "Nr. A ",
    "1",
    "%s. ",
    "word %s ",
    "word\u00a0",
    "10&#160;MB ",
    "\u00a0 ",
    "\u00a0\n",
    "&File ",
    "E&xit ",
    "&",
    "_Open",
    "<!--",
    "<b>",
    "<code>",
    "&lt;a ",
    '<a "',
    " ",
    ".",
    ")",
    "''",
    "{",
    "_",
    "Open the file number one. ",
]
BEGINNINGS = ["", "%", "%0", "<a", "http://a", "E&xit", "</i>", "{n, select, other {x}}"]


def check(text: str, syntax: str = "plain") -> None:
    unit = TextUnit.of(text, syntax)
    assert unit.assemble(unit.parts).text == text
    backwards = [" ".join(part.split()[::-1]) for part in unit.parts]
    unit.assemble(backwards)
    unit.assemble([""] * len(unit.parts))
    unit.lessons(unit.assemble(backwards, lambda source, target: []).text)


@pytest.mark.parametrize("text", REPEATED)
def test_a_long_text(text: str) -> None:
    check(f"Text {text * (LENGTH // len(text))} end.")


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("text", ["0", " ", ")", "'"])
def test_a_long_text_after_a_beginning(beginning: str, text: str) -> None:
    check(beginning + text * LENGTH)


@pytest.mark.parametrize("text", ["word\n", "Press <g id='1'>Save</g> &amp; wait. ", "&lt;b&gt;Foo&lt;/b&gt; bar "])
def test_a_long_text_of_xml(text: str) -> None:
    check(text * (LENGTH // len(text)), "xml")


@pytest.mark.parametrize("depth", [60, 1500, slow(5500)])
def test_deeply_nested_tags(depth: int) -> None:
    check("<b>a " * depth + "</b>" * depth)
    check("<b>" * depth + "a" + "</b>" * depth)


def test_deeply_nested_tags_stay_in_legal_nesting() -> None:
    opening = "".join(f"<b{level}>a{level} " for level in range(200))
    source = opening + "".join(f"</b{level}>" for level in reversed(range(200)))
    unit = TextUnit.of(source, "xml")
    text = unit.assemble([" ".join(part.split()[::-1]) for part in unit.parts]).text
    assert text.count("<") == source.count("<")
    etree.fromstring(f"<r>{text}</r>")


PIECES = [
    "Open the file. Is it {name}? Save <b>it. Then close</b> it! " * 9,
    "<div><p>Open &amp; save.</p><ul><li>One <i>item</i></li></ul></div>" * 9,
    "word " * 200,
    "x" * 500,
    "12 " * 200 + "words " * 100,
    "a &lt; b " * 100,
    "  Line one\n\n- item one\n- item two\t\n" * 20,
    "{n, plural, one {# file. It is open.} other {# files. They are open.}}",
    "&File",
    "",
]


@pytest.mark.parametrize("syntax", ["plain", "xml", "html"])
@pytest.mark.parametrize("source", PIECES)
def test_the_translations_of_pieces_are_that_of_the_whole(source: str, syntax: str) -> None:
    unit = TextUnit.of(source, syntax)
    pieces = unit.pieces(60)
    found = "".join(piece.assemble([part.upper() for part in piece.parts]).text for piece in pieces)
    assert found == unit.assemble([part.upper() for part in unit.parts]).text
    assert [text for piece in pieces for text in piece.protected] == list(unit.protected)
    for piece in pieces:
        assert len(piece.parts) <= 1 or sum(map(len, piece.parts)) <= 60


def test_icu_that_nests_too_deeply_is_left_alone() -> None:
    message = "{a, select, other {" * 600 + "x" + "}}" * 600
    unit = TextUnit.of(message)
    assert "more than 30 branches" in unit.problem
    assert unit.assemble(()).text == message


def test_icu_that_nests_a_little_is_translated() -> None:
    check("{a, select, other {" * 30 + "x" + "}}" * 30)


def test_many_sentences_are_aligned() -> None:
    sources = [f"This is sentence number {number}. " for number in range(2000)]
    targets = [f"Das ist Satz Nummer {number}. " for number in range(2000)]
    merged = [targets[0] + targets[1], *targets[2:]]
    assert align_sentences(sources, targets) == [((one,), (two,)) for one, two in zip(sources, targets, strict=True)]
    assert align_sentences(sources, merged)[0] == (tuple(sources[:2]), (merged[0],))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Das war am 3. März in Bonn. Danach nicht.", 2),
        ("Der 2. Absatz fehlt.", 1),
        ("Bis 14. Oktober. Dann im 3. Quartal.", 2),
        ("See page 3. Then press F5.", 2),
        ("Siehe Seite 3. Dann warten.", 2),
        ("I am 3. You are 4.", 2),
        ("It was 1999. Then it was 2000.", 2),
        ("1. Open it. Close it.", 2),
    ],
)
def test_ordinal_numbers_do_not_end_a_sentence(text: str, number: int) -> None:
    assert len(cut_sentences(text)) == number
