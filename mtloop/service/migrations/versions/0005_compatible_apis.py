"""Compatible APIs: memories, files, uploads and webhooks of projects. Proposals of a project have numbers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _of_project(name: str = "project_id") -> sa.Column[int]:
    return sa.Column(name, BIG, sa.ForeignKey("projects.id", ondelete="CASCADE"), nullable=False)


def _of_participant() -> sa.Column[int]:
    return sa.Column("participant_id", BIG, sa.ForeignKey("participants.id", ondelete="CASCADE"), nullable=False)


def upgrade() -> None:
    op.add_column("projects", sa.Column("proposals", BIG, nullable=False, server_default="0"))
    op.create_table(
        "project_memories",
        sa.Column("id", BIG, nullable=False),
        _of_project(),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("description", sa.String(length=1000), nullable=False),
        sa.Column("external_id", sa.String(length=200), nullable=True),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("project_id", "external_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "project_files",
        sa.Column("token", sa.String(length=32), nullable=False),
        _of_project(),
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("characters", BIG, nullable=False),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.Column("error", sa.String(length=500), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("token"),
    )
    op.create_index("ix_project_files_project_id", "project_files", ["project_id"])
    op.create_table(
        "project_uploads",
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("address_hash", sa.String(length=64), nullable=False),
        _of_project(),
        _of_participant(),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("first", BIG, nullable=True),
        sa.Column("last", BIG, nullable=True),
        sa.Column("error", sa.String(length=500), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("job"),
        sa.UniqueConstraint("address_hash"),
    )
    op.create_index("ix_project_uploads_project_id", "project_uploads", ["project_id"])
    op.create_index("ix_project_uploads_participant_id", "project_uploads", ["participant_id"])
    op.create_table(
        "project_webhooks",
        _of_project(),
        sa.Column("secret", sa.String(length=200), nullable=False),
        _of_participant(),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("project_id"),
    )
    op.create_index("ix_project_webhooks_participant_id", "project_webhooks", ["participant_id"])
    op.create_table(
        "project_deliveries",
        _of_project(),
        sa.Column("delivery", sa.String(length=200), nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "delivery"),
    )
