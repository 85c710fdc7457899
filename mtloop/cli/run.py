"""`mtloop run`: translate one stream with one method, segment by segment."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._options import PATH, POSITIVE, experiment_options
from mtloop.core.errors import InputError
from mtloop.methods.defaults import DEFAULT_METHOD

if TYPE_CHECKING:
    from mtloop.core.types import Step
    from mtloop.experiments.experiment import Experiment

EPILOG = """
\b
Examples:
  mtloop run --data manual.tsv --method full --out full.jsonl
  mtloop run --data manual.tsv --method full --out full.jsonl --resume      (after an interruption)
  mtloop run --data manual.tsv --method lasso --set lasso_penalty=1e-3 --limit 500 --out lasso.jsonl
  mtloop run --data tuesday.tsv --delta monday.state --out tuesday.jsonl
  mtloop run --config experiment.toml --out run.jsonl
  mtloop run --data manual.tsv --method smt-adapting --model smt-model --shuffle 1 --out smt.jsonl
"""


@click.command(epilog=EPILOG)
@experiment_options
@click.option(
    "--method", help=f"Learning method: baseline, full, memory, lasso, smt-adapting ...  [default: {DEFAULT_METHOD}]"
)
@click.option(
    "--delta", type=PATH, help="Start from this delta: a file, or RUN.state. The default of --method is its method."
)
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Setting of the method. Repeat for more.")
@click.option("--out", type=PATH, required=True, help="File for the trace (JSON lines).")
@click.option("--resume", is_flag=True, help="Resume the trace if it exists.")
@click.option(
    "--stop-after", type=POSITIVE, help="Stop when the trace has this number of segments; --resume continues."
)
@click.option(
    "--snapshot-every", default=100, show_default=True, type=POSITIVE, help="Number of segments between snapshots."
)
@click.option("--lang", "language", default="de", show_default=True, help="Target language, for the running scores.")
def command(
    out: Path,
    resume: bool,
    stop_after: int | None,
    snapshot_every: int,
    language: str,
    pairs: tuple[str, ...],
    **options: Any,
) -> None:
    """Translate a stream, learn from each correction, and record every step in a trace."""
    if out.is_dir():
        raise InputError("is a folder; give the name of a file, such as run.jsonl", path=out)
    if out.exists() and not resume:
        raise InputError("already exists; resume it with --resume, or choose another name", path=out)
    experiment = make_experiment(pairs, **options)
    if experiment.delta and Path(experiment.delta).is_relative_to(out.with_name(f"{out.stem}.state")):
        raise InputError("this run would overwrite the snapshots in --delta; choose another name", path=out)
    for _ in run_experiment(experiment, out, snapshot_every, language, stop_after):
        pass
    click.echo(out)


def make_experiment(
    pairs: Iterable[str] = (), config: Path | None = None, beam_size: int | None = None, **options: Any
) -> Experiment:
    """Build an experiment. Options take precedence over the TOML file, which takes precedence over defaults."""
    from mtloop.experiments.experiment import Experiment

    table: dict[str, Any] = Experiment.read_fields(config) if config else {}
    table |= {name: value for name, value in options.items() if value is not None}
    settings = _with_beam_size(table.pop("beam_size", None), table.pop("settings", {}), "beam_size =")
    settings |= _with_beam_size(beam_size, dict(map(parse_setting, pairs)), "--beam-size")
    if table.get("delta"):
        from mtloop.nmt.delta_files import find_delta, read_delta

        found = find_delta(Path(table["delta"]))
        table = {"method": read_delta(found).method} | table | {"delta": str(found)}
    if "data" not in table:
        raise InputError('no data given: use --data FILE, or data = "FILE" in the TOML file')
    refuse_unused_model(table.get("method", ""), table.get("model"))
    return Experiment(**table | {"data": str(table["data"]), "settings": settings})


def _with_beam_size(beam_size: int | None, settings: Mapping[str, Any], option: str) -> dict[str, Any]:
    """Add the beam size to the settings. Raise InputError if they contain another one."""
    if beam_size and str(settings.get("beam_size", beam_size)) != str(beam_size):
        raise InputError(f"{option} {beam_size} contradicts the setting beam_size = {settings['beam_size']}; give one")
    return dict(settings) | ({"beam_size": beam_size} if beam_size else {})


def refuse_unused_model(method: str, model: str | None) -> None:
    """Raise InputError if a model is given for a method without a model."""
    from mtloop.methods.registry import takes_model

    if model is not None and method and not takes_model(method):
        raise InputError(f"method {method} uses no model; leave out --model")


def run_experiment(
    experiment: Experiment, out: Path, snapshot_every: int, language: str, stop_after: int | None = None
) -> Iterator[Step]:
    """Run the experiment and yield its steps. Write the trace to `out` and the times to a file beside it."""
    from mtloop.cli._running_scores import with_progress
    from mtloop.core.record import record
    from mtloop.core.types import PostEdit
    from mtloop.judges import PostEditor
    from mtloop.methods.compatibility import check_feedback, check_without_references

    stream, schedule = experiment.stream(), experiment.make_schedule()
    if not stream:
        after = f" after the first {experiment.skip}" if experiment.skip else ""
        raise InputError(f"contains no segments{after}", path=experiment.data)
    model = experiment.load()
    learner, header = experiment.learner(model), experiment.header(model)
    check_feedback(learner, experiment.method, PostEdit)
    check_without_references(learner, experiment.method)
    total = min(len(stream), stop_after or len(stream))  # `until` keeps a complete trace from being learned again
    steps = record(
        out, header, stream, learner, PostEditor(), schedule=schedule, snapshot_every=snapshot_every, stop_after=total
    )
    return with_progress(_timed(steps, out), total, experiment.method, language)


def _timed(steps: Iterable[Step], out: Path) -> Iterator[Step]:
    """Yield the steps and write their times to a separate file, so that equal runs write equal traces."""
    start, steps = time.perf_counter(), iter(steps)
    first = next(steps, None)  # opens the trace; if that fails, no file of times is created
    if first is None:
        return
    with out.with_suffix(".meta.jsonl").open("a", encoding="utf-8") as times:
        for step in chain([first], steps):
            times.write(json.dumps({"step": step.index, "seconds": round(time.perf_counter() - start, 4)}) + "\n")
            start = time.perf_counter()
            yield step


def parse_setting(pair: str) -> tuple[str, str]:
    """Split KEY=VALUE."""
    name, equals, value = pair.partition("=")
    if not equals:
        raise InputError(f"--set expects KEY=VALUE, not {pair!r}")
    return name.strip(), value.strip()
