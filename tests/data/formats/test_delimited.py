"""TSV and CSV tables with quotes, tabs and commas in the sentences."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.core.types import Segment, Truth
from mtloop.data import parse_columns, read, stream

texts = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\t\0"), min_size=1).filter(str.strip)


def test_default_column_names(write) -> None:
    path = write("a.tsv", "document\tsource\tmt\tpost_edit\nhelp\tSave.\tRetten.\tSichern.\n")
    assert list(read(path)) == [(Segment("1", "Save.", {"document": "help", "mt": "Retten."}), Truth(("Sichern.",)))]


def test_target_has_priority_over_post_edit(write) -> None:
    corpus = read(write("a.tsv", "source\tpost_edit\ttarget\nSave.\tRetten.\tSichern.\n"))
    assert corpus[0][1] == Truth(("Sichern.",))


def test_named_columns(write) -> None:
    path = write("a.csv", "en,de,page,key,mt\nSave.,Sichern.,help,s1,Retten.\n")
    columns = {"source": "en", "target": "de", "document": "page", "id": "key", "mt": ""}
    assert list(read(path, columns=columns)) == [(Segment("s1", "Save.", {"document": "help"}), Truth(("Sichern.",)))]


def test_columns_named_by_language(write) -> None:
    path = write("a.tsv", "id\ten_US\tde\tde-AT\n7\tSave.\tSichern.\tSpeichern.\n")
    corpus = read(path, source_lang="en", target_lang="de-AT")
    assert list(corpus) == [(Segment("7", "Save."), Truth(("Speichern.",)))]
    assert (corpus.source_lang, corpus.target_lang) == ("en-US", "de-AT")
    assert read(path, source_lang="en", target_lang="de")[0][1] == Truth(("Sichern.",))
    with pytest.raises(InputError, match="no column 'target' or 'post_edit'; the file has: id, en_US, de, de-AT"):
        read(path, source_lang="en", target_lang="fr")


def test_named_and_default_columns_go_before_languages(write) -> None:
    path = write("a.tsv", "source\ten\tde\tother\nSave.\tno\tno\tSichern.\n")
    corpus = read(path, columns={"target": "other"}, source_lang="en", target_lang="de")
    assert [(segment.source, truth.references[0]) for segment, truth in corpus] == [("Save.", "Sichern.")]
    assert (corpus.source_lang, corpus.target_lang) == ("en", "de")  # the user's words
    assert read(path, columns={"target": "other"}).source_lang == ""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(st.sampled_from(["", " ", "Save."]), st.sampled_from(["", "Ja."])), max_size=8))
def test_no_row_is_lost_without_a_word(rows: list[tuple[str, str]], write) -> None:
    path = write("a.tsv", "".join(f"{s}\t{t}\n" for s, t in [("source", "target"), ("Close.", "Zu."), *rows]))
    corpus = read(path)
    assert len(corpus) + sum(corpus.skipped.values()) == len(rows) + 1
    assert len(corpus) == 1 + rows.count(("Save.", "Ja."))


def test_ids_must_be_unique(write) -> None:
    path = write("a.tsv", "id\tsource\ttarget\nx\tSave.\tSichern.\nx\tUndo.\tZurück.\n")
    with pytest.raises(InputError, match=f"^{path}:3: id 'x' is already used on line 2; to use row numbers as ids"):
        read(path)
    assert [segment.id for segment, _ in read(path, columns={"id": ""})] == ["1", "2"]


def test_ids_must_not_be_empty(write) -> None:
    with pytest.raises(InputError, match=r":2: the id is empty"):
        read(write("a.tsv", "id\tsource\ttarget\n\tSave.\tSichern.\n"))


def test_quotes_in_tsv_have_no_special_meaning(write) -> None:
    path = write("a.tsv", 'source\ttarget\n"Save\t"Sichern\n5" disk\t5"-Diskette\n')
    assert [(s.source, t.references[0]) for s, t in read(path)] == [('"Save', '"Sichern'), ('5" disk', '5"-Diskette')]


def test_quoted_csv_cells_contain_commas_and_newlines(write) -> None:
    path = write("a.csv", 'source,target\r\n"Save, ""now""\r\nplease.",Sichern.\r\nUndo.\r\n')
    with pytest.raises(InputError, match=rf"^{path}:4: expected 2 cells \(source, target\), found 1$"):
        read(path)
    assert next(stream(path))[0].source == 'Save, "now"\nplease.'


@pytest.mark.parametrize("content", ['"Save.,Sichern.\n', '"Save" now.,Sichern.\n', "Sa\rve.,Sichern.\n"])
def test_broken_csv(content: str, write) -> None:
    with pytest.raises(InputError, match=r"a.csv:2: not CSV: "):
        read(write("a.csv", "source,target\n" + content))


@pytest.mark.parametrize("kind", [".tsv", ".csv"])
def test_a_cell_of_a_megabyte(kind: str, write) -> None:
    separator = "," if kind == ".csv" else "\t"
    corpus = read(write("a" + kind, f"source{separator}target\n{'a' * (1 << 20)}{separator}b\n"))
    assert len(corpus[0][0].source) == 1 << 20


@pytest.mark.parametrize(
    ("columns", "options", "expected"),
    [
        ({"source": "en", "target": "it-IT"}, {}, ("en", "it-IT")),
        ({"source": "src", "target": "mt"}, {}, ("", "")),
        ({"source": "en", "target": "it-IT"}, {"target_lang": "de"}, ("en", "de")),
    ],
)
def test_columns_named_by_language_declare_it(
    columns: dict[str, str], options: dict[str, str], expected: tuple[str, str], write
) -> None:
    path = write("a.tsv", "en\tit-IT\tsrc\tmt\nSave.\tSalva.\tSave.\tSalva.\n")
    corpus = read(path, columns=columns, **options)
    assert (corpus.source_lang, corpus.target_lang) == expected


def test_missing_column(write) -> None:
    path = write("a.tsv", "English\tGerman\nSave.\tSichern.\n")
    with pytest.raises(InputError, match=f"^{path}:1: no column 'source'; the file has: English, German "):
        read(path)
    with pytest.raises(InputError, match="no column 'target' or 'post_edit'; the file has: English, German "):
        read(path, columns={"source": "English"})
    with pytest.raises(InputError, match="no column 'Deutsch'"):
        read(path, columns={"source": "English", "target": "Deutsch"})
    with pytest.raises(InputError, match="no column ''"):
        read(path, columns={"source": ""})


def test_error_for_a_missing_header_is_short(write) -> None:
    with pytest.raises(InputError) as caught:
        read(write("a.tsv", "word " * 1000 + "\u2028\tb\n"))
    assert len(str(caught.value)) < 400
    assert len(str(caught.value).splitlines()) == 1


def test_duplicate_column_name(write) -> None:
    with pytest.raises(InputError, match=":1: two columns have the name 'source'; rename one"):
        read(write("a.tsv", "source\tsource\ttarget\na\tb\tc\n"))


@pytest.mark.parametrize("name", ["empty.tsv", "empty.csv"])
def test_a_file_of_empty_lines_has_no_header(name: str, write) -> None:
    with pytest.raises(InputError, match="header"):
        read(write(name, "\n"))


def test_no_rows(write) -> None:
    with pytest.raises(InputError, match="no translated pair found: the file has no units"):
        read(write("a.tsv", "source\ttarget\n"))


def test_rows_are_read_lazily(write) -> None:
    rows = stream(write("a.tsv", "source\ttarget\nSave.\tSichern.\nbroken\n"))
    assert next(rows)[0].source == "Save."
    with pytest.raises(InputError, match=":3: expected 2 cells"):
        next(rows)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(texts, texts), min_size=1))
def test_tsv_round_trip(rows: list[tuple[str, str]], write) -> None:
    path = write("a.tsv", "".join(f"{source}\t{target}\n" for source, target in [("source", "target"), *rows]))
    assert [(segment.source, truth.references[0]) for segment, truth in read(path)] == rows


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(texts, st.lists(texts, min_size=1).map("\n".join)), min_size=1))
def test_csv_round_trip(rows: list[tuple[str, str]], write) -> None:
    buffer = io.StringIO()
    csv.writer(buffer).writerows([("source", "target"), *rows])
    path = write("a.csv", buffer.getvalue())
    assert [(segment.source, truth.references[0]) for segment, truth in read(path)] == rows


def test_parse_columns() -> None:
    assert parse_columns(" source=Quell text , id= ") == {"source": "Quell text", "id": ""}
    assert parse_columns("") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source", "is not ROLE=NAME; try: source=English"),
        ("source=a,source=b", "source is given twice"),
        ("sources=a", "there is no column role 'sources'; did you mean 'source'"),
    ],
)
def test_parse_columns_refuses(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_columns(text)
