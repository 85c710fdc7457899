"""`mtloop methods`: the learning methods and their settings."""

from __future__ import annotations

import json

import click

from mtloop.cli._options import format_option

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
@format_option("table", "json")
def command(name: str | None, output_format: str) -> None:
    """List the learning methods, or show what one method is and which settings it has."""
    from mtloop.methods.listing import method_table, settings_text
    from mtloop.methods.registry import all_methods, find_method

    if output_format == "json":
        records = find_method(name).to_json() if name else [method.to_json() for method in all_methods().values()]
        click.echo(json.dumps(records, indent=2, ensure_ascii=False))
        return
    click.echo(settings_text(find_method(name)) if name else method_table())
