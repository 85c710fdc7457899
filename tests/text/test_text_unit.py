"""Protected text: whatever a model does, everything protected comes out exactly once, in legal nesting."""

from __future__ import annotations

import re
from collections import Counter
from itertools import permutations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lxml import etree

from mtloop.text.protected.placeholders import find_placeholders
from mtloop.text.protected.tags import find_tags
from mtloop.text.protected.word_links import Link
from mtloop.text.text_unit import Syntax, TextUnit

PLAIN = [
    "Open",
    "\u00a0",
    "&#160;",
    " _Open",
    " &amp;Save",
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
    "[X7X]",
    "@@PH8@@",
    "\x1b[1m",
    "\x1b[0m",
    "\a",
    "\x1f",
    "{% if x %}",
    "{% endif %}",
    " € ",
    "👍🏽",
    "x²",
    " Ελλάδα ",
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
ICU_TAG = '<x id="ICU" equiv-text="{m, plural, =0 {just now} other {{{ m }} minutes ago}}" xid="1"/>'
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


LINES = st.sampled_from(["Save changes", "Cancel", "the file", "not found.", "A text that goes on and on", "%s files"])


@settings(max_examples=200)
@given(st.lists(LINES, min_size=1, max_size=6), st.data())
def test_no_line_with_letters_becomes_empty(lines: list[str], data: st.DataObject) -> None:
    unit = TextUnit.of("\n".join(lines))
    words = st.sampled_from(["ja", "Datei", "nicht", "gefunden"])
    translations = [
        " ".join(data.draw(st.lists(words, min_size=len(part.split()), max_size=40))) for part in unit.parts
    ]
    links = st.lists(st.tuples(*[st.integers(0, 60)] * 4), max_size=6).map(sorted)
    text = unit.assemble(translations, lambda source, target: data.draw(links)).text
    assert text.count("\n") == len(lines) - 1
    assert all(line.strip() for line in text.split("\n")), text


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
        ("100%<b>1</b> of %s", ("100%%1 of %2",)),
        ("", ()),
        ("Save changes\nDiscard changes\nCancel", ("Save changes", "Discard changes", "Cancel")),
        ("Cannot open the file\nCheck your permissions", ("Cannot open the file", "Check your permissions")),
        ("yes\nno", ("yes", "no")),
        ("The file\n%s\ncould not be opened", ("The file %1 could not be opened",)),
        ("The file was not\nfound", ("The file was not found",)),
        (f"{'Words of prose ' * 4}at\nOxford\n", (f"{'Words of prose ' * 4}at Oxford",)),
        ("Name:\tValue\nAge:\tNumber", ("Name:", "Value", "Age:", "Number")),
        ("Set %APPDATA% and %PROGRAMFILES(X86)% first", ("Set %1 and %2 first",)),
        ("Overwrite file.txt, docs/data.csv or setup.py.", ("Overwrite %1, %2 or %3.",)),
        ("It ends.In Rome etc.", ("It ends.In Rome etc.",)),
        ("\x1b[1mOpen the file\x1b[0m and close the tray.", ("Open the file and close the tray.",)),
        ("Open the file\a and close\v it.\r\nThen wait.\r\n", ("Open the file and close it.", "Then wait.")),
        ("Error: \x1b[31m%s\x1b[0m was not found\x1b.", ("Error: %1 was not found.",)),
        ("The price is 5 € or £3.", ("The price is 5 %1 or %2.",)),
        ("😀 Open the file", ("Open the file",)),
        ("Thanks 👍🏽! Family 👨\u200d👩\u200d👧 settings 🎉", ("Thanks %1!", "Family %1 settings")),
        ("Flag 🇩🇪 and 1️⃣ → next", ("Flag %1 and %2 → next",)),
        ("2½ cups of x² and CO₂, item ¾", ("%1 cups of %2 and %3, item %4",)),
        ("Example™ and note¹ © 2024, 5 °C", ("Example and note © 2024, 5 °C",)),
        ("中文 is Chinese, Νέα Ελληνικά is Greek, 5 μm", ("%1 is Chinese, %2 is Greek, 5 %3",)),
        ("Открыть файл Office", ("Открыть файл Office",)),
        ("See https://example.org/Ελλάδα?q=€.", ("See %1.",)),
        ("Install it in C:\\Program Files\\Example App\\bin now.", ("Install it in %1 now.",)),
        ("Copy C:\\Users\\me\\a, then close the file.", ("Copy %1, then close the file.",)),
        ('Use (C:\\temp) or "C:\\temp". Is it in D:\\a?', ('Use (%1) or "%2".', "Is it in %1?")),
        ('Open "C:\\my folder\\a b.txt" in (E:\\Files (x86)\\b)!', ('Open "%1" in (%2)!',)),
        ("Delete %TEMP%\\*.* and HKEY_LOCAL_MACHINE\\Software\\x.", ("Delete %1 and %2.",)),
        ("Copy \\\\server\\My Files\\a.txt to C:\\Temp Then close.", ("Copy %1 to %2 Then close.",)),
        ("The options --portability, -x and --jobs=2.", ("The options %1, %2 and %3.",)),
        ("Use --color[=WHEN] or --[no-]verify (-v); see `--help'.", ("Use %1WHEN] or %2 (%3); see `%4'.",)),
        (
            "A word -- or two - is well--known: Ein- und -Ausgabe",
            ("A word -- or two - is well--known: Ein- und -Ausgabe",),
        ),
        (
            "Use '-a', »-b«, -S-Zeichen, --all-Wert; don't use -i'm",
            ("Use '%1', »%2«, %3-Zeichen, %4-Wert; don't use -i'm",),
        ),
        ("Give --file=%s twice, or ``git commit -a``.", ("Give %1%2 twice, or %3.",)),
        ("{% trans %}Open the file{% endtrans %} now", ("Open the file now",)),
        ("{% if x %} Open it {%endif%}", ("Open it",)),
        ("{% a %}{% b %}Save all{% c %}{% d %}, %s", ("Save all, %1",)),
        ("Go to {% url 'home' %} or {{ n }}th page", ("Go to %1 or %2th page",)),
        ("Open\x1fthe file https://a.org/b\x1b[0m.", ("Open the file %1.",)),
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
        ("Delete %s?", ["%1 löschen %111?"], "%s löschen ?", ("%111",)),
        ("Delete %111?", ["%1 löschen?"], "%111 löschen?", ()),
        ("%s and %s %s", ["und"], "%s und %s %s", ("%s", "%s", "%s")),
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


@pytest.mark.parametrize(
    "source",
    [
        "See https://example.com/a?b=c&d=e for details.",
        "Write to ann&bob@example.com",
        "E-mail to foo_bar&baz@example.com",
        "fish&chips today",
        "Black&white mode",
    ],
)
def test_an_ampersand_in_an_address_or_between_two_words_is_no_mnemonic(source: str) -> None:
    unit = TextUnit.of(source)
    assert unit.mnemonic is None
    assert unit.assemble(list(unit.parts)).text == source


@pytest.mark.parametrize(
    ("source", "seen", "translation", "expected"),
    [
        ('Open <x id="7"></x> now', "Open %1 now", "%1 jetzt öffnen", '<x id="7"></x> jetzt öffnen'),
        ("Go <keep></keep> there", "Go %1 there", "Dorthin %1", "Dorthin <keep></keep>"),
        ("It <b></b> is open", "It  is open", "Es ist offen", "Es <b></b> ist offen"),
        ('See <img src="a.png"> here', "See  here", "Siehe hier", 'Siehe <img src="a.png"> hier'),
        ('A <g id="1"></g> file', "A  file", "Eine Datei", 'Eine <g id="1"></g> Datei'),
    ],
)
@pytest.mark.parametrize("syntax", [Syntax.XML, Syntax.HTML])
def test_an_empty_element_between_spaces_keeps_them(
    syntax: Syntax, source: str, seen: str, translation: str, expected: str
) -> None:
    """An unknown empty element stands for a word, as clients of translation services use it."""
    unit = TextUnit.of(source, syntax)
    assert unit.parts == (seen,)
    assert unit.assemble([translation]).text == expected


def test_the_mnemonic_of_a_source_decides_for_its_translation() -> None:
    """Between long words an & may stand for "and", but not in the translation of a label with a mnemonic."""
    assert TextUnit.of("Character e&ncoding").lessons("Zeichen&kodierung") == (
        ("Character encoding", "Zeichenkodierung"),
    )


@pytest.mark.parametrize("source", ["Docu&ment", "Book&marks", "Back&ground", "E&xit", "P&roperties"])
def test_an_ampersand_in_a_word_of_a_label_is_a_mnemonic(source: str) -> None:
    assert TextUnit.of(source).parts == (source.replace("&", ""),)


def test_the_style_of_a_terminal_encloses_the_words_as_a_tag_does() -> None:
    unit = TextUnit.of("Click \x1b[1mSave\x1b[0m to go on.")
    link = [(unit.parts[0].index("Save"), unit.parts[0].index("Save") + 4, 18, 27)]
    text = unit.assemble(["Klicken Sie auf Speichern."], lambda source, target: link).text
    assert text.count("\x1b[1m") == text.count("\x1b[0m") == 1
    assert text.index("\x1b[1m") < text.index("\x1b[0m")


def test_alignment_decides_where_a_tag_goes() -> None:
    unit = TextUnit.of("the <b>red</b> house")
    links = [(0, 3, 0, 3), (4, 8, 8, 13), (9, 13, 4, 7)]  # "das Haus rote": rote comes from red
    assert unit.assemble(["das Haus rote"], lambda source, target: links).text == "das Haus <b>rote</b>"


def links(source: str, target: str, *pairs: tuple[str, str]) -> list[tuple[int, int, int, int]]:
    """Return links between words, given as (target word, source word)."""
    places = [(target.index(word), word, source.index(origin), origin) for word, origin in pairs]
    return sorted((at, at + len(word), start, start + len(origin)) for at, word, start, origin in places)


def test_a_pair_of_tags_around_one_part_of_a_compound_goes_around_the_compound() -> None:
    def align(source: str, target: str) -> list[tuple[int, int, int, int]]:
        return links(source, target, ("Drücken", "Press"), ("Startknopf", "button"))

    unit = TextUnit.of("Press the <b>Start</b> button.")
    assert unit.assemble(["Drücken Sie den Startknopf."], align).text == "Drücken Sie den <b>Startknopf</b>."


def test_a_pair_of_tags_does_not_take_a_word_from_another_pair() -> None:
    def align(source: str, target: str) -> list[tuple[int, int, int, int]]:
        return links(source, target, ("Startknopf", "button"))

    unit = TextUnit.of("<b>Start</b> <i>button</i>")
    assert unit.assemble(["Startknopf"], align).text in ("<b></b><i>Startknopf</i>", "<b></b> <i>Startknopf</i>")


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
    assert TextUnit.of(source).lessons(target) == lessons


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("%1 exists.\nOverwrite it?", ("%1 exists.", "Overwrite it?")),
        ("one&#10;two &#xD;three of four", ("one two three of four",)),
        ("A long\n      sentence.\n", ("A long sentence.",)),
        ("{{ a\n&lt; }} is now\nset", ("%1 is now set",)),
    ],
)
def test_line_breaks_in_xml_stay(source: str, parts: tuple[str, ...]) -> None:
    unit = TextUnit.of(source, "xml")
    assert unit.parts == parts
    assert unit.assemble(unit.parts).text == source


