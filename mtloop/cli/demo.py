"""`mtloop demo`: compare the methods on the embedded demo document."""

from __future__ import annotations

from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path

import click

from mtloop.cli._inputs import Inputs
from mtloop.cli._options import PATH
from mtloop.methods.defaults import COMPARED_METHODS

METRICS = "bleu,sbleu,ter,r0,r1,r01,rer,slope-u,slope-ca"
BLOCK_WORDS = 250  # small blocks, because the document is short

EPILOG = """
\b
Examples:
  mtloop demo --out out/demo
  mtloop demo --recorded       (two recorded systems, no model; takes seconds)
"""


@click.command(epilog=EPILOG)
@click.option(
    "--out", type=PATH, default=Path("mtloop-demo"), show_default=True, help="Folder for traces and the report."
)
@click.option("--recorded", is_flag=True, help="Score two recorded systems instead of running the embedded model.")
def command(out: Path, recorded: bool) -> None:
    """Translate the demo document, a software manual, with every learning method, and compare the methods."""
    from mtloop.report import check

    check(out / "report.html", ("png",))
    with as_file(files("mtloop") / "demo") as demo:
        if recorded or not (find_spec("torch") and find_spec("mtloop_en_de")):
            score_recorded(demo, out)
        else:
            compare_methods(demo, out)


def compare_methods(demo: Path, out: Path) -> None:
    from mtloop.experiments.compare import compare

    data, methods = demo / "manual.en-de.tsv", COMPARED_METHODS.split(",")
    result = compare(data, methods, out=out, metrics=METRICS.split(","), block_words=BLOCK_WORDS)
    for text in result.text():
        click.echo(text)
    click.echo(f"Report: {result.report(out / 'report.html')}")


def score_recorded(demo: Path, out: Path) -> None:
    from mtloop.report import text_tables, write_report

    evaluation = recorded_inputs(demo).evaluation()
    results = list(evaluation.results())
    written = write_report(evaluation, out / "report.html", title="The demo document", results=results)
    click.echo(text_tables.as_table(evaluation, results))
    click.echo(f"Report: {written[0]}")


def recorded_inputs(demo: Path) -> Inputs:
    """Two recorded systems: a static one and one that learns."""
    return Inputs(
        data=demo / "manual.en-de.tsv",
        hyps=(demo / "adapting.txt",),
        baseline=demo / "static.txt",
        language="de",
        names=METRICS,
        block_words=BLOCK_WORDS,
    )
