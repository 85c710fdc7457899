"""Run all benchmarks one after the other, and write one page of results: `make bench`.

    python benchmarks/run_all.py
    python benchmarks/run_all.py --data FILE.tsv.xz --human FOLDER
    python benchmarks/run_all.py --small --only ter,curves --out page.md

The page shows the machine, the date and the commit, and for each script its command, its time and its output. FILE
holds sources and references; without it, the scripts use the demo document or synthetic sentences. FOLDER holds the
human scores for `selection_quality.py`; without it, the runs that need them are left out. If a script fails, no page
is written. Other work on the machine changes the results.
"""

from __future__ import annotations

import argparse
import ast
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mtloop.report.provenance import checked_out_commit, cores, processor

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "results" / "benchmarks.md"
# The runs of each script, as arguments; DATA and HUMAN stand for the file and the folder.
RUNS: dict[str, list[str]] = {
    "baselines.py": ["DATA"],
    "curves.py": ["--data DATA"],
    "glossary.py": ["DATA --documents odd --segments 300 --others 150"],
    "memory.py": ["--data DATA"],
    "online_step.py": ["--data DATA --threads 1", "--data DATA --threads 2"],
    "pieces.py": ["DATA --segments 100"],
    "propose_many.py": ["--data DATA"],
    "selection.py": [""],
    "selection_quality.py": ["calibration", "effort HUMAN", "pairing HUMAN"],
    "service.py": [""],
    "smt.py": ["--data DATA"],
    "steps.py": [""],
    "ter.py": ["--data DATA"],
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
    runs, origin = list(planned_runs(options)), list(origin_lines())
    page = "\n".join(page_lines(origin, [execute(run) for run in runs]))
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


def origin_lines() -> Iterator[str]:
    """Yield the rows about this moment, the code and the machine. Files may change while the scripts run."""
    commit = checked_out_commit(HERE.parent / "mtloop")
    yield from ("| | |", "|---|---|", f"| Date | {datetime.now(UTC):%Y-%m-%d} |")
    yield f"| Commit | {f'`{commit}`' if commit else 'unknown'} |"
    yield f"| Machine | {processor()}, {cores()} cores |"
    yield f"| System | {platform.system()} {platform.machine()}, Python {platform.python_version()} |"


def page_lines(origin: Sequence[str], finished: Sequence[Finished]) -> Iterator[str]:
    yield from ("# Benchmarks", "", *origin, "")
    yield "`make bench` wrote this page. Times and ratios hold for this machine."
    previous = ""
    for one in finished:
        if one.run.script != previous:
            yield from ("", f"## {one.run.script}", "", purpose(HERE / one.run.script))
        yield from ("", "```sh", one.run.command, "```", "", f"This run took {one.seconds:.0f} s.", "")
        yield from ("```text", one.output.strip("\n"), "```")
        previous = one.run.script
    yield ""


def purpose(script: Path) -> str:
    """Return the first line of the script's docstring."""
    return (ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=existing, help="table of sources and references")
    parser.add_argument("--human", type=existing, help="folder of human scores")
    parser.add_argument("--only", type=scripts, default=sorted(RUNS), help="names of scripts, comma-separated")
    parser.add_argument("--out", type=Path, help="page to write (default: docs/results/benchmarks.md)")
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
