"""The reader contract for every reader and every compression; damaged and random bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.file_samples import PACK, PAIRS, SAMPLES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtloop.checks.reader_contract import assert_read_or_refused, assert_refused, check_reader
from mtloop.core.errors import InputError
from mtloop.data import READERS, Corpus, read, stream


def test_every_reader_has_a_sample() -> None:
    assert SAMPLES.keys() == READERS.keys()


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("kind", READERS)
def test_contract(kind: str, packing: str, write) -> None:
    check_reader(read, write(f"menu.en-de{kind}{packing}", PACK[packing](SAMPLES[kind])), PAIRS)


@pytest.mark.parametrize("kind", READERS)
def test_stream_and_read_return_the_same_pairs(kind: str, write) -> None:
    path = write(f"menu{kind.upper()}", SAMPLES[kind])
    assert list(stream(path)) == list(read(path))


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_bytes_are_read_or_refused(kind: str, data: st.DataObject, write) -> None:
    assert_read_or_refused(read, write(f"damaged{kind}", data.draw(damaged(SAMPLES[kind]))))


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(kind: str, content: bytes, write) -> None:
    assert_read_or_refused(read, write(f"any{kind}", content))


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """Return a valid file with a few byte ranges replaced."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 8)))
        content = content[:start] + draw(st.binary(max_size=8)) + content[end:]
    return content


def test_unknown_suffix_lists_the_known_suffixes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"talk.docx: unknown file type '.docx'; known: .tsv, .csv, .tmx"):
        read(tmp_path / "talk.docx")


def test_a_new_format_is_an_entry_in_the_registry(write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(READERS, ".psv", lambda request: iter(read(request.path.with_suffix(".tsv"))))
    write("menu.tsv", SAMPLES[".tsv"])
    assert len(read(write("menu.psv", b""))) == len(PAIRS)


def test_a_corpus_is_a_sequence_and_reports_skipped_units(write) -> None:
    corpus = read(write("some.tsv", "source\ttarget\nSave.\t\n\tSichern.\nUndo.\tZurück.\n"))
    assert isinstance(corpus, Corpus)
    assert str(corpus) == "1 pair, 2 skipped (1 empty source, 1 untranslated)"
    assert corpus[0][0].id == "3"
    assert corpus[:1] == corpus.items


def test_the_contract_check_catches_a_reader_that_accepts_invalid_files(write) -> None:
    with pytest.raises(AssertionError, match="was read without an error"):
        assert_refused(lambda path: [], write("a.tsv", b""))


def test_importing_the_package_imports_no_parser() -> None:
    heavy = "{'lxml', 'translate', 'zstandard', 'numpy'}"
    code = f"import sys, mtloop.data; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
