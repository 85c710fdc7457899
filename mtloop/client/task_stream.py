"""A run on a service as the stream and the judge of a learning loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mtloop.client.responses import RunState, SourceSentence
from mtloop.core.errors import InputError
from mtloop.core.types import Proposal, Reward, Segment, Truth

if TYPE_CHECKING:
    from mtloop.client.client import Client


class Task:
    """A stream of sentences, and a `judge` that submits translations. Use it with `run(task, learner, task.judge)`.

    Iteration starts at the current position of the run and ends with the current pass. The response to a translation
    has its reward and the next sentence. So each step needs only one request, and the learner never waits for the next
    sentence. The stream has no truth: the references stay on the service.
    """

    def __init__(self, client: Client, state: RunState) -> None:
        self.client, self.initial_state = client, state
        self._pending: SourceSentence | None = None
        self._ended = False

    @property
    def run(self) -> str:
        """The id of the run. `Client.join` needs it to resume the run."""
        return self.initial_state.run

    def state(self) -> RunState:
        """Request the current state of the run from the service."""
        return self.client.run(self.run)

    def __iter__(self) -> Iterator[tuple[Segment, Truth | None]]:
        while (sentence := self._next()) is not None:
            self._pending = sentence
            yield Segment(sentence.id, sentence.source), None
            if self._pending is sentence:
                raise InputError(
                    "the next sentence is available only after a translation of the current one; "
                    "judge each proposal before the next (schedule each or delay)"
                )

    def _next(self) -> SourceSentence | None:
        """Return the sentence that came with the last reward. Only the first sentence needs a request."""
        return None if self._ended else self._pending or self.client.next(self.run)

    def judge(self, proposal: Proposal, truth: Truth | None = None) -> Reward:
        """Submit a translation and return its reward. If it was submitted before, the reward is the same."""
        result = self.client.submit(self.run, proposal.segment.id, proposal.text)
        was_pending = self._pending is not None and self._pending.id == result.id
        self._pending = result.next if was_pending else None
        self._ended = was_pending and result.next is None
        return Reward(result.reward)

    def next_pass(self) -> RunState:
        """Start the next pass from the first sentence, if the task allows it."""
        self._pending, self._ended = None, False
        return self.client.next_pass(self.run)
