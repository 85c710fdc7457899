"""Filling in TMX."""

from __future__ import annotations

import re

import pytest
from helpers.file_samples import bomb, tmx, tu
from helpers.tiers import slow
from helpers.tool_files import OMEGAT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from mtloop.core.errors import InputError
from mtloop.data import read
from mtloop.data.formats.filling import Filling, UnitState, open_file

LOCKED, TRANSLATED, UNTRANSLATED = UnitState.LOCKED, UnitState.TRANSLATED, UnitState.UNTRANSLATED


def test_units(write) -> None:
    path = write("project_save.tmx", OMEGAT)
    file = open_file(path)
    assert [(unit.id, unit.source, unit.state) for unit in file.units] == [
        ("1", "Open &lt;f0/> the valve.", TRANSLATED),
        ("2", "Close it.", UNTRANSLATED),
        ("3", "Wait.", UNTRANSLATED),
    ]
    assert file.units[0].target == "Öffnen Sie &lt;f0/> das Ventil."
    assert [unit.context for unit in file.units] == [{}, {}, {"document": "manual.odt"}]
    assert file.languages == ("en-US", "de-DE")
    assert not file.marks_review
    assert file.filled({}) == path.read_bytes()


@pytest.mark.parametrize("approved", [False, True])
def test_fill(approved: bool, write) -> None:
    path = write("project_save.tmx", OMEGAT)
    file = open_file(path)
    filled = file.filled({1: Filling("Schließen Sie es.", approved), 2: Filling("Warten Sie.", approved)})
    new = '\n      <tuv lang="DE-DE">\n        <seg>Schließen Sie es.</seg>\n      </tuv>'.replace("\n", "\r\n")
    old = "<seg>Close it.</seg>\r\n      </tuv>"
    assert filled.decode() == OMEGAT.replace(old, old + new).replace("<seg/>", "<seg>Warten Sie.</seg>")
    path.write_bytes(filled)
    assert [truth.references[0] for _, truth in read(path)][1:] == ["Schließen Sie es.", "Warten Sie."]


def test_a_new_language(write) -> None:
    body = '<tu tuid="a"><tuv xml:lang="en"><seg>Press <hi>Save</hi>.</seg></tuv></tu>'
    path = write("a.tmx", tmx(body))
    with pytest.raises(InputError, match=r"expected one language besides en; .* choose one with --target-lang"):
        open_file(path)
    file = open_file(path, target_lang="de_AT")
    assert (file.languages, file.units[0].id) == (("en", "de-AT"), "a")
    filled = file.filled({0: Filling("<hi>Sichern</hi> drücken.")})
    new = '<tuv xml:lang="de_AT"><seg><hi>Sichern</hi> drücken.</seg></tuv></tu>'
    assert filled == tmx(body.replace("</tu>", new))


def test_languages(write) -> None:
    body = tu(en="Save.", fr="Enregistrer.", de="Sichern.") + tu(en="Undo.", fr="Annuler.") + tu(fr="Oui.")
    path = write("a.tmx", tmx(body))
    with pytest.raises(InputError, match="expected one language besides en; the file has: en, fr, de; choose one with"):
        open_file(path)
    file = open_file(path, target_lang="de")
    assert [unit.state for unit in file.units] == [TRANSLATED, UNTRANSLATED, LOCKED]
    expected = body.replace("Annuler.</seg></tuv>", 'Annuler.</seg></tuv><tuv xml:lang="de"><seg>Zurück.</seg></tuv>')
    assert file.filled({1: Filling("Zurück.")}) == tmx(expected)
    assert [unit.source for unit in open_file(path, source_lang="fr", target_lang="en").units][2] == "Oui."
    with pytest.raises(InputError, match="the file has no it; it has: en, fr, de; choose one with --source-lang"):
        open_file(path, source_lang="it", target_lang="de")


def test_another_variety_of_the_target_is_no_target(write) -> None:
    file = open_file(write("a.tmx", tmx(tu(en="Save.", de_DE="Sichern."))), target_lang="de-AT")
    assert file.units[0].state is UNTRANSLATED
    both = open_file(write("b.tmx", tmx(tu(en="Save.", de_DE="Sichern.", de_CH="Speichern."))))
    assert both.notes == [
        "some units have several varieties of one language (de-DE, de-CH); the closest to de-DE is "
        "read; choose with --target-lang"
    ]


