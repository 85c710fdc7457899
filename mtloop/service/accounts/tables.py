"""Tables of participants, keys, sessions and used allowances. Times are seconds since 1970."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Double, ForeignKey, Integer, PrimaryKeyConstraint, String, Table

from mtloop.service.database import BIG, metadata

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
    Column("expires", Double),
)

sessions = Table(
    "sessions",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("key_hash", ForeignKey("keys.hash", ondelete="CASCADE"), nullable=False, index=True),
    Column("expires", Double, nullable=False),
)

# `period` counts periods of `period_seconds` since 1970; `used` is the number of requests in the newest one.
allowances = Table(
    "allowances",
    metadata,
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
    Column("period_seconds", Integer, nullable=False),
    Column("period", BIG, nullable=False),
    Column("used", BIG, nullable=False),
    PrimaryKeyConstraint("participant_id", "period_seconds"),
    sqlite_with_rowid=False,
)
