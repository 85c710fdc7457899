"""Files as they come: packed or not, and text that is strictly UTF-8, one segment a line.

A byte-order mark and CRLF are accepted. A line ends at a newline only: the other characters that
`str.splitlines` breaks at (U+2028, form feed, ...) stand inside segments and would shift every line after them.
"""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

from mtloop.core.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LONGEST_LINE = 1 << 26  # no segment is longer, but an archive may unpack to one endless line
LARGEST_WHOLE = 1 << 28  # for the formats that have to be in memory all at once
_CHUNK = 1 << 18
_ZSTANDARD_CHUNK = 1 << 10  # unpacks to 32 MB at the very most


class ArchiveError(Exception):
    """What the libraries have no exception of their own for: an archive that cannot be unpacked."""


_DAMAGE = (ArchiveError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def kind_of(path: str | Path) -> str:
    """The suffix that tells the format, without that of the packing.

    >>> kind_of("manual.en-de.TSV.xz")
    '.tsv'
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in UNPACK:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def open_bytes(path: str | Path) -> io.BufferedReader:
    """Open a file to read, unpacking `.gz`, `.xz` and `.zst`; every failure, also later, is an `InputError`."""
    path = Path(path)
    try:
        packed = path.open("rb")
    except (OSError, ValueError) as error:
        raise InputError(_refusal(path, error), path=path) from error
    unpack = UNPACK.get(path.suffix.lower())
    return io.BufferedReader(_Unpacked(unpack(packed) if unpack else packed, packed, path), _CHUNK)


def read_bytes(path: str | Path) -> bytes:
    """A whole file, for the parsers that want it so."""
    with open_bytes(path) as file:
        content = file.read(LARGEST_WHOLE + 1)
    if not content:
        raise InputError("the file is empty", path=path)
    if len(content) > LARGEST_WHOLE:
        raise InputError(f"larger than {LARGEST_WHOLE >> 20} MB unpacked; split it, or use .tmx or .tsv", path=path)
    return content


def read_lines(path: str | Path) -> list[str]:
    """The lines of a text file; empty lines count, the newline at its end makes no line of its own."""
    return list(lines(path))


def lines(path: str | Path) -> Iterator[str]:
    """The same, one at a time."""
    with open_bytes(path) as file:
        raws = iter(partial(file.readline, LONGEST_LINE + 1), b"")
        first = next(raws, b"").removeprefix(codecs.BOM_UTF8)
        if not first:
            raise InputError("the file is empty", path=path)
        for number, raw in enumerate(chain([first], raws), start=1):
            yield decode_line(raw, path, number)


def decode_line(raw: bytes, path: str | Path, number: int) -> str:
    """A line as text, without its end; what is no UTF-8 is refused with where it stands."""
    return _decode(raw, path, number).removesuffix("\n").removesuffix("\r")


def _decode(raw: bytes, path: str | Path, number: int) -> str:
    if len(raw) > LONGEST_LINE:
        raise InputError(f"line is longer than {LONGEST_LINE >> 20} MB; is this a text file?", path=path, line=number)
    if 0 in raw:
        raise InputError(f"NUL byte in column {raw.index(0) + 1}; {_advice(raw)}", path=path, line=number)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        where = f"byte 0x{raw[error.start]:02x} in column {error.start + 1}"
        raise InputError(f"invalid UTF-8 ({where}); {_advice(raw)}", path=path, line=number) from error


def _advice(raw: bytes) -> str:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "it looks like UTF-16, save it as UTF-8: iconv -f UTF-16 -t UTF-8"
    return "expected a text file in UTF-8"


def _refusal(path: Path, error: OSError | ValueError) -> str:
    if isinstance(error, IsADirectoryError | PermissionError) and path.is_dir():
        return "is a directory; expected a file"
    if isinstance(error, FileNotFoundError):
        return "no such file"
    return f"cannot be opened: {getattr(error, 'strerror', None) or error}"


class _Source(Protocol):
    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


class _Unpacked(io.RawIOBase):
    """A stream whose failures name the file: a damaged archive shows itself only while it is read."""

    def __init__(self, stream: _Source, packed: _Source, path: Path) -> None:
        self._stream, self._packed, self._path = stream, packed, path

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)
        data = self._read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        self._packed.close()
        super().close()

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except _DAMAGE as error:
            message = f"damaged, cut short, or not a {self._path.suffix} file at all ({error}); get or pack it again"
            raise InputError(message, path=self._path) from error
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", path=self._path) from error


class _Zstandard:
    """Zstandard as a stream. The library's own stream takes a file cut short for its end; this one does not."""

    def __init__(self, packed: IO[bytes]) -> None:
        self._pieces = _zstandard_pieces(packed)
        self._piece = io.BytesIO()

    def read(self, size: int, /) -> bytes:
        while not (data := self._piece.read(size)):
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._piece = io.BytesIO(piece)
        return data

    def close(self) -> None:
        self._pieces.close()


def _zstandard_pieces(packed: IO[bytes]) -> Generator[bytes, None, None]:
    import zstandard

    frame = None
    while rest := packed.read(_ZSTANDARD_CHUNK):
        while rest:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            try:
                yield frame.decompress(rest)
            except zstandard.ZstdError as error:
                raise ArchiveError(str(error)) from error
            rest, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    if frame is not None:
        raise ArchiveError("the last frame is not complete")


UNPACK: dict[str, Callable[[IO[bytes]], _Source]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".xz": lzma.LZMAFile,
    ".zst": _Zstandard,
}
