"""Run all benchmarks one after the other, and write one page of results: `make bench`.

    python benchmarks/run_all.py
    python benchmarks/run_all.py --data FILE.tsv.xz --human FOLDER
    python benchmarks/run_all.py --small --only ter,curves --out page.md
    python benchmarks/run_all.py --only projects --data FILE.tsv.xz --out docs/results/projects.md --title "A server"

The page shows date, commit, data, versions and machine, and for each script its command, its time and its output. FILE
holds sources and references; without it, the scripts use the demo document or synthetic sentences. FOLDER holds the
human scores for `selection_quality.py`; without it, the runs that need them are left out. If a script fails, no page
is written. With `--only`, the other sections of the page stay, each with its date and commit. Other work on the machine
changes the results.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mtloop import __version__
from mtloop.core.plural import pluralise
from mtloop.report.provenance import PACKAGES, checked_out_commit, command_text, cores, processor, versions
from mtloop.report.result_file import DataFile

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "results" / "benchmarks.md"
DEMO = HERE.parent / "mtloop" / "demo" / "manual.en-de.tsv"
TITLE = "Benchmarks"
NOTE = """\
`benchmarks/run_all.py` wrote this page; `make bench` runs all of it. A run with a date and a commit was made then;
the table above is about the others. Times and ratios hold for the machine that is named."""
PEERS = ("transformers", "sil-thot", "fastapi")  # packages that the benchmarks measure, beside those of all results
# The runs of each script, as arguments; DATA and HUMAN stand for the file and the folder.
RUNS: dict[str, list[str]] = {
    "attacks.py": [""],
    "baselines.py": ["DATA"],
    "cost.py": ["--data DATA --threads 1", "--data DATA --threads 2"],
    "curves.py": ["--data DATA"],
    "glossary.py": ["DATA --documents odd --segments 300 --others 150"],
    "held_out_timing.py": [""],
    "memory.py": ["--data DATA"],
    "online_step.py": ["--data DATA --threads 1", "--data DATA --threads 2"],
    "projects.py": ["--data DATA"],
    "propose_many.py": ["--data DATA"],
    "protected_text.py": [""],
    "selection.py": [""],
    "selection_quality.py": ["calibration", "effort HUMAN", "pairing HUMAN"],
    "service.py": [""],
    "smt.py": ["--data DATA"],
    "steps.py": [""],
    "ter.py": ["--data DATA"],
    "workbench.py": [""],
}


@dataclass(frozen=True)
class Run:
    """A script and its arguments."""

    script: str
    arguments: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command as the page shows it: without the folders of files."""
        names = (Path(text).name if Path(text).is_absolute() else text for text in self.arguments)
        return shlex.join(["python", f"benchmarks/{self.script}", *names])


@dataclass(frozen=True)
class Finished:
    run: Run
    seconds: float
    output: str


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv)
    typed = command_text(sys.argv[1:] if argv is None else argv)  # the files without their folders
    command = f"python benchmarks/run_all.py {typed}".rstrip()
    runs, origin = list(planned_runs(options)), list(origin_lines(options.data, options.human, command))
    page = "\n".join(page_lines(origin, [execute(run) for run in runs], options.title))
    if options.only != sorted(RUNS) and options.out.is_file():
        page = merged(options.out.read_text(encoding="utf-8"), page)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(page, encoding="utf-8")
    print(f"\nresults: {options.out}")


def planned_runs(options: argparse.Namespace) -> Iterator[Run]:
    for script in options.only:
        if options.small:
            yield Run(script, ("--small",))
            continue
        for arguments in RUNS[script]:
            if "HUMAN" not in arguments or options.human:
                yield Run(script, tuple(fill_in(arguments, options.data, options.human)))


def fill_in(arguments: str, data: Path | None, human: Path | None) -> list[str]:
    """Return the arguments with the paths in them; those about data are left out if there is none.

    >>> fill_in("--data DATA --threads 1", None, None)
    ['--threads', '1']
    """
    if data is None:
        arguments = arguments.replace("--data DATA", "").replace("DATA", "")
    paths = {"DATA": data, "HUMAN": human}
    return [str(paths[word]) if word in paths else word for word in arguments.split()]


