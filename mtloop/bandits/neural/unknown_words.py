"""Neural translation by whole words (2017: WNMT): an unknown word is looked up where the decoder looked.

WordNMT(learner, unknown)   draws and learns as the learner does, writes unknown words out     wnmt-el
WordBaseline(model)         the model as it is, greedy                                         wnmt-baseline
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from mtloop.bandits.draws import seed_of
from mtloop.bandits.neural.bandit_nmt import BanditNMT
from mtloop.core.types import JSON, Feedback, Learned, Proposal, Reward, Segment
from mtloop.nmt.adaptive import PIECE, AdaptiveNMT
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.vocabulary import SPACE
from mtloop.nmt.scopes.scope import Frozen
from mtloop.smt.lexicon import Lexicon
from mtloop.text.reversible import join, split


@dataclass(frozen=True)
class UnknownWords:
    """What to write for `<unk>`: the translation of the source word most looked at, or else that word."""

    lexicon: Lexicon | None = None

    def translate(self, steady: AdaptiveNMT, source: str) -> str:
        """A source of any length, greedily."""
        found = ((piece, steady.search(piece)[0].ids) for piece in steady.pieces(source))
        return " ".join(self.write(steady.model, piece, ids) for piece, ids in found)

    def write(self, model: Marian, source: str, ids: Sequence[int]) -> str:
        """The text of ids drawn for a source."""
        words = self._looked_up(model, source, ids) if model.target.unknown in ids else []
        special = {model.target.end, model.target.pad}
        texts = [model.target.pieces[i].removeprefix(SPACE) for i in ids]
        kept = [place for place, i in enumerate(ids) if i not in special]
        return join(words[place] if ids[place] == model.target.unknown else texts[place] for place in kept)

    @torch.no_grad()
    def _looked_up(self, model: Marian, source: str, ids: Sequence[int]) -> list[str]:
        words = self.lexicon.words.read(source) if self.lexicon else split(source)
        looks = model.decode(model.encode(model.source.encode(source)), list(ids)).attention
        places = looks[:, : len(words)].argmax(1).tolist()
        return [(self.lexicon.lookup(words[place]) if self.lexicon else None) or words[place] for place in places]


class WordNMT:
    """A learner whose unknown words are written out; it learns about the `<unk>` it drew, not the word that was shown.

    The text shown depends on where the decoder looked at the time; a number on the proposal vouches for it.
    """

    learns_from: tuple[type[Feedback], ...] = (Reward,)

    def __init__(self, learner: BanditNMT, unknown: UnknownWords, *, method: str = "wnmt-el") -> None:
        self.learner, self.unknown, self.method = learner, unknown, method

    def propose(self, segment: Segment) -> Proposal:
        drawn = replace(self.learner.propose(segment), system=self.method)
        tokens = drawn.memo.get("tokens")
        if not isinstance(tokens, list):
            return replace(drawn, text=self.unknown.translate(self._steady(), segment.source))
        ids = [int(str(token)) for token in tokens]
        text = self.unknown.write(self.learner.model, segment.source, ids)
        return replace(drawn, text=text, memo={**drawn.memo, "check": _check(drawn.memo["draw"], text, tokens)})

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        return self.learner.learn(self._drawn(proposal), feedback)

    def _drawn(self, proposal: Proposal) -> Proposal:
        """The proposal as the learner made it; an empty one, which it does not know, where it did not."""
        memo = dict(proposal.memo)
        check, tokens = memo.pop("check", None), memo.get("tokens")
        if proposal.system == self.method and tokens is None:
            return replace(proposal, system=self.learner.method)
        target = self.learner.model.target
        if not isinstance(tokens, list) or check != _check(memo.get("draw"), proposal.text, tokens):
            return Proposal(proposal.segment, "")
        if not all(isinstance(token, int) and 0 <= token < len(target.pieces) for token in tokens):
            return Proposal(proposal.segment, "")
        text = target.decode([int(str(token)) for token in tokens])
        return replace(proposal, text=text, system=self.learner.method, memo=memo)

    def save(self, folder: Path) -> None:
        self.learner.save(folder)

    def load(self, folder: Path) -> None:
        self.learner.load(folder)

    def _steady(self) -> AdaptiveNMT:
        return AdaptiveNMT(self.learner.scope, updates=0, limits=self.learner.limits, piece=self.learner.piece)


class WordBaseline:
    """The model as it is; never learns."""

    learns_from: tuple[type[Feedback], ...] = ()

    def __init__(
        self, model: Marian, unknown: UnknownWords, *, method: str = "wnmt-baseline", piece: int = PIECE
    ) -> None:
        self.unknown, self.method = unknown, method
        self._steady = AdaptiveNMT(Frozen(model), updates=0, piece=piece)

    def propose(self, segment: Segment) -> Proposal:
        return Proposal(segment, self.unknown.translate(self._steady, segment.source), self.method)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        return Learned()


def _check(draw: JSON, text: str, tokens: list[JSON]) -> int:
    return seed_of(draw, text, tokens)