def test_varieties_of_one_language(write) -> None:
    body = tu(en_US="Color", en_GB="Colour") + tu(en_GB="Lift") + tu(en_US="Trash")
    file = open_file(write("a.tmx", tmx(body, header='srclang="en-US"')))
    assert file.languages == ("en-US", "en-GB")
    assert [(unit.source, unit.state) for unit in file.units] == [
        ("Color", TRANSLATED),
        ("", LOCKED),
        ("Trash", UNTRANSLATED),
    ]


def test_bad_files(write) -> None:
    with pytest.raises(InputError, match="a DOCTYPE with declarations in brackets is not allowed"):
        open_file(write("a.tmx", tmx(doctype=bomb())))
    with pytest.raises(InputError, match=r"a\.tmx:17: not well-formed XML"):
        open_file(write("a.tmx", OMEGAT[: OMEGAT.index("Close")]))
    with pytest.raises(InputError, match=r"the root element is <xliff>; expected <tmx>"):
        open_file(write("a.tmx", "<xliff/>"))
    entity = OMEGAT.replace("Close it.", "Close &it;")
    with pytest.raises(InputError, match=r"a\.tmx:17: .*&it;"):
        open_file(write("a.tmx", entity))
    file = open_file(write("a.tmx", OMEGAT))
    with pytest.raises(InputError, match="not well-formed"):
        file.filled({1: Filling("</seg>")})


def test_a_unit_without_source_is_locked(write) -> None:
    file = open_file(write("a.tmx", tmx("<tu/><tu><tuv/></tu>" + tu(en="", de="Leer") + tu(en="A", de="B"))))
    assert [unit.state for unit in file.units] == [LOCKED, LOCKED, LOCKED, TRANSLATED]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "ISO-8859-1"])
def test_encodings(encoding: str, write) -> None:
    content = OMEGAT.replace("UTF-8", encoding).encode(encoding)
    path = write("a.tmx", content)
    file = open_file(path)
    assert file.filled({}) == content
    path.write_bytes(file.filled({1: Filling("„Ж“ ß")}))
    assert etree.parse(path).findall(".//seg")[3].text == "„Ж“ ß"
    assert [truth.references[0] for _, truth in read(path)][1] == "„Ж“ ß"


@pytest.mark.parametrize("count", [3000, slow(100_000)])
def test_many_units(count: int, write) -> None:
    path = write("a.tmx", tmx("".join(tu(en=f"Text {number}.") for number in range(count)) + tu(en="A", de="B")))
    file = open_file(path)
    path.write_bytes(file.filled({index: Filling(f"Text Nr. {index}.") for index in range(count)}))
    again = open_file(path)
    assert [unit.target for unit in again.units] == [*(f"Text Nr. {index}." for index in range(count)), "B"]


FRAGMENTS = st.lists(
    st.sampled_from(["Größe", " ", "\n", "&amp;", "<hi>a</hi>", '<bpt i="1">&lt;b></bpt>b<ept i="1">x</ept>']),
    max_size=5,
).map("".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    units=st.lists(st.tuples(FRAGMENTS, st.none() | FRAGMENTS, st.none() | FRAGMENTS), min_size=1, max_size=5),
    indented=st.booleans(),
)
def test_what_is_filled_is_read_and_the_rest_stays(
    units: list[tuple[str, str | None, str | None]], indented: bool, write
) -> None:
    def variant(language: str, text: str | None) -> str:
        space = "\n  " if indented else ""
        found = f'{space}<tuv xml:lang="{language}">{space}<seg>{text}</seg>{space}</tuv>'
        return "" if text is None else found

    body = "".join(f"<tu>{variant('en', source)}{variant('de', target)}</tu>" for source, target, _ in units)
    content = tmx(body)
    path = write("a.tmx", content)
    file = open_file(path, source_lang="en", target_lang="de")
    assert file.filled({}) == content
    fillings = {
        index: Filling(text)
        for index, (_, _, text) in enumerate(units)
        if text is not None and file.units[index].state is not LOCKED
    }
    path.write_bytes(file.filled(fillings))
    again = open_file(path, source_lang="en", target_lang="de")
    expected = [fillings[index].text if index in fillings else unit.target for index, unit in enumerate(file.units)]
    assert [unit.source for unit in again.units] == [unit.source for unit in file.units]
    assert [unit.target for unit in again.units] == expected
    assert without_german(path.read_bytes()) == without_german(content)
    etree.parse(path)


def without_german(content: bytes) -> bytes:
    return re.sub(rb'\s*<tuv xml:lang="de">.*?</tuv>', b"", content, flags=re.DOTALL)
