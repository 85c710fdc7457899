"""Text files with various encodings and line ends; compressed files, complete and damaged."""

from __future__ import annotations

import codecs
import errno
import gzip
import lzma
import zlib
from pathlib import Path
from random import Random

import pytest
from helpers.file_samples import PACK
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.text import files
from mtloop.text.files import check_declared_encoding, format_suffix, read_bytes, read_lines

LINES = ["Save the file.", "", "Ümläute und 漢字"]
SEPARATORS = "a\u2028b\u2029c\x0bd\x0ce\x85f\x1cg"
TEXT = "\n".join(LINES).encode()

ACCEPTED = {
    "no newline at the end": (TEXT, LINES),
    "a newline at the end": (TEXT + b"\n", LINES),
    "an empty line at the end": (TEXT + b"\n\n", [*LINES, ""]),
    "a byte-order mark": (codecs.BOM_UTF8 + TEXT, LINES),
    "CRLF": (TEXT.replace(b"\n", b"\r\n") + b"\r\n", LINES),
    "CRLF, byte-order mark, no newline at the end": (codecs.BOM_UTF8 + TEXT.replace(b"\n", b"\r\n"), LINES),
    "one empty line": (b"\n", [""]),
    "other separators": (f"{SEPARATORS}\nb".encode(), [SEPARATORS, "b"]),
    "a carriage return inside": (b"a\rb\nc", ["a\rb", "c"]),
    "a line of a megabyte": (b"a" * (1 << 20) + b"\nb\n", ["a" * (1 << 20), "b"]),
}

REFUSED = {
    "empty": (b"", ": the file is empty"),
    "only a byte-order mark": (codecs.BOM_UTF8, ": the file is empty"),
    "Latin-1": (b"Save.\n\xc4ndern.\n", r":2: invalid UTF-8 \(byte 0xc4 in column 1\); expected a text file in UTF-8"),
    "a surrogate": (b"\xed\xa0\x80\n", ":1: invalid UTF-8"),
    "truncated inside a character": ("Save.\nÄ".encode()[:-1], ":2: invalid UTF-8"),
    "NUL": (b"a\nb\nc\0d\n", ":3: NUL byte in column 2"),
    "UTF-16": ("Save.\n".encode("utf-16"), ":1: NUL byte in column 4; it looks like UTF-16"),
}
LARGE = Random(0).randbytes(1 << 21).hex().encode()


