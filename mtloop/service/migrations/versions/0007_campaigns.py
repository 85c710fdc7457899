"""Rating campaigns: raters and events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "campaigns",
        sa.Column("id", BIG, nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("number", BIG, nullable=False),
        sa.Column("stopped", sa.Boolean(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "campaign_raters",
        sa.Column("id", BIG, nullable=False),
        sa.Column("campaign_id", BIG, sa.ForeignKey("campaigns.id", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_hash"),
        sa.UniqueConstraint("campaign_id", "name"),
    )
    op.create_table(
        "campaign_events",
        sa.Column("campaign_id", BIG, sa.ForeignKey("campaigns.id", ondelete="CASCADE"), nullable=False),
        sa.Column("number", BIG, nullable=False),
        sa.Column("rater_id", BIG, sa.ForeignKey("campaign_raters.id", ondelete="CASCADE"), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("of", BIG, nullable=True),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("campaign_id", "number"),
    )
    op.create_index("ix_campaign_events_rater_id", "campaign_events", ["rater_id"])
