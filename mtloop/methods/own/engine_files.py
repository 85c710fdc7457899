"""The fingerprint of a user's own engine: a hash of each file that its name refers to.

The header of a trace holds it, so a run is not resumed with another version of the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path


def fingerprint_of(files: Iterable[Path]) -> str:
    """Return the name and the hash of each file, separated by commas."""
    return ", ".join(f"{path.name} {_hash_of(path)}" for path in files)


def files_in_command(arguments: Iterable[str]) -> Iterator[Path]:
    """Yield the existing files that the words of a command name, also as `--option=FILE`."""
    for word in arguments:
        for text in (word, word.partition("=")[2]):
            if text and _is_file(Path(text)):
                yield Path(text)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a word that cannot be a file name
        return False


def _hash_of(path: Path) -> str:
    hashed = blake2b(digest_size=8)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            hashed.update(block)
    return hashed.hexdigest()
