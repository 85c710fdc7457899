"""The base class of results: a short table in a terminal, HTML in a notebook, and a data frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from mtloop.report.table import Table

if TYPE_CHECKING:
    from pandas import DataFrame


class Result(ABC):
    """The result of a command. It prints as its table; a subclass must be a dataclass with `repr=False`."""

    @property
    @abstractmethod
    def table(self) -> Table:
        """The most important numbers."""

    def __str__(self) -> str:
        return str(self.table)

    def __repr__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def to_pandas(self) -> DataFrame:
        """Return the numbers of the table as a data frame; needs pandas."""
        return self.table.to_pandas()
