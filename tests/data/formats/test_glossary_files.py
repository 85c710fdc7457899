"""Glossaries in files: tables with and without a header, TBX 2 and 3; wrong files name the line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from mtloop.core.errors import InputError
from mtloop.data.formats.glossary_files import read_glossary

TBX2 = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd">
<martif type="TBX" xml:lang="en"><martifHeader><fileDesc/></martifHeader><text><body>
<termEntry id="c1"><descrip type="subjectField">office</descrip>
 <langSet xml:lang="en-US"><tig><term>list box</term></tig>
  <tig><term>listbox</term><termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></tig></langSet>
 <langSet xml:lang="de"><ntig><termGrp><term>Auswahlfeld</term>
   <termNote type="administrativeStatus">admittedTerm-admn-sts</termNote></termGrp></ntig>
  <ntig><termGrp><term>Listenfeld</term>
   <termNote type="administrativeStatus">preferredTerm-admn-sts</termNote></termGrp></ntig>
  <tig><term>Listbox</term><termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></tig></langSet>
 <langSet xml:lang="fr"><tig><term>zone de liste</term></tig></langSet></termEntry>
<termEntry id="c2"><langSet xml:lang="en"><tig><term>ruler</term></tig></langSet></termEntry>
</body></text></martif>
"""
TBX3 = """<?xml version="1.0" encoding="UTF-8"?>
<tbx type="TBX-Basic" style="dca" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2"><tbxHeader/><text><body>
<conceptEntry id="1"><langSec xml:lang="en"><termSec><term>status <hi>bar</hi></term></termSec></langSec>
<langSec xml:lang="de"><termSec><term>Statusleiste</term></termSec></langSec></conceptEntry></body></text></tbx>
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def terms(path: Path, *languages: str) -> dict[str, tuple[str, ...]]:
    return {term.source: term.targets for term in read_glossary(path, *languages).terms}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "ruler\tLineal\nlist box\tListenfeld\n"),
        ("a.tsv", "source\ttarget\nruler\tLineal\nlist box\tListenfeld\n\n"),
        ("a.tsv", "Target\tNote\tSource\nLineal\t\truler\nListenfeld\tx\tlist box\n"),
        ("a.csv", 'en,de\nruler,Lineal\n"list box",Listenfeld\n'),
        ("a.csv", "de-DE,en-GB\nLineal,ruler\nListenfeld,list box\n"),
        ("a.csv", "English,German\nruler,Lineal\nlist box,Listenfeld\n"),
        ("a.csv", "Deutsch;English (US)\nLineal;ruler\nListenfeld;list box\n"),
        ("a.csv", "word,translation\nruler,Lineal\nlist box,Listenfeld\n"),
        ("a.csv", "Ziel;Quelle\nLineal;ruler\nListenfeld;list box\n"),
        ("a.tsv", "Term\tÜbersetzung\nruler\tLineal\nlist box\tListenfeld\n"),
        ("a.tsv", "Target term\tSource term\nLineal\truler\nListenfeld\tlist box\n"),
        ("a.csv", "term;German\nruler;Lineal\nlist box;Listenfeld\n"),
        ("a.csv", "ruler\tLineal\nlist box\tListenfeld\n"),
        ("a.tsv", "\ufeffruler\t Lineal\r\nlist  box\tListenfeld\r\n"),
    ],
)
def test_a_table_needs_no_header(name: str, text: str, tmp_path: Path) -> None:
    assert terms(write(tmp_path / name, text), "en", "de") == {"ruler": ("Lineal",), "list box": ("Listenfeld",)}


@pytest.mark.parametrize(
    ("source", "target"), [("German", "Deutsch"), ("word", "Wort"), ("translation", "Übersetzung")]
)
def test_terms_that_look_like_a_header(
    source: str, target: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "a.csv", f"{source},{target}\nruler,Lineal\n")
    assert terms(path, "en", "de") == {source: (target,), "ruler": ("Lineal",)}
    assert f"{source!r} and {target!r} in the first line are a term" in caplog.text


def test_terms_that_are_no_header_have_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    terms(write(tmp_path / "a.csv", "word list,Wortliste\nterm,Begriffe\n"), "en", "de")
    assert not caplog.text


def test_the_header_gives_the_languages(tmp_path: Path) -> None:
    glossary = read_glossary(write(tmp_path / "a.csv", "en,de\nruler,Lineal\n"))
    assert (glossary.source_lang, glossary.target_lang) == ("en", "de")


def test_equal_sources_have_several_translations(tmp_path: Path) -> None:
    assert terms(write(tmp_path / "a.tsv", "pane\tBereich\npane\tLeiste\n")) == {"pane": ("Bereich", "Leiste")}


def test_a_compressed_table(tmp_path: Path) -> None:
    (path := tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"ruler\tLineal\n"))
    assert terms(path) == {"ruler": ("Lineal",)}


def test_tbx_2_gives_preferred_terms_first_and_writes_no_deprecated_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = terms(write(tmp_path / "a.tbx", TBX2), "en", "de")
    assert found == {"list box": ("Listenfeld", "Auswahlfeld"), "listbox": ("Listenfeld", "Auswahlfeld")}
    assert "1 concept without a term in both languages left out" in caplog.text


def test_tbx_3_has_a_namespace_and_two_languages(tmp_path: Path) -> None:
    glossary = read_glossary(write(tmp_path / "a.tbx", TBX3))
    assert [(term.source, term.targets) for term in glossary.terms] == [("status bar", ("Statusleiste",))]
    assert (glossary.source_lang, glossary.target_lang) == ("en", "de")
    assert terms(tmp_path / "a.tbx", "de", "en") == {"Statusleiste": ("status bar",)}
    assert terms(tmp_path / "a.tbx", "", "en") == {"Statusleiste": ("status bar",)}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tsv", "ruler\tLineal\nlist box\n", r"a\.tsv:2: expected 2 cells"),
        ("a.tsv", "ruler\tLineal\nlist box\t \n", r"a\.tsv:2: the target term is empty"),
        ("a.csv", "source,target\n,Lineal\n", r"a\.csv:2: the source term is empty"),
        ("a.csv", 'ruler,"Lineal\n', r"a\.csv:1: not CSV"),
        ("a.tsv", "ruler\n", r"a\.tsv:1: expected two columns"),
        ("a.tsv", "source\ttarget\n", "the glossary has no terms"),
        ("a.tsv", "", "the file is empty"),
        ("a.csv", "fr,it\nrègle,righello\n", r"a\.csv:1: no terms from en to de; the file has: fr, it"),
        ("a.txt", "x", r"a glossary is \.tsv, \.csv or \.tbx, not \.txt"),
        ("a.tbx", TBX3.replace("de", "fr"), r"no terms from en to de; the file has: en, fr"),
        ("a.tbx", "<martif>\n<text>", r"a\.tbx:2: "),
        ("a.tbx", "<xliff/>", "expected <martif> or <tbx>"),
        ("a.tbx", TBX3.replace(' xml:lang="de"', ""), r"a\.tbx:4: <langSec> has no xml:lang"),
        ("a.tbx", TBX3.replace("Statusleiste", " "), r"a\.tbx:\d: the target term is empty"),
        ("a.tbx", '<!DOCTYPE tbx [<!ENTITY a "b">]>\n<tbx/>', r"a\.tbx:1: a DOCTYPE with declarations"),
    ],
)
def test_a_wrong_file_is_one_line_that_names_the_place(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_glossary(write(tmp_path / name, text), "en", "de")


def test_a_file_with_three_languages_needs_their_names(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name the source and the target language; the file has: en-US, de, fr"):
        read_glossary(write(tmp_path / "a.tbx", TBX2.replace('<langSet xml:lang="en">', '<langSet xml:lang="en-US">')))


def test_latin_1_names_the_line(tmp_path: Path) -> None:
    (path := tmp_path / "a.tsv").write_bytes(b"ruler\tLineal\nsize\tGr\xf6\xdfe\n")
    with pytest.raises(InputError, match=r"a\.tsv:2"):
        read_glossary(path)
