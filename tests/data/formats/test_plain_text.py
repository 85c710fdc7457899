"""Parallel plain text files."""

from __future__ import annotations

import pytest

from mtloop.core.errors import InputError
from mtloop.core.types import Segment, Truth
from mtloop.data import pairs, read_aligned, read_parallel


def test_pairs() -> None:
    assert pairs(["Save."], ["Sichern."]) == [(Segment("1", "Save."), Truth(("Sichern.",)))]
    with pytest.raises(InputError, match="2 sources but 1 references"):
        pairs(["Save.", "Undo."], ["Sichern."])


def test_two_files(write) -> None:
    corpus = read_parallel(write("en.txt", "Save.\nUndo.\n"), write("de.txt.", "Sichern.\nZurück."))
    assert list(corpus) == pairs(["Save.", "Undo."], ["Sichern.", "Zurück."])


def test_three_files(write) -> None:
    corpus = read_parallel(write("en", "Save.\n"), write("de", "Sichern.\n"), write("mt", "Retten.\n"))
    assert corpus[0] == (Segment("1", "Save.", {"mt": "Retten."}), Truth(("Sichern.",)))


def test_targets_without_sources(write) -> None:
    assert list(read_parallel(None, write("de", "Sichern.\n"))) == pairs([""], ["Sichern."])
    assert read_parallel(None, write("de", "Ja.\n"), write("mt", "Jo.\n"))[0][0].context == {"mt": "Jo."}


def test_empty_lines_are_kept_for_alignment_by_line(write) -> None:
    corpus = read_parallel(write("en", "Save.\n\nUndo.\n"), write("de", "Sichern.\n\nZurück.\n"))
    assert [segment.id for segment, _ in corpus] == ["1", "2", "3"]


def test_different_numbers_of_lines(write) -> None:
    one, two = write("en.txt", "a\nb\nc\n"), write("de.txt", "a\nb\nc\nd\ne\n")
    for paths in ([one, two], [two, one], [one, one, two]):
        with pytest.raises(InputError) as caught:
            read_aligned(*paths)
        expected = f"{two}:4: {two} has 5 lines, but {one} has 3; expected the same number of lines"
        assert str(caught.value) == expected
