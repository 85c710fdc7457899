"""Which texts on standard input are plain, and what is said about the others."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mtloop.core.errors import InputError
from mtloop.translation.line_by_line import MAX_COMMENTS, plain_lines

PO = 'msgid "a"\nmsgstr ""\n'
COMMENT = "<!--\n" + "a note\n" * 70_000 + "-->\n"


def lines_of(text: str) -> list[str]:
    return list(plain_lines(io.BytesIO(text.encode())))


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE html>\n<html>\n<p>Open it.</p>\n</html>\n",
        "<!doctype HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'>\n<HTML>\n",
        "<html lang='en'>\n",
        "<!-- a --> <!-- b -->\n<html>\n",
        "<?xml version='1.0'?>\n<!-- a -->\n<!DOCTYPE html>\n<html xmlns='http://www.w3.org/1999/xhtml'>\n",
        COMMENT + "<html>\n",
    ],
)
def test_html_is_refused_with_commands_for_html(text: str) -> None:
    with pytest.raises(
        InputError, match=r"is an HTML file, .*: html2po FILE\.html .*&& po2html -t FILE\.html"
    ) as error:
        lines_of(text)
    assert "\n" not in str(error.value)
    assert ".xlf" not in str(error.value)


def test_the_commands_for_html_work(tmp_path: Path) -> None:
    """Without the translation between them: the page stays as it is, but for the texts that were filled."""
    programs = Path(sys.executable).parent
    if not shutil.which("html2po", path=programs):
        pytest.skip("the programs of translate-toolkit are not beside Python")
    page = "<!DOCTYPE html>\n<html><body><p>Open the <b>tray</b>.</p><script>var x=1;</script></body></html>\n"
    (tmp_path / "a.html").write_text(page)
    subprocess.run([programs / "html2po", "--progress=none", "a.html", "a.po"], cwd=tmp_path, check=True)
    po = (tmp_path / "a.po").read_text()
    filled = po.replace('<b>tray</b>."\nmsgstr ""', '<b>tray</b>."\nmsgstr "Öffnen Sie das <b>Fach</b>."')
    (tmp_path / "b.po").write_text(filled)
    command = [programs / "po2html", "--progress=none", "-t", "a.html", "b.po", "b.html"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert (tmp_path / "b.html").read_text() == page.replace("Open the <b>tray</b>", "Öffnen Sie das <b>Fach</b>")


@pytest.mark.parametrize("start", ["# a line of a long licence\n" * 5000, "\n" * 5000, "#\n\n" * 5000])
def test_a_po_file_after_many_comments_is_refused(start: str) -> None:
    with pytest.raises(InputError, match=r"is a PO file, .*FILE\.po"):
        lines_of(start + PO)


def test_an_xml_file_after_a_long_comment_is_refused() -> None:
    with pytest.raises(InputError, match=r"is an XML file, .*FILE\.tmx"):
        lines_of(COMMENT + "<tmx version='1.4'>\n")


@pytest.mark.parametrize(
    "text",
    ["# a heading\n" * 3000, "\n" * 3000 + "Text\n", "<!-- not closed\n" + "text\n" * 3000, "<p>HTML is fine.</p>\n"],
)
def test_plain_text_comes_out_as_it_is(text: str) -> None:
    assert lines_of(text) == text.splitlines()


def test_only_the_start_is_kept_in_memory() -> None:
    file = io.BytesIO(b"# a heading\n" * MAX_COMMENTS)
    next(plain_lines(file))
    assert file.tell() < 2 * MAX_COMMENTS
