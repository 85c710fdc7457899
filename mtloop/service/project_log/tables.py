"""Tables of projects, their members, events, open proposals and snapshots, and of what other tools keep in them.

Times are seconds since 1970.
"""

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
    UniqueConstraint,
)

from mtloop.service.database import BIG, metadata

# `number` is that of the newest event, and `proposals` that of the newest proposal for a rating. The other columns hold
# what the newest `settings` event says.
projects = Table(
    "projects",
    metadata,
    Column("id", BIG, primary_key=True),
    Column("name", String(80), nullable=False, unique=True),
    Column("source_language", String(16), nullable=False),
    Column("target_language", String(16), nullable=False),
    Column("model", String(200), nullable=False),
    Column("method", String(80), nullable=False),
    Column("settings", JSON, nullable=False),
    Column("review", Boolean, nullable=False),
    Column("number", BIG, nullable=False),
    Column("created", Double, nullable=False),
    Column("proposals", BIG, nullable=False, server_default="0"),
    sqlite_autoincrement=True,  # an engine may still hold a deleted project: its id must not come again
)

project_members = Table(
    "project_members",
    metadata,
    Column("project_id", ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("role", String(16), nullable=False),
    PrimaryKeyConstraint("project_id", "participant_id"),
)

# `segment` identifies what a confirmation is about (see `Confirmed.segment_key`). `of` is the event that an undo, redo
# or review is about. `learned` is what the engine made of a lesson; it follows from the events and may be missing.
# `base_translation` is the translation of the frozen base model, once somebody has asked for statistics.
project_events = Table(
    "project_events",
    metadata,
    Column("project_id", ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
    Column("number", BIG, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("body", JSON, nullable=False),
    Column("segment", String(32)),
    Column("of", BIG),
    Column("time", Double, nullable=False),
    Column("participant_id", ForeignKey("participants.id", ondelete="SET NULL"), index=True),
    Column("learned", JSON),
    Column("base_translation", String),
    PrimaryKeyConstraint("project_id", "number"),
    Index("project_events_by_segment", "project_id", "segment", "number"),
    Index("project_events_by_of", "project_id", "of", "number"),
)

# Translations that a method drew at random, until somebody rates them.
project_proposals = Table(
    "project_proposals",
    metadata,
    Column("id", BIG, primary_key=True),
    Column("project_id", ForeignKey("projects.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("token", String(32), nullable=False, unique=True),
    Column("body", JSON, nullable=False),
    Column("created", Double, nullable=False),
)

project_snapshots = Table(
    "project_snapshots",
    metadata,
    Column("project_id", ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
    Column("digest", String(32), nullable=False),
    Column("lessons", Integer, nullable=False),
    Column("platform", String(200), nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("created", Double, nullable=False),
    PrimaryKeyConstraint("project_id", "digest"),
)

# A memory of ModernMT is a name for some of the corrections of a project: those of the document `memory/ID`.
project_memories = Table(
    "project_memories",
    metadata,
    Column("id", BIG, primary_key=True),
    Column("project_id", ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
    Column("name", String(200), nullable=False),
    Column("description", String(1000), nullable=False),
    Column("external_id", String(200)),
    Column("created", Double, nullable=False),
    UniqueConstraint("project_id", "external_id"),
    sqlite_autoincrement=True,
)

# Files that are translated as a whole. `status` is queued, translating, done or error.
project_files = Table(
    "project_files",
    metadata,
    Column("token", String(32), primary_key=True),
    Column("project_id", ForeignKey("projects.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("key_hash", String(64), nullable=False),
    Column("name", String(200), nullable=False),
    Column("status", String(16), nullable=False),
    Column("characters", BIG, nullable=False),
    Column("result", LargeBinary),
    Column("error", String(500), nullable=False),
    Column("created", Double, nullable=False),
)

# Translation memories that a client uploads to an address which it was given before. The address is stored as a hash.
project_uploads = Table(
    "project_uploads",
    metadata,
    Column("job", String(32), primary_key=True),
    Column("address_hash", String(64), nullable=False, unique=True),
    Column("project_id", ForeignKey("projects.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("name", String(200), nullable=False),
    Column("status", String(16), nullable=False),
    Column("first", BIG),
    Column("last", BIG),
    Column("error", String(500), nullable=False),
    Column("expires", Double, nullable=False),
    Column("created", Double, nullable=False),
)

# The secret with which Weblate signs what it sends for a project, and what has come so far.
project_webhooks = Table(
    "project_webhooks",
    metadata,
    Column("project_id", ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True),
    Column("secret", String(200), nullable=False),
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("created", Double, nullable=False),
)

project_deliveries = Table(
    "project_deliveries",
    metadata,
    Column("project_id", ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
    Column("delivery", String(200), nullable=False),
    Column("time", Double, nullable=False),
    PrimaryKeyConstraint("project_id", "delivery"),
)
