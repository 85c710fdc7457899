"""Phrase tables: Thot extracts the phrases of aligned pairs; their counts add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from mtloop.core.errors import InputError, need
from mtloop.smt.alignment import Pair, giza

Aligner: TypeAlias = Callable[[Sequence[str], Sequence[str]], Any]  # a pair to a matrix of source by target
ALIGNED, TABLE = "tm.A3.final", "tm.ttable"
ALL = -1  # translations of a phrase that are kept


class PhraseTable:
    """The phrases of pairs that another model aligns; a longer list of pairs costs what is new in it."""

    def __init__(self, aligner: Aligner, longest: int) -> None:
        self.aligner, self.longest = aligner, longest
        self._counts: Counter[tuple[str, str]] = Counter()
        self._seen = 0

    def write(self, pairs: Sequence[Pair], folder: Path) -> None:
        """The table of all `pairs`; those of the last time come first."""
        if new := pairs[self._seen :]:
            _write_alignments(new, folder, self.aligner)
            extract_phrases(folder, self.longest)
            for one, other, count in _read(folder):
                self._counts[one, other] += count
        self._seen = len(pairs)
        self._write(folder)

    def _write(self, folder: Path) -> None:
        """In an order that does not tell how often pairs were added."""
        totals: Counter[str] = Counter()
        for (one, _), count in self._counts.items():
            totals[one] += count
        lines = (
            f"{one} ||| {other} ||| {totals[one]} {self._counts[one, other]}\n" for one, other in sorted(self._counts)
        )
        with (folder / TABLE).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)


def extract_phrases(folder: Path, longest: int, best: int = ALL) -> None:
    """From the alignments in a folder to the table, with so many of the `best` translations of each phrase."""
    tt = need("thot.translation", "smt")
    settings = tt.PhraseExtractParameters()
    settings.max_target_phrase_length, settings.constrain_source_length = longest, True
    model = tt.PhraseModel()
    if not model.build(str(folder / ALIGNED), settings, False):
        raise InputError("Thot could not extract phrases", path=folder)
    model.print_phrase_table(str(folder / TABLE), n=best)
    model.clear()
    (folder / ALIGNED).unlink()


def _write_alignments(pairs: Sequence[Pair], folder: Path, aligner: Aligner) -> None:
    with (folder / ALIGNED).open("w", encoding="utf-8", newline="\n") as file:
        for source, target in pairs:
            file.write(giza(target, source, aligner(source, target).T))


def _read(folder: Path) -> Iterator[tuple[str, str, int]]:
    """Target, source and how often they came together."""
    with (folder / TABLE).open(encoding="utf-8") as file:
        for line in file:
            one, other, counts = line.split(" ||| ")
            yield one, other, round(float(counts.split()[1]))
