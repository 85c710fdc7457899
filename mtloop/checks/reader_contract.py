"""The contract of file readers. Call `check_reader` in the tests of a plugin."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from mtloop.core.errors import InputError, MtloopError
from mtloop.core.serialisation import decode, encode
from mtloop.core.types import Segment, Truth

Pairs: TypeAlias = Iterable[tuple[Segment, Truth | None]]
Read: TypeAlias = Callable[[Path], Pairs]

GARBAGE = b"\xff\x00\xfe<garbage>\r\n\t\x1f\x8b" * 50
TRUNCATIONS = 32  # number of lengths at which a file is cut off


def check_reader(reader: Read, path: str | Path, expected: Sequence[tuple[str, str]] | None = None) -> None:
    """Check the whole contract of a reader; raise AssertionError with a description of the first violation.

    Args:
        reader: Takes a path and returns pairs, as `mtloop.data.read` does.
        path: A valid file.
        expected: The exact sources and targets of the file. Include texts that are not in Unicode normal form, to show
            that the reader changes nothing.
    """
    path = Path(path)
    pairs = list(reader(path))
    check_pairs(pairs)
    assert list(reader(path)) == pairs, "reading a file twice must give the same pairs"
    if expected is not None:
        read = [(segment.source, truth.references[0]) for segment, truth in pairs if truth is not None]
        assert read == list(expected), "the texts must be exactly those of the file"
    with tempfile.TemporaryDirectory() as folder:
        check_invalid_files(reader, Path(folder), path.name)
        check_truncated_files(reader, Path(folder), path)


def check_pairs(pairs: Sequence[tuple[Segment, Truth | None]]) -> None:
    """Ids are unique, texts are non-empty plain strings, and each segment has a JSON form."""
    assert pairs, "a valid file must give at least one pair"
    ids = [segment.id for segment, _ in pairs]
    assert len(set(ids)) == len(ids), "ids must be unique"
    for segment, truth in pairs:
        references = () if truth is None else truth.references
        assert truth is None or references, "a truth must have a reference"
        for text in (segment.id, segment.source, *references):
            assert type(text) is str, "texts must be plain str, not a subclass from a parser"
            assert text.strip(), "ids, sources and references must not be empty"
        decoded = decode(Segment, encode(segment))
        assert decoded == segment, "a segment must be equal after writing and reading its JSON form"


def check_invalid_files(reader: Read, folder: Path, name: str) -> None:
    """A missing, empty or garbage file and a folder raise an InputError with the file name in one line."""
    assert_refused(reader, folder / "missing" / name)
    (folder / "folder" / name).mkdir(parents=True)
    assert_refused(reader, folder / "folder" / name)
    for kind, content in (("empty", b""), ("garbage", GARBAGE)):
        assert_refused(reader, _write(folder / kind / name, content))


def check_truncated_files(reader: Read, folder: Path, path: Path) -> None:
    """A truncated file gives valid pairs or an MtloopError, and no other error."""
    content = path.read_bytes()
    for size in sorted({len(content) * part // TRUNCATIONS for part in range(TRUNCATIONS)}):
        assert_read_or_refused(reader, _write(folder / "cut" / path.name, content[:size]))


def assert_refused(reader: Read, path: Path) -> None:
    """Assert that reading raises an `InputError` with the file name in one line."""
    try:
        list(reader(path))
    except InputError as error:
        _check_message(error, path)
    else:
        raise AssertionError(f"{path} was read without an error; expected an InputError")


def assert_read_or_refused(reader: Read, path: Path) -> None:
    """Assert that reading gives valid pairs or an `MtloopError` with the file name in one line."""
    try:
        check_pairs(list(reader(path)))
    except MtloopError as error:
        _check_message(error, path)


def _check_message(error: MtloopError, path: Path) -> None:
    message = str(error)
    assert str(path) in message, f"the message must contain the file name: {message}"
    assert len(message.splitlines()) == 1, f"the message must be one line: {message!r}"


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path