def test_a_line_break_in_xml_goes_where_its_words_go() -> None:
    assert TextUnit.of("one\n  two &amp; %s", "xml").assemble(["eins zwei & %1"]).text == "eins\n  zwei &amp; %s"


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("&amp;Open File...", "Datei öffnen ...", "&amp;Datei öffnen ..."),
        ("Hu&amp;e:", "&Farbe:", "Farb&amp;e:"),
        ("Save &amp;As", "Speichern &unter", "&amp;Speichern unter"),
        ("&lt; &amp;Back", "< Zurück", "&lt; &amp;Zurück"),
        ("Tom &amp; Jerry", "Tom & Jerry", "Tom &amp; Jerry"),
    ],
)
def test_mnemonics_in_xml(source: str, translation: str, expected: str) -> None:
    assert TextUnit.of(source, "xml").assemble([translation]).text == expected


@pytest.mark.parametrize("start", ['<sm id="1"/>', '<sc id="1"/>', '<bx id="1" rid="1"/>', '<bpt id="1">a</bpt>'])
def test_the_edges_of_a_span_enclose_its_words(start: str) -> None:
    ends = {"sm": '<em startRef="1"/>', "sc": '<ec startRef="1"/>', "bx": '<ex id="2" rid="1"/>'}
    end = ends.get(start[1:3], '<ept id="1">b</ept>')

    def align(source: str, target: str) -> list[tuple[int, int, int, int]]:
        return links(source, target, ("now", "now"), ("house", "house"), ("red", "red"))

    unit = TextUnit.of(f"{start}red{end} house <em>now</em>", "xml")
    assert unit.assemble(["now house red"], align).text == f"<em>now</em> house {start}red{end}"


