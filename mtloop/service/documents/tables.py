"""Tables of documents and their units. Times are seconds since 1970."""

from __future__ import annotations

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

# `content` is the file as it came. `change` counts the changes of its units.
project_documents = Table(
    "project_documents",
    metadata,
    Column("id", BIG, primary_key=True),
    Column("project_id", ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
    Column("token", String(32), nullable=False, unique=True),
    Column("name", String(200), nullable=False),
    Column("format", String(16), nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("units", Integer, nullable=False),
    Column("change", BIG, nullable=False),
    Column("created", Double, nullable=False),
    Column("participant_id", ForeignKey("participants.id", ondelete="SET NULL"), index=True),
    Index("project_documents_by_project", "project_id", "id"),
    sqlite_autoincrement=True,  # the id of a deleted document must not come again: opened files are kept by id
)

# `place` is the index of a unit in its file. `state` and `target` are what the file says. `segment` is the key of its
# corrections, and `correction` the number of the one that stands. `checks` are those that its present text fails.
# `change` is the number of the document's change that was the unit's last one.
document_units = Table(
    "document_units",
    metadata,
    Column("document_id", ForeignKey("project_documents.id", ondelete="CASCADE"), nullable=False),
    Column("place", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("fuzzy", Boolean, nullable=False),
    Column("context", JSON, nullable=False),
    Column("syntax", String(16), nullable=False),
    Column("segment", String(32), nullable=False, index=True),
    Column("correction", BIG),
    Column("draft", Text),
    Column("draft_participant_id", ForeignKey("participants.id", ondelete="SET NULL"), index=True),
    Column("checks", JSON, nullable=False),
    Column("failing", Boolean, nullable=False),
    Column("version", Integer, nullable=False),
    Column("change", BIG, nullable=False),
    PrimaryKeyConstraint("document_id", "place"),
    Index("document_units_by_state", "document_id", "state", "correction"),
    Index("document_units_by_change", "document_id", "change"),
)
