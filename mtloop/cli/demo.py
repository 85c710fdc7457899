"""`mtloop demo`: the main job, on what the package embeds."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

import click

from mtloop.cli.inputs import PATH, Inputs

METRICS = "bleu,sbleu,ter,r0,r1,r01,rer,slope-u,slope-ca"

EPILOG = """
\b
Example:
  mtloop demo --out out/demo
"""


@click.command(epilog=EPILOG)
@click.option("--out", type=PATH, default=Path("mtloop-demo"), show_default=True, help="Folder for the report.")
def command(out: Path) -> None:
    """Score the demo document: a software manual, translated by a static and by an adapting system."""
    from mtloop.cli import tables
    from mtloop.report import write_report

    with as_file(files("mtloop") / "demo") as demo:
        evaluation = demo_inputs(demo).evaluation()
        results = list(evaluation.results())
        written = write_report(evaluation, out / "report.html", title="The demo document", results=results)
    click.echo(tables.as_table(evaluation, results))
    click.echo(f"The report: {written[0]}")


def demo_inputs(demo: Path) -> Inputs:
    """The demo document's files, and how it is measured; blocks are short, as the document is."""
    return Inputs(
        data=demo / "manual.en-de.tsv",
        hyps=(demo / "adapting.txt",),
        baseline=demo / "static.txt",
        language="de",
        names=METRICS,
        block_words=250,
    )
