"""Quality checks: what fails on broken pairs, and what does not on good ones."""

from __future__ import annotations

import pytest
from translate.filters.checks import StandardChecker

from mtloop.translation.quality_checks import FailedCheck, failed_checks, is_better


@pytest.mark.parametrize(
    ("source", "target", "name", "message"),
    [
        ("Open %s now", "Jetzt öffnen", "placeholders", "%s is missing"),
        ("Open %(name)s", "%(nam)s öffnen", "placeholders", "%(name)s is missing"),
        ("Delete {name}?", "{name} {name} löschen?", "placeholders", "{name} is added"),
        ("Use ${HOME} or $1", "${HEIM} oder $1 verwenden", "placeholders", "${HOME} is missing"),
        ("See https://a.org/b.", "Siehe https://a.org/c.", "placeholders", "https://a.org/b is missing"),
        ("{n, plural, one {# file} other {# files}}", "{n, plural, one {# Datei}", "placeholders", "ICU"),
        ("{n, plural, other {# files}}", "{m, plural, other {# Dateien}}", "placeholders", "{n, plural} is missing"),
        ('Read <a href="x">it</a>', "Lies <a href=x>es</a>", "tags", '<a href="x"> is missing'),
        ("Save <b>all</b> files", "Alle <b>Dateien speichern", "tags", "</b> is missing"),
        ("Save all files", "Alle <b>Dateien</b> speichern", "tags", "<b>, </b> are added"),
        ('Read <a href="x">it</a>.', 'Lies </a>es<a href="x">.', "tags", '<a href="x">, </a> do not nest'),
        ("Save <b>all <i>files</i></b>", "<b>Alle <i>Dateien</b></i> speichern", "tags", "<i>, </i> do not nest"),
        ("<b>{n, plural, other {# files}}</b>", "</b>{n, plural, other {# Dateien}}<b>", "tags", "do not nest"),
        ("\x1b[1mOpen\x1b[0m the file\v.", "Datei öffnen.", "placeholders", r"\x1b[1m, \x1b[0m, \x0b are missing"),
        ("The price is 5 €.", "Der Preis ist 5 ‚.", "characters", "€ is missing"),
        ("中文 is Chinese × 2 🎉", "Öcer ist Chinesisch 2", "characters", "中文, ×, 🎉 are missing"),
        ("A (small) list [of]", "Eine kleine Liste [von]", "brackets", "missing '(', ')'"),
        ("3 of 12 files", "3 von 21 Dateien", "numbers", "12 is missing"),
        ("Save the file.", "Die Datei speichern", "punctuation", "different punctuation at the end"),
        ("Are you sure?", "Sind Sie sicher.", "punctuation", "different punctuation at the end"),
        ("Save the file as a new one", "x", "length", "shorter"),
        ("Save the file as a new one", "Die Datei speichern " * 12, "length", "longer"),
        ("Save the file now", "Save the file now", "untranslated", "the same as the source"),
        ("Save the file", "Die Datei Datei speichern", "repeated word", "'datei'"),
        ("Save _As", "Speichern unter", "mnemonic", "missing mnemonic '_'"),
        ("One\\n\nTwo", "Eins Zwei", "line breaks", "different line endings"),
        ("Save it\nNew line", "Speichern\n", "line breaks", "line 2 is empty"),
        (" Save: ", "Speichern:", "spaces at the ends", "differ"),
        ("Save", "   ", "empty", "empty"),
        ("Save", "", "empty", "empty"),
    ],
)
def test_broken_pairs(source: str, target: str, name: str, message: str) -> None:
    failed = {one.name: one.message for one in failed_checks(source, target, target_lang="de")}
    assert message in failed[name], failed


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("content type", "Inhaltstyp"),  # capital letters
        ("Added {name} “{object}”.", "{name} „{object}“ hinzugefügt."),  # quotation marks
        ("It failed. Try again.", "Es ging schief, bitte erneut versuchen."),  # sentences
        ("Filter", "Filter"),  # the same word
        ("%s KB", "%s KB"),
        ("Backend URL", "Backend-URL"),
        ("3.5 GB of 1,000", "3,5 GB von 1.000"),  # numbers are written in another way
        ("W", "Mi"),
        ("Do you want to overwrite them?", "Möchten Sie sie überschreiben?"),
        ("100% of it", "100 % davon"),
        ("Save _As…", "Speichern _unter …"),
        ("_Open", "_Öffnen"),
        ("_Übersicht", "_Overview"),
        ("S&ales and R&D", "&Verkauf und F&E"),
        ("&Remember the password", "Das &Passwort für diese Verbindung immer und überall in Zukunft merken"),
        ("100%% sure", "100 %% sicher"),
        ("Open it\v and\r\nthen wait.\r\n", "Öffnen Sie es und\v\r\nwarten Sie dann.\r\n"),
        ("Open <b>%(a)s</b> in <i>b</i>", "In <i>b</i> <b>%(a)s</b> öffnen"),  # another order
        ("<b>A</b> <i>B</i> in <b>C</b>", "<i><b>B</b> in <b>A</b></i> C"),  # other pairs in each other
        ("Tags </b> and <b> stay here", "Tags <b> und </b> bleiben hier"),  # no pair in the source
        ("A <b>one</i> two</b> <i>", "A <i>eins</i> <b>zwei</b>"),
        ("{n, plural, one {# file} other {# files}}", "{n, plural, one {# Datei} few {# D} other {# Dateien}}"),
    ],
)
def test_good_pairs(source: str, target: str) -> None:
    assert failed_checks(source, target, target_lang="de") == ()


