"""Write the parts of the data that experiments report on: python scripts/data_parts.py DATA FOLDER

A part is a file with some documents of a stream, in their order. Settings were chosen on documents with an even index,
so reports use documents with an odd index. docs/reference/data-sets.md describes the streams.
"""

from __future__ import annotations

import argparse
import lzma
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """Which documents of `stream` a part has: those that begin after row `skip`; with `odd`, those with an odd index.

    `shortest` and `longest` limit the number of segments of a document, `documents` and `segments` the length of the
    part. 0 means no limit.
    """

    stream: str
    skip: int
    odd: bool = False
    shortest: int = 0
    longest: int = 0
    documents: int = 0
    segments: int = 0

    def rows(self, table: Sequence[str]) -> list[str]:
        """Return the chosen rows of a table, which begins with a row of names."""
        chosen = [rows for rows in _documents(table, self.skip, self.odd) if self._has_length(len(rows))]
        rows = [row for document in chosen[: self.documents or None] for row in document]
        return [table[0], *rows[: self.segments or None]]

    def _has_length(self, length: int) -> bool:
        return self.shortest <= length and (not self.longest or length <= self.longest)


PARTS = {
    "office-help-report.en-de.tsv": Part("office-help.en-de.tsv.xz", skip=20_000, odd=True, segments=1500),
    "office-help-long-documents.en-de.tsv": Part(
        "office-help.en-de.tsv.xz", skip=2000, odd=True, shortest=30, longest=62, documents=40
    ),
    "office-help-new-sentences.en-de.tsv": Part("office-help.en-de.tsv.xz", skip=2000, odd=True, segments=6000),
    "php-manual-long-documents.en-de.tsv": Part(
        "php-manual.en-de.tsv.xz", skip=6300, shortest=20, longest=110, documents=40
    ),
}


def write_part(name: str, data: Path, folder: Path) -> Path:
    """Write a part of a stream in `data`/streams into the folder; return its path."""
    part = PARTS[name]
    with lzma.open(data / "streams" / part.stream, "rt", encoding="utf-8", newline="\n") as file:
        rows = part.rows(file.read().rstrip("\n").split("\n"))
    path = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def _documents(table: Sequence[str], skip: int, odd: bool) -> Iterator[list[str]]:
    """Yield the rows of each document. The index of a document counts from 0 over the whole stream."""
    column = table[0].split("\t").index("document")
    documents: dict[str, list[str]] = {}
    first_rows: dict[str, int] = {}
    for number, row in enumerate(table[1:]):
        name = row.split("\t")[column]
        documents.setdefault(name, []).append(row)
        first_rows.setdefault(name, number)
    for index, (name, rows) in enumerate(documents.items()):
        if first_rows[name] >= skip and (index % 2 or not odd):
            yield rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    for name in PARTS:
        print(write_part(name, options.data, options.folder))


if __name__ == "__main__":
    main()
