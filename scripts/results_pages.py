"""Write the results pages from the files that the commands wrote: python scripts/results_pages.py

    python scripts/results_pages.py                          rewrite all pages and pictures
    python scripts/results_pages.py --run DATA               run all experiments again, then rewrite the pages
    python scripts/results_pages.py --run DATA --only NAME   one experiment (DATA may be left out if it reads no files)

docs/results/experiments.toml lists the experiments: title, text and command. DATA is the folder that the commands read;
PARTS is a folder into which the script writes parts of that data (data_parts.py).
docs/results/NAME.json is the result.json of the command; docs/results/NAME.md and NAME.png are made from it.
docs/results/squashed-commits.toml names the commit that a squashed one became part of.
A result is refused if the commit of its code or the SHA-256 of its data is unknown, or if another commit wrote a trace.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import os
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, TypeGuard

from data_parts import write_part

from mtloop.core.errors import InputError
from mtloop.core.types import JSON
from mtloop.report.chart import Chart
from mtloop.report.matplotlib_charts import save
from mtloop.report.plain_data import chart_to_json
from mtloop.report.result_file import FILE_NAME, DataFile, Origin, ResultFile, seeds
from mtloop.report.table import Table

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "results"
OUT = ROOT / "out" / "results"
EXPERIMENTS = PAGES / "experiments.toml"
SQUASHED = PAGES / "squashed-commits.toml"
WIDTH = 110
PACKAGED = """
The package has the data. The script runs the command above and writes this page. All numbers, curves and settings are
in [{name}.json]({name}.json).
"""
AGAIN = """
DATA is the folder with the data; [experiments.toml](experiments.toml) says which files are read from it.{parts} The
script runs the command above and writes this page. All numbers, curves and settings are in [{name}.json]({name}.json).
"""
CHOSEN = " `scripts/data_parts.py` writes the part of it that is used."
MAX_PARAGRAPH = 600  # characters
HEADING = "Signatures:"  # in the notes of a table of scores
DIGEST = "Chart-SHA-256"  # the name of the digest of a chart in its picture
MARKDOWN = str.maketrans({sign: f"&#{ord(sign)};" for sign in "\\`*_{}[]#|~$"})


@dataclass(frozen=True)
class PageText:
    """What a page says beside the numbers: one table of experiments.toml.

    `asked` is a paragraph, `found` a paragraph or a list of points. `source` says where the data is from. `command` is
    run with `DATA` and `PARTS` replaced and an output folder added. `tables` and `picture` are names in the result.
    `short_columns` are columns that become one line below the table if all rows are equal in them.
    """

    title: str
    asked: str
    found: str | Sequence[str]
    source: str
    command: str
    tables: Sequence[str]
    picture: str
    short_columns: Sequence[str] = ()


def read_texts(path: Path = EXPERIMENTS) -> dict[str, PageText]:
    """Return the text of every page by name."""
    with path.open("rb") as file:
        return {name: PageText(**fields) for name, fields in tomllib.load(file).items()}


def check(name: str, result: ResultFile) -> None:
    """End with one line if the page could not say where the numbers come from."""
    origin = result.origin
    unknown = [data.name or "the ratings" for data in origin.data if not data.sha256]
    if not origin.provenance.commit:
        _refuse(name, "the commit of the code is unknown; run the command from a checkout")
    if origin.trace_commits:
        _refuse(name, f"other commits wrote the trace of {', '.join(origin.trace_commits)}; run the experiment again")
    if unknown:
        _refuse(name, f"the SHA-256 of {', '.join(unknown)} is unknown; use data from a file")


def _refuse(name: str, reason: str) -> NoReturn:
    raise SystemExit(f"{name}: no page is written: {reason}")


def page(name: str, text: PageText, result: ResultFile) -> str:
    """Return a page."""
    reads_parts = "PARTS/" in text.command
    reads_data = reads_parts or "DATA/" in text.command
    parts = [
        f"# {plain(text.title)}",
        "\n".join(_origin_rows(text, result)),
        _paragraph(text.asked),
        _answer(text.found),
        "## Result",
        *(part for table in text.tables for part in _table_parts(_shortened(result.tables[table], text.short_columns))),
        f"![{plain(result.charts[text.picture].title)}]({name}.png)",
        *_caption(result.charts[text.picture].caption),
        *_signatures(result.tables.values()),
        "## Run it again",
        _paragraph((AGAIN if reads_data else PACKAGED).format(name=name, parts=CHOSEN if reads_parts else "")),
        f"```sh\npython scripts/results_pages.py --run {'DATA ' if reads_data else ''}--only {name}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _origin_rows(text: PageText, result: ResultFile) -> Iterator[str]:
    origin, provenance = result.origin, result.origin.provenance
    packages = {"mtloop": provenance.mtloop, **provenance.versions}
    rows = {
        "Date": provenance.date[:10],
        "Commit": commit_cell(str(provenance.commit)),
        "Data": f"{text.source} {'; '.join(map(_data_cell, origin.data))}",
        "Command": _code(str(result.command)),
        "Seed": ", ".join(f"{plain(name)} {seed}" for name, seed in _seeds(origin).items()) or "none",
        "Versions": ", ".join(f"{package} {version}" for package, version in packages.items()),
        "Machine": plain(f"{provenance.processor}, {provenance.cores} cores"),
    }
    yield from ("| | |", "|---|---|")
    yield from (f"| {name} | {value} |" for name, value in rows.items())


def _seeds(origin: Origin) -> dict[str, JSON]:
    """Return the seeds of the experiment, and those among the settings of its systems."""
    systems = {name: one["settings"] for name, one in origin.settings.items() if _has_settings(one)}
    own = {name: settings["seed"] for name, settings in systems.items() if settings.get("seed") is not None}
    return {**seeds(**origin.seed), **own}


def _has_settings(system: Any) -> TypeGuard[dict[str, dict[str, JSON]]]:
    return isinstance(system, dict) and isinstance(system.get("settings"), dict)


def commit_cell(commit: str) -> str:
    """Return a commit; one that was squashed with the commit that has its code."""
    into = squashed_commits().get(commit)
    return _code(commit) + (f", squashed into {_code(into)}" if into else "")


@cache
def squashed_commits() -> dict[str, str]:
    """Return squashed commits with those they became part of."""
    return tomllib.loads(SQUASHED.read_text(encoding="utf-8"))


def _data_cell(data: DataFile) -> str:
    segments = "" if data.segments is None else f", {data.segments:,} segments"
    rows = plain("".join(f", {name.replace('_', ' ')} {value}" for name, value in data.rows.items()))
    return f"{_code(data.name)}{segments}{rows}, SHA-256 `{(data.sha256 or '')[:16]}`"


def _shortened(table: Table, columns: Sequence[str]) -> Table:
    """Return a table without those of the columns in which all rows are equal; a note has their value."""
    headers = [_one_line(header) for header in table.headers]
    equal = [number for number, header in enumerate(headers) if header in columns and _is_equal(table, number)]
    notes = [f"{headers[number]}: {table.cells[0][number]} in all rows" for number in equal]
    kept = [number for number in range(len(headers)) if number not in equal]
    cells = [[row[number] for number in kept] for row in table.cells]
    return replace(table, headers=[table.headers[one] for one in kept], cells=cells, notes=[*table.notes, *notes])


def _is_equal(table: Table, column: int) -> bool:
    return len({row[column] for row in table.cells}) == 1


def _table_parts(table: Table) -> Iterator[str]:
    if table.title:
        yield plain(f"{table.title[0].upper()}{table.title[1:]}:")
    yield "\n".join(_table_lines(table))
    if table.notes:
        yield _block(_wrapped(table.notes))


def _table_lines(table: Table) -> Iterator[str]:
    sides = ("---" if column < table.text_columns else "---:" for column in range(len(table.headers)))
    yield _row(table.headers)
    yield f"|{'|'.join(sides)}|"
    yield from map(_row, table.cells)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(plain, cells))} |"


def plain(text: str) -> str:
    """Return a text for a page in which nothing is HTML or Markdown.

    >>> plain("a*d* <b> | `x`")
    'a&#42;d&#42; &lt;b&gt; &#124; &#96;x&#96;'
    """
    return html.escape(_one_line(text), quote=False).translate(MARKDOWN)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _code(text: str) -> str:
    """Return a text as code, also in a table."""
    return f"<code>{plain(text)}</code>" if set("`|\n") & set(text) else f"`{text}`"


def _block(lines: Iterable[str]) -> str:
    """Return lines as a block of text; a fence in them does not end it."""
    return "\n".join(("```text", *(line.replace("```", '"""') for line in lines), "```"))