@pytest.mark.parametrize("case", ACCEPTED)
def test_accepted(case: str, write) -> None:
    content, lines = ACCEPTED[case]
    assert read_lines(write("a.txt", content)) == lines


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, write) -> None:
    content, message = REFUSED[case]
    path = write("a.txt", content)
    with pytest.raises(InputError, match=f"^{path}{message}"):
        read_lines(path)


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"^{tmp_path}: is a directory; expected a file$"):
        read_lines(tmp_path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone.txt: no such file$"):
        read_lines(tmp_path / "gone.txt")


def test_an_invalid_file_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be opened"):
        read_lines(tmp_path / "a\0b.txt")


def test_a_file_without_read_permission(write, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    path = write("a.txt", b"a")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=f"^{path}: cannot be opened: Permission denied$"):
        read_lines(path)


@pytest.mark.parametrize("packing", PACK)
def test_compressed(packing: str, write) -> None:
    path = write(f"a.txt{packing}", PACK[packing]((TEXT + b"\n") * 10_000))
    assert read_lines(path) == LINES * 10_000


@pytest.mark.parametrize("packing", [".gz", ".xz", ".zst"])
def test_compressed_in_several_frames(packing: str, write) -> None:
    packed = PACK[packing](b"Save.\nUn") + PACK[packing](b"do.\n")
    assert read_lines(write(f"a.txt{packing}", packed)) == ["Save.", "Undo."]


@pytest.mark.parametrize("packing", [".gz", ".xz", ".zst"])
def test_an_archive_truncated_at_any_byte_is_refused(packing: str, write) -> None:
    packed = PACK[packing](TEXT)
    for cut in range(1, len(packed)):
        path = write(f"a.txt{packing}", packed[:cut])
        with pytest.raises(InputError, match=f"^{path}: (damaged|the file is empty)"):
            read_lines(path)


@pytest.mark.parametrize("packing", [".gz", ".xz", ".zst"])
def test_plain_text_with_the_suffix_of_an_archive(packing: str, write) -> None:
    with pytest.raises(InputError, match=f"not a {packing} file"):
        read_lines(write(f"a.txt{packing}", TEXT))


def test_a_line_over_the_limit_is_refused(write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 1 << 20)
    with pytest.raises(InputError, match=":1: line is longer than 1 MB"):
        read_lines(write("a.txt.gz", gzip.compress(LARGE)))


def test_a_file_over_the_limit_is_refused(write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 1 << 20)
    with pytest.raises(InputError, match="larger than 1 MB unpacked; split it"):
        read_bytes(write("a.po.gz", gzip.compress(LARGE)))


@pytest.mark.parametrize("packing", [".gz", ".xz", ".zst"])
def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused(packing: str, write) -> None:
    packed = PACK[packing](b"a\n" * (1 << 21))
    with pytest.raises(InputError, match="unpacks to more than 300 times its size; if you trust it, unpack it first"):
        read_lines(write(f"a.txt{packing}", packed))


@pytest.mark.slow
def test_an_archive_of_usual_text_is_read(write) -> None:
    words, random = ["open", "the", "file", "menu", "of", "a", "window", "button", "with", "key"], Random(0)
    lines = [" ".join(random.choices(words, k=8)) for _ in range(60_000)]  # 2 MB
    assert read_lines(write("a.txt.xz", lzma.compress("\n".join(lines).encode()))) == lines


def test_an_archive_in_several_streams_with_padding_is_read(write) -> None:
    packed = lzma.compress(b"a\n") + b"\0" * 8 + lzma.compress(b"b\n") + b"\0" * 4
    assert read_lines(write("a.txt.xz", packed)) == ["a", "b"]


def test_an_archive_that_asks_for_a_huge_dictionary_is_refused(write) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 16}]
    packed = bytearray(lzma.compress(TEXT, filters=filters))
    header = packed[12:24]  # of the first block: its byte 4 is the size of the dictionary
    header[4] = 40  # 4 GB
    packed[12:24] = header[:8] + zlib.crc32(bytes(header[:8])).to_bytes(4, "little")
    with pytest.raises(InputError, match=r"damaged, incomplete, or not a \.xz file .Memory usage limit exceeded"):
        read_lines(write("a.txt.xz", bytes(packed)))


def test_a_file_of_too_many_parts_is_refused(write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_ROWS", 10)
    assert read_bytes(write("a.po", b"\n" * 10)) == b"\n" * 10
    with pytest.raises(InputError, match="more than 10 lines, tags or values; split it"):
        read_bytes(write("a.xml", b"<a>" * 11), marks=b"<=")


def test_too_many_items_are_not_held_in_memory(write) -> None:
    taken = iter(range(100))
    with pytest.raises(InputError, match=r"a\.tsv: more than 10 pairs, which may not fit into memory"):
        files.held_in_memory(taken, "a.tsv", "pairs", most=10)
    assert next(taken) == 11


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\0")), min_size=1))
def test_reading_returns_the_written_lines(lines: list[str], write) -> None:
    lines = [line.rstrip("\r") for line in lines]
    path = write("a.txt", codecs.BOM_UTF8 + "".join(line + "\n" for line in lines).encode())
    assert read_lines(path) == lines


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("a.tsv", ".tsv"),
        ("a.b.PO.GZ", ".po"),
        ("a.gz", ""),
        ("a", ""),
        ("a.tsv.zip", ".zip"),
        ("d.x/a.tmx.xz", ".tmx"),
    ],
)
def test_format_suffix(name: str, suffix: str) -> None:
    assert format_suffix(name) == suffix


@pytest.mark.parametrize(
    ("text", "encoding"), [("Größe", "iso8859-1"), ("Ação", "cp1252"), ("привет", "cp1251"), ("สวัสดี", "tis-620")]
)
def test_a_declared_encoding_that_is_right(text: str, encoding: str) -> None:
    check_declared_encoding(text.encode(encoding), encoding, "a.po")
    with pytest.raises(InputError, match=f"^a.po:2: the file declares {encoding}, but its bytes are UTF-8"):
        check_declared_encoding(f"a\n{text}".encode(), encoding, "a.po")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "shift_jis", "gbk", "cp932"])
def test_only_encodings_of_one_byte_per_character_are_doubted(encoding: str) -> None:
    check_declared_encoding("中".encode(), encoding, "a.po")
