"""Count the queries that a request makes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa


@contextmanager
def queries_of(table: str) -> Iterator[list[str]]:
    """The queries that read a table during the block, in any database of this process."""
    found = list[str]()

    def note(connection: Any, cursor: Any, statement: str, *others: Any) -> None:
        if re.search(rf"\b(FROM|JOIN) {table}\b", statement) and statement.startswith("SELECT"):
            found.append(statement)

    sa.event.listen(sa.engine.Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        sa.event.remove(sa.engine.Engine, "before_cursor_execute", note)