def _wrapped(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield from textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False) or [""]


def _paragraph(text: str) -> str:
    return "\n".join(_wrapped([" ".join(text.split())]))


def _answer(found: str | Sequence[str]) -> str:
    """Return a paragraph, or the points of a list."""
    if isinstance(found, str):
        return _paragraph(found)
    return "\n".join(f"- {_paragraph(point)}".replace("\n", "\n  ") for point in found)


def _caption(caption: str) -> list[str]:
    """Return a caption; a long list of what the numbers on an axis stand for is a block, one in a line."""
    sentence, dot, names = caption.partition(". 1: ")
    if not dot or len(caption) <= MAX_PARAGRAPH:
        return [_paragraph(plain(caption))] if caption else []
    return [_paragraph(plain(f"{sentence}.")), _block(f"1: {names}".split("; "))]


def _signatures(tables: Iterable[Table]) -> Iterator[str]:
    """Yield a section with the signatures of the metrics, which one of the tables has in its notes."""
    for notes in (list(table.notes) for table in tables):
        if HEADING in notes:
            lines = (line.strip() for line in notes[notes.index(HEADING) + 1 :])
            yield "## Signatures of the metrics"
            yield _block(lines)


def run(name: str, text: PageText, data: Path, folder: Path = PAGES) -> None:
    """Run the command of an experiment from the start, and copy its result beside the pages."""
    shutil.rmtree(OUT / name, ignore_errors=True)  # the command would resume what older code wrote
    words = [_word(word, data) for word in shlex.split(text.command)[1:]]
    command = [sys.executable, "-m", "mtloop", *words, "--out", str(OUT / name)]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, check=True)
    shutil.copyfile(OUT / name / FILE_NAME, folder / f"{name}.json")


