"""Phrase tables: Thot extracts phrases from aligned pairs, and the counts of several extractions are added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from mtloop.core.errors import InputError, need
from mtloop.smt.alignment import Pair, giza_alignment

Aligner: TypeAlias = Callable[[Sequence[str], Sequence[str]], Any]  # returns a matrix, source by target words
ALIGNMENT_FILE, PHRASE_TABLE_FILE = "tm.A3.final", "tm.ttable"
KEEP_ALL = -1  # no limit on the translations of a phrase


class PhraseTable:
    """The phrase table of a growing list of pairs, aligned by another model; only new pairs are extracted."""

    def __init__(self, aligner: Aligner, max_phrase_length: int) -> None:
        self.aligner, self.max_phrase_length = aligner, max_phrase_length
        self._counts: Counter[tuple[str, str]] = Counter()
        self._extracted = 0  # pairs in the counts

    def write(self, pairs: Sequence[Pair], folder: Path) -> None:
        """Write the table of all `pairs`, which must begin with the pairs of the last call."""
        if new := pairs[self._extracted :]:
            _write_alignments(new, folder, self.aligner)
            extract_phrases(folder, self.max_phrase_length)
            for target, source, count in _read_counts(folder):
                self._counts[target, source] += count
        self._extracted = len(pairs)
        self._write(folder)

    def _write(self, folder: Path) -> None:
        """Write sorted lines, so that the file does not depend on how often pairs were added."""
        totals: Counter[str] = Counter()
        for (target, _), count in self._counts.items():
            totals[target] += count
        lines = (
            f"{target} ||| {source} ||| {totals[target]} {self._counts[target, source]}\n"
            for target, source in sorted(self._counts)
        )
        with (folder / PHRASE_TABLE_FILE).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)


def extract_phrases(folder: Path, max_phrase_length: int, max_translations: int = KEEP_ALL) -> None:
    """Turn the alignments in a folder into a phrase table, with the `max_translations` best for each phrase."""
    tt = need("thot.translation", "smt")
    settings = tt.PhraseExtractParameters()
    settings.max_target_phrase_length, settings.constrain_source_length = max_phrase_length, True
    model = tt.PhraseModel()
    if not model.build(str(folder / ALIGNMENT_FILE), settings, False):
        raise InputError("Thot could not extract phrases", path=folder)
    model.print_phrase_table(str(folder / PHRASE_TABLE_FILE), n=max_translations)
    model.clear()
    (folder / ALIGNMENT_FILE).unlink()


def _write_alignments(pairs: Sequence[Pair], folder: Path, aligner: Aligner) -> None:
    with (folder / ALIGNMENT_FILE).open("w", encoding="utf-8", newline="\n") as file:
        for source, target in pairs:
            file.write(giza_alignment(target, source, aligner(source, target).T))


def _read_counts(folder: Path) -> Iterator[tuple[str, str, int]]:
    """Yield target phrase, source phrase and the number of times they were extracted together."""
    with (folder / PHRASE_TABLE_FILE).open(encoding="utf-8") as file:
        for line in file:
            target, source, counts = line.split(" ||| ")
            yield target, source, round(float(counts.split()[1]))
