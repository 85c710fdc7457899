"""`mtloop translate`: fill in the translations of files, or translate standard input line by line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._options import PATH, POSITIVE, check_learning, engine_choice, file_options, is_given
from mtloop.cli._project import project_options, with_project
from mtloop.core.errors import InputError
from mtloop.core.log import logger

if TYPE_CHECKING:
    from mtloop.translation.fill_report import FillReport

EPILOG = """
\b
Examples:
  mtloop translate de.po --out de.po                                (in place)
  mtloop translate manual.xlf --out manual.de.xlf --only fuzzy
  mtloop translate locale/de --out filled --dry-run                 (a folder keeps its tree)
  mtloop translate de.json --template en.json --out de.json
  mtloop translate de.po --out de.po --learn-from memory.tmx
  mtloop translate manual.en.txt --out manual.de.txt
  mtloop translate --delta full.state < manual.en.txt > manual.de.txt
  mtloop translate de.po --out de.po --project http://localhost:8017/manual --key-file key.txt
\b
If it is killed, run the same command again: it goes on. Its state is in OUT.mtloop until it has finished.
\b
With --project, what is translated in FILES is confirmed in the project only with --learn N or --learn-from.
"""
LEARNING_OPTIONS = ("learn", "learn_from", "no_learn", "save_delta")
FILE_OPTIONS = ("out", "template", "columns", "only", "approve", "dry_run", "jobs", "report", *LEARNING_OPTIONS)


@click.command(epilog=EPILOG)
@click.argument("files", nargs=-1, type=PATH)
@click.option("--out", type=PATH, help="Output: a file for one FILE, a folder for several or for a folder.")
@click.option(
    "--only",
    type=click.Choice(["untranslated", "fuzzy", "all"]),
    default="untranslated",
    show_default=True,
    help="Units to fill in. untranslated: those without a translation. fuzzy: untranslated ones, and those marked for "
    "review. all: every unit.",
)
@click.option(
    "--approve", is_flag=True, help="Do not mark filled units for review, except repaired ones and failed checks."
)
@click.option("--dry-run", is_flag=True, help="Say what would be filled, learned and skipped. Nothing is written.")
@file_options
@project_options
@click.option("--save-delta", type=PATH, help="File to which the learned delta is written.")
@click.option("--beam-size", type=POSITIVE, help="Number of hypotheses in beam search; 1: greedy.  [default: 1]")
@click.option(
    "--report",
    type=PATH,
    metavar="FILE",
    help="Table (TSV) of all units that were repaired, fail a check or were left as they are.",
)
@click.option("--jobs", default=1, show_default=True, type=POSITIVE, help="Number of files to fill in at a time.")
@click.pass_context
def command(context: click.Context, /, files: tuple[Path, ...], jobs: int, dry_run: bool, **options: Any) -> None:
    """Fill in the translations that FILES lack, or translate standard input line by line.

    FILES are PO, XLIFF, Qt TS, TMX, TSV, CSV, JSON, Android, .properties and text files, or folders of them. What is
    translated already is learned first and stays byte for byte. What is filled is checked and marked for review.
    """
    check_learning(context, **options)
    if not files:
        _check_no_file_options(context)
    options = with_project(context, **options)
    if not files:
        _translate_standard_input(**options)
    elif dry_run and options["report"] is not None:
        raise InputError("give --report or --dry-run, not both: a dry run writes nothing")
    elif dry_run:
        _show_plan(files, **options)
    else:
        _fill(files, jobs, **options)


def _check_no_file_options(context: click.Context) -> None:
    for name in FILE_OPTIONS:
        if is_given(context, name):
            raise InputError(f"--{name.replace('_', '-')} needs a FILE: mtloop translate FILE --out FILE")


def _translate_standard_input(**options: Any) -> None:
    from mtloop.translation.line_by_line import check_input_languages, plain_lines

    engine = engine_choice(learns=False, **options)
    check_input_languages(options["source_lang"], options["target_lang"], engine.languages())
    with engine.load() as translator:
        for line in plain_lines(sys.stdin.buffer):
            click.echo(translator.translate(line))


def _show_plan(files: tuple[Path, ...], **options: Any) -> None:
    from mtloop.translation.fill_files import plan_filling

    report = plan_filling(files, options["out"], **_arguments(**options))
    for file in report.files:
        click.echo(str(file))
    _show(report)


def _fill(
    files: tuple[Path, ...],
    jobs: int,
    *,
    out: Path | None,
    save_delta: Path | None,
    report: Path | None,
    **options: Any,
) -> None:
    from mtloop.experiments.runners import Processes, run_jobs
    from mtloop.translation.fill_files import fill_files

    if out is None:
        raise InputError("give the output: --out FILE, or --out FOLDER; --dry-run only shows what would be done")
    parallel = (lambda work: run_jobs(work, Processes(jobs))) if jobs > 1 else None
    try:
        arguments = _arguments(**options)
        result = fill_files(files, out, save_delta=save_delta, table=report, run_jobs=parallel, **arguments)
    except KeyboardInterrupt:
        click.echo("mtloop: interrupted; run the same command again to go on", err=True)
        sys.exit(130)
    _show(result)


def _show(report: FillReport) -> None:
    for line in report.messages():
        logger.warning(line)
    click.echo(str(report))


def _arguments(
    *,
    template: Path | None,
    learn: int,
    learn_from: tuple[Path, ...],
    no_learn: bool,
    only: str,
    approve: bool,
    columns: str,
    source_lang: str | None,
    target_lang: str | None,
    **options: Any,
) -> dict[str, Any]:
    """Return the keyword arguments that `fill_files` and `plan_filling` share."""
    from mtloop.data import parse_columns
    from mtloop.translation.fill_units import FillOptions, Only

    learn = 0 if no_learn else learn
    fill = FillOptions(Only(only), approve, parse_columns(columns), source_lang, target_lang)
    engine = engine_choice(learns=learn > 0, **options)
    return {"engine": engine, "options": fill, "template": template, "learn": learn, "learn_from": learn_from}
