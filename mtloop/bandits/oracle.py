"""Systems that know the answers (2017: oracles): trained on the references of the task, to hold regret against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner, Stateful
from mtloop.core.types import Feedback, Learned, PostEdit, Proposal, Segment

Pairs = Sequence[tuple[str, str]]


@runtime_checkable
class Informed(Protocol):
    """A system that is told the references before the first sentence; a bandit learner never is."""

    def inform(self, pairs: Pairs) -> None: ...


class Oracle:
    """A learner of corrections that goes `epochs` times over all references first, and is then left as it is.

    It is trained when it is first asked for anything: taking up a run that was finished costs nothing.
    """

    learns_from: tuple[type[Feedback], ...] = ()

    def __init__(self, learner: Learner, *, method: str, epochs: int = 1) -> None:
        self.learner, self.method, self.epochs = learner, method, epochs
        self.pairs_: Pairs | None = None
        self.trained_ = False

    def inform(self, pairs: Pairs) -> None:
        self.pairs_ = pairs

    def propose(self, segment: Segment) -> Proposal:
        self._train()
        return replace(self.learner.propose(segment), system=self.method)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        return Learned()

    def save(self, folder: Path) -> None:
        self._train()
        assert isinstance(self.learner, Stateful)
        self.learner.save(folder)

    def load(self, folder: Path) -> None:
        assert isinstance(self.learner, Stateful)
        self.learner.load(folder)
        self.trained_ = True

    def _train(self) -> None:
        if self.trained_:
            return
        if self.pairs_ is None:
            raise InputError(f"method {self.method} is trained on a task's references; run it with mtloop bandit")
        for source, target in [*self.pairs_] * self.epochs:
            self.learner.learn(Proposal(Segment("", source), ""), PostEdit(target))
        self.trained_ = True
