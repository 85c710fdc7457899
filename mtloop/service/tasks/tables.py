"""Tables of tasks, sentences, runs and submissions. Times are seconds since 1970.

The id of a sentence combines its task's id and its number (see `sentence_id`), so sentences of any tasks can be read
with one list of ids. A pass over the stream has a `pass_number`, because `pass` is a keyword of Python.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from mtloop.service.database import BIG, metadata

OUTSIDE = -1  # the "block" of the sentences outside the blocks: they are summed too, so that all cost the same
STATISTICS = 10  # what corpus BLEU sums: two lengths, four numbers of matches, four totals

tasks = Table(
    "tasks",
    metadata,
    Column("id", BIG, primary_key=True),
    Column("name", String(80), nullable=False, unique=True),
    Column("kind", String(16), nullable=False),
    Column("source_language", String(16), nullable=False),
    Column("target_language", String(16), nullable=False),
    Column("sentence_count", BIG, nullable=False),
    Column("held_out", BIG, nullable=False),
    Column("blocks", Integer, nullable=False),
    Column("samples", BIG, nullable=False),
    Column("required_samples", BIG, nullable=False),
    Column("max_passes", Integer, nullable=False),
    Column("max_runs", Integer, nullable=False),
    Column("max_characters", Integer, nullable=False),
    Column("reward", String(80), nullable=False),
    Column("noise", JSON, nullable=False),
    Column("preprocess", JSON, nullable=False),
    Column("has_oracle", Boolean, nullable=False),
    Column("ready", Boolean, nullable=False),
    Column("stopped", Boolean, nullable=False),
    Column("results_open", Boolean, nullable=False),
    Column("created", Double, nullable=False),
)

sentences = Table(
    "sentences",
    metadata,
    Column("id", BIG, primary_key=True, autoincrement=False),
    Column("source", Text, nullable=False),
    Column("reference", Text, nullable=False),
    Column("oracle_score", Double),
)

runs = Table(
    "runs",
    metadata,
    Column("id", BIG, primary_key=True),
    Column("token", String(32), nullable=False, unique=True),
    Column("id_key", LargeBinary(16), nullable=False),
    Column("task_id", ForeignKey("tasks.id", ondelete="CASCADE"), nullable=False),
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
    Column("name", String(80), nullable=False),
    Column("pass_number", Integer, nullable=False),
    Column("created", Double, nullable=False),
    Index("runs_of_participant", "participant_id", "task_id"),
    Index("runs_of_task", "task_id"),
)


def _table_of_passes(name: str, key: str, *columns: Column[Any]) -> Table:
    """A table whose rows belong to a pass of a run; `key` is the rest of the primary key, if there is more."""
    primary = ("run_id", "pass_number", key) if key else ("run_id", "pass_number")
    first: tuple[Column[Any], ...] = (
        Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
        Column("pass_number", Integer),
    )
    own: tuple[Column[Any], ...] = (Column(key, BIG),) if key else ()
    return Table(name, metadata, *first, *own, *columns, PrimaryKeyConstraint(*primary), sqlite_with_rowid=False)


def _sums() -> tuple[Column[Any], ...]:
    return tuple(Column(name, Double, nullable=False) for name in ("reward", "score", "oracle_score"))


passes = _table_of_passes(
    "passes",
    "",
    Column("position", BIG, nullable=False),
    *_sums(),
    Column("started", Double, nullable=False),
    Column("updated", Double, nullable=False),
)
submissions = _table_of_passes(
    "submissions",
    "position",
    Column("translation", Text, nullable=False),
    Column("reward", Double, nullable=False),
    Column("score", Double, nullable=False),
)
curve_points = _table_of_passes("curve_points", "position", *_sums())
checkpoints = _table_of_passes(
    "checkpoints",
    "block",
    Column("count", BIG, nullable=False),
    Column("reward", Double, nullable=False),
    Column("score", Double, nullable=False),
    *(Column(f"s{number}", BIG, nullable=False) for number in range(STATISTICS)),
)


def sentence_id(task_id: int, number: int) -> int:
    """The id of a task's sentence. A task can have up to 2^32 sentences.

    >>> sentence_id(1, 0), sentence_id(1, 1)
    (4294967296, 4294967297)
    """
    return (task_id << 32) + number
