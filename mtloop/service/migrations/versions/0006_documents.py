"""Documents of projects, and their units."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _of_participant(name: str) -> sa.Column[int]:
    return sa.Column(name, BIG, sa.ForeignKey("participants.id", ondelete="SET NULL"), nullable=True)


def upgrade() -> None:
    op.create_table(
        "project_documents",
        sa.Column("id", BIG, nullable=False),
        sa.Column("project_id", BIG, sa.ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("format", sa.String(length=16), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("units", sa.Integer(), nullable=False),
        sa.Column("change", BIG, nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        _of_participant("participant_id"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_project_documents_participant_id", "project_documents", ["participant_id"])
    op.create_index("project_documents_by_project", "project_documents", ["project_id", "id"])
    op.create_table(
        "document_units",
        sa.Column("document_id", BIG, sa.ForeignKey("project_documents.id", ondelete="CASCADE"), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("fuzzy", sa.Boolean(), nullable=False),
        sa.Column("context", sa.JSON(), nullable=False),
        sa.Column("syntax", sa.String(length=16), nullable=False),
        sa.Column("segment", sa.String(length=32), nullable=False),
        sa.Column("correction", BIG, nullable=True),
        sa.Column("draft", sa.Text(), nullable=True),
        _of_participant("draft_participant_id"),
        sa.Column("checks", sa.JSON(), nullable=False),
        sa.Column("failing", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("change", BIG, nullable=False),
        sa.PrimaryKeyConstraint("document_id", "place"),
    )
    op.create_index("ix_document_units_segment", "document_units", ["segment"])
    op.create_index("ix_document_units_draft_participant_id", "document_units", ["draft_participant_id"])
    op.create_index("document_units_by_state", "document_units", ["document_id", "state", "correction"])
    op.create_index("document_units_by_change", "document_units", ["document_id", "change"])
