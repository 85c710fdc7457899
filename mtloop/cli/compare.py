"""`mtloop compare`: run several methods on one stream, print the paper's tables, write the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mtloop.cli._options import (
    COUNT,
    PATH,
    POSITIVE,
    experiment_options,
    parse_setting,
    preset_option,
    settings_option,
    typed_command,
)
from mtloop.core.extras import need_extras
from mtloop.methods.defaults import COMPARED_METHODS

EPILOG = """
\b
Examples:
  mtloop compare --data manual.tsv --methods baseline,full,lasso --out out/manual
  mtloop compare --data manual.tsv --limit 2000 --beam-size 4 --out out/beam
  mtloop compare --data FILE --methods smt-baseline,smt-adapting,smt-foreground,smt-foreground-unfair \\
      --model smt-model --shuffle 1 --target-lang it --out out/curves
  mtloop compare --data manual.tsv --methods baseline,full,lasso+memory --reliability 6 --out out/reliability
  mtloop compare --data manual.tsv --methods baseline,mine.py:Engine --out out/mine      (your own engine)
  mtloop compare --data manual.tsv --set learning_rate=0.01 --set lora+memory+copy:rank=16 --out out/settings
  mtloop compare --data project.tmx --source-lang en --lang de --distinct --schedule delay:5 --jobs 4 --out out/late
  mtloop compare --data strings.csv --columns source=en,target=ja --lang ja --spm target.spm --model out/en-ja
  mtloop compare --config experiment.toml --methods baseline,full --out out/again       (settings as in `mtloop run`)
\b
Run the same command again to resume after an interruption.
"""


@click.command(epilog=EPILOG)
@experiment_options
@click.option(
    "--methods", default=COMPARED_METHODS, show_default=True, help="Methods to compare; the first is the baseline."
)
@click.option(
    "--out",
    type=PATH,
    default="compared",
    show_default=True,
    help="Folder for traces, the report and result.json. Existing traces are resumed.",
)
@settings_option
@preset_option
@click.option("--jobs", default=2, show_default=True, type=POSITIVE, help="Number of runs in parallel.")
@click.option(
    "--metrics",
    metavar="A,B,...",
    help="Metrics to compute.  [default: bleu,sbleu,ter,r0,r1,r01,rer,slope-ca,near-better,near-worse,flips; without "
    "r* and rer for languages without spaces, unless --spm is given]",
)
@click.option("--tokenize", metavar="NAME", help="Tokeniser of sacreBLEU.  [default: that of the language]")
@click.option("--spm", type=PATH, help="SentencePiece model. Recall then counts subwords, without a stop list.")
@click.option("--block-words", default=1000, show_default=True, type=POSITIVE, help="Words per block, for slopes.")
@click.option(
    "--reliability",
    type=COUNT,
    help="Number of documents on which forgetting (backward reliability) is measured, for methods that learn from "
    "post-edits; 0: off.  [default: 6 if smt-adapting is among the methods, else 0]",
)
@click.pass_context
def command(
    context: click.Context, /, methods: str, metrics: str | None, out: Path, pairs: tuple[str, ...], **options: Any
) -> None:
    """Run several methods on the same stream; compare their quality and speed of learning, with significance."""
    from mtloop.experiments.compare import compare
    from mtloop.methods.registry import method_extras
    from mtloop.report import check
    from mtloop.report.result_file import FILE_NAME

    need_extras("report", *method_extras(methods))
    check(out / "report.html", ("png",))
    settings = list(map(parse_setting, pairs))
    result = compare(methods=methods, metrics=metrics, out=out, settings=settings, **options)
    report = result.report(out / "report.html")  # the files first: a closed pipe ends the printing
    result.save(out / FILE_NAME, command=typed_command(context))
    for text in result.text():
        click.echo(text)
    click.echo(f"Report: {report}")
