"""Tables and columns are renamed. No row changes."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

TABLES = {"laps": "passes", "points": "curve_points", "epoch": "cache_version"}
COLUMNS = {
    "allowances": {"span": "period_seconds", "span_number": "period"},
    "tasks": {
        "lines": "sentence_count",
        "required": "required_samples",
        "passes": "max_passes",
        "runs": "max_runs",
        "characters": "max_characters",
        "oracle": "has_oracle",
        "opened": "results_open",
    },
    "sentences": {"oracle": "oracle_score"},
    "runs": {"key": "id_key", "lap": "pass_number"},
    "passes": {"lap": "pass_number", "oracle": "oracle_score"},
    "submissions": {"lap": "pass_number"},
    "curve_points": {"lap": "pass_number", "oracle": "oracle_score"},
    "checkpoints": {"lap": "pass_number"},
}


def upgrade() -> None:
    for old, new in TABLES.items():
        op.execute(f"ALTER TABLE {old} RENAME TO {new}")
    for table, columns in COLUMNS.items():
        for old, new in columns.items():
            op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")  # SQLite renames in place, copying nothing