def execute(run: Run) -> Finished:
    """Run a script; show its output and return it. End this process if the script fails."""
    print(f"\n$ {run.command}", flush=True)
    start = time.perf_counter()
    command = [sys.executable, str(HERE / run.script), *run.arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", env=child_environment(), check=False)
    seconds = time.perf_counter() - start
    print(done.stdout, end="", flush=True)
    if done.returncode:
        raise SystemExit(f"{run.script} failed (exit code {done.returncode}); no page was written")
    return Finished(run, seconds, done.stdout)


def child_environment() -> dict[str, str]:
    """Return the environment of a script: it writes UTF-8 and imports the `mtloop` of this folder."""
    path = os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH"))))
    return os.environ | {"PYTHONIOENCODING": "utf-8", "PYTHONPATH": path}


def origin_lines(data: Path | None, human: Path | None, command: str, commit: str | None = None) -> Iterator[str]:
    """Yield the rows about this moment, the code, the data and the machine. Files may change while the scripts run.

    `commit`: that of the code (default: the checked-out one).
    """
    commit = commit or checked_out_commit(HERE.parent / "mtloop")
    packages = {"mtloop": __version__, **versions((*PACKAGES, *PEERS))}
    rows = {
        "Date": f"{datetime.now(UTC):%Y-%m-%d}",
        "Commit": f"`{commit}`" if commit else "unknown",
        "Data": "; ".join(data_cells(data, human)),
        "Command": f"`{command}`",
        "Seed": "constant: each script has its own",
        "Versions": ", ".join(f"{package} {found}" for package, found in packages.items()),
        "Machine": f"{processor()}, {cores()} cores",
        "System": f"{platform.system()} {platform.machine()}",
    }
    yield from ("| | |", "|---|---|")
    yield from (f"| {name} | {value} |" for name, value in rows.items())


def data_cells(data: Path | None, human: Path | None) -> Iterator[str]:
    """Yield what the scripts read, with its SHA-256: that of a folder is the one of the list of its files."""
    if data is not None:
        yield file_cell(data)
    if human is not None:
        paths = {path.relative_to(human).as_posix(): path for path in human.rglob("*") if path.is_file()}
        listed = "".join(f"{DataFile.read(paths[name]).sha256}  {name}\n" for name in sorted(paths))
        digest = hashlib.sha256(listed.encode()).hexdigest()
        files = pluralise(len(paths), "file")
        yield f"`{human.name}` ({files}), SHA-256 of what `sha256sum` prints for them `{digest[:16]}`"
    yield f"the demo document {file_cell(DEMO)}"
    yield "synthetic data"


def file_cell(path: Path) -> str:
    found = DataFile.read(path)
    return f"`{found.name}`, SHA-256 `{(found.sha256 or '')[:16]}`"


def page_lines(origin: Sequence[str], finished: Sequence[Finished], title: str = TITLE) -> Iterator[str]:
    yield from (f"# {title}", "", *origin, "")
    yield from NOTE.splitlines()
    previous = ""
    for one in finished:
        if one.run.script != previous:
            yield from ("", f"## {one.run.script}")
            if text := purpose(HERE / one.run.script):
                yield from ("", text)
        yield from ("", "```sh", one.run.command, "```", "", f"This run took {one.seconds:.0f} s.", "")
        yield from ("```text", one.output.strip("\n").replace("```", '"""'), "```")
        previous = one.run.script
    yield ""


def merged(old: str, new: str) -> str:
    """Return a new page with the sections of an older one that it lacks. Each of these keeps its origin."""
    (old_head, before), (head, sections) = sections_of(old), sections_of(new)
    origin = older_origin(origin_rows(old_head), origin_rows(head))
    kept = {
        name: re.sub(r"^This run took \d+ s\.$", lambda run: f"{run[0][:-1]}{origin}.", text, flags=re.MULTILINE)
        for name, text in before.items()
    }
    together = kept | sections
    return head + "".join(together[name] for name in sorted(together)).rstrip("\n") + "\n"


def older_origin(rows: dict[str, str], newer: dict[str, str]) -> str:
    """Return when and at which commit an older page was measured, and what else differs from the newer page.

    >>> older_origin({"Date": "1 May", "Commit": "a1", "Data": "x"}, {"Date": "2 May", "Commit": "b2", "Data": "y"})
    ', on 1 May at commit a1 (data: x)'
    """
    if not {"Date", "Commit"} <= rows.keys():
        return ""
    others = (row for row in ("Data", "Versions", "Machine", "System") if row in rows and rows[row] != newer.get(row))
    differs = "; ".join(f"{row.lower()}: {rows[row]}" for row in others)
    return f", on {rows['Date']} at commit {rows['Commit']}" + (f" ({differs})" if differs else "")


def origin_rows(head: str) -> dict[str, str]:
    """Return the rows about date, code, data and machine in the head of a page."""
    return dict(re.findall(r"^\| (\w+) \| (.*) \|$", head, re.MULTILINE))


def sections_of(page: str) -> tuple[str, dict[str, str]]:
    """Return the head of a page, and its sections by the names of their scripts."""
    head, *parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    sections = {part.partition("\n")[0].removeprefix("## "): f"{part.rstrip()}\n\n" for part in parts}
    return head, sections


def purpose(script: Path) -> str:
    """Return the first line of the script's docstring; "" if there is no such script any more."""
    text = script.read_text(encoding="utf-8") if script.is_file() else ""
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=existing, help="table of sources and references")
    parser.add_argument("--human", type=existing, help="folder of human scores")
    parser.add_argument("--only", type=scripts, default=sorted(RUNS), help="names of scripts, comma-separated")
    parser.add_argument("--out", type=Path, help="page to write (default: docs/results/benchmarks.md)")
    parser.add_argument("--title", default=TITLE, help="title of the page (default: Benchmarks)")
    parser.add_argument("--small", action="store_true", help="runs of seconds, to check that the scripts work")
    options = parser.parse_args(argv)
    if options.small and options.out is None:
        parser.error("--small needs --out: small runs do not belong into the results page")
    options.out = options.out or PAGE
    return options


def existing(text: str) -> Path:
    path = Path(text).resolve()
    if not path.exists():
        raise argparse.ArgumentTypeError(f"{text} does not exist")
    return path


def scripts(text: str) -> list[str]:
    names = [f"{name.strip().removesuffix('.py')}.py" for name in text.split(",")]
    if unknown := [name for name in names if name not in RUNS]:
        raise argparse.ArgumentTypeError(f"no benchmark {unknown[0]!r}; there are {', '.join(sorted(RUNS))}")
    return names


if __name__ == "__main__":
    main()
