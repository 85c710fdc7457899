"""Text files with various encodings and line ends; compressed files, complete and damaged."""

from __future__ import annotations

import codecs
import errno
import gzip
from pathlib import Path

import pytest
from helpers.file_samples import PACK
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.text import files
from mtloop.text.files import format_suffix, read_bytes, read_lines

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
        read_lines(write("a.txt.gz", gzip.compress(b"a" * (1 << 22))))


def test_a_file_over_the_limit_is_refused(write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 1 << 20)
    with pytest.raises(InputError, match="larger than 1 MB unpacked; split it"):
        read_bytes(write("a.po.gz", gzip.compress(b"a" * (1 << 22))))


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