def test_a_span_that_crosses_an_element_leaves_it_well_formed() -> None:
    unit = TextUnit.of('<sm id="1"/>red <pc id="2">house<em startRef="1"/> now</pc> here', "xml")
    for words in permutations(["red", "house", "now", "here"]):
        target = " ".join(words)
        assert is_well_formed(unit.assemble([target]).text)


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ('Open <b translate="no">Save as</b> now.', ("Open %1 now.",)),
        ("Press <span translate=NO>OK <span>x</span></span> now.", ("Press %1 now.",)),
        ('<p>One.</p><div class="x notranslate"><p>Two <b>x</b>.</p></div><p>Three.</p>', ("One.", "Three.")),
        ('<p class="notranslate">Not closed.', ("Not closed.",)),
        ('<b title="translate=no">Open</b> it.', ("Open it.",)),
    ],
)
def test_html_that_is_not_to_be_translated_stays(source: str, parts: tuple[str, ...]) -> None:
    unit = TextUnit.of(source, "html")
    assert unit.parts == parts
    assert unit.assemble(parts).text == source


def test_an_element_with_one_of_its_name_inside_stays_whole() -> None:
    unit = TextUnit.of('a <mrk translate="no">Foo<mrk mtype="x">bar</mrk> baz</mrk> end', "xml")
    assert unit.parts == ("a %1 end",)


