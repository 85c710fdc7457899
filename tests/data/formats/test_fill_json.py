"""Filling in JSON files with a template."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

import pytest
from helpers.filling_checks import filled, fillings, open_ids
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import Filling, UnitState, open_file

ENGLISH = """{
  "title": "Save",
  "menu": {
    "open": "Open",
    "width": 80
  },
  "days": ["Monday", "Tuesday"],
  "file_one": "{{count}} file",
  "file_other": "{{count}} files",
  "empty": "",
  "quit": "Quit"
}
"""

texts = st.text(st.characters(codec="utf-8"), max_size=10)
keys = st.text(st.characters(codec="utf-8", exclude_characters="@_"), min_size=1, max_size=5)
values = st.recursive(
    st.one_of(texts, texts, st.integers(), st.none(), st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=12,
)
objects = st.dictionaries(keys, values, min_size=1, max_size=5)
layouts = st.sampled_from([None, 2, "\t"])


def leaves(value: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    """The values that are no containers, by their paths."""
    if not isinstance(value, dict | list):
        return {path: value}
    members = value.items() if isinstance(value, dict) else enumerate(value)
    return {place: leaf for key, inner in members for place, leaf in leaves(inner, (*path, key)).items()}


def test_a_new_file_is_the_template_without_untranslated_texts(write, tmp_path) -> None:
    new = {"title": "Sichern", "menu.open": "Öffnen", "days.1": "Dienstag", "file_one": "{{count}} Datei"}
    content = filled(tmp_path / "de.json", new, template=write("en.json", ENGLISH))
    assert (
        content.decode()
        == """{
  "title": "Sichern",
  "menu": {
    "open": "Öffnen",
    "width": 80
  },
  "days": ["Monday", "Dienstag"],
  "file_one": "{{count}} Datei",
  "empty": ""
}
"""
    )


def test_missing_keys_are_inserted_where_the_template_has_them(write) -> None:
    path = write(
        "de.json", '{\r\n    "quit": "Aus",\r\n    "mine": 1,\r\n    "title": "",\r\n    "days": ["Montag"]\r\n}'
    )
    new = {"title": "Sichern", "menu.open": "Auf", "days.1": "Dienstag", "file_one": "eine", "file_other": "viele"}
    content = filled(path, new, template=write("en.json", ENGLISH))
    assert content.decode() == (
        '{\r\n    "quit": "Aus",\r\n    "mine": 1,\r\n    "title": "Sichern",\r\n'
        '    "menu": {\r\n        "open": "Auf",\r\n        "width": 80\r\n    },\r\n'
        '    "days": ["Montag", "Dienstag"],\r\n    "file_one": "eine",\r\n    "file_other": "viele"\r\n}'
    )


def test_a_key_before_all_others_and_keys_in_empty_containers(write) -> None:
    template = write("en.json", ENGLISH)
    assert filled(write("de.json", '{"quit": "Aus"}'), {"title": "A", "menu.open": "B"}, template=template) == (
        b'{"title": "A", "menu": {"open": "B","width": 80}, "quit": "Aus"}'
    )
    assert json.loads(filled(write("de.json", "{}"), {"title": "A", "days.0": "B"}, template=template)) == {
        "title": "A",
        "days": ["B", "Tuesday"],
    }
    content = filled(write("de.json", '{"menu": {}, "days": []}'), {"menu.open": "A", "days.1": "C"}, template=template)
    assert json.loads(content) == {"menu": {"open": "A"}, "days": ["Monday", "C"]}


def test_states(write) -> None:
    path = write("de.json", '{"title": "Save", "menu": {"open": null}, "days": ["Monday", "Dienstag"], "empty": "x"}')
    file = open_file(path, template=write("en.json", ENGLISH))
    states = {unit.id: unit.state for unit in file.units}
    untranslated = {name for name, state in states.items() if state is UnitState.UNTRANSLATED}
    assert untranslated == {"menu.open", "days.0", "file_one", "file_other", "quit"}
    assert states["empty"] is UnitState.LOCKED
    assert (file.languages, file.marks_review) == (("en", "de"), False)


@pytest.mark.parametrize(
    ("language", "categories"),
    [("de", "one other"), ("pl", "one few many other"), ("ja", "other"), ("ar", "zero one two few many other")],
)
def test_plurals_have_the_categories_of_the_target_language(language: str, categories: str, write, tmp_path) -> None:
    template = write("en.json", '{"a": "A", "x_one": "{{count}} file", "x_other": "{{count}} files", "b": "B"}')
    path = tmp_path / f"{language}.json"
    file = open_file(path, template=template)
    units = [unit for unit in file.units if "plural" in unit.context]
    assert [unit.context["quantity"] for unit in units] == categories.split()
    assert [unit.context["plural"] for unit in units] == list(range(len(units)))
    assert {unit.source for unit in units if unit.context["quantity"] != "one"} == {"{{count}} files"}
    content = filled(path, {name: name.upper() for name in open_ids(file)}, template=template)
    assert list(json.loads(content)) == ["a", *(f"x_{category}" for category in categories.split()), "b"]


def test_keys_that_only_look_like_plurals(write) -> None:
    template = write("en.json", '{"size_few": "Few", "size_other": "Other", "color_other": "Other", "x_one": "One"}')
    assert open_ids(open_file(template.with_name("pl.json"), template=template)) == [
        "size_few",
        "size_other",
        "color_other",
        "x_one",
    ]
    zero = write("en.json", '{"n_zero": "None", "n_one": "{{count}} file", "n_other": "{{count}} files"}')
    assert open_ids(open_file(zero.with_name("ja.json"), template=zero)) == ["n_zero", "n_other"]


def test_the_metadata_of_arb_files_stays(write, tmp_path) -> None:
    template = write("app_en_US.arb", '{"@@locale": "en_US", "hi": "Hi {n}", "@hi": {"description": "A greeting"}}')
    path = tmp_path / "app_pt_BR.arb"
    unit = open_file(path, template=template).units[0]
    assert (unit.id, unit.context) == ("hi", {"note": "A greeting"})
    assert filled(path, {"hi": "Oi {n}"}, template=template) == (
        b'{"@@locale": "pt_BR", "hi": "Oi {n}", "@hi": {"description": "A greeting"}}'
    )


def test_messages_of_browser_extensions(write, tmp_path) -> None:
    message = '{"save": {"message": "Save $N$", "description": "Button", "placeholders": {"n": {"content": "$1"}}}}'
    template, path = write("messages.json", message), tmp_path / "de" / "messages.json"
    path.parent.mkdir()
    file = open_file(path, template=template)
    assert [(unit.id, unit.context) for unit in file.units] == [("save.message", {"note": "Button"})]
    assert file.languages == ("", "de")
    assert filled(path, {"save.message": "$N$ sichern"}, template=template).decode() == (
        message.replace("Save $N$", "$N$ sichern")
    )


ENTRIES = [
    ([{"id": "Day", "translation": {"one": "Day", "other": "Days"}}], {"0.translation.one", "0.translation.other"}),
    ({"messages": [{"id": "Hi", "message": "Hi", "translation": "Hi.", "fuzzy": True}]}, {"messages.0.translation"}),
    ([{"id": "Hi", "message": "Hi", "translation": "", "translatorComment": "A"}], {"0.message"}),
    ({"translations": [{"key": "Hello", "value": "Hello world"}]}, {"translations.0.value"}),
    ({"days": {"hash": "sha1-1f", "one": "Day", "other": "Days"}}, {"days.one", "days.other"}),
    ({"key": "Key", "value": "Value", "quit": "Quit"}, {"key", "value", "quit"}),
]


@pytest.mark.parametrize(("entries", "expected"), ENTRIES)
def test_the_names_of_entries_are_not_translated(entries: Any, expected: set[str], write, tmp_path) -> None:
    template = write("en.json", json.dumps(entries))
    path = tmp_path / "de.json"
    units = open_file(path, template=template).units
    assert {unit.id for unit in units if unit.source} == expected
    new = json.loads(filled(path, dict.fromkeys(expected, "X"), template=template))
    changed = {path for path, leaf in leaves(new).items() if leaf == "X"}
    assert {".".join(map(str, path)) for path in changed} == expected
    assert {path for path in leaves(entries) if path not in changed} == set(leaves(new)) - changed


def test_escapes_are_those_of_the_file(write) -> None:
    template = write("en.json", '{"a": "A", "b": "B"}')
    new = {"a": 'ä/\n"\\😀'}
    assert filled(write("de.json", r'{"b": "\u00e4"}'), new, template=template) == (
        rb'{"a": "\u00e4/\n\"\\\ud83d\ude00", "b": "\u00e4"}'
    )
    assert filled(write("de.json", '{"b": "ä\\/"}'), new, template=template).decode() == (
        '{"a": "ä\\/\\n\\"\\\\😀", "b": "ä\\/"}'
    )


def test_keys_that_the_template_lacks_stay_and_are_named(write) -> None:
    template = write("en.json", '{"a": "A", "m": {"b": "B"}}')
    path = write("de.json", '{"x": "X", "m": {"y": 1, "b": "b"}}')
    file = open_file(path, template=template)
    assert list(file.notes) == [f"2 keys are not in {template} and are left as they are: x, m.y"]
    assert filled(path, {"a": "a"}, template=template) == b'{"a": "a", "x": "X", "m": {"y": 1, "b": "b"}}'


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), english=objects, first=layouts, second=layouts, bom=st.booleans())
def test_filled_in_steps(data, english, first, second, bom, write, tmp_path: Path) -> None:
    """A new file, then the rest in another layout: every text is there, and what was there stays."""
    head = codecs.BOM_UTF8 if bom else b""
    template = write("en.json", head + json.dumps(english, indent=first, ensure_ascii=False).encode())
    path = tmp_path / "de.json"
    path.unlink(missing_ok=True)
    names = open_ids(open_file(path, template=template))
    one = {name: data.draw(texts) for name in names if data.draw(st.booleans())}
    content = filled(path, one, template=template)
    found = json.loads(content.decode("utf-8-sig"))
    assert content.startswith(head)
    path.write_text(json.dumps(found, indent=second, ensure_ascii=False), encoding="utf-8")
    other = {name: name + "!" for name in names if name not in one}
    final = json.loads(filled(path, other, template=template))
    file = open_file(template.with_name("new.json"), template=template)
    by_path = {tuple(place): file.units[index].id for index, place in enumerate(file._by_path)}
    expected = {place: (one | other).get(by_path.get(place, ""), leaf) for place, leaf in leaves(english).items()}
    got = leaves(final)
    assert {place: got[place] for place in by_path} == {place: expected[place] for place in by_path}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(german=objects, first=layouts, second=layouts)
def test_a_target_file_that_has_nothing_in_common_with_the_template_stays(german, first, second, write) -> None:
    template = write("en.json", '{"@a_": "x", "@b": {"c": 1}}')
    path = write("de.json", json.dumps(german, indent=first))
    assert filled(path, {}, template=template) == path.read_bytes()


@pytest.mark.slow
def test_many_keys_and_a_long_text(write) -> None:
    template = write("en.json", json.dumps({f"k{n}": f"Text {n}" for n in range(100_000)}, indent=1))
    path = write("de.json", json.dumps({f"k{n}": f"Wort {n}" for n in range(0, 100_000, 2)}, indent=1))
    file = open_file(path, template=template)
    long = "Wort " * 10_000
    new = {index: Filling(long) for index, unit in enumerate(file.units) if unit.state is UnitState.UNTRANSLATED}
    assert len(new) == 50_000
    content = file.filled({index: Filling(long if index == 1 else "x") for index in new})
    found = json.loads(content)
    assert list(found) == [f"k{n}" for n in range(100_000)]
    assert found["k1"] == long


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{\n"a": "A",\n}', "de.json:3: not JSON: .*double quotes"),
        (b'{"a": "A"} x', "de.json:1: not JSON: Extra data"),
        (b'{"a": "A",\n "a": "B"}', "de.json:2: the key 'a' is already on line 1; remove one"),
        (b'{"a": "\xe4"}', "de.json:1: invalid UTF-8"),
        (b'{"a":\n "\0"}', "de.json:2: NUL byte"),
        (codecs.BOM_UTF16_LE + '{"a": 1}'.encode("utf-16-le"), "NUL byte"),
        (b'"text"', "expected an object or a list"),
        (b"[" * 5000 + b"]" * 5000, "not JSON that can be read|inside each other"),
        (b'{"x": ' * 150 + b"1" + b"}" * 150, "more than 100 objects"),
        (b'{"a": {"b": "B"}}', "de.json:1: 'a' is not a text, as it is in .*en.json"),
        (b"[]", "as in the template"),
    ],
)
def test_bad_files(content: bytes, message: str, write) -> None:
    with pytest.raises(InputError, match=message):
        open_file(write("de.json", content), template=write("en.json", '{"a": "A"}')).units  # noqa: B018


def test_a_template_is_needed(write) -> None:
    path = write("de.json", '{"a": "A"}')
    with pytest.raises(InputError, match="--template FILE"):
        open_file(path)
    with pytest.raises(InputError, match="the template is the file itself"):
        open_file(path, template=path)
    with pytest.raises(InputError, match="no such file"):
        open_file(path, template=path.with_name("none.json"))


def test_a_file_without_bytes_is_a_new_file(write) -> None:
    assert filled(write("de.json", ""), {"a": "x"}, template=write("en.json", '{"a": "A"}')) == b'{"a": "x"}'


def test_a_locked_text_is_not_filled_in(write, tmp_path) -> None:
    file = open_file(tmp_path / "de.json", template=write("en.json", '{"a": " ", "b": "\\ud800"}'))
    for name in ("a", "b"):
        with pytest.raises(InputError, match="locked"):
            file.filled(fillings(file, {name: "x"}))
