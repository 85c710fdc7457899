"""Domain adaptation from sources only (2017: UMD): learn general text that is similar to the domain."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from mtloop.bandits.draws import seed_from
from mtloop.bandits.neural.data_selection import Words, cross_entropy_differences, words_of
from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.json_files import json_errors, parse_json
from mtloop.core.protocols import Stateful
from mtloop.core.types import Feedback, Learned, PostEdit, Preference, Proposal, Reward, Scores, Segment
from mtloop.nmt.adaptive import AdaptiveNMT

STATE = "domain.json"


class DomainAdaptation:
    """After every `selection_interval` sources, learn the `selected_pairs` general pairs most similar to all sources.

    Feedback of any kind only counts its source as seen; its reward or correction is ignored.
    """

    learns_from: tuple[type[Feedback], ...] = (PostEdit, Scores, Preference, Reward)

    def __init__(
        self,
        learner: AdaptiveNMT,
        general: Sequence[tuple[str, str]],
        *,
        selection_interval: int = 500,
        selected_pairs: int = 500,
        seed: int = 1,
        method: str = "domain-adaptation",
    ) -> None:
        self.learner, self.general, self.method = learner, general, method
        self.selection_interval, self.selected_pairs, self.seed = selection_interval, selected_pairs, seed
        self.seen_: list[str] = []

    def propose(self, segment: Segment) -> Proposal:
        return replace(self.learner.propose(segment), system=self.method)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        self.seen_.append(proposal.segment.source)
        if len(self.seen_) % self.selection_interval:
            return Learned()
        chosen = self.select_pairs()
        learned = [self.learner.learn(Proposal(Segment("", source), ""), PostEdit(target)) for source, target in chosen]
        return Learned(sum(one.updates for one in learned), info={"selected": len(chosen)})

    def select_pairs(self) -> list[tuple[str, str]]:
        """Return the general pairs most similar to the sources so far, in an order that depends on the seed."""
        seed = seed_from(self.seed, len(self.seen_))
        scores = cross_entropy_differences([words_of(source) for source in self.seen_], self._general, seed)
        nearest = sorted(range(len(scores)), key=lambda index: (scores[index], index))[: self.selected_pairs]
        random.Random(seed).shuffle(nearest)
        return [self.general[index] for index in nearest]

    @cached_property
    def _general(self) -> list[Words]:
        return [words_of(source) for source, _ in self.general]

    @cached_property
    def _fingerprint(self) -> str:
        return blake2b(json.dumps(list(self.general)).encode(), digest_size=8).hexdigest()

    def save(self, folder: Path) -> None:
        """Write the delta of the model, and the sources so far beside it."""
        assert isinstance(self.learner, Stateful)
        self.learner.save(folder)
        state = {"general_data": self._fingerprint, "seen": self.seen_}
        write_text(folder / STATE, json.dumps(state, ensure_ascii=False))

    def load(self, folder: Path) -> None:
        with json_errors(folder / STATE, f"a snapshot of {self.method}"):
            state = parse_json((folder / STATE).read_bytes())
            fingerprint, seen = state["general_data"], list(state["seen"])
        if fingerprint != self._fingerprint:
            raise InputError("was learned from other general data; give the same file", path=folder / STATE)
        self.learner.load(folder)
        self.seen_ = seen
