"""A table of results: as text, as HTML in a notebook, and as a data frame."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtloop.core.errors import need
from mtloop.core.types import JSON

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class Table:
    """Formatted `cells` for people, and unformatted `records` with the same rows for data frames.

    The first `text_columns` columns are aligned to the left, the others to the right. `notes` are printed below.

    >>> Table(("system", "BLEU"), [["mine", "31.20"]], [{"system": "mine", "bleu": 31.2}], title="Scores")
    Scores
    <BLANKLINE>
    system      BLEU
    --------  ------
    mine       31.20
    """

    headers: Sequence[str]
    cells: Sequence[Sequence[str]]
    records: Sequence[Mapping[str, JSON]] = ()
    title: str = ""
    notes: Sequence[str] = ()
    text_columns: int = 1

    def __str__(self) -> str:
        from tabulate import tabulate

        sides = self._sides if self.cells else None
        grid = tabulate(self.cells, self.headers, disable_numparse=True, colalign=sides)
        title = [self.title, ""] if self.title else []
        return "\n".join([*title, grid, *(["", *self.notes] if self.notes else [])])

    def __repr__(self) -> str:
        return str(self)

    def __len__(self) -> int:
        return len(self.cells)

    def _repr_html_(self) -> str:
        return "".join(self._html())

    def _html(self) -> Iterator[str]:
        yield "<table>"
        if self.title:
            yield f"<caption>{html.escape(self.title)}</caption>"
        yield f"<thead>{self._html_row('th', self.headers)}</thead><tbody>"
        yield from (self._html_row("td", row) for row in self.cells)
        yield "</tbody></table>"
        yield from (f"<p><small>{html.escape(note)}</small></p>" for note in self.notes if note)

    def _html_row(self, tag: str, texts: Sequence[str]) -> str:
        cells = (
            f'<{tag} style="text-align: {side}">{html.escape(text)}</{tag}>'
            for text, side in zip(texts, self._sides, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    @property
    def _sides(self) -> list[str]:
        """The alignment of each column."""
        return ["left" if column < self.text_columns else "right" for column in range(len(self.headers))]

    def to_pandas(self) -> DataFrame:
        """Return the unformatted values as a data frame; needs pandas."""
        need("pandas", "pandas")
        import pandas

        return pandas.DataFrame.from_records([dict(record) for record in self.records])
