"""Learn from logged rewards: what `mtloop learn-offline` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtloop.core.errors import InputError
from mtloop.core.extras import need_extras
from mtloop.core.log import logger
from mtloop.core.types import JSON
from mtloop.experiments.folders import output_folder
from mtloop.report.result import Result
from mtloop.report.table import Table

if TYPE_CHECKING:
    from mtloop.bandits.offline.learning import Epoch, Offline
    from mtloop.bandits.offline.logs import Logged
    from mtloop.bandits.offline.policy_value import PolicyValue, RewardEstimate
    from mtloop.metrics.significance import Comparison

HEADERS = ("policy", "value", "95 % interval", "by ips", "95 % interval", "effective sentences")


def learn_offline(
    traces: str | Path | Sequence[str | Path],
    *,
    out: str | Path | None = None,
    model: str = "en-de",
    scope: str = "full",
    learning_rate: float = 0.0,
    tensors_file: str = "",
    deterministic: bool = False,
    held_out: float = 0.2,
    threads: int = 1,
    **settings: Any,
) -> OfflineResult:
    """Learn from logged rewards, and estimate the reward of the learned model on a held-out part of the log.

    `traces` are the logs, recorded with the same model. `out` is the file of the delta (None: a temporary file).
    `scope` names the weights that learn; a `learning_rate` of 0 is the default of the scope. `deterministic`: the
    translations were not sampled. `held_out` is the share of the sources for the estimate. `settings` are the fields of
    `OfflineSettings`: estimator, epochs, batch_size, max_weight, max_gradient_norm, samples, seed.
    """
    need_extras("nmt")
    from mtloop.bandits.offline.learning import Offline, OfflineSettings
    from mtloop.bandits.offline.logs import read_logs
    from mtloop.methods.neural import make_scope
    from mtloop.nmt.engine.find_model import find_model
    from mtloop.nmt.engine.marian import Marian
    from mtloop.nmt.engine.threads import set_threads

    delta = Path(out) if out is not None else output_folder() / "learned.safetensors"
    check_options(delta, held_out, learning_rate)
    plan = OfflineSettings(**settings)
    set_threads(threads)
    base = Marian.load(find_model(model))
    weights = make_scope(base, scope, learning_rate, tensors_file)
    logs = read_logs(map(Path, [traces] if isinstance(traces, str | Path) else traces), base, deterministic)
    training, test = logs.split(held_out, plan.seed)
    check_sizes(len(training), len(test), plan.batch_size)
    left_out = _left_out(logs.skipped)
    logger.warning("%d translations to learn from, %d held out%s", len(training), len(test), left_out)
    learner = Offline(weights, training, plan)
    before, epochs = estimate_value(learner, test), learn(learner)
    write_delta(learner, scope, delta)
    return OfflineResult(delta, before, estimate_value(learner, test), epochs)


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


def estimate_value(learner: Offline, logs: Sequence[Logged]) -> PolicyValue:
    """Return the value of the model as it is now, on logged translations."""
    import numpy as np

    from mtloop.bandits.offline.policy_value import PolicyValue

    rewards, plan = np.array([one.reward for one in logs]), learner.settings
    return PolicyValue(rewards, learner.log_ratios(logs), plan.weight_limit, seed=plan.seed)


def learn(learner: Offline) -> list[Epoch]:
    """Learn for all epochs, and report each."""
    epochs = []
    for epoch in learner.run():
        rejected = f", {epoch.skipped} rejected" if epoch.skipped else ""
        value, updates = f"estimated reward {epoch.value:.4f} in training", f"{epoch.updates} updates"
        logger.warning("epoch %d: %s, %s%s", epoch.number, value, updates, rejected)
        epochs.append(epoch)
    return epochs


def write_delta(learner: Offline, method: str, out: Path) -> None:
    """Write the learned weights as a delta of the post-edit method of the same name, which `translate` can read."""
    from mtloop.nmt.adaptive import AdaptiveNMT

    adapted = AdaptiveNMT(learner.scope, method=method)
    adapted.updates_ = learner.updates_
    adapted.delta().write(out)


@dataclass(frozen=True, repr=False, eq=False)
class OfflineResult(Result):
    """The learned delta, and the estimated reward on the held-out part before and after learning."""

    delta: Path
    before: PolicyValue
    after: PolicyValue
    epochs: Sequence[Epoch] = ()

    @cached_property
    def comparison(self) -> Comparison:
        """The difference of the estimated rewards, after minus before, with its 95 % interval."""
        return self.after.compare(self.before)

    @cached_property
    def table(self) -> Table:
        """The estimated rewards as logged, before and after, with their 95 % intervals."""
        from mtloop.bandits.offline.policy_value import logged_policy

        policies = {"as logged": logged_policy(self.before), "before": self.before, "after": self.after}
        estimates = {name: (policy.estimate(), policy.ips_estimate()) for name, policy in policies.items()}
        sizes = {name: policy.effective_sentences for name, policy in policies.items()}
        return Table(
            HEADERS,
            [[name, *_cells(both[0]), *_cells(both[1]), f"{sizes[name]:.1f}"] for name, both in estimates.items()],
            [_record(name, *both, sizes[name]) for name, both in estimates.items()],
            notes=self._notes(),
        )

    def _notes(self) -> list[str]:
        low, high = self.comparison.interval
        difference, value = f"after minus before: {self.comparison.difference:+.4f}", self.before
        return [
            f"{difference} (95 % interval {low:+.4f} to {high:+.4f});",
            f"{len(value.rewards)} held-out sentences, bootstrap of {value.samples} samples, seed {value.seed}",
        ]


def _cells(estimate: RewardEstimate) -> tuple[str, str]:
    low, high = estimate.interval
    return f"{estimate.value:.4f}", f"{low:.4f} to {high:.4f}"


def _record(name: str, value: RewardEstimate, ips: RewardEstimate, effective_sentences: float) -> dict[str, JSON]:
    low, high = value.interval
    ips_low, ips_high = ips.interval
    record: dict[str, JSON] = {"policy": name, "value": value.value, "low": low, "high": high}
    record |= {"ips": ips.value, "ips_low": ips_low, "ips_high": ips_high}
    return record | {"effective_sentences": effective_sentences}


def _left_out(skipped: Mapping[str, int]) -> str:
    return f"; left out: {', '.join(f'{count} {reason}' for reason, count in skipped.items())}" if skipped else ""
