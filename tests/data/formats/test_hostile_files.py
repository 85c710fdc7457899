"""Files that are made to do harm: they are read or refused with one line, in little memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.file_samples import SAMPLES, po, quoted, tmx, tu, xliff1
from helpers.mutations import GLOSSARIES, RATINGS, TBX, TINY, TO_FILL, mutations

from mtloop.core.errors import InputError, MtloopError
from mtloop.data import languages, read, read_ratings, stream
from mtloop.data.formats import xml_stream, xml_text
from mtloop.data.formats.filling import FILES, Filling, UnitState, open_file, takes_template
from mtloop.data.formats.glossary_files import GLOSSARY_READERS, read_glossary
from mtloop.data.ratings import builder
from mtloop.text import files

COUNT, SEED = 40, 19
MEGABYTE = 1 << 20
DEEP, MANY = 100_000, 100_000
# Prints the memory in MB that reading a file takes at most, more than before. Linux only: elsewhere it prints 0.
PEAK = """
import re, sys
from pathlib import Path
from mtloop.core.errors import InputError
from mtloop.data import read
from mtloop.data.formats import filling, gettext, glossary_files, tmx, xliff

def peak():
    status = Path("/proc/self/status")
    return int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]) if status.exists() else 0

before = peak()
try:
    glossary_files.read_glossary(sys.argv[1]) if sys.argv[1].endswith(".tbx") else read(sys.argv[1])
except InputError:
    pass
