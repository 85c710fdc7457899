"""Logs of translations with their probabilities (propensities) and rewards.

A log is a trace. A stochastic log has the propensity of every sampled translation. In a deterministic log each
translation was the only possible one, and its propensity counts as 1 (Lawrence et al., 2017).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtloop.bandits.draws import seed_from
from mtloop.core.errors import TraceError
from mtloop.core.trace import Trace
from mtloop.core.types import PostEdit, Reward, Step
from mtloop.nmt.engine.marian import Marian

MAX_LENGTH = 256  # tokens of a source or a translation; longer ones are skipped


@dataclass(frozen=True)
class Logged:
    """One logged translation: its tokens, its reward, and the temperature and log-probability of its sampling."""

    source: str
    tokens: tuple[int, ...]
    reward: float
    log_probability: float = 0.0
    temperature: float = 1.0


@dataclass(frozen=True)
class Logs:
    """The translations that can be learned from, and the number of skipped ones by reason."""

    items: Sequence[Logged]
    skipped: Mapping[str, int] = field(default_factory=dict)

    def split(self, share: float, seed: int) -> tuple[list[Logged], list[Logged]]:
        """Return a training part, and a held-out part with `share` of the sources; equal sources stay together."""
        sources = sorted({one.source for one in self.items}, key=lambda source: seed_from(seed, source))
        held = set(sources[: round(share * len(sources))])
        return [one for one in self.items if one.source not in held], [one for one in self.items if one.source in held]


def read_logs(paths: Iterable[Path], model: Marian, deterministic: bool = False) -> Logs:
    """Read all rewarded translations from traces of this model."""
    items: list[Logged] = []
    skipped: Counter[str] = Counter()
    for path in paths:
        steps = _rewarded_steps(path, model)
        reader = _read_deterministic if deterministic else _read_sampled
        found = [reader(step, model, path) for step in steps]
        items += [one for one in found if isinstance(one, Logged)]
        skipped.update(one for one in found if isinstance(one, str))
        if not any(isinstance(one, Logged) for one in found):
            raise TraceError(_why_empty(steps, deterministic), path=path)
    return Logs(items, dict(skipped))


def _rewarded_steps(path: Path, model: Marian) -> list[Step]:
    trace = Trace.read(path)
    fingerprint = trace.header.config.get("fingerprint")
    if fingerprint and fingerprint != model.fingerprint:
        raise TraceError(
            f"was made with another model ({fingerprint}, not {model.fingerprint}); give --model", path=path
        )
    lessons = list(trace.lessons())
    steps = [step for step in lessons if isinstance(step.feedback, Reward)]
    if not steps:
        edits = any(isinstance(step.feedback, PostEdit) for step in lessons)
        hint = "it has post-edits; to learn from those, use mtloop run" if edits else "it has no feedback to learn from"
        raise TraceError(f"contains no rewards: {hint}", path=path)
    return steps


def _read_sampled(step: Step, model: Marian, path: Path) -> Logged | str:
    """Return a sampled translation with its propensity, or the reason to skip it."""
    memo, (reward, reason) = step.proposal.memo, _reward(step)
    tokens, temperature, log_probability = (memo.get(name) for name in ("tokens", "temperature", "log_probability"))
    if reason or not isinstance(tokens, list):
        return reason or "not drawn"
    if not isinstance(temperature, int | float) or not isinstance(log_probability, int | float) or temperature <= 0:
        return "no propensity"
    size = len(model.target.pieces)
    ids = tuple(token for token in tokens if isinstance(token, int) and 0 <= token < size)
    if len(ids) != len(tokens) or not ids or ("check" not in memo and model.target.decode(ids) != step.proposal.text):
        raise TraceError(f"step {step.index}: the tokens do not match the text in this model", path=path)
    return _if_not_too_long(
        Logged(step.proposal.segment.source, ids, reward, float(log_probability), float(temperature)), model
    )


def _read_deterministic(step: Step, model: Marian, path: Path) -> Logged | str:
    """Return a translation that was the only possible one, or the reason to skip it."""
    if step.proposal.probability not in (None, 1.0) or "tokens" in step.proposal.memo:
        raise TraceError(f"step {step.index} was sampled; omit --deterministic", path=path)
    reward, reason = _reward(step)
    if reason or not step.proposal.text.strip():
        return reason or "empty"
    return _if_not_too_long(
        Logged(step.proposal.segment.source, tuple(model.target.encode(step.proposal.text)), reward), model
    )


def _reward(step: Step) -> tuple[float, str]:
    assert isinstance(step.feedback, Reward)
    value = step.feedback.value
    return value, "" if 0 <= value <= 1 else "reward out of range"


def _if_not_too_long(one: Logged, model: Marian) -> Logged | str:
    return one if max(len(one.tokens), len(model.source.encode(one.source))) <= MAX_LENGTH else "too long"


def _why_empty(steps: Sequence[Step], deterministic: bool) -> str:
    if deterministic:
        return "contains no reward that can be learned from"
    if any("direction" in step.proposal.memo or "example" in step.proposal.memo for step in steps):
        return "was made by a statistical method; only samples of neural methods can be learned from"
    hint = "if no translation was sampled, give --deterministic"
    return f"contains no propensities (sampling probabilities); {hint}"
