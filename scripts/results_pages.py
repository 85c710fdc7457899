"""Write the results pages from the files that the commands wrote: python scripts/results_pages.py

    python scripts/results_pages.py                          rewrite all pages and pictures
    python scripts/results_pages.py --run DATA               run all experiments again, then rewrite the pages
    python scripts/results_pages.py --run DATA --only NAME   one experiment

docs/results/experiments.toml lists the experiments: title, text and command. DATA is the folder that the commands read.
docs/results/NAME.json is the result.json of the command; docs/results/NAME.md and NAME.png are made from it.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mtloop.report.matplotlib_charts import save
from mtloop.report.result_file import FILE_NAME, DataFile, ResultFile
from mtloop.report.table import Table

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "results"
OUT = ROOT / "out" / "results"
EXPERIMENTS = PAGES / "experiments.toml"
WIDTH = 110
AGAIN = """
DATA is the folder with the data; [experiments.toml](experiments.toml) says which files are read from it. The script
runs the command above and writes this page. All numbers, curves and settings are in [{name}.json]({name}.json).
"""
HEADING = "Signatures:"  # in the notes of a table of scores


@dataclass(frozen=True)
class PageText:
    """What a page says beside the numbers: one table of experiments.toml.

    `asked` and `found` are paragraphs, `source` says where the data is from. `command` is run with `DATA` replaced and
    an output folder added. `tables` and `picture` are names in the result.
    """

    title: str
    asked: str
    found: str
    source: str
    command: str
    tables: Sequence[str]
    picture: str


def read_texts(path: Path = EXPERIMENTS) -> dict[str, PageText]:
    """Return the text of every page by name."""
    with path.open("rb") as file:
        return {name: PageText(**fields) for name, fields in tomllib.load(file).items()}


def page(name: str, text: PageText, result: ResultFile) -> str:
    """Return a page."""
    parts = [
        f"# {text.title}",
        "\n".join(_origin_rows(text, result)),
        _paragraph(text.asked),
        _paragraph(text.found),
        "## Result",
        *(part for table in text.tables for part in _table_parts(result.tables[table])),
        f"![{result.charts[text.picture].title}]({name}.png)",
        *_caption(result.charts[text.picture].caption),
        *_signatures(result.tables.values()),
        "## Run it again",
        _paragraph(AGAIN.format(name=name)),
        f"```sh\npython scripts/results_pages.py --run DATA --only {name}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _origin_rows(text: PageText, result: ResultFile) -> Iterator[str]:
    origin, provenance = result.origin, result.origin.provenance
    packages = {"mtloop": provenance.mtloop, **provenance.versions}
    rows = {
        "Date": provenance.date[:10],
        "Commit": f"`{provenance.commit}`",
        "Data": f"{text.source} {'; '.join(map(_data_cell, origin.data))}",
        "Command": f"`{result.command}`",
        "Seed": ", ".join(f"{name} {seed}" for name, seed in origin.seed.items()),
        "Versions": ", ".join(f"{package} {version}" for package, version in packages.items()),
        "Machine": f"{provenance.processor}, {provenance.cores} cores",
    }
    yield from ("| | |", "|---|---|")
    yield from (f"| {name} | {_cell(value)} |" for name, value in rows.items())


def _data_cell(data: DataFile) -> str:
    segments = "" if data.segments is None else f", {data.segments:,} segments"
    rows = "".join(f", {name.replace('_', ' ')} {value}" for name, value in data.rows.items())
    return f"`{data.name}`{segments}{rows}, SHA-256 `{(data.sha256 or '')[:16]}`"


def _table_parts(table: Table) -> Iterator[str]:
    if table.title:
        yield f"{table.title[0].upper()}{table.title[1:]}:"
    yield "\n".join(_table_lines(table))
    if table.notes:
        yield "\n".join(("```text", *_wrapped(table.notes), "```"))


def _table_lines(table: Table) -> Iterator[str]:
    sides = ("---" if column < table.text_columns else "---:" for column in range(len(table.headers)))
    yield _row(table.headers)
    yield f"|{'|'.join(sides)}|"
    yield from map(_row, table.cells)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|")


def _wrapped(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield from textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False) or [""]


def _paragraph(text: str) -> str:
    return "\n".join(_wrapped([" ".join(text.split())]))


def _caption(caption: str) -> list[str]:
    return [_paragraph(caption)] if caption else []


def _signatures(tables: Iterable[Table]) -> Iterator[str]:
    """Yield a section with the signatures of the metrics, which one of the tables has in its notes."""
    for notes in (list(table.notes) for table in tables):
        if HEADING in notes:
            lines = (line.strip() for line in notes[notes.index(HEADING) + 1 :])
            yield "## Signatures of the metrics"
            yield "\n".join(("```text", *lines, "```"))


def run(name: str, text: PageText, data: Path, folder: Path = PAGES) -> None:
    """Run the command of an experiment, and copy its result beside the pages."""
    words = [word.replace("DATA/", f"{data}/") for word in shlex.split(text.command)[1:]]
    command = [sys.executable, "-m", "mtloop", *words, "--out", str(OUT / name)]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, check=True)
    shutil.copyfile(OUT / name / FILE_NAME, folder / f"{name}.json")


def write(name: str, text: PageText, folder: Path = PAGES) -> None:
    """Write a page and its picture from its result."""
    result = ResultFile.read(folder / f"{name}.json")
    (folder / f"{name}.md").write_text(page(name, text, result), encoding="utf-8")
    save(result.charts[text.picture], folder / f"{name}.png")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--run", type=Path, metavar="DATA", help="run all experiments again on the files of this folder"
    )
    parser.add_argument("--only", metavar="NAME", help="one experiment")
    options = parser.parse_args(argv)
    texts = read_texts()
    for name in [options.only] if options.only else texts:
        if options.run is not None:
            run(name, texts[name], options.run.resolve())
        write(name, texts[name])


if __name__ == "__main__":
    main()
