"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "epoch",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("value", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "participants",
        sa.Column("id", BIG, nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("organiser", sa.Boolean(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "sentences",
        sa.Column("id", BIG, autoincrement=False, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("oracle", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "tasks",
        sa.Column("id", BIG, nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("source_language", sa.String(length=16), nullable=False),
        sa.Column("target_language", sa.String(length=16), nullable=False),
        sa.Column("lines", BIG, nullable=False),
        sa.Column("held_out", BIG, nullable=False),
        sa.Column("blocks", sa.Integer(), nullable=False),
        sa.Column("samples", BIG, nullable=False),
        sa.Column("required", BIG, nullable=False),
        sa.Column("passes", sa.Integer(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("characters", sa.Integer(), nullable=False),
        sa.Column("reward", sa.String(length=80), nullable=False),
        sa.Column("noise", sa.JSON(), nullable=False),
        sa.Column("preprocess", sa.JSON(), nullable=False),
        sa.Column("oracle", sa.Boolean(), nullable=False),
        sa.Column("ready", sa.Boolean(), nullable=False),
        sa.Column("stopped", sa.Boolean(), nullable=False),
        sa.Column("opened", sa.Boolean(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "allowances",
        sa.Column("participant_id", BIG, nullable=False),
        sa.Column("span", sa.Integer(), nullable=False),
        sa.Column("span_number", BIG, nullable=False),
        sa.Column("used", BIG, nullable=False),
        sa.ForeignKeyConstraint(["participant_id"], ["participants.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("participant_id", "span"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "keys",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("participant_id", BIG, nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("revoked", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["participant_id"], ["participants.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("hash"),
    )
    op.create_index(op.f("ix_keys_participant_id"), "keys", ["participant_id"], unique=False)
    op.create_table(
        "runs",
        sa.Column("id", BIG, nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("key", sa.LargeBinary(length=16), nullable=False),
        sa.Column("task_id", BIG, nullable=False),
        sa.Column("participant_id", BIG, nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("lap", sa.Integer(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["participant_id"], ["participants.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token"),
    )
    op.create_index("runs_of_participant", "runs", ["participant_id", "task_id"], unique=False)
    op.create_index("runs_of_task", "runs", ["task_id"], unique=False)
    op.create_table(
        "checkpoints",
        sa.Column("run_id", BIG, nullable=False),
        sa.Column("lap", sa.Integer(), nullable=False),
        sa.Column("block", BIG, nullable=False),
        sa.Column("count", BIG, nullable=False),
        sa.Column("reward", sa.Double(), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("s0", BIG, nullable=False),
        sa.Column("s1", BIG, nullable=False),
        sa.Column("s2", BIG, nullable=False),
        sa.Column("s3", BIG, nullable=False),
        sa.Column("s4", BIG, nullable=False),
        sa.Column("s5", BIG, nullable=False),
        sa.Column("s6", BIG, nullable=False),
        sa.Column("s7", BIG, nullable=False),
        sa.Column("s8", BIG, nullable=False),
        sa.Column("s9", BIG, nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "lap", "block"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "laps",
        sa.Column("run_id", BIG, nullable=False),
        sa.Column("lap", sa.Integer(), nullable=False),
        sa.Column("position", BIG, nullable=False),
        sa.Column("reward", sa.Double(), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("oracle", sa.Double(), nullable=False),
        sa.Column("started", sa.Double(), nullable=False),
        sa.Column("updated", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "lap"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "points",
        sa.Column("run_id", BIG, nullable=False),
        sa.Column("lap", sa.Integer(), nullable=False),
        sa.Column("position", BIG, nullable=False),
        sa.Column("reward", sa.Double(), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("oracle", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "lap", "position"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["key_hash"], ["keys.hash"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("hash"),
    )
    op.create_index(op.f("ix_sessions_key_hash"), "sessions", ["key_hash"], unique=False)
    op.create_table(
        "submissions",
        sa.Column("run_id", BIG, nullable=False),
        sa.Column("lap", sa.Integer(), nullable=False),
        sa.Column("position", BIG, nullable=False),
        sa.Column("translation", sa.Text(), nullable=False),
        sa.Column("reward", sa.Double(), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "lap", "position"),
        sqlite_with_rowid=False,
    )
    op.execute("INSERT INTO epoch (id, value) VALUES (1, 1)")