@pytest.mark.parametrize(
    ("message", "translations", "expected"),
    [
        (
            "{n, plural, one {file of {name}} other {files of {name}}}",
            ["fichier d'%1", "fichiers d'%1"],
            "{n, plural, one {fichier d''{name}} other {fichiers d''{name}}}",
        ),
        ("{n, plural, other {# of #}} it's", ["%1 it's", "l'%1 d'%2 a'"], "{n, plural, other {l''# d''# a''}} it's"),
        ("{n, select, other {x}} '{a}' it", ["%1 %2's d'%2"], "{n, select, other {x}} '{a}'''s d'"),
        ("{n, select, other {x}} in {d, colour, red}", ["%2 in %1"], "{d, colour, red} in {n, select, other {x}}"),
    ],
)
def test_translated_icu_messages_parse(message: str, translations: list[str], expected: str) -> None:
    unit = TextUnit.of(message)
    assert unit.assemble(unit.parts).text == message
    text = unit.assemble([*translations, *unit.parts[len(translations) :]]).text
    assert text == expected
    assert not TextUnit.of(text).problem


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("<p>Save the <b>file</b> now.</p>\n<p>Close it.</p>", ("Save the file now.", "Close it.")),
        ("<ul><li>One item</li><li>Two &amp; more</li></ul>", ("One item", "Two & more")),
        ("<ul><li>One item<li>Two items</ul>", ("One item", "Two items")),  # closing tags may be left out
        ("<table><tr><td>Name</td><td>Size</td></tr></table>", ("Name", "Size")),
        ("<a href='x'><div>Read more</div><div>Go on</div></a>", ("Read more", "Go on")),  # a link around blocks
        ("<x-card><h1>Title</h1>Text</x-card>", ("Title", "Text")),  # an element of the page's own
        ("One<br>Two", ("One", "Two")),
        ("Type <code>ls -l</code> here", ("Type %1 here",)),
        ("Before<pre>x = 1</pre>after<script>run()</script>", ("Before", "after")),
        (
            "<!DOCTYPE html>\n<html><head><title>Help</title></head><body>Text<!-- no --></body></html>",
            ("Help", "Text"),
        ),
    ],
)
def test_blocks_of_html_are_texts_of_their_own(source: str, parts: tuple[str, ...]) -> None:
    unit = TextUnit.of(source, "html")
    assert unit.parts == parts
    assert unit.assemble(unit.parts).text == source


