"""A neural translator that learns from every correction (2019): translate, see the post-edit, move a little, go on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from mtloop.core.types import JSON, Feedback, Learned, PostEdit, Proposal, Segment
from mtloop.translators.delta import Delta
from mtloop.translators.guard import Guard
from mtloop.translators.marian.lesson import Lesson, study
from mtloop.translators.marian.model import Marian
from mtloop.translators.marian.search import Found, Limits, beam, greedy
from mtloop.translators.scopes import NotFinite, Scope

SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")


class AdaptiveNMT:
    """A model and the part of it that learns.

    For each post-edit: while the pair's perplexity is above `enough` and fewer than `updates` steps were taken, take
    one (batch of one, no dropout). A pair that is no lesson, or updates that do harm, leave the model as it was; then
    `Learned.rejected` says why.
    """

    def __init__(
        self,
        scope: Scope,
        *,
        method: str = "full",
        beams: int = 1,
        updates: int = 3,
        enough: float = 2.0,
        longest: int = 256,
        hopeless: float = 14.0,
        harm: float = 2.0,
        guard: Guard | None = None,
        limits: Limits | None = None,
    ) -> None:
        """`longest`: tokens a piece of source, beyond which it is split to translate and not learned from.

        `hopeless`: loss (nats a token) of a pair that says nothing about the language; `harm`: by how much an
        update may raise the loss before it is taken back.
        """
        self.scope, self.method = scope, method
        self.beams, self.updates, self.enough, self.longest = beams, updates, enough, longest
        self.hopeless, self.harm = hopeless, harm
        self.guard, self.limits = guard or Guard(), limits or Limits()
        self.lessons_ = self.updates_ = 0

    @property
    def model(self) -> Marian:
        return self.scope.model

    @property
    def learns_from(self) -> tuple[type[Feedback], ...]:
        return (PostEdit,) if self.updates else ()

    def propose(self, segment: Segment, prefix: str = "") -> Proposal:
        pieces = [self.search(piece, prefix if i == 0 else "") for i, piece in enumerate(self.pieces(segment.source))]
        text = " ".join(self.model.target.decode(found[0].ids) for found in pieces)
        if not text.startswith(prefix):  # it holds what the vocabulary cannot spell
            text = prefix
        return Proposal(segment, text, system=self.method, prefix=prefix)

    def search(self, source: str, prefix: str = "") -> list[Found]:
        """The best translations of one piece, best first; beam search gives as many as it has beams."""
        ids = self.model.source.encode(source)
        if self.beams == 1 or prefix:
            return [greedy(self.model, ids, self.limits, self.scope.extra_bias, prefix, scored=False)]
        return beam(self.model, ids, self.beams, self.limits, self.scope.extra_bias)

    def pieces(self, source: str) -> Iterator[str]:
        """The source in pieces the model can read, cut between sentences where possible; nothing is left out."""
        piece = ""
        for sentence in self._sentences(source):
            longer = f"{piece} {sentence}" if piece else sentence
            if piece and len(self.model.source.encode(longer)) > self.longest:
                yield piece
                longer = sentence
            piece = longer
        if piece.strip():
            yield piece

    def _sentences(self, source: str) -> Iterator[str]:
        if len(self.model.source.encode(source)) <= self.longest:
            yield source
            return
        for sentence in SENTENCE_END.split(source):
            if len(self.model.source.encode(sentence)) <= self.longest:
                yield sentence
            else:
                yield from (part for word in sentence.split() for part in self._parts(word))

    def _parts(self, word: str) -> Iterator[str]:
        """A word longer than the model can read (a key, a data URL) in pieces of characters."""
        size = len(word) if len(self.model.source.encode(word)) <= self.longest else self.longest // 4
        return (word[start : start + size] for start in range(0, len(word), size))

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        if not isinstance(feedback, PostEdit):
            missed = f"learns from post-edits, not from {type(feedback).__name__}"
            return Learned(rejected=missed if self.updates else None)
        self.lessons_ += 1
        source, target = proposal.segment.source, feedback.text
        if (reason := self.guard(source, target)) is not None:
            return Learned(rejected=reason)
        ids, wanted = self.model.source.encode(source), self.model.target.encode(target)
        if max(len(ids), len(wanted)) > self.longest:
            return Learned(rejected="too long")
        learned = self.teach(ids, wanted)
        self.updates_ += learned.updates
        return learned

    def teach(self, source: list[int], target: list[int]) -> Learned:
        """Update until the pair is known well enough; all of it or, if it goes wrong, nothing."""
        lesson = self._study(source, target)
        info: dict[str, JSON] = {"perplexity": _short(lesson.perplexity)}
        if not lesson.loss < self.hopeless:  # also when it is no number
            return Learned(rejected="hopeless", info=info)
        allowed, done = lesson.loss + self.harm, 0
        try:
            while done < self.updates and lesson.perplexity > self.enough:
                self.scope.update(lesson)
                done += 1
                if done < self.updates:
                    lesson = self._study(source, target)
                if not lesson.loss <= allowed:
                    return self._reject("harmful", info)
        except NotFinite:
            return self._reject("not finite", info)
        self.scope.settle()
        return Learned(done, info=info)

    def _reject(self, reason: str, info: dict[str, JSON]) -> Learned:
        self.scope.rollback()
        return Learned(rejected=reason, info=info)

    def _study(self, source: list[int], target: list[int]) -> Lesson:
        return study(self.model, source, target, self.scope.names, self.scope.extra_bias)

    def save(self, folder: Path) -> None:
        self.delta().write(folder / "delta.safetensors")

    def load(self, folder: Path) -> None:
        self.become(Delta.read(folder / "delta.safetensors"))

    def delta(self) -> Delta:
        """What was learned, over the base."""
        counters = {"lessons": self.lessons_, "updates": self.updates_}
        return Delta(self.method, self._base_fingerprint(), self.scope.tensors(), counters)

    def become(self, delta: Delta) -> None:
        """Take up what was learned before; it must have been learned on this base with this method."""
        delta.check(self.method, self._base_fingerprint())
        self.scope.restore(delta.tensors)
        self.lessons_, self.updates_ = delta.counters["lessons"], delta.counters["updates"]

    def _base_fingerprint(self) -> str:
        base: Marian = getattr(self.scope, "base", self.scope.model)
        return base.weights.fingerprint


def _short(perplexity: float) -> float:
    """Four digits: enough to read, and the same on machines that round the last bits differently."""
    return float(f"{perplexity:.4g}")
