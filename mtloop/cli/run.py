"""`mtloop run`: one system, one stream, segment by segment."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._inputs import PATH
from mtloop.core.errors import InputError
from mtloop.methods.defaults import DEFAULT

if TYPE_CHECKING:
    from mtloop.core.types import Step
    from mtloop.experiments.experiment import Experiment

EPILOG = """
\b
Examples:
  mtloop run --data manual.tsv --method full --out full.jsonl
  mtloop run --data manual.tsv --method full --out full.jsonl --resume      (after it was stopped or killed)
  mtloop run --data manual.tsv --method lasso --set strength=1e-3 --limit 500 --out lasso.jsonl
  mtloop run --data tuesday.tsv --delta monday.state --out tuesday.jsonl
  mtloop run --config experiment.toml --out run.jsonl
  mtloop run --data manual.tsv --method smt-adapting --model smt-model --shuffle 1 --out smt.jsonl
"""

_STREAM = (
    click.option("--data", type=PATH, help="The stream: source and reference (or post-edit)."),
    click.option("--columns", metavar="source=A,target=B", help="Names of the columns in --data."),
    click.option("--model", help="The embedded en-de, a folder, or a hub name; for smt-* a folder.  [default: en-de]"),
    click.option("--beam", type=click.IntRange(min=1), help="Hypotheses side by side.  [default: 1, greedy]"),
)
_CUT = (
    click.option("--skip", type=click.IntRange(min=0), help="Leave out the first N segments."),
    click.option("--limit", type=click.IntRange(min=1), help="At most N segments."),
)
_HOW = (
    click.option("--shuffle", type=int, metavar="SEED", help="Shuffle the stream first."),
    click.option("--distinct", is_flag=True, default=None, help="Leave out exact repeats of a source."),
    click.option(
        "--schedule",
        metavar="WHEN",
        help="each, delay:K, blocks:WORDS, blocks:WORDS:unfair.  [default: each; smt-*: blocks:1000]",
    ),
    click.option("--threads", type=click.IntRange(min=1), help="Threads of the run.  [default: 1]"),
    click.option("--config", type=PATH, help="A TOML file with any of these; options given here win."),
)


def experiment_options(command: Any) -> Any:
    return _with(command, _STREAM + _CUT + _HOW)


def stream_options(command: Any) -> Any:
    """The same, for a verb that cuts the stream itself."""
    return _with(command, _STREAM + _HOW)


def _with(command: Any, options: tuple[Any, ...]) -> Any:
    for option in reversed(options):
        command = option(command)
    return command


@click.command(epilog=EPILOG)
@experiment_options
@click.option("--method", help=f"baseline, full, memory, lasso, smt-adapting ...  [default: {DEFAULT}]")
@click.option(
    "--delta", type=PATH, help="Begin with what was learned before: a file, or RUN.state. Its method is the default."
)
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting of the method; again for another.")
@click.option("--out", type=PATH, required=True, help="The trace, JSON lines.")
@click.option("--resume", is_flag=True, help="Go on with a trace that was interrupted.")
@click.option("--until", type=click.IntRange(min=1), help="Stop after N segments in all; --resume goes on.")
@click.option("--snapshot", default=100, show_default=True, type=click.IntRange(min=1), help="Steps between snapshots.")
@click.option("--lang", "language", default="de", show_default=True, help="Target language, for the running scores.")
def command(
    out: Path,
    resume: bool,
    until: int | None,
    snapshot: int,
    language: str,
    pairs: tuple[str, ...],
    **options: Any,
) -> None:
    """Translate a stream, learn from each correction, and write what happened to a trace."""
    if out.is_dir():
        raise InputError("is a folder; name the file of the trace in it, such as run.jsonl", path=out)
    if out.exists() and not resume:
        raise InputError("is there already; go on with --resume, or choose another name", path=out)
    experiment = make_experiment(pairs, **options)
    if experiment.delta and Path(experiment.delta).is_relative_to(out.with_name(f"{out.stem}.state")):
        raise InputError("begins with the snapshots that this trace would replace; choose another name", path=out)
    for _ in run_experiment(experiment, out, snapshot, language, until):
        pass
    click.echo(out)


def make_experiment(
    pairs: Iterable[str] = (), config: Path | None = None, beam: int | None = None, **options: Any
) -> Experiment:
    """Options over a TOML file over the defaults."""
    from mtloop.experiments.experiment import Experiment

    table: dict[str, Any] = Experiment.from_toml(config) if config else {}
    table |= {name: value for name, value in options.items() if value is not None}
    settings = _searching(table.pop("beam", None), table.pop("settings", {}), "beam")
    settings |= _searching(beam, dict(map(setting, pairs)), "--beam")
    if table.get("delta"):
        from mtloop.nmt.delta_files import find_delta, read_delta

        found = find_delta(Path(table["delta"]))
        table = {"method": read_delta(found).method} | table | {"delta": str(found)}
    if "data" not in table:
        raise InputError('a run needs data: --data FILE, or data = "FILE" in the TOML')
    refuse_idle_model(table.get("method", ""), table.get("model"))
    return Experiment(**table | {"data": str(table["data"]), "settings": settings})


def _searching(beam: int | None, settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Settings with a beam that was given by its other name; the two must agree."""
    if beam and str(settings.get("beams", beam)) != str(beam):
        raise InputError(f"{name} {beam} and beams = {settings['beams']} say different things; give one of them")
    return dict(settings) | ({"beams": beam} if beam else {})


def refuse_idle_model(method: str, model: str | None) -> None:
    """An option that would be ignored is a mistake."""
    from mtloop.methods.registry import takes_model

    if model is not None and method and not takes_model(method):
        raise InputError(f"method {method} needs no model; leave out --model")


def run_experiment(
    experiment: Experiment, out: Path, snapshot: int, language: str, until: int | None = None
) -> Iterator[Step]:
    """Run it, with the trace at `out` and the clock beside it."""
    from mtloop.cli._running_scores import shown
    from mtloop.core.record import record
    from mtloop.core.types import PostEdit
    from mtloop.judges import PostEditor
    from mtloop.methods.compatibility import refuse_deaf, refuse_informed

    stream, when = experiment.stream(), experiment.when()
    if not stream:
        after = f" after the first {experiment.skip}" if experiment.skip else ""
        raise InputError(f"holds no segments{after}", path=experiment.data)
    model = experiment.load()
    learner, header = experiment.learner(model), experiment.header(model)
    refuse_deaf(learner, experiment.method, PostEdit)
    refuse_informed(learner, experiment.method)
    total = min(len(stream), until or len(stream))  # a trace that is whole has nothing to teach again
    steps = record(out, header, stream, learner, PostEditor(), schedule=when, every=snapshot, until=total)
    return shown(_clocked(steps, out), total, experiment.method, language)


def _clocked(steps: Iterable[Step], out: Path) -> Iterator[Step]:
    """Clock times live beside the trace, so that equal runs are equal bytes."""
    start, steps = time.perf_counter(), iter(steps)
    first = next(steps, None)  # once the trace is open; where it cannot be, nothing is left behind
    if first is None:
        return
    with out.with_suffix(".meta.jsonl").open("a", encoding="utf-8") as clock:
        for step in chain([first], steps):
            clock.write(json.dumps({"step": step.index, "seconds": round(time.perf_counter() - start, 4)}) + "\n")
            start = time.perf_counter()
            yield step


def setting(pair: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not equals:
        raise InputError(f"--set takes KEY=VALUE, not {pair!r}")
    return name.strip(), value.strip()