def _word(word: str, data: Path) -> str:
    """Return a word of a command with its folder; a part of the data is written first."""
    if word.startswith("PARTS/"):
        return str(write_part(word.removeprefix("PARTS/"), data, OUT / "parts"))
    return word.replace("DATA/", f"{data}/")


def write(name: str, text: PageText, folder: Path = PAGES) -> None:
    """Write a page and its picture from its result."""
    result = read_result(name, folder)
    check(name, result)
    chart = result.charts[text.picture]
    (folder / f"{name}.md").write_text(page(name, text, result), encoding="utf-8")
    save(chart, folder / f"{name}.png", {DIGEST: digest(chart)})


def read_result(name: str, folder: Path = PAGES) -> ResultFile:
    """Return the result of an experiment; end with one line if there is none."""
    path = folder / f"{name}.json"
    if not path.is_file():
        _refuse(name, f"{path.name} is missing; run the experiment with --run DATA --only {name}")
    try:
        return ResultFile.read(path)
    except InputError as error:
        _refuse(name, str(error))


def digest(chart: Chart) -> str:
    """Return the SHA-256 of a chart's JSON, which its picture carries."""
    content = json.dumps(chart_to_json(chart), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--run",
        type=Path,
        nargs="?",
        const=Path(),
        metavar="DATA",
        help="run all experiments again on the files of this folder (default: the current one)",
    )
    parser.add_argument("--only", metavar="NAME", help="one experiment")
    options = parser.parse_args(argv)
    texts = read_texts()
    if options.only and options.only not in texts:
        raise SystemExit(f"no experiment {options.only!r}; there are {', '.join(texts)}")
    if options.run is not None and not options.run.is_dir():
        raise SystemExit(f"{options.run} is not a folder; give the folder with the data")
    for name in [options.only] if options.only else texts:
        if options.run is not None:
            run(name, texts[name], options.run.resolve())
        write(name, texts[name])


if __name__ == "__main__":
    main()
