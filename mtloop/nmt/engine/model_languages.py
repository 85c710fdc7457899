"""The languages of a Marian model folder, read from its JSON files. Neither torch nor the weights are loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mtloop.core.json_files import parse_json

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
        table = parse_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}
