"""The effort of a person's work: how much the suggestions were corrected, compared with the frozen model's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from mtloop.core.errors import MtloopError
from mtloop.core.plural import pluralise
from mtloop.core.serialisation import dumps, loads
from mtloop.core.types import PostEdit, Proposal, Score, Segment, Step
from mtloop.metrics.registry import MetricOptions, make_metric
from mtloop.translation.fill_state import writing
from mtloop.translation.work_file import text_of, unit_of

CHUNK = 32  # units that the frozen model translates together
FROZEN_TASK = "comparing with the frozen model"
Key: TypeAlias = tuple[str, str]  # source and syntax


@dataclass(frozen=True)
class WorkEffort:
    """Scores of the suggestions and of the frozen model against what was confirmed, and the keys that were pressed.

    `keystrokes` is simulated for both by the same rules (metric `ksmr`); None for a language without spaces. The scores
    of the frozen model are None where it is not at hand: a server has it.
    """

    units: int
    ter: Score
    frozen_ter: Score | None
    keystrokes: Score | None
    frozen_keystrokes: Score | None
    keys: int
    characters: int

    def lines(self) -> list[str]:
        """Return the closing lines for the user."""
        rows = [("TER (edits per 100 words)", self.ter, self.frozen_ter)]
        if self.keystrokes is not None:
            rows.append(("keystrokes and mouse actions per 100 characters", self.keystrokes, self.frozen_keystrokes))
        head = f"effort for {pluralise(self.units, 'unit')}, less is better:"
        table = [f"  {name}: {_compared_values(ours, frozen)}" for name, ours, frozen in rows]
        return [head, *table, f"  keys that you pressed per 100 characters: {self._rate:.1f}"]

    @property
    def _rate(self) -> float:
        return 100 * self.keys / self.characters


def _compared_values(ours: Score, frozen: Score | None) -> str:
    return f"{ours.value:.1f}" if frozen is None else f"{ours.value:.1f} with learning, {frozen.value:.1f} frozen"


def measure(steps: Sequence[Step], frozen: Mapping[Key, str] | None, language: str) -> WorkEffort | None:
    """Measure the effort of confirmed units: the first suggestion of each against its last text. None without any.

    `frozen`: the translations of the frozen model; None if they are not at hand.
    """
    last = {_unit(step): step for step in steps}
    if not last:
        return None
    first = {_unit(step): step for step in reversed(steps)}
    ours = [_compared(n, first[key].proposal, step) for n, (key, step) in enumerate(last.items())]
    base = _frozen_steps(last.values(), frozen) if frozen is not None else None
    keys, characters = sum(map(_keys, steps)), sum(len(text_of(step)) for step in last.values())
    ter, frozen_ter = (_score("ter", rows, language) for rows in (ours, base))
    keystrokes, frozen_keystrokes = (_score("ksmr", rows, language) for rows in (ours, base))
    assert ter is not None
    return WorkEffort(len(last), ter, frozen_ter, keystrokes, frozen_keystrokes, keys, characters)


def _frozen_steps(steps: Iterable[Step], frozen: Mapping[Key, str]) -> list[Step]:
    """The same confirmations with the translations of the frozen model as suggestions."""
    segments = ((step.proposal.segment, step) for step in steps)
    return [_compared(n, Proposal(one, frozen[key_of(one)]), step) for n, (one, step) in enumerate(segments)]


def key_of(segment: Segment) -> Key:
    return segment.source, str(segment.context.get("syntax", ""))


class FrozenTranslations:
    """The translations of the frozen model, in a file: each source is translated once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.texts: dict[Key, str] = {}
        content = path.read_bytes() if path.exists() else b""
        for line in content[: content.rfind(b"\n") + 1].splitlines():
            row = loads(line)
            self.texts[str(row["source"]), str(row["syntax"])] = str(row["text"])

    def has(self, segments: Iterable[Segment]) -> bool:
        return all(key_of(segment) in self.texts for segment in segments)

    def add(
        self,
        segments: Iterable[Segment],
        translate: Callable[[Sequence[Segment]], Sequence[Proposal]],
        progress: Callable[[str, int, int], None],
    ) -> None:
        """Translate the segments that are missing, and write them to the file."""
        missing = list({key_of(one): one for one in segments if key_of(one) not in self.texts}.values())
        for start in range(0, len(missing), CHUNK):
            progress(FROZEN_TASK, start, len(missing))
            self._append(translate(missing[start : start + CHUNK]))
        if missing:
            progress(FROZEN_TASK, len(missing), len(missing))

    def _append(self, proposals: Iterable[Proposal]) -> None:
        new = {key_of(proposal.segment): proposal.text for proposal in proposals}
        self.texts |= new
        rows = (dumps({"source": source, "syntax": syntax, "text": text}) for (source, syntax), text in new.items())
        with writing(self.path), self.path.open("r+b" if self.path.exists() else "wb") as file:
            end = file.read().rfind(b"\n") + 1 if file.readable() else 0
            file.seek(end)
            file.truncate()
            file.writelines(row + b"\n" for row in rows)
            file.flush()
            os.fsync(file.fileno())


def _unit(step: Step) -> tuple[int, str, str]:
    return unit_of(step), step.proposal.segment.id, step.proposal.segment.source


def _compared(number: int, proposal: Proposal, confirmed: Step) -> Step:
    """A step without the counted keys, so that both sides are simulated by the same rules."""
    return Step(number, Proposal(proposal.segment, proposal.text), PostEdit(text_of(confirmed)))


def _score(name: str, steps: Sequence[Step] | None, language: str) -> Score | None:
    """Return a score; None without steps, or if the language has no spaces, or its tokeniser is not installed."""
    if steps is None:
        return None
    for options in (MetricOptions(language=language or None), MetricOptions()):
        try:
            return make_metric(name, options).score(steps)
        except MtloopError:
            if name == "ksmr":
                return None
    raise AssertionError("TER needs no tokeniser of a language")


def _keys(step: Step) -> int:
    counted = step.proposal.memo.get("interaction")
    return sum(int(str(counted[name])) for name in ("keystrokes", "mouse")) if isinstance(counted, Mapping) else 0