HTML_TAGS = ["<p>", "</p>", "<ul>", "<li>", "</li>", "</ul>", "<div>", "</div>", "<br>", "<b>", "</b>", "<a>", "</a>"]
HTML = ["Save ", "the file. ", "a &lt; b ", "%s ", "\n", *HTML_TAGS]
pages = st.lists(st.sampled_from(HTML), max_size=16).map("".join)


@settings(max_examples=300)
@given(pages, st.data())
def test_all_tags_of_html_come_out_once_and_blocks_in_their_order(source: str, data: st.DataObject) -> None:
    unit = TextUnit.of(source, "html")
    text = unit.assemble([data.draw(translations) for _ in unit.parts]).text
    tags, blocks = re.compile("<[^<>]*>"), re.compile("</?(?:p|ul|li|div)>")
    assert Counter(tags.findall(text)) == Counter(tags.findall(source))
    assert blocks.findall(text) == blocks.findall(source)


def test_a_correction_of_a_page_teaches_its_blocks() -> None:
    unit = TextUnit.of("<p>Open it.</p><p>Close it.</p>", "html")
    lessons = unit.lessons("<p>Öffnen Sie es.</p><p>Schließen Sie es.</p>")
    assert lessons == (("Open it.", "Öffnen Sie es."), ("Close it.", "Schließen Sie es."))


def test_blocks_in_xml_files_are_inline_elements() -> None:
    assert TextUnit.of("Save <p>the file</p> now", "xml").parts == ("Save the file now",)


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("[X0X]Open[X7X] the drawer.", ("Open the drawer.",)),
        ("Choose @@PH7@@Save as@@PH18@@.", ("Choose Save as.",)),
        ("[X0X]To[X5X] the end", ("To the end",)),
        ("Open foo[X8X] now.", ("Open foo now.",)),
        ("Wait [X5X]seconds.", ("Wait seconds.",)),
        ("[X0X][X3X]Save it now.[X16X][X20X]", ("Save it now.",)),
        ("first[X5X]second line", ("first second line",)),
        ("file[X4X]s of the folder", ("files of the folder",)),
        ("Open <b>foo[X11X]</b> now.", ("Open foo now.",)),
        ("Send [X5X] files to ([X20X]).", ("Send %1 files to (%2).",)),
        ("[X0X]px wide, [X11X]%", ("%1px wide, %2%",)),
        ("Look in /usr/lib@@PH16@@ here", ("Look in %1 here",)),
    ],
)
def test_a_word_that_touches_a_placeholder_of_a_client_is_seen_as_a_word(source: str, parts: tuple[str, ...]) -> None:
    unit = TextUnit.of(source)
    assert unit.parts == parts
    assert unit.assemble(list(unit.parts)).text == source


def test_placeholders_of_a_client_enclose_the_words_as_tags_do() -> None:
    unit = TextUnit.of("Click [X6X]here[X12X] now.")
    assert unit.assemble(["Klicken Sie jetzt hier."], lambda *_: [(18, 22, 6, 10)]).text == (
        "Klicken Sie jetzt [X6X]hier[X12X]."
    )


def test_what_was_taught_with_tags_holds_for_the_placeholders_of_a_client() -> None:
    taught = TextUnit.of("<b>Open</b> it now.").lessons("<b>Öffnen</b> Sie es.")
    assert taught == (("Open it now.", "Öffnen Sie es."),)
    assert TextUnit.of("[X0X]Open[X8X] it now.").parts == (taught[0][0],)


def test_an_unknown_syntax_is_plain_text() -> None:
    assert TextUnit.of("A &amp; <b>b</b>", "markdown") == TextUnit.of("A &amp; <b>b</b>")


