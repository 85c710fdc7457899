"""The table of the audit log. Triggers of the database refuse to change or delete its rows."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Double, String, Table

from mtloop.service.database import BIG, metadata

# No foreign keys: an entry stays when the participant or the task is deleted.
audit = Table(
    "audit",
    metadata,
    Column("id", BIG, primary_key=True),
    Column("time", Double, nullable=False),
    Column("actor", String(80), nullable=False),
    Column("via", String(16), nullable=False),
    Column("action", String(40), nullable=False),
    Column("subject", String(80), nullable=False),
    Column("detail", JSON, nullable=False),
)
