"""`mtloop demo`: compare the methods on the embedded demo document."""

from __future__ import annotations

from pathlib import Path

import click

from mtloop.cli._options import PATH

EPILOG = """
\b
Examples:
  mtloop demo --out out/demo
  mtloop demo --recorded       (recorded outputs of two methods, no model; takes seconds)
"""


@click.command(epilog=EPILOG)
@click.option(
    "--out", type=PATH, default=Path("mtloop-demo"), show_default=True, help="Folder for traces and the report."
)
@click.option("--recorded", is_flag=True, help="Score recorded outputs of two methods instead of running the model.")
def command(out: Path, recorded: bool) -> None:
    """Translate the demo document, a software manual, with seven methods, and compare them."""
    from mtloop.experiments.demo import demo

    result = demo(out, recorded=recorded)
    for text in result.text():
        click.echo(text)
    click.echo(f"Report: {result.report}")
