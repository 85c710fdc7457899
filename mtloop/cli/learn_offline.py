"""`mtloop learn-offline`: what a log of rewards teaches, without asking anyone again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._inputs import PATH
from mtloop.core.errors import InputError

if TYPE_CHECKING:
    from mtloop.bandits.offline.learning import Offline
    from mtloop.bandits.offline.logs import Logged

EPILOG = """
\b
Examples:
  mtloop learn-offline --trace out/nmt-el.jsonl --out learned.safetensors
  mtloop learn-offline --trace monday.jsonl --trace tuesday.jsonl --estimator doubly-controlled --out new.safetensors
  mtloop learn-offline --trace baseline.jsonl --deterministic --method lora --out learned.safetensors
  mtloop translate --delta learned.safetensors < manual.en.txt
\b
A log is a trace with rewards, of `mtloop bandit` or `mtloop join`, made with the model that learns. Part of it is held
out: what the model would have earned there is printed, before and after, with 95 % intervals.
"""


@click.command("learn-offline", epilog=EPILOG)
@click.option("--trace", "traces", type=PATH, multiple=True, required=True, help="A log; again for a further one.")
@click.option("--out", type=PATH, required=True, help="The delta, for `translate --delta`.")
@click.option("--model", default="en-de", show_default=True, help="The embedded en-de, a folder, or a hub name.")
@click.option("--estimator", default="reweighted", show_default=True, help="ips, reweighted or doubly-controlled.")
@click.option("--method", default="full", show_default=True, help="What moves: full, top, fixed, bias, lasso, lora.")
@click.option("--rate", default=0.0, type=float, help="Step size of plain SGD.  [default: that of the method]")
@click.option("--tensors", default="", help="The file that --method fixed takes its tensors from.")
@click.option("--epochs", default=3, show_default=True, type=int, help="Times over the log.")
@click.option("--batch", default=16, show_default=True, type=int, help="Translations an update.")
@click.option("--cap", default=10.0, show_default=True, type=float, help="Most that one counts for; 0: no bound.")
@click.option("--clip", default=1.0, show_default=True, type=float, help="Longest gradient of a batch; 0: any.")
@click.option("--draws", default=1, show_default=True, type=int, help="doubly-controlled: fresh draws a sentence.")
@click.option("--deterministic", is_flag=True, help="Nothing was drawn: each translation was the only one there was.")
@click.option("--held-out", default=0.2, show_default=True, type=float, help="Share of the sources to judge by.")
@click.option("--seed", default=1, show_default=True, type=int, help="Of the order, the draws and what is held out.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(min=1), help="Threads of the model.")
def command(
    traces: tuple[Path, ...], out: Path, model: str, deterministic: bool, held_out: float, threads: int, method: str,
    rate: float, tensors: str, **plan: Any,
) -> None:  # fmt: skip
    """Learn from rewards that were given before: counterfactual learning from a log."""
    from mtloop.bandits.offline.learning import Offline, OfflineSettings
    from mtloop.bandits.offline.logs import read_logs
    from mtloop.methods.neural import make_scope
    from mtloop.nmt.engine.find_model import find_model
    from mtloop.nmt.engine.marian import Marian
    from mtloop.nmt.engine.threads import set_threads

    refuse(out, held_out, rate)
    planned = OfflineSettings(**plan)
    set_threads(threads)
    base = Marian.load(find_model(model))
    scope = make_scope(base, method, rate, tensors)
    logs = read_logs(traces, base, deterministic)
    taught, judged = logs.divided(held_out, planned.seed)
    check(len(taught), len(judged), planned.batch)
    say(f"{len(taught)} translations to learn from, {len(judged)} held out{_told(logs.left_out)}")
    learner = Offline(scope, taught, planned)
    click.echo(learned(learner, judged))
    write(learner, method, out)
    click.echo(out)


def refuse(out: Path, held_out: float, rate: float) -> None:
    """What is wrong is found before the model is loaded."""
    if out.exists():
        raise InputError("is there already; choose another name", path=out)
    if not 0 < held_out < 1:
        raise InputError(f"--held-out is a share of the sources, more than 0 and less than 1, not {held_out:g}")
    if rate < 0:
        raise InputError(f"--rate is the step size (0: that of the method), not {rate:g}")


def check(taught: int, judged: int, batch: int) -> None:
    if judged < 2 or taught < min(batch, 2):
        raise InputError(f"too little to learn from: {taught} translations, and {judged} held out to judge by")


def learned(learner: Offline, judged: Sequence[Logged]) -> str:
    """Learn, and say what it was worth."""
    import numpy as np

    from mtloop.bandits.offline.policy_value import PolicyValue, table

    rewards, plan = np.array([one.reward for one in judged]), learner.plan
    before = PolicyValue(rewards, learner.log_ratios(judged), plan.ceiling, seed=plan.seed)
    for epoch in learner.run():
        refused = f", {epoch.refused} refused" if epoch.refused else ""
        say(f"epoch {epoch.number}: value {epoch.value:.4f} on what it learns from, {epoch.updates} updates{refused}")
    return table(before, PolicyValue(rewards, learner.log_ratios(judged), plan.ceiling, seed=plan.seed))


def write(learner: Offline, method: str, out: Path) -> None:
    """As the method's own delta: `translate` asks nothing else of one."""
    from mtloop.nmt.adaptive import AdaptiveNMT

    speaker = AdaptiveNMT(learner.scope, method=method)
    speaker.updates_ = learner.updates_
    speaker.delta().write(out)


def say(text: str) -> None:
    click.echo(f"mtloop: {text}", err=True)


def _told(left_out: Mapping[str, int]) -> str:
    return f"; left out: {', '.join(f'{count} {reason}' for reason, count in left_out.items())}" if left_out else ""
