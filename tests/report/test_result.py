"""Results show themselves as their table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from mtloop.core.errors import MissingExtra
from mtloop.report.result import Result
from mtloop.report.table import Table


@dataclass(frozen=True, repr=False)
class Sums(Result):
    """A result with much data and a short table."""

    numbers: Sequence[float]

    @property
    def table(self) -> Table:
        total = sum(self.numbers)
        return Table(["name", "sum"], [["<all>", f"{total:.1f}"]], [{"name": "<all>", "sum": total}])


RESULT = Sums([0.5] * 100_000)


def test_a_result_prints_as_its_table() -> None:
    assert repr(RESULT) == str(RESULT) == str(RESULT.table)
    assert str(RESULT).splitlines()[-1] == "<all>   50000.0"
    assert len(repr(RESULT)) < 100


def test_a_notebook_shows_html_and_pandas_gets_numbers() -> None:
    assert ">&lt;all&gt;</td>" in RESULT._repr_html_()
    frame = RESULT.to_pandas()
    assert frame["sum"].tolist() == [50_000.0]
    assert frame["sum"].dtype == float


def test_without_pandas_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"^pandas is not installed; run: pip install 'mtloop\[pandas\]'$"):
        RESULT.to_pandas()


def test_a_result_needs_a_table() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Result()  # type: ignore[abstract]
