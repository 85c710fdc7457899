"""Real files out of packages, partly emptied and filled in again: nothing but what was filled is changed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.client_environments import FOLDER
from helpers.command_result import CommandResult
from lxml import etree

from mtloop.data.formats.filling import FileUnit, UnitState, open_file

Call = Callable[..., CommandResult]
pytestmark = pytest.mark.slow
PO_TARGET = re.compile(r'^msgstr(\[\d\])? "(?:.*)"\n(?:".*"\n?)*', re.MULTILINE)
PO_FLAGS = re.compile(r"^#,.*\n", re.MULTILINE)
TS_TARGET, TS_UNIT = re.compile(r"<translation\b.*?</translation>", re.DOTALL), r"<message\b.*?</message>"
XLIFF_TARGET, XLIFF_UNIT = re.compile(r"<target\b.*?</target>", re.DOTALL), r"<trans-unit\b.*?</trans-unit>"
QT_UNITS, QT_EMPTIED = 120, 3  # units of a large catalogue that are kept, and which of them are emptied


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder of the packages with translated files."""
    place = next(iter((FOLDER / "real-files").glob("lib/python*/site-packages")), None)
    if place is None:
        pytest.skip("the packages with translated files are not installed: make install-slow")
    return place


def fill(mtloop: Call, path: Path, *options: str) -> str:
    """Fill a file in, check that its units are the same and all have a translation, and return its text."""
    before = open_file(path, source_lang="en", target_lang="de").units
    out = path.with_name(f"filled{path.suffix}")
    languages = ("--source-lang", "en", "--lang", "de")
    result = mtloop("translate", path, "--out", out, "--threads", 2, "--no-learn", *languages, *options)
    assert result.code == 0, result.err
    empty = [number for number, unit in enumerate(before) if is_empty(unit)]
    assert empty
    assert result.out.startswith(f"{len(empty)} filled, "), result.out
    after = open_file(out, source_lang="en", target_lang="de").units
    assert [(unit.id, unit.source) for unit in after] == [(unit.id, unit.source) for unit in before]
    assert all(after[number].target.strip() for number in empty)
    assert all(new.target == old.target for old, new in zip(before, after, strict=True) if old.target)
    return out.read_bytes().decode()


def is_empty(unit: FileUnit) -> bool:
    return unit.state is UnitState.UNTRANSLATED and bool(unit.source.strip())


def check_with_msgfmt(path: Path) -> subprocess.CompletedProcess[str]:
    """Check a PO file. Without --use-fuzzy, msgfmt leaves out what was filled: it is marked for review."""
    command = ["msgfmt", "-c", "--check-format", "--use-fuzzy", "-o", "/dev/null", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_check_of_msgfmt_sees_what_is_marked_for_review(tmp_path: Path) -> None:
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    (path := tmp_path / "de.po").write_text(header + '#, fuzzy, c-format\nmsgid "%d files"\nmsgstr "Dateien"\n')
    assert "msgid" in check_with_msgfmt(path).stderr


@pytest.mark.parametrize(
    ("name", "options"),
    [("conf", ["--approve"]), ("contrib/admin", []), ("contrib/admin", ["--approve"]), ("contrib/auth", [])],
)
def test_djangos_german_po(mtloop: Call, packages: Path, tmp_path: Path, name: str, options: list[str]) -> None:
    text = (packages / "django" / name / "locale/de/LC_MESSAGES/django.po").read_bytes().decode()
    entries = text.split("\n\n")
    numbers = [number for number in range(1, len(entries)) if "fuzzy" not in entries[number]]
    emptied = [number for number in numbers if number % 3 == 0 or entries[number].endswith('msgstr ""')]
    for number in emptied:
        entries[number] = PO_TARGET.sub(r'msgstr\1 ""' + "\n", entries[number] + "\n").removesuffix("\n")
    (path := tmp_path / "de.po").write_bytes("\n\n".join(entries).encode())
    filled = fill(mtloop, path, *options).split("\n\n")
    checked = check_with_msgfmt(path.with_name("filled.po"))
    assert checked.returncode == 0, checked.stderr
    assert len(filled) == len(entries)
    for number, (old, new) in enumerate(zip(entries, filled, strict=True)):
        if number in emptied:
            old, new = (PO_TARGET.sub("", PO_FLAGS.sub("", one + "\n")) for one in (old, new))
        assert old == new


@pytest.fixture(scope="module")
def qt_catalogue(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first messages of a packaged .qm file, as lconvert writes them."""
    if shutil.which("lconvert") is None:
        pytest.skip("needs Qt's lconvert")
    path = tmp_path_factory.mktemp("qt") / "whole.ts"
    convert(packages / "eric7/i18n/eric7_de.qm", path)
    tree = etree.parse(path)
    root = tree.getroot()
    root.set("language", "de")
    root.set("sourcelanguage", "en")
    for number, message in enumerate(root.findall("context/message")):
        if number >= QT_UNITS:
            message.getparent().remove(message)
    for context in root.findall("context"):
        if context.find("message") is None:
            root.remove(context)
    tree.write(path, encoding="utf-8", xml_declaration=True)
    return path


def convert(source: Path, target: Path) -> None:
    arguments = ["-source-language", "en", "-target-language", "de", "-i", str(source), "-o", str(target)]
    subprocess.run(["lconvert", *arguments], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("suffix", "unit", "target", "empty"),
    [
        (".ts", TS_UNIT, TS_TARGET, '<translation type="unfinished"></translation>'),
        (".xlf", XLIFF_UNIT, XLIFF_TARGET, ""),
    ],
)
def test_a_packaged_catalogue_of_qt(
    mtloop: Call, qt_catalogue: Path, tmp_path: Path,
    suffix: str, unit: str, target: re.Pattern[str], empty: str,
) -> None:  # fmt: skip
    convert(qt_catalogue, path := tmp_path / f"de{suffix}")
    parts = re.split(f"({unit})", path.read_bytes().decode(), flags=re.DOTALL)
    emptied = set(range(1, len(parts), 2 * QT_EMPTIED))
    parts = [target.sub(empty, part) if number in emptied else part for number, part in enumerate(parts)]
    path.write_bytes("".join(parts).encode())
    text = fill(mtloop, path)
    etree.fromstring(text.encode())
    filled = re.split(f"({unit})", text, flags=re.DOTALL)
    assert len(filled) == len(parts)
    for number, (old, new) in enumerate(zip(parts, filled, strict=True)):
        assert list(without_target(old, target, number in emptied)) == list(
            without_target(new, target, number in emptied)
        )


def without_target(part: str, target: re.Pattern[str], is_emptied: bool) -> Iterator[str]:
    """Yield the lines of a part; of an emptied unit, those without its target and the mark of its review."""
    if not is_emptied:
        yield part
        return
    plain = re.sub(r' approved="\w+"', "", target.sub("", part))
    yield from (line for line in plain.splitlines() if line.strip())