def test_fragments_of_xml() -> None:
    source = 'Click <g id="1">Save</g> &amp; <x id="2"/> go'
    good = '<x id="2"/> Auf <g id="1">Speichern</g> &amp; los'
    assert failed_checks(source, good, syntax="xml", target_lang="de") == ()
    crossed = failed_checks(source, '</g>Auf <x id="2"/><g id="1"> &amp; los', syntax="xml", target_lang="de")
    assert [(one.name, "not well-formed" in one.message) for one in crossed] == [("XML", True)]
    codes = "Click <bpt i='1'>&lt;b></bpt>Save<ept i='1'>&lt;/b></ept>"
    turned = "<ept i='1'>&lt;/b></ept>Speichern<bpt i='1'>&lt;b></bpt> klicken"
    assert [one.name for one in failed_checks(codes, turned, syntax="xml", target_lang="de")] == ["tags"]
    lost = failed_checks(source, 'Auf <g id="1">Speichern</g> &amp; los', syntax="xml", target_lang="de")
    assert [str(one) for one in lost] == ['tags: <x id="2"/> is missing']
    alone = failed_checks('Store <x id="2"/>.', '<x id="2"/> speichern.', syntax="xml", target_lang="de")
    assert alone == ()
    escaped = failed_checks("Set %s &lt; 5", "%s &lt; 5 setzen", syntax="xml", target_lang="de")
    assert escaped == ()


def test_serious_failures_come_first_and_decide() -> None:
    both = failed_checks("Save (now) %s.", "Speichern", target_lang="de")
    assert [one.name for one in both] == ["placeholders", "brackets", "punctuation"]
    serious, mild = [FailedCheck("tags", "")], [FailedCheck("brackets", ""), FailedCheck("numbers", "")]
    assert is_better(mild, serious)
    assert is_better([], mild)
    assert not is_better(mild, mild)


@pytest.mark.parametrize("language", ["", "xx", "zh-TW", "pt_BR"])
def test_any_target_language(language: str) -> None:
    assert [one.name for one in failed_checks("Open %s", "Otevřít", target_lang=language)] == ["placeholders"]


def test_a_check_that_cannot_be_run_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> bool:
        raise TypeError("no such\nlanguage")

    monkeypatch.setattr(StandardChecker, "endpunc", broken)
    (failed,) = failed_checks("Open it.", "Öffnen.", target_lang="de")
    assert str(failed) == "punctuation: endpunc of translate-toolkit could not be run (TypeError: no such language)"
