"""`mtloop methods`: the learning methods and their settings."""

from __future__ import annotations

import json

import click

EPILOG = """
\b
Examples:
  mtloop methods
  mtloop methods lora+memory+copy
  mtloop methods mine.py:Engine                     (your own engine)
  mtloop methods nmt-el --format json
"""


@click.command(epilog=EPILOG)
@click.argument("name", required=False)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Output format.",
)
def command(name: str | None, output_format: str) -> None:
    """List the learning methods, or show what one method is and which settings it has."""
    from mtloop.methods.listing import method_table, settings_text
    from mtloop.methods.registry import METHODS, find_method, plugins

    if output_format == "json":
        known = METHODS | plugins()
        records = find_method(name).to_json() if name else [method.to_json() for method in known.values()]
        click.echo(json.dumps(records, indent=2, ensure_ascii=False))
        return
    click.echo(settings_text(find_method(name)) if name else method_table())