@pytest.mark.parametrize(
    ("source", "syntax", "seen", "translation", "expected"),
    [
        ("10\u00a0MB free", "plain", "10 MB free", "Frei sind 10 MB.", "Frei sind 10\u00a0MB."),
        ("10&#160;MB free", "plain", "10 MB free", "Frei sind 10 MB.", "Frei sind 10&#160;MB."),
        ("10&#160;MB free", "xml", "10 MB free", "Frei sind 10 MB", "Frei sind 10&#160;MB"),
        ("10&amp;nbsp;MB free", "xml", "10 MB free", "Frei: 10 MB", "Frei: 10&amp;nbsp;MB"),
        ("See page&nbsp;&nbsp;5", "html", "See page 5", "Siehe Seite 5", "Siehe Seite&nbsp;&nbsp;5"),
        ("See page\u202f5", "plain", "See page 5", "Auf Seite 5", "Auf Seite\u202f5"),
        ("See page \u00a0 5", "plain", "See page 5", "Siehe Seite 5", "Siehe Seite \u00a0 5"),
        ("5\u00a0000 files", "plain", "5 000 files", "5\u00a0000 Dateien", "5\u00a0000 Dateien"),
        ("See {a}&nbsp;{b}", "html", "See %1 %2", "%1 %2 sehen", "{a}&nbsp;{b} sehen"),
        ("Fichier\u00a0: oui", "plain", "Fichier\u00a0: oui", "Datei: ja", "Datei: ja"),
        ("« oui »", "plain", "« oui »", "„ja“", "„ja“"),
    ],
)
def test_a_space_that_joins_words_stays_between_them(
    source: str, syntax: str, seen: str, translation: str, expected: str
) -> None:
    unit = TextUnit.of(source, syntax)
    assert unit.parts == (seen,)
    assert unit.assemble(unit.parts).text == source
    assert unit.assemble([translation]).text == expected


def test_a_translation_is_learned_with_its_spaces() -> None:
    """A memory returns such a space where the source has none; where the source has one, it is not doubled."""
    unit = TextUnit.of("10\u00a0MB free")
    assert unit.lessons("Frei: 10\u00a0MB") == (("10 MB free", "Frei: 10\u00a0MB"),)
    assert unit.assemble(["Frei: 10\u00a0MB"]).text == "Frei: 10\u00a0MB"
    assert TextUnit.of("10 <b>MB</b> free").lessons("10\u202f<b>MB</b> frei") == (("10 MB free", "10\u202fMB frei"),)


def test_mnemonics_in_a_longer_text_go_before_their_words() -> None:
    unit = TextUnit.of("Choose &File, then press _Open or E&xit and wait until the program has ended.")
    assert unit.mnemonic is None
    assert unit.parts == ("Choose File, then press Open or Exit and wait until the program has ended.",)
    assert unit.assemble(unit.parts).text == unit.source
    translation = "Wählen Sie File, drücken Sie Open oder Exit und warten Sie auf das Ende."
    expected = "Wählen Sie &File, drücken Sie _Open oder &Exit und warten Sie auf das Ende."
    assert unit.assemble([translation]).text == expected
    assert TextUnit.of("<b>_Save</b> it").assemble(["Speichern"]).text == "<b>_Speichern</b>"
    assert TextUnit.of("&amp;Yes or &amp;No", "xml").parts == ("Yes or No",)


@pytest.mark.parametrize(
    "source",
    [
        "Our R&D team at AT&T uses my_file and _private, at 5 & 6 of Q&A or at Fish&Chips for all of it.",
        "Call _Foo_Bar(x) with &foo in it, then read the value of x=1&Name=2 and of &Name=3 and so on.",
    ],
)
def test_names_in_a_longer_text_have_no_mnemonic(source: str) -> None:
    assert TextUnit.of(source).parts == (source,)


def test_a_name_with_the_mark_of_a_mnemonic_stays_in_a_label() -> None:
    unit = TextUnit.of("S&ales and R&D")
    assert unit.parts == ("Sales and R&D",)
    assert unit.assemble(["Verkauf und F&E"]).text == "Verk&auf und F&E"
    assert TextUnit.of("R&D").mnemonic is None


def by_words(source: str, target: str, links: dict[int, int]) -> list[Link]:
    """Return links by the numbers of target and source words."""
    ours, theirs = ([found.span() for found in re.finditer(r"\w+", text)] for text in (target, source))
    return [(*ours[one], *theirs[other]) for one, other in sorted(links.items())]


