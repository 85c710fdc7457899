"""Projects: members, events, open proposals and snapshots."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "projects",
        sa.Column("id", BIG, nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("source_language", sa.String(length=16), nullable=False),
        sa.Column("target_language", sa.String(length=16), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("method", sa.String(length=80), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("review", sa.Boolean(), nullable=False),
        sa.Column("number", BIG, nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "project_members",
        sa.Column("project_id", BIG, sa.ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        sa.Column("participant_id", BIG, sa.ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "participant_id"),
    )
    op.create_index("ix_project_members_participant_id", "project_members", ["participant_id"])
    op.create_table(
        "project_events",
        sa.Column("project_id", BIG, sa.ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        sa.Column("number", BIG, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("segment", sa.String(length=32), nullable=True),
        sa.Column("of", BIG, nullable=True),
        sa.Column("time", sa.Double(), nullable=False),
        sa.Column("participant_id", BIG, sa.ForeignKey("participants.id", ondelete="SET NULL"), nullable=True),
        sa.Column("learned", sa.JSON(), nullable=True),
        sa.Column("base_translation", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("project_id", "number"),
    )
    op.create_index("project_events_by_segment", "project_events", ["project_id", "segment", "number"])
    op.create_index("project_events_by_of", "project_events", ["project_id", "of", "number"])
    op.create_index("ix_project_events_participant_id", "project_events", ["participant_id"])
    op.create_table(
        "project_proposals",
        sa.Column("id", BIG, nullable=False),
        sa.Column("project_id", BIG, sa.ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token"),
    )
    op.create_index("ix_project_proposals_project_id", "project_proposals", ["project_id"])
    op.create_table(
        "project_snapshots",
        sa.Column("project_id", BIG, sa.ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        sa.Column("digest", sa.String(length=32), nullable=False),
        sa.Column("lessons", sa.Integer(), nullable=False),
        sa.Column("platform", sa.String(length=200), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "digest"),
    )
