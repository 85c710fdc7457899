"""What must hold for every file that is filled in, whatever its format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mtloop.data.formats.filling import BilingualFile, Filling, UnitState, open_file


def fillings(file: BilingualFile, texts: Mapping[str, str]) -> dict[int, Filling]:
    """The texts, by the ids of their units, as fillings."""
    indices = {unit.id: index for index, unit in enumerate(file.units)}
    return {indices[name]: Filling(text) for name, text in texts.items()}


def open_ids(file: BilingualFile) -> list[str]:
    """The ids of the units that are not locked."""
    return [unit.id for unit in file.units if unit.state is not UnitState.LOCKED]


def filled(path: Path, texts: Mapping[str, str], **options: Any) -> bytes:
    """Fill a file in, and check that it can be read back: the new targets, and all others as they were."""
    file = open_file(path, **options)
    if path.exists() and path.stat().st_size:
        assert file.filled({}) == path.read_bytes()
    content = file.filled(fillings(file, texts))
    before = {unit.id: unit.target for unit in file.units}
    old = path.read_bytes() if path.exists() else None
    path.write_bytes(content)
    again = open_file(path, **options)
    assert [(unit.id, unit.source) for unit in again.units] == [(unit.id, unit.source) for unit in file.units]
    sources = {unit.id: unit.source for unit in file.units}
    for unit in again.units:
        expected = texts.get(unit.id, before[unit.id])
        is_copied = unit.id not in texts and unit.state is not UnitState.TRANSLATED and unit.target == sources[unit.id]
        assert unit.target == expected or is_copied, unit.id
    assert again.filled({}) == content
    path.unlink() if old is None else path.write_bytes(old)
    return content
