"""Filling in TSV and CSV tables."""

from __future__ import annotations

import codecs
import csv
import io

import pytest
from helpers.filling_checks import filled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.data import read
from mtloop.data.formats.filling import Filling, UnitState, open_file

texts = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\t\0\ufeff"), max_size=20)
cells = st.text(st.characters(codec="utf-8", exclude_characters="\r\0\ufeff"), max_size=20)


def test_an_empty_target_is_filled_in_and_nothing_else_changes(write) -> None:
    path = write("a.tsv", 'id\tsource\ttarget\tnote\n1\tSave.\t\t"a\n2\tOpen.\tÖffnen.\t\n')
    assert filled(path, {"1": 'Sichern "es".'}) == (
        'id\tsource\ttarget\tnote\n1\tSave.\tSichern "es".\t"a\n2\tOpen.\tÖffnen.\t\n'.encode()
    )


def test_a_cell_of_a_csv_keeps_its_quotes_and_gets_those_it_needs(write) -> None:
    path = write("a.csv", 'source,target,"x"\r\n"Hi, you","",1\r\nNo,,2\r\nYes,Ja,"3"\r\nOK,,4\r\n')
    assert filled(path, {"1": "Du", "2": 'a,"b"', "4": "Gut"}) == (
        b'source,target,"x"\r\n"Hi, you","Du",1\r\nNo,"a,""b""",2\r\nYes,Ja,"3"\r\nOK,Gut,4\r\n'
    )


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_csv_with_other_separators(separator: str, write) -> None:
    lines = 'source;"target;";n\r\n"Hi; you, too";"";1\nNo, no;;2\n'.replace(";", separator)
    path = write("a.csv", lines)
    columns = {"target": f"target{separator}"}
    assert [unit.source for unit in open_file(path, columns=columns).units] == [f"Hi{separator} you, too", "No, no"]
    expected = lines.replace(f'{separator}""{separator}', f'{separator}"Du"{separator}')
    expected = expected.replace(f"no{separator}{separator}", f'no{separator}"a{separator}b"{separator}')
    assert filled(path, {"1": "Du", "2": f"a{separator}b"}, columns=columns) == expected.encode()
    assert (
        filled(path, {"2": "a, b"}, columns=columns)
        == lines.replace(f"no{separator}{separator}", f"no{separator}a, b{separator}").encode()
    )


def test_line_ends_inside_a_cell_are_those_of_its_source(write) -> None:
    path = write("a.csv", b'source,target\r\n"a\r\nb",\r\n"c\nd",\r\n')
    assert filled(path, {"1": "A\nB", "2": "C\nD"}) == b'source,target\r\n"a\r\nb","A\r\nB"\r\n"c\nd","C\nD"\r\n'


def test_mixed_line_ends_a_mark_at_the_start_and_no_line_end_at_the_end_stay(write) -> None:
    content = codecs.BOM_UTF8 + b"source\ttarget\r\nSave.\t\nOpen.\t\r\nClose.\t"
    path = write("a.tsv", content)
    assert filled(path, {"1": "A", "2": "B", "3": "C"}) == (
        codecs.BOM_UTF8 + b"source\ttarget\r\nSave.\tA\nOpen.\tB\r\nClose.\tC"
    )
    assert filled(path, {"2": "B"}) == content.replace(b"Open.\t", b"Open.\tB")


def test_columns_by_name_and_by_language(write) -> None:
    path = write("a.csv", "key,en,de\nk,Save.,\n")
    columns = {"source": "en", "target": "de", "id": "key"}
    assert filled(path, {"k": "Sichern."}, columns=columns) == b"key,en,de\nk,Save.,Sichern.\n"
    file = open_file(path, source_lang="en", target_lang="de")
    assert file.languages == ("en", "de")
    assert [(unit.id, unit.source, unit.state) for unit in file.units] == [("1", "Save.", UnitState.UNTRANSLATED)]


def test_document_and_mt_are_the_context(write) -> None:
    unit = open_file(write("a.tsv", "document\tsource\tmt\tpost_edit\nhelp\tSave.\tRetten.\t\n")).units[0]
    assert (unit.context, unit.state) == ({"document": "help", "mt": "Retten."}, UnitState.UNTRANSLATED)


