"""TMX files, valid and malicious."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from helpers.file_samples import PAIRS, bomb, tmx, tu

from mtloop.core.errors import InputError
from mtloop.core.types import Segment, Truth
from mtloop.data import read, stream
from mtloop.data.formats.tmx import _elements

INLINE = """<tu><tuv xml:lang="en"><seg>Press <bpt i="1" x="1">&lt;b&gt;</bpt><hi>Save</hi><ept i="1">&lt;/b&gt;</ept
> or <ph x="2">{0}<sub>a tooltip</sub></ph>F2<it pos="end">\\i0</it><!-- a remark --><ut>{f1}</ut>.</seg></tuv>
<tuv xml:lang="de"><seg>Drücken Sie <hi>S<hi>ich</hi>ern</hi> oder F2.</seg></tuv></tu>"""


def test_golden(write) -> None:
    prop = '<prop type="x-document">help/save.html</prop>'
    path = write("a.tmx", tmx(tu(prop, en_US="Save.", de_DE="Sichern.") + tu(en_US="Undo.", de_DE="Zurück.")))
    assert list(read(path)) == [
        (Segment("1", "Save.", {"document": "help/save.html"}), Truth(("Sichern.",))),
        (Segment("2", "Undo."), Truth(("Zurück.",))),
    ]


def test_native_codes_are_removed_and_inline_text_is_kept(write) -> None:
    segment, truth = read(write("a.tmx", tmx(INLINE)))[0]
    assert segment.source == "Press Save or F2."
    assert truth.references == ("Drücken Sie Sichern oder F2.",)


def test_white_space_is_kept(write) -> None:
    assert read(write("a.tmx", tmx(tu(en=" Save \n it. ", de="Sichern."))))[0][0].source == " Save \n it. "


@pytest.mark.parametrize(
    ("languages", "pair"),
    [
        ({}, ("Colour", "Farbe")),
        ({"target_lang": "DE"}, ("Colour", "Farbe")),
        ({"source_lang": "en_us"}, ("Color", "Farbe")),
        ({"source_lang": "de", "target_lang": "en"}, ("Farbe", "Colour")),
        ({"source_lang": "de-AT", "target_lang": "en-US"}, ("Farbe", "Color")),
    ],
)
def test_languages(languages: dict[str, str], pair: tuple[str, str], write) -> None:
    path = write("a.tmx", tmx(tu(en_GB="Colour", en_US="Color", de="Farbe"), header='srclang="en"'))
    if languages == {"source_lang": "en_us"}:
        languages = {**languages, "target_lang": "de"}
    segment, truth = read(path, **languages)[0]
    assert (segment.source, truth.references[0]) == pair


def test_more_than_two_languages(write) -> None:
    path = write("a.tmx", tmx(tu(en="Save.", de="Sichern.") + tu(EN_us="Undo.", fr="Annuler.")))
    message = "expected one language besides 'en'; choose the target language from: en, de, EN-us, fr"
    with pytest.raises(InputError, match=f"^{path}: {message}$"):
        read(path)
    corpus = read(path, target_lang="fr")
    assert [(segment.id, segment.source) for segment, _ in corpus] == [("2", "Undo.")]
    assert corpus.skipped == {"in other languages": 1}


@pytest.mark.parametrize("header", ['srclang="*all*"', ""])
def test_no_source_language(header: str, write) -> None:
    path = write("a.tmx", tmx(header=header))
    with pytest.raises(InputError, match="the header has no source language; choose one of: en, de"):
        read(path)
    assert len(read(path, source_lang="en")) == len(PAIRS)


def test_a_missing_language(write) -> None:
    with pytest.raises(InputError, match="no translated pair found: 3 skipped \\(3 in other languages\\)"):
        read(write("a.tmx", tmx()), target_lang="fr")


def test_units_with_one_side_are_counted_as_skipped(write) -> None:
    body = tu(en="Save.", de="Sichern.") + tu(en="Undo.", de=" ") + tu(en="", de="Weg.") + tu(en="Close.")
    assert read(write("a.tmx", tmx(body))).skipped == {"untranslated": 1, "empty source": 1, "in other languages": 1}


def test_old_files_use_lang_instead_of_xml_lang(write) -> None:
    content = tmx().replace(b"xml:lang", b"lang")
    assert len(read(write("a.tmx", content))) == len(PAIRS)


@pytest.mark.parametrize("encoding", ["UTF-16", "ISO-8859-15"])
def test_other_encodings(encoding: str, write) -> None:
    body = tu(en="Price: 5 €", de="Preis: 5 €")
    content = tmx(body).decode().replace("?>", f' encoding="{encoding}"?>', 1).encode(encoding)
    assert read(write("a.tmx", content))[0][0].source == "Price: 5 €"


def test_an_unknown_encoding(write) -> None:
    content = tmx().replace(b"?>", b' encoding="klingon"?>', 1)
    with pytest.raises(InputError, match=":1: unsupported encoding"):
        read(write("a.tmx", content))


def test_a_plain_doctype_is_accepted_and_not_fetched(write) -> None:
    write("tmx14.dtd", '<!ENTITY leak "secret">')
    doctype = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'
    assert len(read(write("a.tmx", tmx(doctype=doctype)))) == len(PAIRS)
    with pytest.raises(InputError, match="the entity &leak; is not defined"):
        read(write("b.tmx", tmx(tu(en="LEAK", de="b").replace("LEAK", "&leak;"), doctype=doctype)))


@pytest.mark.parametrize(
    "doctype",
    [
        bomb(),
        '<!DOCTYPE tmx [<!ENTITY e11 SYSTEM "secret.txt">]>',
        '<!DOCTYPE tmx [<!ENTITY % p SYSTEM "secret.txt"> %p;]>',
        '<!DOCTYPE tmx SYSTEM "tmx14.dtd" [%undeclared; <!ENTITY e11 SYSTEM "secret.txt">]>',
    ],
)
@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16"])
def test_entities_are_refused(doctype: str, encoding: str, write) -> None:
    write("secret.txt", "secret")
    content = tmx(tu(en="BOMB", de="b").replace("BOMB", "&e11;"), doctype=doctype).decode()
    path = write("a.tmx", content.replace("?>", f' encoding="{encoding}"?>', 1).encode(encoding))
    with pytest.raises(InputError, match=f"^{path}:1: a DOCTYPE with declarations in brackets is not allowed"):
        read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html></html>", ": the root element is <html>; expected <tmx>"),
        (b"Save.", ":1: not XML: syntax error"),
        (tmx()[:-8], ":1: not well-formed XML"),
        (tmx(tu(en="a", de="b") + "\n</tu>"), ":"),
        (tmx("<a>" * 300 + "</a>" * 300), ":1: not well-formed XML: Excessive depth"),
    ],
)
def test_refused(content: bytes, message: str, write) -> None:
    path = write("a.tmx", content)
    with pytest.raises(InputError, match=f"^{path}{message}"):
        read(path)


def test_elements_already_read_are_freed(write) -> None:
    path = write("a.tmx", tmx(tu(en="Save.", de="Sichern.") * 5000))
    max_siblings = max(len(element.getparent()) for element in itertools.islice(_elements(path), 5000))
    assert max_siblings < 5000 / 2  # the parser reads ahead by one chunk


def test_a_stream_opens_and_closes_its_file(write, tmp_path: Path) -> None:
    pairs = stream(write("a.tmx", tmx(tu(en="Save.", de="Sichern.") * 5000)))
    assert next(pairs)[0].id == "1"
    pairs.close()
