"""Alembic's way in: the connection comes from the store, there is no alembic.ini."""

from __future__ import annotations

from alembic import context

from mtloop.service.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
