"""`mtloop learn-offline`: learn from logged rewards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mtloop.cli._options import PATH, POSITIVE, model_option

EPILOG = """
\b
Examples:
  mtloop learn-offline --trace out/nmt-el.jsonl --out learned.safetensors
  mtloop learn-offline --trace monday.jsonl --trace tuesday.jsonl --estimator doubly-controlled --out new.safetensors
  mtloop learn-offline --trace baseline.jsonl --deterministic --scope lora --out learned.safetensors
  mtloop translate --delta learned.safetensors < manual.en.txt
\b
A log is a trace with rewards from `mtloop bandit` or `mtloop join`, recorded with the same model. Part of it is held
out. The command prints the estimated reward on this part before and after learning, with 95 % intervals.
"""


@click.command("learn-offline", epilog=EPILOG)
@click.option("--trace", "traces", type=PATH, multiple=True, required=True, help="Log of rewards. Repeat for more.")
@click.option("--out", type=PATH, required=True, help="File for the delta, for `translate --delta`.")
@model_option
@click.option(
    "--estimator",
    default="reweighted",
    show_default=True,
    help="Off-policy estimator: ips, reweighted or doubly-controlled.",
)
@click.option(
    "--scope",
    default="full",
    show_default=True,
    help="Weights that are updated: full, top, fixed, bias, lasso or lora.",
)
@click.option("--learning-rate", default=0.0, type=float, help="Learning rate of SGD.  [default: that of the scope]")
@click.option("--tensors-file", default="", help="Scope fixed: file with the names of the tensors to update.")
@click.option("--epochs", default=3, show_default=True, type=int, help="Number of passes over the log.")
@click.option("--batch-size", default=16, show_default=True, type=int, help="Number of translations per update.")
@click.option(
    "--max-weight",
    default=10.0,
    show_default=True,
    type=float,
    help="Maximum importance weight of a translation; 0: no maximum.",
)
@click.option(
    "--max-gradient-norm",
    default=1.0,
    show_default=True,
    type=float,
    help="Norm at which the gradient of a batch is clipped; 0: no clipping.",
)
@click.option(
    "--samples",
    default=1,
    show_default=True,
    type=int,
    help="Estimator doubly-controlled: number of translations sampled per sentence.",
)
@click.option(
    "--deterministic", is_flag=True, help="The logged translations were not sampled; use probability 1 for each."
)
@click.option(
    "--held-out",
    default=0.2,
    show_default=True,
    type=float,
    help="Share of the sources held out for evaluation, 0 to 1.",
)
@click.option(
    "--seed",
    default=1,
    show_default=True,
    type=int,
    help="Random seed of the order, the samples and the held-out part.",
)
@click.option("--threads", default=1, show_default=True, type=POSITIVE, help="Number of CPU threads.")
def command(traces: tuple[Path, ...], out: Path, **options: Any) -> None:
    """Learn from logged rewards (counterfactual learning)."""
    from mtloop.experiments.learn_offline import learn_offline

    click.echo(learn_offline(traces, out=out, **options))
    click.echo(out)
