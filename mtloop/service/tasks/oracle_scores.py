"""Scores of the oracle's translations. The oracle file has one translation for each sentence, in the task's order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.core.trace import Trace, is_trace_start
from mtloop.judges.rewards import SentenceReward
from mtloop.service.tasks.overlap import fingerprint
from mtloop.text.files import iter_lines, open_bytes

ORDER = "the data first, then the held-out block, each sentence once"
LOW_SCORE = 0.1  # a mean below this is rather a wrong order than a bad system


class OracleScores:
    """Reads an oracle file along with the sentences of its task."""

    def __init__(self, path: Path, reward: SentenceReward) -> None:
        self._path, self._reward = path, reward
        self._translations = _translations(path)
        self._count, self._sum, self._copy_sum = 0, 0.0, 0.0

    def score(self, sources: tuple[str, str], reference: str) -> float | None:
        """The score of the next translation; None if the file has ended.

        `sources` is the sentence before and after preprocessing. A trace must have been made with one of them.
        """
        found = next(self._translations, None)
        if found is None:
            return None
        source, text = found
        self._count += 1
        if source is not None and fingerprint(source) not in map(fingerprint, sources):
            raise InputError(f"step {self._count} has another source than the task; expected {ORDER}", path=self._path)
        score = self._reward(text, reference)
        self._sum += score
        self._copy_sum += self._reward(sources[1], reference)
        return score

    def check_count(self, sentences: int) -> None:
        """Raise InputError if the file has not as many translations as the task has sentences."""
        count = self._count + sum(1 for _ in self._translations)
        if count != sentences:
            raise InputError(
                f"has {count} translations, but the task has {sentences} sentences; expected {ORDER}", path=self._path
            )

    def doubt(self) -> str:
        """Why the file may be in a wrong order, in one line. Empty: the scores are plausible."""
        mean, copied = self._sum / max(1, self._count), self._copy_sum / max(1, self._count)
        if LOW_SCORE <= mean >= copied:
            return ""
        reason = "which is very low" if mean >= copied else f"less than copies of the sources ({copied:.3f})"
        return f"{self._path}: the oracle's mean score is {mean:.3f}, {reason}; check the order: {ORDER}"


def _translations(path: Path) -> Iterator[tuple[str | None, str]]:
    """Yield source and translation. Only a trace says what the source was."""
    with open_bytes(path) as file:
        is_trace = is_trace_start(file.peek(64)[:64])
    if is_trace:
        yield from ((step.proposal.segment.source, step.proposal.text) for step in Trace.read(path).steps)
    else:
        yield from ((None, text) for text in iter_lines(path))
