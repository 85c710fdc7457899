"""A run on a service, as the loop sees it: the stream on one side, the judge on the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mtloop.client.answers import RunState, SourceSentence
from mtloop.core.errors import InputError
from mtloop.core.types import Proposal, Reward, Segment, Truth

if TYPE_CHECKING:
    from mtloop.client.client import Client


class Task:
    """Sentences to iterate over and a `judge` that submits: a participant is `run(task, learner, task.judge)`.

    Iterating goes on where the run stands, to the end of its pass. The next sentence comes with the reward of the
    last, so a turn is one request, and it is here before the reward is learned from: between two translations nobody
    waits. There is no truth in the stream: that stays with the service.
    """

    def __init__(self, client: Client, state: RunState) -> None:
        self.client, self.joined = client, state
        self._pending: SourceSentence | None = None
        self._ended = False

    @property
    def run(self) -> str:
        """The id of the run, to join it again with."""
        return self.joined.run

    def state(self) -> RunState:
        """How far the run has come, as the service has it."""
        return self.client.run(self.run)

    def __iter__(self) -> Iterator[tuple[Segment, Truth | None]]:
        while (sentence := self._next()) is not None:
            self._pending = sentence
            yield Segment(sentence.id, sentence.source), None
            if self._pending is sentence:
                raise InputError(
                    "a task gives the next sentence only after a translation of the last; "
                    "let each be judged before the next is asked for (schedule each or delay)"
                )

    def _next(self) -> SourceSentence | None:
        """The sentence that came with the last reward; only who has just joined must ask."""
        return None if self._ended else self._pending or self.client.next(self.run)

    def judge(self, proposal: Proposal, truth: Truth | None = None) -> Reward:
        """Submit a translation; its reward. A translation that has its reward already is told it again."""
        answer = self.client.submit(self.run, proposal.segment.id, proposal.text)
        was_pending = self._pending is not None and self._pending.id == answer.id
        self._pending = answer.next if was_pending else None
        self._ended = was_pending and answer.next is None
        return Reward(answer.reward)

    def next_pass(self) -> RunState:
        """Begin again, where the task allows another pass."""
        self._pending, self._ended = None, False
        return self.client.next_pass(self.run)
