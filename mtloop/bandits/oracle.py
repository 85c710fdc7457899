"""Oracles (2017): systems trained on the references of the task, to measure regret against."""

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
class RequiresReferences(Protocol):
    """A system that needs the references before the first sentence; a bandit learner never gets them."""

    def set_references(self, pairs: Pairs) -> None: ...


class Oracle:
    """A learner trained `epochs` times on all references as corrections; after that it does not learn.

    Training happens at the first `propose` or `save`: resuming a finished run costs nothing.
    """

    learns_from: tuple[type[Feedback], ...] = ()

    def __init__(self, learner: Learner, *, method: str, epochs: int = 1) -> None:
        self.learner, self.method, self.epochs = learner, method, epochs
        self.pairs_: Pairs | None = None
        self.trained_ = False

    def set_references(self, pairs: Pairs) -> None:
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
            raise InputError(f"method {self.method} needs the references of a task; run it with mtloop bandit")
        for source, target in [*self.pairs_] * self.epochs:
            self.learner.learn(Proposal(Segment("", source), ""), PostEdit(target))
        self.trained_ = True
