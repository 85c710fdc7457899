"""The folder that a Python call writes to when the user names none."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

_folders: list[TemporaryDirectory[str]] = []  # removed when Python ends


def output_folder(out: str | Path | None = None) -> Path:
    """Return `out`, or a new folder that exists until Python ends."""
    if out is not None:
        return Path(out)
    _folders.append(TemporaryDirectory(prefix="mtloop-"))
    return Path(_folders[-1].name)
