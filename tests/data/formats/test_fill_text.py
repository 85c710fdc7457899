"""Filling in plain text, line by line."""

from __future__ import annotations

import codecs

import pytest
from helpers.filling_checks import filled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import Filling, UnitState, open_file

lines = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0\ufeff"), max_size=12)


def test_a_new_file_has_the_lines_of_the_template(write, tmp_path) -> None:
    template = write("a.txt", b"One\r\n\nTwo\nThree")
    content = filled(tmp_path / "b.txt", {"1": "Eins", "4": "Drei"}, template=template)
    assert content == b"Eins\r\n\nTwo\nDrei"


def test_a_line_that_equals_its_source_is_untranslated(write) -> None:
    template, path = write("en.txt", "One\n\nTwo\nThree\n"), write("de.txt", "Eins\n\nTwo\n\n")
    file = open_file(path, template=template)
    states = [UnitState.TRANSLATED, UnitState.LOCKED, UnitState.UNTRANSLATED, UnitState.UNTRANSLATED]
    assert [unit.state for unit in file.units] == states
    assert (file.languages, file.marks_review) == (("en", "de"), False)
    assert filled(path, {"3": "Zwei"}, template=template) == b"Eins\n\nZwei\n\n"


def test_without_a_template_the_file_is_the_source(write) -> None:
    file = open_file(write("a.txt", codecs.BOM_UTF8 + b"One\nTwo\n"), source_lang="en", target_lang="de")
    assert [(unit.source, unit.target) for unit in file.units] == [("One", ""), ("Two", "")]
    assert file.filled({}) == codecs.BOM_UTF8 + b"One\nTwo\n"
    assert file.filled({1: Filling("Zwei")}) == codecs.BOM_UTF8 + b"One\nZwei\n"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(lines, st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=6),
    new=st.dictionaries(st.integers(0, 5), lines),
)
def test_only_the_filled_lines_differ(rows, new, write, tmp_path) -> None:
    template = write("a.txt", "".join(map("".join, rows)))
    new = {index: text for index, text in new.items() if index < len(rows) and rows[index][0].strip()}
    content = filled(tmp_path / "b.txt", {str(index + 1): text for index, text in new.items()}, template=template)
    assert content.decode() == "".join(new.get(index, text) + end for index, (text, end) in enumerate(rows))


def test_bad_files_and_texts(write, tmp_path) -> None:
    template = write("a.txt", "One\nTwo\n")
    with pytest.raises(InputError, match=r"1 lines, but .*a.txt has 2"):
        open_file(write("b.txt", "Eins\n"), template=template)
    with pytest.raises(InputError, match=r"c.txt:2: invalid UTF-8"):
        open_file(write("c.txt", b"One\n\xe4\n"))
    with pytest.raises(InputError, match=r"c.txt:1: NUL"):
        open_file(write("c.txt", b"\0\n"))
    for text in ("a\nb", "a\0"):
        with pytest.raises(InputError, match="one line"):
            open_file(template).filled({0: Filling(text)})