@pytest.mark.parametrize(
    ("source", "translation", "links", "expected"),
    [
        (
            "Click <b>Save</b> to go.",
            "Klicken Sie auf Speichern zum Gehen.",
            {0: 0, 2: 1, 3: 1, 4: 2, 5: 3},
            "Klicken Sie auf <b>Speichern</b> zum Gehen.",
        ),
        (
            "Select <b>Tools</b> and then <b>Options</b>.",
            "Wählen Sie Werkzeuge und dann die Optionen.",
            {0: 1, 2: 1, 3: 2, 4: 3, 5: 4, 6: 4},
            "Wählen Sie <b>Werkzeuge</b> und dann die <b>Optionen</b>.",
        ),
        (
            "Read the <b>English Version</b> now.",
            "Lesen Sie die englische Version jetzt.",
            {0: 0, 2: 1, 3: 2, 4: 3, 5: 4},
            "Lesen Sie die <b>englische Version</b> jetzt.",
        ),
        ("To <b>open</b> it.", "Um es zu öffnen.", {0: 0, 1: 2, 2: 1, 3: 1}, "Um es <b>zu öffnen</b>."),
        ("Press <b>Save</b> now.", "Jetzt speichern drücken.", {0: 2, 1: 1, 2: 0}, "Jetzt <b>speichern</b> drücken."),
        ("<b>Save</b> it.", "Das Sichern davon.", {0: 0, 1: 0, 2: 1}, "<b>Das Sichern</b> davon."),
        ("Press <b>New</b>.", "Neu drücken.", {0: 1, 1: 0}, "<b>Neu</b> drücken."),
    ],
)
def test_a_label_takes_no_words_in_front_of_it(
    source: str, translation: str, links: dict[int, int], expected: str
) -> None:
    unit = TextUnit.of(source)
    assert unit.assemble([translation], lambda text, target: by_words(text, target, links)).text == expected


@pytest.mark.parametrize(
    ("source", "prefix", "expected"),
    [
        ("Open {name}. Close it.", "Auf", "Auf. Open %1. Close it."),
        ("Open {name}. Close it.", "Auf. Zu", "Auf. Zu. Close it."),
        ("Open {name}. Close it.", "Auf. Zu. Noch", "Auf. Zu. Noch"),
        ("{n, plural, one {# file} other {# files}}", "{n, pl", "{n, pl"),
        ("{n, plural, one {# file}", "{n, pl", "{n, pl"),
    ],
)
def test_a_prefix_alone_says_that_there_is_no_completion(source: str, prefix: str, expected: str) -> None:
    def translate(part: str, typed: str) -> str:
        return f"{typed}. {part}" if typed else part

    assert TextUnit.of(source).complete(prefix, translate) == expected.replace("%1", "{name}")


@pytest.mark.parametrize(
    "source",
    ["Yes\u202f<b> No</b>", "One:\t&nbsp;50 files", "Open ~View and E&xit", "One\u00a0 \u00a0two \u00a0\nthree"],
)
def test_what_is_not_changed_comes_back_as_it_was(source: str) -> None:
    unit = TextUnit.of(source)
    assert unit.assemble(unit.parts).text == source


@pytest.mark.parametrize(
    ("source", "target", "lessons"),
    [
        ("The price is 5 €.", "Der Preis ist 5 €.", (("The price is 5 %1.", "Der Preis ist 5 %1."),)),
        ("The price is 5 EUR.", "Der Preis ist 5 €.", (("The price is 5 EUR.", "Der Preis ist 5 €."),)),
        ("Open 🎉 Office", "Office öffnen 🎉", (("Open %1 Office", "Office öffnen %1"),)),
        ("Open Office XML", "Файл Office XML", (("Open Office XML", "Файл Office XML"),)),
        ("The α of it", "Das α davon", (("The %1 of it", "Das %1 davon"),)),
    ],
)
def test_a_translation_is_searched_for_the_symbols_of_its_source(
    source: str, target: str, lessons: tuple[tuple[str, str], ...]
) -> None:
    assert TextUnit.of(source).lessons(target) == lessons


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        (f"Updated {ICU_TAG} by me", ("Updated %1 by me",)),
        ('Updated <x id="ICU" equiv-text="{minutes, plural, ...}" xid="123"/> ago', ("Updated %1 ago",)),
        (
            f"{{n, plural, =0 {{seen {ICU_TAG} ago}} other {{# times}}}} in {ICU_TAG} it's",
            ("%1 in %2 it's", "seen %1 ago", "%1 times"),
        ),
        ("Shown <ph id='1'>{n, plural, one {a} other {b}}</ph> now", ("Shown %1 now",)),
    ],
)
def test_icu_in_a_tag_is_a_part_of_the_tag(source: str, parts: tuple[str, ...]) -> None:
    unit = TextUnit.of(source, "xml")
    assert (unit.problem, unit.parts) == ("", parts)
    assert unit.assemble(unit.parts).text == source
