"""`mtloop opposites`: teach a lesson, then translate its opposite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mtloop.cli._options import PATH, POSITIVE, parse_setting, settings_option, typed_command
from mtloop.methods.defaults import OPPOSITES_METHODS

EPILOG = """
\b
Examples:
  mtloop opposites --part report --out out/opposites
  mtloop opposites --methods baseline,lora,memory,lora+memory+copy --part development --out out/methods
  mtloop opposites --method memory --set check_changed_words=false --out out/unchecked
  mtloop opposites --data mine.tsv --method mine.py:Engine --out out/mine      (your own pairs, your own engine)
\b
For every pair a new learner translates the opposite, learns the lesson, and translates lesson and opposite again.
A flip: after the lesson `Log in -> Anmelden`, `Log out` becomes `Anmelden`, which it did not before.
\b
Your own pairs are a table (.tsv or .csv) with the columns lesson_source, lesson_target, opposite_source and
opposite_target; kind and part are optional. The pairs of the package are English-German, half of them for
development and half for reports.
"""


@click.command(epilog=EPILOG)
@click.option("--data", type=PATH, help="Table of your own pairs.  [default: the English-German pairs of the package]")
@click.option("--part", help="Only the pairs of this part: development or report.  [default: all pairs]")
@click.option(
    "--methods", "--method", default=OPPOSITES_METHODS, show_default=True, help="Methods, separated by commas."
)
@click.option(
    "--out",
    type=PATH,
    default="opposites",
    show_default=True,
    help="Folder for opposites.jsonl (a line for each method and pair) and result.json.",
)
@settings_option
@click.option("--model", default="", help="The embedded en-de, a folder, or a Hugging Face name.  [default: en-de]")
@click.option("--source-lang", metavar="CODE", help="Source language of your own pairs, to check the model.")
@click.option(
    "--target-lang",
    "--lang",
    "target_lang",
    metavar="CODE",
    help="Target language of your own pairs, to check the model.",
)
@click.option("--threads", default=1, show_default=True, type=POSITIVE, help="Number of CPU threads per method.")
@click.option("--jobs", default=2, show_default=True, type=POSITIVE, help="Number of methods that run in parallel.")
@click.pass_context
def command(context: click.Context, /, out: Path, pairs: tuple[str, ...], **options: Any) -> None:
    """Teach a lesson and translate its opposite: is the lesson known at once, and does it harm similar sentences?"""
    from mtloop.experiments.opposites import opposites
    from mtloop.experiments.opposites_result import FILE
    from mtloop.report.result_file import FILE_NAME

    result = opposites(out=out, settings=list(map(parse_setting, pairs)), **options)
    result.save(out / FILE_NAME, command=typed_command(context))  # the files first: a closed pipe ends the printing
    for text in result.text():
        click.echo(text)
    click.echo(f"Translations: {out / FILE}")