def test_the_status_column_tells_the_state_and_gets_the_mark(write) -> None:
    path = write("a.tsv", "source\ttarget\tStatus\nA\t\t\nB\tb\tFuzzy\nC\tc\tFinal\nD\t\tlocked\n\te\t\n")
    file = open_file(path)
    states = [UnitState.UNTRANSLATED, UnitState.FUZZY, UnitState.TRANSLATED, UnitState.LOCKED, UnitState.LOCKED]
    assert [unit.state for unit in file.units] == states
    assert file.marks_review
    content = file.filled({0: Filling("a"), 1: Filling("bb", approved=True)})
    assert content == b"source\ttarget\tStatus\nA\ta\tFuzzy\nB\tbb\tFinal\nC\tc\tFinal\nD\t\tlocked\n\te\t\n"
    with pytest.raises(InputError, match="locked"):
        file.filled({3: Filling("d")})


def test_without_a_status_column_there_is_no_mark(write) -> None:
    assert not open_file(write("a.tsv", "source\ttarget\nA\t\n")).marks_review
    marked = open_file(write("b.csv", "source,target,state\nA,,\n"))
    assert marked.filled({0: Filling("a")}) == b"source,target,state\nA,a,needs-review\n"
    assert marked.filled({0: Filling("a", approved=True)}) == b"source,target,state\nA,a,translated\n"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=6),
    new=st.dictionaries(st.integers(0, 5), cells),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
    line_end=st.sampled_from(["\n", "\r\n"]),
)
def test_only_the_filled_cells_of_a_csv_differ(rows, new, quoting, line_end, write) -> None:
    rows = [("s" + source, target, other) for source, target, other in rows]
    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=quoting, lineterminator=line_end).writerows([("source", "target", "x"), *rows])
    path = write("a.csv", buffer.getvalue())
    new = {index: text for index, text in new.items() if index < len(rows)}
    content = filled(path, {str(index + 1): text for index, text in new.items()})
    found = list(csv.reader(io.StringIO(content.decode(), newline="")))[1:]
    assert found == [[source, new.get(index, target), other] for index, (source, target, other) in enumerate(rows)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(texts, texts, st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=6),
    new=st.dictionaries(st.integers(0, 5), texts),
)
def test_only_the_filled_cells_of_a_tsv_differ(rows, new, write) -> None:
    lines = [("source\ttarget", "\n"), *((f"s{source}\t{target}", end) for source, target, end in rows)]
    path = write("a.tsv", "".join(map("".join, lines)))
    new = {index: text for index, text in new.items() if index < len(rows)}
    content = filled(path, {str(index + 1): text for index, text in new.items()})
    expected = [f"s{source}\t{new.get(index, target)}{end}" for index, (source, target, end) in enumerate(rows)]
    assert content.decode() == "source\ttarget\n" + "".join(expected)


@pytest.mark.slow
def test_many_rows_and_a_long_cell(write) -> None:
    path = write("a.csv", "source,target\n" + "".join(f"s{n},\n" for n in range(100_000)))
    file, long = open_file(path), "x, " * 17_000
    content = file.filled({n: Filling(long if n == 7 else f"t{n}") for n in range(100_000)})
    path.write_bytes(content)
    corpus = read(path)
    assert (len(corpus), corpus[7][1].references, corpus[99_999][1].references) == (100_000, (long,), ("t99999",))


def test_what_a_cell_cannot_hold_is_refused(write) -> None:
    tsv, csv_file = open_file(write("a.tsv", "source\ttarget\nA\t\n")), open_file(write("a.csv", "source,target\nA,\n"))
    for text in ("a\tb", "a\nb", "a\0b"):
        with pytest.raises(InputError, match="cannot hold"):
            tsv.filled({0: Filling(text)})
    with pytest.raises(InputError, match="cannot hold"):
        csv_file.filled({0: Filling("a\0b")})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.tsv",
            b"source\nA\n",
            "no column 'target' or 'post_edit'.*add an empty column.*--columns source=A,target=B",
        ),
        ("a.csv", b"source|target\nA|B\n", "no column 'source'.*--columns"),
        ("a.csv", b'source,target\n"A,\n', "a.csv:2: not CSV"),
        ("a.tsv", b"source\ttarget\nA\n", "a.tsv:2: expected 2 cells"),
        ("a.tsv", b"source\ttarget\n\xe4\t\n", "a.tsv:2: invalid UTF-8"),
        ("a.tsv", b"source\ttarget\n\0\t\n", "a.tsv:2: NUL byte"),
        ("a.tsv", b"", "the file is empty"),
        ("a.tsv.gz", b"x", "compressed"),
    ],
)
def test_a_table_that_cannot_be_filled_in(name: str, content: bytes, message: str, write) -> None:
    with pytest.raises(InputError, match=message):
        open_file(write(name, content))
