"""Adapting to a domain of which only the sources are known (2017: UMD): general text that looks like it is learned."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from mtloop.bandits.draws import seed_of
from mtloop.bandits.neural.data_selection import Words, cut, differences
from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.protocols import Stateful
from mtloop.core.types import Feedback, Learned, PostEdit, Preference, Proposal, Reward, Scores, Segment
from mtloop.nmt.adaptive import AdaptiveNMT

STATE = "domain.json"


class DomainAdaptation:
    """After every `every` sources, the `select` general pairs most like all sources so far teach the model.

    An answer of any kind says that a source was seen, and nothing else is taken from it: no reward, no correction.
    """

    learns_from: tuple[type[Feedback], ...] = (PostEdit, Scores, Preference, Reward)

    def __init__(
        self,
        learner: AdaptiveNMT,
        general: Sequence[tuple[str, str]],
        *,
        every: int = 500,
        select: int = 500,
        seed: int = 1,
        method: str = "domain-adaptation",
    ) -> None:
        self.learner, self.general, self.method = learner, general, method
        self.every, self.select, self.seed = every, select, seed
        self.seen_: list[str] = []

    def propose(self, segment: Segment) -> Proposal:
        return replace(self.learner.propose(segment), system=self.method)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        self.seen_.append(proposal.segment.source)
        if len(self.seen_) % self.every:
            return Learned()
        chosen = self.selected()
        learned = [self.learner.learn(Proposal(Segment("", source), ""), PostEdit(target)) for source, target in chosen]
        return Learned(sum(one.updates for one in learned), info={"selected": len(chosen)})

    def selected(self) -> list[tuple[str, str]]:
        """The general pairs most like what was seen, in an order that follows from the seed."""
        seed = seed_of(self.seed, len(self.seen_))
        found = differences([cut(source) for source in self.seen_], self._general, seed)
        nearest = sorted(range(len(found)), key=lambda place: (found[place], place))[: self.select]
        random.Random(seed).shuffle(nearest)
        return [self.general[place] for place in nearest]

    @cached_property
    def _general(self) -> list[Words]:
        return [cut(source) for source, _ in self.general]

    @cached_property
    def _fingerprint(self) -> str:
        return blake2b(json.dumps(list(self.general)).encode(), digest_size=8).hexdigest()

    def save(self, folder: Path) -> None:
        """What the model learned is a delta like any other; what was seen lies beside it."""
        assert isinstance(self.learner, Stateful)
        self.learner.save(folder)
        write_text(folder / STATE, json.dumps({"general": self._fingerprint, "seen": self.seen_}, ensure_ascii=False))

    def load(self, folder: Path) -> None:
        try:
            state = json.loads((folder / STATE).read_text(encoding="utf-8"))
            of, seen = state["general"], list(state["seen"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"not a snapshot of {self.method}: {error}", path=folder / STATE) from error
        if of != self._fingerprint:
            raise InputError("was learned from other general text; give the same one", path=folder / STATE)
        self.learner.load(folder)
        self.seen_ = seen
