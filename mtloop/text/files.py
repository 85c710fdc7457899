"""Reading files, compressed or not; text must be valid UTF-8 with one segment per line.

A byte-order mark and CRLF are accepted. A line ends at a newline only. `str.splitlines` also breaks at U+2028, form
feed and others; these occur inside segments, and a break there would shift all following lines.
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

MAX_LINE_BYTES = 1 << 26  # no segment is longer; protects against archives that decompress to one huge line
MAX_FILE_BYTES = 1 << 28  # for formats that must be read into memory as a whole
_CHUNK = 1 << 18
_ZSTANDARD_CHUNK = 1 << 10  # decompresses to 32 MB at most


class ArchiveError(Exception):
    """An archive cannot be decompressed; for faults without an exception in the libraries."""


_ARCHIVE_ERRORS = (ArchiveError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def format_suffix(path: str | Path) -> str:
    """Return the suffix of the file format in lower case, without the suffix of the compression.

    >>> format_suffix("manual.en-de.TSV.xz")
    '.tsv'
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in DECOMPRESSORS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def open_bytes(path: str | Path) -> io.BufferedReader:
    """Open a file for reading and decompress `.gz`, `.xz` and `.zst`; opening and reading raise only `InputError`."""
    path = Path(path)
    try:
        file = path.open("rb")
    except (OSError, ValueError) as error:
        raise InputError(_open_error(path, error), path=path) from error
    decompress = DECOMPRESSORS.get(path.suffix.lower())
    return io.BufferedReader(_InputStream(decompress(file) if decompress else file, file, path), _CHUNK)


def read_bytes(path: str | Path) -> bytes:
    """Return the decompressed content of a file; raise InputError if it is empty or larger than MAX_FILE_BYTES."""
    with open_bytes(path) as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if not content:
        raise InputError("the file is empty", path=path)
    if len(content) > MAX_FILE_BYTES:
        raise InputError(f"larger than {MAX_FILE_BYTES >> 20} MB unpacked; split it, or use .tmx or .tsv", path=path)
    return content


def read_lines(path: str | Path) -> list[str]:
    """Return the lines of a text file, including empty ones; a newline at the end of the file adds no line."""
    return list(iter_lines(path))


def iter_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a text file one at a time, like `read_lines`."""
    with open_bytes(path) as file:
        raw_lines = iter(partial(file.readline, MAX_LINE_BYTES + 1), b"")
        first = next(raw_lines, b"").removeprefix(codecs.BOM_UTF8)
        if not first:
            raise InputError("the file is empty", path=path)
        for number, raw in enumerate(chain([first], raw_lines), start=1):
            yield decode_line(raw, path, number)


def decode_line(raw: bytes, path: str | Path, number: int) -> str:
    """Return a line as text without its line end; raise InputError, with the position, if it is not valid UTF-8."""
    return _decode(raw, path, number).removesuffix("\n").removesuffix("\r")


def _decode(raw: bytes, path: str | Path, number: int) -> str:
    if len(raw) > MAX_LINE_BYTES:
        raise InputError(f"line is longer than {MAX_LINE_BYTES >> 20} MB; is this a text file?", path=path, line=number)
    if 0 in raw:
        raise InputError(f"NUL byte in column {raw.index(0) + 1}; {_encoding_hint(raw)}", path=path, line=number)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        position = f"byte 0x{raw[error.start]:02x} in column {error.start + 1}"
        raise InputError(f"invalid UTF-8 ({position}); {_encoding_hint(raw)}", path=path, line=number) from error


def _encoding_hint(raw: bytes) -> str:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "it looks like UTF-16, save it as UTF-8: iconv -f UTF-16 -t UTF-8"
    return "expected a text file in UTF-8"


def _open_error(path: Path, error: OSError | ValueError) -> str:
    if isinstance(error, IsADirectoryError | PermissionError) and path.is_dir():
        return "is a directory; expected a file"
    if isinstance(error, FileNotFoundError):
        return "no such file"
    return f"cannot be opened: {getattr(error, 'strerror', None) or error}"


class _ReadStream(Protocol):
    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


class _InputStream(io.RawIOBase):
    """A stream that turns read errors into InputError; damage in an archive is only found while reading it."""

    def __init__(self, stream: _ReadStream, file: _ReadStream, path: Path) -> None:
        self._stream, self._file, self._path = stream, file, path

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)
        data = self._read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        self._file.close()
        super().close()

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except _ARCHIVE_ERRORS as error:
            message = f"damaged, incomplete, or not a {self._path.suffix} file ({error}); download or compress it again"
            raise InputError(message, path=self._path) from error
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", path=self._path) from error


class _Zstandard:
    """A Zstandard stream that detects incomplete files; the stream of the library treats them as complete."""

    def __init__(self, file: IO[bytes]) -> None:
        self._chunks = _decompress_zstandard(file)
        self._chunk = io.BytesIO()

    def read(self, size: int, /) -> bytes:
        while not (data := self._chunk.read(size)):
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self._chunk = io.BytesIO(chunk)
        return data

    def close(self) -> None:
        self._chunks.close()


def _decompress_zstandard(file: IO[bytes]) -> Generator[bytes, None, None]:
    import zstandard

    frame = None
    while rest := file.read(_ZSTANDARD_CHUNK):
        while rest:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            try:
                yield frame.decompress(rest)
            except zstandard.ZstdError as error:
                raise ArchiveError(str(error)) from error
            rest, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    if frame is not None:
        raise ArchiveError("the last frame is incomplete")


DECOMPRESSORS: dict[str, Callable[[IO[bytes]], _ReadStream]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".xz": lzma.LZMAFile,
    ".zst": _Zstandard,
}
