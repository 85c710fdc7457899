"""Reading files, compressed or not; text must be valid UTF-8 with one segment per line.

A byte-order mark and CRLF are accepted. A line ends at a newline only. `str.splitlines` also breaks at U+2028, form
feed and others; these occur inside segments, and a break there would shift all following lines.
"""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, TypeVar

from mtloop.core.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

T = TypeVar("T")

MAX_LINE_BYTES = 1 << 24  # no segment is longer; protects against archives that decompress to one huge line
MAX_FILE_BYTES = 1 << 26  # for formats that must be read into memory as a whole
MAX_ROWS = 2_000_000  # lines, elements or members of such a file: each takes hundreds of bytes of memory
MAX_PAIRS = 2_000_000  # held in memory at once: about 500 bytes each
MAX_LINES = 20_000_000  # held in memory at once: about 60 bytes each
MAX_RATIO = 300  # of the unpacked size to the packed size; a memory of similar sentences in xz packs about 200 times
MAX_FREE_BYTES = 1 << 20  # an archive may unpack to this size at any ratio
MAX_XZ_MEMORY = 1 << 27  # `xz -9` needs half of it; the head of a file can ask for 4 GB
_CHUNK = 1 << 18
_ZSTANDARD_CHUNK = 1 << 10  # decompresses to 32 MB at most


class ArchiveError(Exception):
    """An archive cannot be decompressed; for faults without an exception in the libraries."""


_ARCHIVE_ERRORS = (ArchiveError, EOFError, MemoryError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


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
    if decompress is None:
        return io.BufferedReader(_InputStream(file, file, path), _CHUNK)
    return io.BufferedReader(_InputStream(decompress(file), file, path, _most_unpacked(file)), _CHUNK)


def _most_unpacked(file: IO[bytes]) -> int | None:
    """Return how many bytes an archive may unpack to; None for a pipe, whose size is unknown."""
    status = os.fstat(file.fileno())
    return max(MAX_FREE_BYTES, MAX_RATIO * status.st_size) if stat.S_ISREG(status.st_mode) else None


def read_bytes(path: str | Path, marks: bytes = b"\n") -> bytes:
    """Return the decompressed content of a file. Raise InputError if it is empty, or too large to be held in memory.

    `marks` are the bytes that begin or end a part of the file, such as a line or a tag. What a file takes in memory
    depends on their number more than on its size.
    """
    with open_bytes(path) as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if not content:
        raise InputError("the file is empty", path=path)
    if len(content) > MAX_FILE_BYTES:
        raise InputError(f"larger than {MAX_FILE_BYTES >> 20} MB unpacked; split it, or use .tmx or .tsv", path=path)
    if sum(content.count(mark) for mark in marks) > MAX_ROWS:
        raise InputError(f"more than {MAX_ROWS:,} lines, tags or values; split it, or use .tmx or .tsv", path=path)
    return content


def read_lines(path: str | Path) -> list[str]:
    """Return the lines of a text file, including empty ones; a newline at the end of the file adds no line."""
    return held_in_memory(iter_lines(path), path, "lines", MAX_LINES)


def held_in_memory(items: Iterable[T], path: str | Path, kind: str, most: int = MAX_PAIRS) -> list[T]:
    """Return the items of a file as a list. Raise InputError if there are more than `most`."""
    held = list(islice(items, most + 1))
    if len(held) > most:
        raise InputError(f"more than {most:,} {kind}, which may not fit into memory; split the file", path=path)
    return held


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


def check_declared_encoding(content: bytes, encoding: str, path: str | Path) -> None:
    """Raise InputError if a file declares an encoding of one byte per character, but is in UTF-8.

    Any bytes are valid in most such encodings. Text in them is practically never valid UTF-8 beyond ASCII.
    """
    if content.isascii() or not _is_single_byte(encoding):
        return
    try:
        content.decode()
    except UnicodeDecodeError:
        return
    first = next(number for number, line in enumerate(content.split(b"\n"), start=1) if not line.isascii())
    message = f"the file declares {encoding}, but its bytes are UTF-8; correct the declaration"
    raise InputError(message, path=path, line=first)


@lru_cache
def _is_single_byte(encoding: str) -> bool:
    """Whether most bytes beyond ASCII are a character each; in Shift JIS about half of them are."""
    return sum(_is_character(bytes([byte]), encoding) for byte in range(128, 256)) > 75


def _is_character(byte: bytes, encoding: str) -> bool:
    try:
        return len(byte.decode(encoding)) == 1
    except (LookupError, ValueError):
        return False


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

    def __init__(self, stream: _ReadStream, file: _ReadStream, path: Path, most: int | None = None) -> None:
        """`most` is the number of bytes that may be read (None: any)."""
        self._stream, self._file, self._path = stream, file, path
        self._most, self._count = most, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)
        data = self._read(len(view))
        view[: len(data)] = data
        self._count += len(data)
        if self._most is not None and self._count > self._most:
            message = f"unpacks to more than {MAX_RATIO} times its size; if you trust it, unpack it first"
            raise InputError(message, path=self._path)
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


class _Unpacked:
    """The chunks of an archive as a stream."""

    def __init__(self, chunks: Generator[bytes, None, None]) -> None:
        self._chunks = chunks
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


def _decompress_xz(file: IO[bytes]) -> Generator[bytes, None, None]:
    """Yield what the streams of a file hold. `lzma.LZMAFile` takes as much memory as a stream asks for."""
    stream = None
    while rest := file.read(_CHUNK):
        while rest or not (stream is None or stream.needs_input):
            rest = rest if stream else rest.lstrip(b"\0")  # zeros may stand between streams
            if not rest and stream is None:
                break
            stream = stream or lzma.LZMADecompressor(memlimit=MAX_XZ_MEMORY)
            yield stream.decompress(rest, _CHUNK)
            rest, stream = (stream.unused_data, None) if stream.eof else (b"", stream)
    if stream is not None:
        raise ArchiveError("the last stream is incomplete")


def _decompress_zstandard(file: IO[bytes]) -> Generator[bytes, None, None]:
    """Yield what the frames of a file hold. The stream of the library takes an incomplete file for a complete one."""
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
    ".xz": lambda file: _Unpacked(_decompress_xz(file)),
    ".zst": lambda file: _Unpacked(_decompress_zstandard(file)),
}
