"""Word-level NMT (2017: WNMT): an unknown word is replaced by the translation of the most attended source word.

WordNMT(learner, unknown)      samples and learns as the learner does, replaces unknown words     wnmt-el
WordBaseline(model, unknown)   the unchanged model, greedy                                        wnmt-baseline
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from mtloop.bandits.draws import seed_from
from mtloop.bandits.neural.bandit_nmt import BanditNMT
from mtloop.core.types import JSON, Feedback, Learned, Proposal, Reward, Segment
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.vocabulary import SPACE
from mtloop.nmt.piece_length import MAX_PIECE_TOKENS
from mtloop.nmt.scopes.scope import Frozen
from mtloop.smt.lexicon import Lexicon
from mtloop.text.reversible import detokenise, tokenise_reversibly


@dataclass(frozen=True)
class UnknownWords:
    """Replaces `<unk>` by the translation of the most attended source word, or by that word if it has none."""

    lexicon: Lexicon | None = None

    def translate(self, translator: AdaptiveNMT, source: str) -> str:
        """Translate a source of any length, greedily."""
        found = ((piece, translator.search(piece)[0].ids) for piece in translator.split_source(source))
        return " ".join(self.decode(translator.model, piece, ids) for piece, ids in found)

    def decode(self, model: Marian, source: str, ids: Sequence[int]) -> str:
        """Return the text of the token ids of a translation."""
        words = self._replacements(model, source, ids) if model.target.unknown in ids else []
        special = {model.target.end, model.target.pad}
        texts = [model.target.pieces[i].removeprefix(SPACE) for i in ids]
        kept = [position for position, i in enumerate(ids) if i not in special]
        return detokenise(words[i] if ids[i] == model.target.unknown else texts[i] for i in kept)

    @torch.no_grad()
    def _replacements(self, model: Marian, source: str, ids: Sequence[int]) -> list[str]:
        words = self.lexicon.tokeniser.tokenise_source(source) if self.lexicon else tokenise_reversibly(source)
        attention = model.decode(model.encode(model.source.encode(source)), list(ids)).attention
        attended = (words[index] for index in attention[:, : len(words)].argmax(1).tolist())
        return [(self.lexicon.lookup(word) if self.lexicon else None) or word for word in attended]


class WordNMT:
    """A learner with unknown words replaced; it learns from the sampled `<unk>`, not from the replacement.

    The replacement depends on the attention at the time; a checksum in the memo confirms the text of the proposal.
    """

    learns_from: tuple[type[Feedback], ...] = (Reward,)

    def __init__(self, learner: BanditNMT, unknown: UnknownWords, *, method: str = "wnmt-el") -> None:
        self.learner, self.unknown, self.method = learner, unknown, method
        learner.whole_segments = True  # unknown words are replaced in a text without stand-ins

    def propose(self, segment: Segment) -> Proposal:
        drawn = replace(self.learner.propose(segment), system=self.method)
        tokens = drawn.memo.get("tokens")
        if not isinstance(tokens, list):
            return replace(drawn, text=self.unknown.translate(self.learner.translator(), segment.source))
        ids = [int(str(token)) for token in tokens]
        text = self.unknown.decode(self.learner.model, segment.source, ids)
        return replace(drawn, text=text, memo={**drawn.memo, "check": _checksum(drawn.memo["draw"], text, tokens)})

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        return self.learner.learn(self._sampled(proposal), feedback)

    def _sampled(self, proposal: Proposal) -> Proposal:
        """Return the proposal as the learner made it; if it did not, return an empty one, which the learner rejects."""
        memo = dict(proposal.memo)
        check, tokens = memo.pop("check", None), memo.get("tokens")
        if proposal.system == self.method and tokens is None:
            return replace(proposal, system=self.learner.method)
        target = self.learner.model.target
        if not isinstance(tokens, list) or check != _checksum(memo.get("draw"), proposal.text, tokens):
            return Proposal(proposal.segment, "")
        if not all(isinstance(token, int) and 0 <= token < len(target.pieces) for token in tokens):
            return Proposal(proposal.segment, "")
        text = target.decode([int(str(token)) for token in tokens])
        return replace(proposal, text=text, system=self.learner.method, memo=memo)

    def save(self, folder: Path) -> None:
        self.learner.save(folder)

    def load(self, folder: Path) -> None:
        self.learner.load(folder)


class WordBaseline:
    """The unchanged model; never learns."""

    learns_from: tuple[type[Feedback], ...] = ()

    def __init__(
        self,
        model: Marian,
        unknown: UnknownWords,
        *,
        method: str = "wnmt-baseline",
        max_piece_tokens: int = MAX_PIECE_TOKENS,
    ) -> None:
        self.unknown, self.method = unknown, method
        self._translator = AdaptiveNMT(Frozen(model), max_updates=0, max_piece_tokens=max_piece_tokens)

    def propose(self, segment: Segment) -> Proposal:
        return Proposal(segment, self.unknown.translate(self._translator, segment.source), self.method)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        return Learned()


def _checksum(draw: JSON, text: str, tokens: list[JSON]) -> int:
    return seed_from(draw, text, tokens)