print((peak() - before) >> 10)
"""


def peak_memory(path: Path) -> int:
    """Return the megabytes that reading a file takes in a process of its own."""
    return int(subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, check=True).stdout)


def is_read_or_refused(reader: Callable[[], object]) -> None:
    """Check that a reader raises InputError or nothing, and that the message is one line of at most some words."""
    message = ""
    try:
        reader()
    except MtloopError as error:
        message = str(error)
    assert len(message.splitlines()) <= 1
    assert len(message) < 5000


def fill(path: Path, template: Path | None = None) -> None:
    """Open a file and fill all of it."""
    file = open_file(path, source_lang="en", target_lang="de", template=template)
    opened = (index for index, unit in enumerate(file.units) if unit.state is not UnitState.LOCKED)
    file.filled({index: Filling("neu", approved=True) for index in opened})


def test_every_format_is_attacked() -> None:
    assert TO_FILL.keys() == FILES.keys()
    assert GLOSSARIES.keys() == GLOSSARY_READERS.keys()


@pytest.mark.parametrize("suffix", SAMPLES)
def test_nearly_valid_data_is_read_or_refused(suffix: str, write) -> None:
    for content in (*TINY, *mutations(SAMPLES[suffix], COUNT, SEED)):
        path = write(f"a{suffix}", content)
        is_read_or_refused(lambda path=path: read(path))


@pytest.mark.parametrize("suffix", TO_FILL)
def test_nearly_valid_files_are_filled_or_refused(suffix: str, write) -> None:
    template = write(f"en{suffix}", TO_FILL[suffix]) if takes_template(Path(f"a{suffix}")) else None
    for content in (*TINY, *mutations(TO_FILL[suffix], COUNT, SEED)):
        path = write(f"de{suffix}", content)
        is_read_or_refused(lambda path=path: fill(path, template))
        if template is not None:
            is_read_or_refused(lambda path=path: fill(path.with_name(f"new{suffix}"), path))


@pytest.mark.parametrize("suffix", GLOSSARIES)
def test_nearly_valid_glossaries_are_read_or_refused(suffix: str, write) -> None:
    for content in (*TINY, *mutations(GLOSSARIES[suffix], COUNT, SEED)):
        path = write(f"a{suffix}", content)
        is_read_or_refused(lambda path=path: read_glossary(path))


@pytest.mark.parametrize("name", RATINGS)
def test_nearly_valid_ratings_are_read_or_refused(name: str, write) -> None:
    for content in (*TINY, *mutations(RATINGS[name], COUNT, SEED)):
        path = write(name, content)
        is_read_or_refused(lambda path=path: read_ratings(path))


@pytest.mark.parametrize("suffix", [".xml", ".ts", ".tmx", ".xlf", ".sdlxliff"])
def test_deeply_nested_xml_is_refused(suffix: str, write) -> None:
    nested = TO_FILL[suffix].replace(b"Save", b"<g>" * DEEP + b"Save" + b"</g>" * DEEP, 1)
    nested = nested.replace(b"Open the file menu.", b"<g>" * DEEP + b"</g>" * DEEP, 1)
    path, template = write(f"a{suffix}", nested), write(f"en{suffix}", TO_FILL[suffix])
    with pytest.raises(InputError, match="elements inside each other"):
        fill(path, template if suffix == ".xml" else None)


@pytest.mark.parametrize("depth", [90, 150, 300, 990])
def test_xml_that_is_nested_up_to_the_limit_is_filled(depth: int, write) -> None:
    nested = TO_FILL[".xml"].replace(b"Save", b"<b>" * depth + b"Save" + b"</b>" * depth)
    template = write("en.xml", nested)
    is_read_or_refused(lambda: fill(template.with_name("de.xml"), template))


@pytest.mark.parametrize(
    "content", ["[" * DEEP, '{"a":' * DEEP, "[" * 500 + "]" * 500], ids=["lists", "objects", "500"]
)
def test_deeply_nested_json_is_refused(content: str, write) -> None:
    path = write("en.json", content)
    with pytest.raises(InputError, match="100 objects and lists inside each other"):
        fill(path.with_name("de.json"), path)


def test_unknown_elements_of_tmx_are_not_kept(write) -> None:
    unknown = "<x a='b'/>" * MANY + "<tu>" + "<note/>" * MANY + tu(en="a", de="b").removeprefix("<tu>")
    path = write("a.tmx", tmx(f"{unknown}<!-- {'c' * MANY} -->{unknown}"))
    assert len(read(path)) == 2
    assert peak_memory(path) < 20


def test_unknown_elements_of_a_glossary_are_not_kept(write) -> None:
    path = write("a.tbx", TBX.replace(b"<conceptEntry", b"<x a='b'/>" * MANY + b"<conceptEntry"))
    assert [term.source for term in read_glossary(path).terms] == ["valve"]
    assert peak_memory(path) < 20


def test_the_entries_of_a_catalogue_are_not_kept(write) -> None:
    entries = "".join(f"msgid {quoted(str(number))}\nmsgstr {quoted('b')}\n" for number in range(20_000))
    assert peak_memory(write("a.po", po(entries))) < 30  # of the library, an entry takes 3 KB


def test_a_unit_of_many_texts_is_refused(write) -> None:
    path = write("a.tmx", tmx(tu(en="a", de="b") + "<tu>" + "<prop/>" * 1001 + "</tu>"))
    with pytest.raises(InputError, match=r"a\.tmx:1: more than 1000 texts and properties in one <tu>"):
        read(path)


def test_the_work_for_the_texts_of_a_unit_does_not_grow_with_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    measure = languages.closeness
    monkeypatch.setattr(languages, "closeness", lambda one, two: calls.append(one) or measure(one, two))
    texts = [(f"en-{number:03}", number) for number in range(300)] + [
        (f"de-{number:03}", number) for number in range(300)
    ]
    choices = (languages.LanguageChoice(one, any_variety=True) for one in ("en", "de"))
    assert languages.closest_pair(*choices, texts) == (("en-000", 0), ("de-000", 0))
    assert len(calls) < 4000  # it were 180,000


@pytest.mark.parametrize("text", ["a" * 2 * MEGABYTE, f"<ph>{'<x/>' * 9}</ph>" + "a<hi>b</hi>" * MEGABYTE])
def test_a_text_of_tmx_over_the_limit_is_refused(text: str, write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_stream, "MAX_LINE_BYTES", MEGABYTE)
    path = write("a.tmx", tmx(f'<tu><tuv xml:lang="en"><seg>{text}</seg></tuv></tu>'))
    with pytest.raises(InputError, match="texts of more than 1 MB in one <tu>"):
        read(path)


@pytest.mark.parametrize("part", ["<!-- {} -->", '<note a="{}"/>', "<?x {} ?>"])
def test_a_part_of_tmx_over_the_limit_is_refused(part: str, write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_stream, "MAX_LINE_BYTES", MEGABYTE)
    path = write("a.tmx", tmx(part.format("a" * 2 * MEGABYTE) + tu(en="a", de="b")))
    with pytest.raises(InputError, match="a tag or comment of more than 1 MB"):
        read(path)


def test_a_file_without_an_element_is_not_read_to_its_end(write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_text, "MAX_LINE_BYTES", MEGABYTE)
    with pytest.raises(InputError, match="no element in the first 1 MB"):
        read(write("a.tmx", b"<?xml version='1.0'?>" + b"<!-- a -->" * 2 * MANY))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.po", po('msgid "a"\nmsgstr "b"\n' * 50)),
        ("a.xlf", xliff1("<note/>" * 100)),
        ("de.xml", TO_FILL[".xml"].replace(b"</resources>", b"<x/>" * 100 + b"</resources>")),
        ("de.json", json.dumps([1] * 200).encode()),
        ("de.properties", b"a=b\n" * 200),
        ("de.txt", b"a\n" * 200),
    ],
)
def test_many_small_parts_are_refused_before_they_are_parsed(
    name: str, content: bytes, write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_ROWS", 60)
    path = write(name, content)
    template = write(f"en{path.suffix}", TO_FILL[path.suffix]) if takes_template(path) else None
    with pytest.raises(InputError, match="more than 60 lines, tags or values"):
        fill(path, template)


def test_many_pairs_are_streamed_but_not_held_in_memory(write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("a.tsv", b"source\ttarget\n" + b"a\tb\n" * 200)
    monkeypatch.setattr(files.held_in_memory, "__defaults__", (100,))
    with pytest.raises(InputError, match="more than 100 pairs, which may not fit into memory"):
        read(path)
    assert sum(1 for _ in stream(path)) == 200


def test_a_grid_of_ratings_that_does_not_fit_into_memory_is_refused(write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "MAX_CELLS", 1000)
    rows = "".join(f"{number}\t{number}\t0.5\n" for number in range(100))
    with pytest.raises(InputError, match="100 systems with 100 segments are more than 1,000 scores"):
        read_ratings(write("a.tsv", f"system\tsegment\tscore\n{rows}"))


def test_a_list_of_names_in_a_message_is_short(write) -> None:
    header = "\t".join(f"column {number}" for number in range(10_000))
    with pytest.raises(InputError, match="column 49, and 9950 more") as refused:
        read(write("a.tsv", header + "\n"))
    assert len(str(refused.value)) < 2000


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE tmx [<!ENTITY % x SYSTEM "http://127.0.0.1:9/x.dtd"> %x;]>',
        '<!DOCTYPE tmx SYSTEM "http://127.0.0.1:9/x.dtd">',
    ],
)
def test_nothing_outside_a_file_is_read(declaration: str, write, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    sys.addaudithook(
        lambda event, values: opened.append(values) if event in ("socket.connect", "urllib.Request") else None
    )
    content = tmx(
        '<tu><tuv xml:lang="en"><seg>&x;</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu>', doctype=declaration
    )
    with pytest.raises(InputError, match=r"entities are unsafe|the entity &x; is not defined"):
        read(write("a.tmx", content))
    assert not opened
