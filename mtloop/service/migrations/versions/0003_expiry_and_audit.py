"""Keys can expire; an audit log that only grows; a row for the check of readiness."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REFUSAL = "the audit log can only grow"


def upgrade() -> None:
    op.add_column("keys", sa.Column("expires", sa.Double(), nullable=True))
    readiness = op.create_table(
        "readiness",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("checked", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.bulk_insert(readiness, [{"id": 1, "checked": 0.0}])
    op.create_table(
        "audit",
        sa.Column("id", BIG, nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.Column("actor", sa.String(length=80), nullable=False),
        sa.Column("via", sa.String(length=16), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("subject", sa.String(length=80), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    if op.get_bind().dialect.name == "postgresql":
        _refuse_changes_postgresql()
    else:
        _refuse_changes_sqlite()


def _refuse_changes_sqlite() -> None:
    for change in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER audit_no_{change.lower()} BEFORE {change} ON audit BEGIN "
            f"SELECT RAISE(ABORT, '{REFUSAL}'); END"
        )
    op.execute(  # INSERT OR REPLACE deletes the entry that it replaces without a DELETE trigger
        "CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit "
        "WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id) BEGIN "
        f"SELECT RAISE(ABORT, '{REFUSAL}'); END"
    )


def _refuse_changes_postgresql() -> None:
    op.execute(
        "CREATE FUNCTION audit_only_grows() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{REFUSAL}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER audit_only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_only_grows()"
    )
