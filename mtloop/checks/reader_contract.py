"""What every reader keeps to; import `check_reader` into the tests of your own."""

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
CUTS = 32


def check_reader(reader: Read, path: str | Path, expected: Sequence[tuple[str, str]] | None = None) -> None:
    """Run the whole contract on a good file.

    `reader` takes a path and gives pairs, as `mtloop.data.read` does. `expected` are the sources and targets that the
    file holds, letter for letter: with some that are not in Unicode's normal form, they show that nothing is changed.
    """
    path = Path(path)
    pairs = list(reader(path))
    check_pairs(pairs)
    assert list(reader(path)) == pairs, "reading twice gives the same"
    if expected is not None:
        read = [(segment.source, truth.references[0]) for segment, truth in pairs if truth is not None]
        assert read == list(expected), "texts come as the file has them"
    with tempfile.TemporaryDirectory() as folder:
        check_refusals(reader, Path(folder), path.name)
        check_cut_short(reader, Path(folder), path)


def check_pairs(pairs: Sequence[tuple[Segment, Truth | None]]) -> None:
    """Pairs have unique ids, texts that are plain strings and not empty, and survive the wire."""
    assert pairs, "a good file holds at least one pair"
    ids = [segment.id for segment, _ in pairs]
    assert len(set(ids)) == len(ids), "ids are unique"
    for segment, truth in pairs:
        references = () if truth is None else truth.references
        assert truth is None or references, "a truth has a reference"
        for text in (segment.id, segment.source, *references):
            assert type(text) is str, "texts are plain strings, not a parser's own kind"
            assert text.strip(), "ids, sources and references are not empty"
        assert decode(Segment, encode(segment)) == segment, "a segment survives the wire"


def check_refusals(reader: Read, folder: Path, name: str) -> None:
    """What is no such file is refused in one line that names it."""
    assert_refused(reader, folder / "missing" / name)
    (folder / "folder" / name).mkdir(parents=True)
    assert_refused(reader, folder / "folder" / name)
    for kind, content in (("empty", b""), ("garbage", GARBAGE)):
        assert_refused(reader, _write(folder / kind / name, content))


def check_cut_short(reader: Read, folder: Path, path: Path) -> None:
    """A file that ends too early is read as far as it makes sense, or refused; there are no other errors."""
    content = path.read_bytes()
    for cut in sorted({len(content) * part // CUTS for part in range(CUTS)}):
        assert_read_or_refused(reader, _write(folder / "cut" / path.name, content[:cut]))


def assert_refused(reader: Read, path: Path) -> None:
    """Reading fails with an `InputError` that is one line and names the file."""
    try:
        list(reader(path))
    except InputError as error:
        _check_message(error, path)
    else:
        raise AssertionError(f"{path} was read without a word")


def assert_read_or_refused(reader: Read, path: Path) -> None:
    """Reading gives good pairs or fails as it should, whatever the file holds."""
    try:
        check_pairs(list(reader(path)))
    except MtloopError as error:
        _check_message(error, path)


def _check_message(error: MtloopError, path: Path) -> None:
    message = str(error)
    assert str(path) in message, f"the message names the file: {message}"
    assert len(message.splitlines()) == 1, f"the message is one line: {message!r}"


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path
