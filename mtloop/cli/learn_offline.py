"""`mtloop learn-offline`: learn from logged rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._options import PATH, POSITIVE
from mtloop.core.errors import InputError
from mtloop.core.extras import need_extras

if TYPE_CHECKING:
    from mtloop.bandits.offline.learning import Offline
    from mtloop.bandits.offline.logs import Logged

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
@click.option(
    "--model", default="en-de", show_default=True, help="The embedded en-de, a folder, or a Hugging Face name."
)
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
def command(
    traces: tuple[Path, ...], out: Path, model: str, deterministic: bool, held_out: float, threads: int, scope: str,
    learning_rate: float, tensors_file: str, **options: Any,
) -> None:  # fmt: skip
    """Learn from logged rewards (counterfactual learning)."""
    need_extras("nmt")
    from mtloop.bandits.offline.learning import Offline, OfflineSettings
    from mtloop.bandits.offline.logs import read_logs
    from mtloop.methods.neural import make_scope
    from mtloop.nmt.engine.find_model import find_model
    from mtloop.nmt.engine.marian import Marian
    from mtloop.nmt.engine.threads import set_threads

    check_options(out, held_out, learning_rate)
    settings = OfflineSettings(**options)
    set_threads(threads)
    base = Marian.load(find_model(model))
    weights = make_scope(base, scope, learning_rate, tensors_file)
    logs = read_logs(traces, base, deterministic)
    training, test = logs.split(held_out, settings.seed)
    check_sizes(len(training), len(test), settings.batch_size)
    log(f"{len(training)} translations to learn from, {len(test)} held out{_skipped(logs.skipped)}")
    learner = Offline(weights, training, settings)
    click.echo(learn(learner, test))
    write_delta(learner, scope, out)
    click.echo(out)


def check_options(out: Path, held_out: float, learning_rate: float) -> None:
    """Raise InputError for a wrong option, before the model is loaded."""
    if out.exists():
        raise InputError("already exists; choose another name", path=out)
    if not 0 < held_out < 1:
        raise InputError(f"--held-out is {held_out:g}; expected a share of the sources, above 0 and below 1")
    if learning_rate < 0:
        raise InputError(f"--learning-rate is {learning_rate:g}; expected a number above 0, or 0 for the default")


def check_sizes(training: int, test: int, batch_size: int) -> None:
    if test < 2 or training < min(batch_size, 2):
        raise InputError(f"not enough data: {training} translations to learn from, {test} held out")


def learn(learner: Offline, test: Sequence[Logged]) -> str:
    """Learn; return a table of the estimated reward on the held-out part before and after."""
    import numpy as np

    from mtloop.bandits.offline.policy_value import PolicyValue, table

    rewards, plan = np.array([one.reward for one in test]), learner.settings
    before = PolicyValue(rewards, learner.log_ratios(test), plan.weight_limit, seed=plan.seed)
    for epoch in learner.run():
        refused = f", {epoch.skipped} rejected" if epoch.skipped else ""
        log(f"epoch {epoch.number}: estimated reward {epoch.value:.4f} in training, {epoch.updates} updates{refused}")
    return table(before, PolicyValue(rewards, learner.log_ratios(test), plan.weight_limit, seed=plan.seed))


def write_delta(learner: Offline, method: str, out: Path) -> None:
    """Write the learned weights as a delta of the post-edit method of the same name, which `translate` can read."""
    from mtloop.nmt.adaptive import AdaptiveNMT

    adapted = AdaptiveNMT(learner.scope, method=method)
    adapted.updates_ = learner.updates_
    adapted.delta().write(out)


def log(text: str) -> None:
    click.echo(f"mtloop: {text}", err=True)


def _skipped(left_out: Mapping[str, int]) -> str:
    return f"; left out: {', '.join(f'{count} {reason}' for reason, count in left_out.items())}" if left_out else ""
