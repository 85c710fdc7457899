"""`mtloop report`: write one self-contained HTML page."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from mtloop.cli._inputs import make_evaluation
from mtloop.cli._options import PATH, input_options, is_given

EPILOG = """
\b
Examples:
  mtloop report run.jsonl --baseline base.jsonl --lang de --out report.html
  mtloop report --ref ref.txt --src src.txt --hyp learner.txt --baseline baseline.txt --lang de --out report.html
  mtloop report --data postedits.tsv --lang de --pictures both --out report.html
  mtloop report --data postedits.tsv --lang de --scores comet=comet.json --out report.html
\b
The page works without a network. It always contains slopes; --metrics can select others, such as slope-ca-bleu.
With --baseline and the source text, it lists the segments that learning harmed, unless --metrics leaves them out.
Pictures are written to the folder report_files beside report.html.
"""
PICTURES = {"png": ("png",), "svg": ("svg",), "both": ("png", "svg"), "none": ()}


@click.command(epilog=EPILOG)
@input_options
@click.option("--out", type=PATH, required=True, metavar="FILE.html", help="File for the report.")
@click.option(
    "--pictures", type=click.Choice(list(PICTURES)), default="png", show_default=True, help="Format of the pictures."
)
@click.option("--title", help="Heading of the page.  [default: the names of the systems]")
@click.pass_context
def command(context: click.Context, /, out: Path, pictures: str, title: str | None, **inputs: Any) -> None:
    """Write one self-contained HTML file with scores, learning curves, differences and all segments."""
    from mtloop.report import check, write_report

    formats, arguments = PICTURES[pictures], command_line(context)
    check(out, formats)
    evaluation = make_evaluation(slopes=True, collateral=True, **inputs)
    for path in write_report(evaluation, out, pictures=formats, title=title, command=arguments, progress=_progress):
        click.echo(path)


def command_line(context: click.Context) -> str:
    """Rebuild the command line that the user typed from the parsed parameters."""
    given = [p for p in context.command.params if p.name and is_given(context, p.name)]
    return shlex.join(["mtloop", str(context.info_name), *(word for p in given for word in _typed(p, context.params))])


def _typed(parameter: click.Parameter, values: dict[str, Any]) -> Iterator[str]:
    value = values[str(parameter.name)]
    for item in value if isinstance(value, tuple) else (value,):
        if isinstance(parameter, click.Option):
            yield parameter.opts[-1]
        yield str(item)


def _progress(items: Iterable[Any], total: int, label: str) -> Iterable[Any]:
    from tqdm import tqdm

    return iter(tqdm(items, total=total, desc=label, delay=1, leave=False, disable=None))
