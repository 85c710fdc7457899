"""The languages of a Marian model folder, read from its JSON files. Neither torch nor the weights are loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILES = ("tokenizer_config.json", "config.json")
FIELDS = ("source_lang", "target_lang")


def model_languages(folder: Path) -> tuple[str, str]:
    """Return the source and the target language of a model, "" for one that its files do not name."""
    tables = [_read(folder / name) for name in FILES]
    source, target = (next((str(table[field]) for table in tables if table.get(field)), "") for field in FIELDS)
    return source, target


def _read(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if it cannot be read. Loading the model reports a damaged file."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}
