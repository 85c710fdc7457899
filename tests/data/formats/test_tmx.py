"""TMX files, valid and malicious."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.file_samples import PAIRS, bomb, tmx, tu
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.core.types import Segment, Truth
from mtloop.data import check_corpus, read, stream
from mtloop.data.formats.corpus import ReadRequest
from mtloop.data.formats.tmx import read_tmx
from mtloop.data.languages import GENERAL, closeness

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
    message = "expected one language besides en; the file has: en, de, en-US, fr; choose one with --target-lang"
    with pytest.raises(InputError, match=f"^{path}: {message}$"):
        read(path)
    corpus = read(path, target_lang="fr")
    assert [(segment.id, segment.source) for segment, _ in corpus] == [("2", "Undo.")]
    assert corpus.skipped == {"in other languages": 1}


def unit(*variants: tuple[str, str]) -> str:
    return "<tu>" + "".join(f'<tuv xml:lang="{tag}"><seg>{text}</seg></tuv>' for tag, text in variants) + "</tu>"


OMEGAT = (
    'creationtool="OmegaT" o-tmf="OmegaT TMX" segtype="sentence" adminlang="EN-US" srclang="{}" datatype="plaintext"'
)
TRADOS = 'creationtool="SDL Language Platform" o-tmf="SDL TM8 Format" segtype="sentence" adminlang="en-US" srclang="{}"'
MEMOQ = 'creationtool="MemoQ" o-tmf="MemoQTM" segtype="sentence" adminlang="en-us" srclang="{}" datatype="unknown"'


@pytest.mark.parametrize(
    ("header", "units", "languages"),
    [
        (OMEGAT.format("EN-US"), [("EN-US", "DE"), ("en", "de-DE")], ("en", "de")),
        (TRADOS.format("en-US"), [("en-US", "de-DE"), ("en-GB", "de-AT")], ("en", "de")),
        (MEMOQ.format("en-us"), [("en-us", "pt-br"), ("en-us", "pt-pt")], ("en-US", "pt")),
        (TRADOS.format("de-CH"), [("en-US", "de-DE"), ("en", "de")], ("de", "en")),
        (TRADOS.format("*all*"), [("en-US", "de-DE"), ("en-GB", "de-DE")], ("en", "de-DE")),
        ("", [("eng", "deu"), ("en", "de")], ("en", "de")),
        (TRADOS.format("en-US"), [("en-US", "en-GB"), ("en-US", "en-GB")], ("en-US", "en-GB")),
    ],
)
def test_varieties_of_a_language_count_as_one(
    header: str, units: list[tuple[str, str]], languages: tuple[str, str], write
) -> None:
    body = "".join(unit((one, one), (two, two)) for one, two in units)
    corpus = read(write("a.tmx", tmx(body, header=header)))
    assert (len(corpus), corpus.skipped) == (len(units), {})
    assert (corpus.source_lang, corpus.target_lang) == languages


def test_the_closest_variety_of_each_unit_is_read(write) -> None:
    body = unit(("en-GB", "Colour"), ("en-US", "Color"), ("de", "Farbe")) + unit(("en-GB", "Grey"), ("de-AT", "Grau"))
    path = write("a.tmx", tmx(body, header='srclang="en-US"'))
    assert [segment.source for segment, _ in read(path)] == ["Color", "Grey"]
    assert [segment.source for segment, _ in read(path, source_lang="en", target_lang="de")] == ["Colour", "Grey"]


def test_a_named_variety_excludes_the_others(write) -> None:
    body = unit(("en", "Save."), ("pt-BR", "Salvar.")) + unit(("en", "Undo."), ("pt-PT", "Anular."))
    path = write("a.tmx", tmx(body + unit(("en", "Close."), ("pt", "Fechar."))))
    corpus = read(path, target_lang="pt-BR")
    assert [truth.references[0] for _, truth in corpus] == ["Salvar.", "Fechar."]
    assert corpus.skipped == {"in another variety": 1}
    assert corpus.skipped_message == f"{path}: 2 pairs, 1 skipped (1 in another variety)"


def test_a_variety_is_not_paired_with_itself(write) -> None:
    path = write("a.tmx", tmx(unit(("en-GB", "Colour"), ("en-US", "Color"))))
    for source, target, pair in (("en", "en-GB", ("Color", "Colour")), ("en-GB", "en", ("Colour", "Color"))):
        segment, truth = read(path, source_lang=source, target_lang=target)[0]
        assert (segment.source, truth.references[0]) == pair


@pytest.mark.parametrize("header", ['srclang="*all*"', ""])
def test_no_source_language_in_the_header(header: str, write) -> None:
    path = write("a.tmx", tmx(header=header))
    assert (read(path).source_lang, read(path, target_lang="en").source_lang) == ("en", "de")
    mixed = write("b.tmx", tmx(tu(en="Save.", de="Sichern.") + tu(de="Weg.", en="Away."), header=header))
    message = "the header has no source language; the file has: en, de; choose one with --source-lang"
    with pytest.raises(InputError, match=f"^{mixed}: {message}$"):
        read(mixed)
    assert [segment.source for segment, _ in read(mixed, target_lang="de")] == ["Save.", "Away."]


def test_a_header_with_a_language_that_no_text_has(write) -> None:
    path = write("a.tmx", tmx(tu(de="Sichern.", fr="Sauver."), header='srclang="en-US"'))
    with pytest.raises(
        InputError, match="no text is in en-US, the source language of the header; the file has: de, fr"
    ):
        read(path)
    assert read(path, source_lang="fr").target_lang == "de"


def test_a_missing_language(write) -> None:
    path = write("a.tmx", tmx())
    with pytest.raises(InputError, match=r"the file has no fr; it has: en, de; choose one with --target-lang$"):
        read(path, target_lang="fr")
    message = r"no translated pair found: 3 skipped \(3 .*\); the file has: en, de; choose with --target-lang$"
    with pytest.raises(InputError, match=message):
        read(path, source_lang="en", target_lang="fr")


def test_the_first_language_is_the_source_of_a_file_in_many_languages(write) -> None:
    body = tu(en="Open", it="Apri", de="Öffnen") + tu(en="Save", it="Salva") + tu(en="Close", de="Schließen")
    path = write("a.tmx", tmx(body, header='srclang="*all*"'))
    corpus = read(path, target_lang="de")
    assert [segment.source for segment, _ in corpus] == ["Open", "Close"]
    assert (corpus.source_lang, corpus.skipped) == ("en", {"in other languages": 1})
    with pytest.raises(InputError, match=r"the file has no ja; it has: en, it, de; choose one with --target-lang$"):
        read(path, target_lang="ja")
    with pytest.raises(InputError, match="expected one language besides en"):
        read(path, target_lang="en")


CHINESE = unit(("en", "Open"), ("zh-Hans", "打开"), ("zh-Hant", "開啟")) + unit(
    ("en", "Save"), ("zh-CN", "保存"), ("zh-TW", "儲存")
)


@pytest.mark.parametrize(
    ("target", "texts"),
    [(None, ["打开", "保存"]), ("zh-TW", ["開啟", "儲存"]), ("zh-Hant", ["開啟", "儲存"]), ("zh-CN", ["打开", "保存"])],
)
def test_a_chinese_region_stands_for_its_script(target: str | None, texts: list[str], write) -> None:
    corpus = read(write("a.tmx", tmx(CHINESE)), target_lang=target)
    assert [truth.references[0] for _, truth in corpus] == texts
    assert bool(corpus.notes) == (target is None)


def test_several_varieties_in_one_unit_give_one_warning(write, log_messages: list[str]) -> None:
    path = write("a.tmx", tmx(CHINESE))
    found = "some units have several varieties of one language (zh-Hans, zh-Hant, zh-CN, zh-TW)"
    warning = f"{path}: {found}; the closest to zh-Hans is read; choose with --target-lang"
    check_corpus(read(path))
    assert log_messages == [warning]
    assert len(list(stream(path))) == 2
    assert log_messages == [warning, warning]


@pytest.mark.parametrize(("header", "noted"), [("en-US", False), ("en", True)])
def test_a_header_may_name_the_variety(header: str, noted: bool, write) -> None:
    body = unit(("en-GB", "Colour"), ("en-US", "Color"), ("de", "Farbe"))
    assert bool(read(write("a.tmx", tmx(body, header=f'srclang="{header}"'))).notes) == noted


def test_a_language_that_is_not_the_only_one(write) -> None:
    with pytest.raises(
        InputError, match="expected one language besides en; the file has: en; choose one with --target"
    ):
        read(write("a.tmx", tmx(tu(en="Save."))))


tags = st.sampled_from(["en", "en-US", "EN_GB", "de", "de-DE", "DE-at", "pt-BR", "pt-PT", "fr", ""])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    units=st.lists(st.lists(tags, max_size=4), min_size=1, max_size=8),
    header=st.sampled_from(["en", "en-US", "de-CH", "*all*", ""]),
    source=st.sampled_from([None, "en", "en-US", "pt"]),
    target=st.sampled_from([None, "de", "de-DE", "pt-PT", "en-GB"]),
)
def test_no_unit_is_lost_without_a_word(
    units: list[list[str]], header: str, source: str | None, target: str | None, write
) -> None:
    body = "".join(unit(*((tag, f"text {tag}") for tag in one)) for one in units)
    path = write("a.tmx", tmx(body, header=f'srclang="{header}"'))
    try:
        corpus = read(path, source_lang=source, target_lang=target)
    except InputError:  # no pair at all, or a choice that the user must make
        return
    assert len(corpus) + sum(corpus.skipped.values()) == len(units)
    for segment, truth in corpus:
        assert segment.source != truth.references[0]
        for wanted, text in ((source, segment.source), (target, truth.references[0])):
            assert not wanted or closeness(wanted, text.removeprefix("text ")) >= GENERAL


def test_units_with_one_side_are_counted_as_skipped(write) -> None:
    body = tu(en="Save.", de="Sichern.") + tu(en="Undo.", de=" ") + tu(en="", de="Weg.") + tu(en="Close.")
    assert read(write("a.tmx", tmx(body + tu(de="Zu.")))).skipped == {"untranslated": 2, "empty source": 2}


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
        (tmx("<a>" * 300 + "</a>" * 300), ":1: more than 200 elements inside each other"),
    ],
)
def test_refused(content: bytes, message: str, write) -> None:
    path = write("a.tmx", content)
    with pytest.raises(InputError, match=f"^{path}{message}"):
        read(path)


def test_a_stream_opens_and_closes_its_file(write, tmp_path: Path) -> None:
    pairs = stream(write("a.tmx", tmx(tu(en="Save.", de="Sichern.") * 5000)))
    assert next(pairs)[0].id == "1"
    pairs.close()


def test_inline_elements_are_kept_on_request(write) -> None:
    """Beside a text with elements, the other one is a fragment of XML too. Texts without elements stay plain."""
    source = "Press <ph x='\"1\"'/> &amp; <bpt i='1'>&lt;b&gt;</bpt><hi>Save</hi><ept i='1'/><ph></ph>."
    unit = f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de"><seg>Los &amp; ab.</seg></tuv></tu>'
    path = write("a.tmx", tmx(unit + tu(en="A & B", de="A & C")))
    first, second = read_tmx(ReadRequest(path, keeps_elements=True))
    assert first[0].source == ('Press <ph x=\'"1"\'/> &amp; <bpt i="1">&lt;b&gt;</bpt><hi>Save</hi><ept i="1"/><ph/>.')
    assert (first[1].references, first[0].context["format"]) == (("Los &amp; ab.",), "xml")
    assert (second[0].source, second[1].references, "format" in second[0].context) == ("A & B", ("A & C",), False)


def test_a_unit_of_elements_alone_is_skipped(tmp_path: Path) -> None:
    units = "".join(
        f"<tu><tuv xml:lang='en'><seg>{source}</seg></tuv><tuv xml:lang='de'><seg>{target}</seg></tuv></tu>"
        for source, target in (("<ph x='1'/>", "<ph x='1'/>"), ("Save", "Speichern"))
    )
    path = tmp_path / "a.tmx"
    path.write_text(f"<tmx version='1.4'><header srclang='en'/><body>{units}</body></tmx>", encoding="utf-8")
    request = ReadRequest(path, keeps_elements=True)
    assert [segment.source for segment, _ in read_tmx(request)] == ["Save"]
    assert request.skipped == {"empty source": 1}
