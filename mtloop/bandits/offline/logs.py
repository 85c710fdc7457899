"""What a log of drawn translations and their rewards tells: one line each of who said what, how likely, what it earned.

A log is a trace. Stochastic logs carry the propensity of every draw; in a deterministic log nothing else could have
been said, and every translation counts as certain (Lawrence et al., 2017).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtloop.bandits.draws import seed_of
from mtloop.core.errors import TraceError
from mtloop.core.trace import Trace
from mtloop.core.types import PostEdit, Reward, Step
from mtloop.nmt.engine.marian import Marian

LONGEST = 256  # tokens of a source or a translation


@dataclass(frozen=True)
class Logged:
    """One translation as it was drawn: its tokens, at which temperature, how likely, and for what reward."""

    source: str
    tokens: tuple[int, ...]
    reward: float
    log_probability: float = 0.0
    temperature: float = 1.0


@dataclass(frozen=True)
class Logs:
    """Those that can be learned from, and why the others cannot."""

    items: Sequence[Logged]
    left_out: Mapping[str, int] = field(default_factory=dict)

    def divided(self, share: float, seed: int) -> tuple[list[Logged], list[Logged]]:
        """Those to learn from, and `share` of the sources held out; equal sources stay together."""
        sources = sorted({one.source for one in self.items}, key=lambda source: seed_of(seed, source))
        kept = set(sources[: round(share * len(sources))])
        return [one for one in self.items if one.source not in kept], [one for one in self.items if one.source in kept]


def read_logs(paths: Iterable[Path], model: Marian, deterministic: bool = False) -> Logs:
    """All rewards of some traces of this model."""
    items: list[Logged] = []
    left_out: Counter[str] = Counter()
    for path in paths:
        steps = _rewarded(path, model)
        reader = _certain if deterministic else _drawn
        found = [reader(step, model, path) for step in steps]
        items += [one for one in found if isinstance(one, Logged)]
        left_out.update(one for one in found if isinstance(one, str))
        if not any(isinstance(one, Logged) for one in found):
            raise TraceError(_nothing(steps, deterministic), path=path)
    return Logs(items, dict(left_out))


def _rewarded(path: Path, model: Marian) -> list[Step]:
    trace = Trace.read(path)
    of = trace.header.config.get("fingerprint")
    if of and of != model.fingerprint:
        raise TraceError(f"is of another model ({of}, not {model.fingerprint}); give --model the one it has", path=path)
    lessons = list(trace.lessons())
    steps = [step for step in lessons if isinstance(step.feedback, Reward)]
    if not steps:
        edits = any(isinstance(step.feedback, PostEdit) for step in lessons)
        hint = "post-edits; those are learned from with mtloop run" if edits else "nothing to learn from"
        raise TraceError(f"holds no rewards: {hint}", path=path)
    return steps


def _drawn(step: Step, model: Marian, path: Path) -> Logged | str:
    """A draw with its propensity, or why it is none."""
    memo, (reward, reason) = step.proposal.memo, _reward(step)
    tokens, temperature, likely = (memo.get(name) for name in ("tokens", "temperature", "log_probability"))
    if reason or not isinstance(tokens, list):
        return reason or "not drawn"
    if not isinstance(temperature, int | float) or not isinstance(likely, int | float) or temperature <= 0:
        return "no propensity"
    size = len(model.target.pieces)
    ids = tuple(token for token in tokens if isinstance(token, int) and 0 <= token < size)
    if len(ids) != len(tokens) or not ids or ("check" not in memo and model.target.decode(ids) != step.proposal.text):
        raise TraceError(f"step {step.index}: its tokens are not those of its text in this model", path=path)
    return _short(Logged(step.proposal.segment.source, ids, reward, float(likely), float(temperature)), model)


def _certain(step: Step, model: Marian, path: Path) -> Logged | str:
    """A translation that was the only one there was."""
    if step.proposal.probability not in (None, 1.0) or "tokens" in step.proposal.memo:
        raise TraceError(f"step {step.index} was drawn at random; leave out --deterministic", path=path)
    reward, reason = _reward(step)
    if reason or not step.proposal.text.strip():
        return reason or "empty"
    return _short(Logged(step.proposal.segment.source, tuple(model.target.encode(step.proposal.text)), reward), model)


def _reward(step: Step) -> tuple[float, str]:
    assert isinstance(step.feedback, Reward)
    value = step.feedback.value
    return value, "" if 0 <= value <= 1 else "reward out of range"


def _short(one: Logged, model: Marian) -> Logged | str:
    return one if max(len(one.tokens), len(model.source.encode(one.source))) <= LONGEST else "too long"


def _nothing(steps: Sequence[Step], deterministic: bool) -> str:
    if deterministic:
        return "holds no reward that could be learned from"
    if any("direction" in step.proposal.memo or "example" in step.proposal.memo for step in steps):
        return "was drawn by a statistical method; only neural draws can be learned from"
    hint = "if each translation was the only one there was, say --deterministic"
    return f"holds no propensities (how likely each translation was drawn); {hint}"
