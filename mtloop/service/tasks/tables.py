"""The tables. A pass over the stream is a `lap` here: `pass` is a word of Python and of SQL's neighbours.

Clock times are seconds since 1970. A sentence's id is its task's id and its number in one (see `sentence_id`), so
that a list of sentences of any tasks is one `id IN (...)`.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

BIG = BigInteger().with_variant(Integer, "sqlite")
STATISTICS = 10  # what corpus BLEU adds up: two lengths, four matches, four totals

metadata = MetaData()

participants = Table(
    "participants",
    metadata,
    Column("id", BIG, primary_key=True),
    Column("name", String(80), nullable=False, unique=True),
    Column("organiser", Boolean, nullable=False),
    Column("created", Double, nullable=False),
)

keys = Table(
    "keys",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("created", Double, nullable=False),
    Column("revoked", Double),
)

sessions = Table(
    "sessions",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("key_hash", ForeignKey("keys.hash", ondelete="CASCADE"), nullable=False, index=True),
    Column("expires", Double, nullable=False),
)

allowances = Table(
    "allowances",
    metadata,
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
    Column("span", Integer, nullable=False),
    Column("span_number", BIG, nullable=False),
    Column("used", BIG, nullable=False),
    PrimaryKeyConstraint("participant_id", "span"),
    sqlite_with_rowid=False,
)

tasks = Table(
    "tasks",
    metadata,
    Column("id", BIG, primary_key=True),
    Column("name", String(80), nullable=False, unique=True),
    Column("kind", String(16), nullable=False),
    Column("source_language", String(16), nullable=False),
    Column("target_language", String(16), nullable=False),
    Column("lines", BIG, nullable=False),
    Column("held_out", BIG, nullable=False),
    Column("blocks", Integer, nullable=False),
    Column("samples", BIG, nullable=False),
    Column("required", BIG, nullable=False),
    Column("passes", Integer, nullable=False),
    Column("runs", Integer, nullable=False),
    Column("characters", Integer, nullable=False),
    Column("reward", String(80), nullable=False),
    Column("noise", JSON, nullable=False),
    Column("preprocess", JSON, nullable=False),
    Column("oracle", Boolean, nullable=False),
    Column("ready", Boolean, nullable=False),
    Column("stopped", Boolean, nullable=False),
    Column("opened", Boolean, nullable=False),
    Column("created", Double, nullable=False),
)

sentences = Table(
    "sentences",
    metadata,
    Column("id", BIG, primary_key=True, autoincrement=False),
    Column("source", Text, nullable=False),
    Column("reference", Text, nullable=False),
    Column("oracle", Double),
)

runs = Table(
    "runs",
    metadata,
    Column("id", BIG, primary_key=True),
    Column("token", String(32), nullable=False, unique=True),
    Column("key", LargeBinary(16), nullable=False),
    Column("task_id", ForeignKey("tasks.id", ondelete="CASCADE"), nullable=False),
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
    Column("name", String(80), nullable=False),
    Column("lap", Integer, nullable=False),
    Column("created", Double, nullable=False),
    Index("runs_of_participant", "participant_id", "task_id"),
    Index("runs_of_task", "task_id"),
)


def _of_run(name: str, place: str, *columns: Column[Any]) -> Table:
    """A table whose rows belong to a pass of a run."""
    key = ("run_id", "lap", place) if place else ("run_id", "lap")
    kept: tuple[Column[Any], ...] = (
        Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
        Column("lap", Integer),
    )
    placed: tuple[Column[Any], ...] = (Column(place, BIG),) if place else ()
    return Table(name, metadata, *kept, *placed, *columns, PrimaryKeyConstraint(*key), sqlite_with_rowid=False)


def _sums() -> tuple[Column[Any], ...]:
    return tuple(Column(name, Double, nullable=False) for name in ("reward", "score", "oracle"))


laps = _of_run(
    "laps",
    "",
    Column("position", BIG, nullable=False),
    *_sums(),
    Column("started", Double, nullable=False),
    Column("updated", Double, nullable=False),
)
submissions = _of_run(
    "submissions",
    "position",
    Column("translation", Text, nullable=False),
    Column("reward", Double, nullable=False),
    Column("score", Double, nullable=False),
)
points = _of_run("points", "position", *_sums())
checkpoints = _of_run(
    "checkpoints",
    "block",
    Column("count", BIG, nullable=False),
    Column("reward", Double, nullable=False),
    Column("score", Double, nullable=False),
    *(Column(f"s{number}", BIG, nullable=False) for number in range(STATISTICS)),
)

epoch = Table(
    "epoch",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("value", BIG, nullable=False),
)


def sentence_id(task_id: int, number: int) -> int:
    """The id of a task's sentence: up to four thousand million sentences a task.

    >>> sentence_id(1, 0), sentence_id(1, 1)
    (4294967296, 4294967297)
    """
    return (task_id << 32) + number
