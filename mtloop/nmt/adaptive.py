"""A neural translator that learns from every correction (2019): translate, see the post-edit, move a little, go on."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from torch import Tensor

from mtloop.core.errors import InputError
from mtloop.core.types import JSON, Feedback, Learned, PostEdit, Proposal, Segment
from mtloop.nmt.decoding.copying import Copying
from mtloop.nmt.decoding.memory import Memory, Remembered, looked_at
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.delta import Delta
from mtloop.nmt.engine.byte_spelling import Spelling
from mtloop.nmt.engine.lesson import Lesson, study
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import Advice, Found, LengthLimits, beam, greedy
from mtloop.nmt.regularisation import Regularisation
from mtloop.nmt.scopes.scope import Frozen, NotFinite, Scope, base_of
from mtloop.nmt.scopes.weight_average import WeightAverage
from mtloop.text.pair_filter import PairFilter

SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
PIECE = 48  # tokens: models that learned from single sentences lose what comes after the first few


class AdaptiveNMT:
    """A model and the part of it that learns.

    For each post-edit: while the pair's perplexity is above `enough` and fewer than `updates` steps were taken, take
    one (batch of one, no dropout). A pair that is no lesson, or updates that do harm, leave the model as it was; then
    `Learned.rejected` says why. Harm is looked for before each further update; to look once more after the last
    would be one more reading of every pair, for a step that is no longer than the ones before it.
    """

    def __init__(
        self,
        scope: Scope,
        *,
        method: str = "full",
        beams: int = 1,
        updates: int = 3,
        enough: float = 2.0,
        piece: int = PIECE,
        longest: int = 256,
        hopeless: float = 14.0,
        harm: float = 2.0,
        guard: PairFilter | None = None,
        limits: LengthLimits | None = None,
        memory: Memory | None = None,
        copying: Copying | None = None,
        honesty: Regularisation | None = None,
    ) -> None:
        """`piece`: tokens of source, beyond which it is cut between sentences to be translated.

        `longest`: tokens of a sentence, beyond which it is cut anywhere, and of a source that is still learned from.

        `hopeless`: loss (nats a token) of a pair that says nothing about the language; `harm`: by how much an
        update may raise the loss before it is taken back.
        """
        if piece < 1:
            raise InputError(f"piece is {piece}; expected the tokens of a piece, 1 or more")
        self.scope, self.method = scope, method
        self.beams, self.updates, self.enough = beams, updates, enough
        self.piece, self.longest = min(piece, longest), longest
        self.hopeless, self.harm = hopeless, harm
        self.guard, self.limits = guard or PairFilter(), limits or LengthLimits()
        self.memory, self.copying, self.honesty = memory, copying, honesty or Regularisation()
        self.average = WeightAverage(scope, self.honesty.average) if self.honesty.average else None
        self.lessons_ = self.updates_ = 0
        self._encoded: Encoded | None = None  # the source read last: who translates it is likely to learn from it next

    @property
    def model(self) -> Marian:
        return self.scope.model

    @property
    def base(self) -> Marian:
        """The shared model under what was learned."""
        return base_of(self.scope)

    @property
    def learns_from(self) -> tuple[type[Feedback], ...]:
        return (PostEdit,) if self.updates or self.memory is not None or self.copying else ()

    def propose(self, segment: Segment, prefix: str = "") -> Proposal:
        if self.memory and not prefix and (known := self.memory.exact(segment.source)) is not None:
            return Proposal(segment, known, system=self.method, memo={"memory": "exact"})
        cut = self.pieces(segment.source, self.longest if prefix else self.piece)  # what was typed may be of any piece
        pieces = [self.search(piece, prefix if i == 0 else "") for i, piece in enumerate(cut)]
        text = " ".join(self.model.target.decode(found[0].ids) for found in pieces)
        if not text.startswith(prefix):  # it holds what the vocabulary cannot spell
            text = prefix
        return Proposal(segment, text, system=self.method, prefix=prefix)

    def search(self, source: str, prefix: str = "") -> list[Found]:
        """The best translations of one piece, best first; beam search gives as many as it has beams."""
        speaker: WeightAverage | Scope = self.average or self.scope
        ids, model, bias = self.model.source.encode(source), speaker.model, speaker.extra_bias
        encoded = model.encode(ids) if self.average else self._read(ids)
        advice = self._advice(encoded)
        if self.beams == 1 or prefix:
            return [greedy(model, encoded, self.limits, bias, prefix, scored=False, advice=advice)]
        return beam(model, encoded, self.beams, self.limits, bias, advice=advice)

    def _advice(self, encoded: Encoded) -> list[Advice]:
        """Who has a say while this source is translated, beside the model."""
        spelling = Spelling.of(encoded.ids, self.model.source, self.model.target)
        if self.memory is None and self.copying is None:
            return [spelling] if spelling else []
        words = SourceWords.of(encoded.ids, self.model.source)
        push = self.copying.of(words, self._spell, self.model.target.pieces) if self.copying else None
        recalled = self.memory.recall(words) if self.memory is not None else None
        return [advice for advice in (push, recalled, spelling) if advice is not None]

    def _spell(self, word: str) -> list[int]:
        return self.model.target.encode(word)[:-1]

    def pieces(self, source: str, most: int = 0) -> Iterator[str]:
        """The source in pieces of at most so many tokens (0: `piece`), or of one sentence; nothing is left out.

        A sentence that is longer than the model can read is cut between words.
        """
        return self._packed(self._sentences(source, most or self.piece), most or self.piece)

    def _packed(self, parts: Iterable[str], most: int) -> Iterator[str]:
        piece = ""
        for sentence in parts:
            longer = f"{piece} {sentence}" if piece else sentence
            if piece and len(self.model.source.encode(longer)) > most:
                yield piece
                longer = sentence
            piece = longer
        if piece.strip():
            yield piece

    def _sentences(self, source: str, most: int) -> Iterator[str]:
        if len(self.model.source.encode(source)) <= most:
            yield source
            return
        for sentence in SENTENCE_END.split(source):
            if len(self.model.source.encode(sentence)) <= self.longest:
                yield sentence
            else:
                parts = (part for word in sentence.split() for part in self._parts(word))
                yield from self._packed(parts, self.longest)

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
        learned, lesson = self.teach(ids, wanted)
        if not learned.rejected:
            self._keep(source, target, ids, lesson)
            self._settle(learned.updates + self._replay())
        return learned

    def _settle(self, updates: int) -> None:
        """One pass over the weights for all that was learned and looked at again."""
        self.updates_ += updates
        self.scope.settle()
        if updates:  # what was read during the lesson differs by rounding from what a restored model reads
            self._encoded = None
        if updates and self.average:
            self.average.follow()

    def _keep(self, source: str, target: str, ids: list[int], lesson: Lesson) -> None:
        if self.memory is None and self.copying is None:
            return
        words = SourceWords.of(ids, self.model.source)
        if self.copying:
            self.copying.learn(words, target)
        if self.memory is not None:
            keys = lesson.states.half() if self.memory.trust else lesson.states[:, :0].half()
            seen = looked_at(words, lesson.decoded.attention)
            self.memory.add(Remembered(self.lessons_ - 1, source, target, lesson.target, keys, seen))

    def forget(self, index: int) -> bool:
        """Take back one lesson (they count from 0). Only a memory can; what went into weights stays there."""
        if not isinstance(self.scope, Frozen) or self.memory is None or self.copying:
            return False
        return self.memory.forget(index)

    def teach(self, source: list[int], target: list[int]) -> tuple[Learned, Lesson]:
        """Update until the pair is known well enough; if it goes wrong, take all back. The scope is yet to settle.

        Also gives the lesson as it was last looked at.
        """
        lesson = self._study(source, target)
        info: dict[str, JSON] = {"perplexity": _short(lesson.perplexity)}
        if not lesson.loss < self.hopeless:  # also when it is no number
            return Learned(rejected="hopeless", info=info), lesson
        allowed, done = lesson.loss + self.harm, 0
        anchor = self._anchor(source, target) if self.updates and lesson.perplexity > self.enough else None
        try:
            while done < self.updates and lesson.perplexity > self.enough:
                self.scope.update(self.honesty.temper(lesson, anchor))
                self._encoded = None
                done += 1
                if done < self.updates:
                    lesson = self._study(source, target)
                if not lesson.loss <= allowed:
                    return self._reject("harmful", info), lesson
        except NotFinite:
            return self._reject("not finite", info), lesson
        return Learned(done, info=info), lesson

    def _anchor(self, source: list[int], target: list[int]) -> Tensor | None:
        """What the frozen base thinks of the pair, where it is asked."""
        return study(self.base, source, target, frozenset()).probabilities if self.honesty.kl else None

    def _replay(self) -> int:
        """Look at a few earlier pairs again, one update each at most."""
        if self.memory is None or not len(self.memory):
            return 0
        earlier = self.honesty.earlier(self.lessons_, list(self.memory))
        return sum(self._look_again(one.source, one.target) for one in earlier)

    def _look_again(self, source: str, target: str) -> int:
        lesson = self._study(self.model.source.encode(source), self.model.target.encode(target))
        if not math.log(self.enough) < lesson.loss < self.hopeless:
            return 0
        try:
            self.scope.update(self.honesty.temper(lesson, None))
        except NotFinite:
            return 0
        self._encoded = None
        return 1

    def _reject(self, reason: str, info: dict[str, JSON]) -> Learned:
        self.scope.rollback()
        self._encoded = None
        return Learned(rejected=reason, info=info)

    def _study(self, source: list[int], target: list[int]) -> Lesson:
        return study(self.model, self._read(source), target, self.scope.names, self.scope.extra_bias)

    def _read(self, ids: list[int]) -> Encoded:
        if self._encoded is None or self._encoded.ids != tuple(ids):
            self._encoded = self.model.encode(ids)
        return self._encoded

    def save(self, folder: Path) -> None:
        self.delta().write(folder / "delta.safetensors")

    def load(self, folder: Path) -> None:
        self.become(Delta.read(folder / "delta.safetensors"))

    def delta(self) -> Delta:
        """What was learned, over the base."""
        counters = {"lessons": self.lessons_, "updates": self.updates_}
        tensors = self.scope.tensors() | (self.memory.tensors() if self.memory else {})
        tensors |= self.average.tensors() if self.average else {}
        counts = self.copying.counts() if self.copying else {}
        return Delta(self.method, self.base.weights.fingerprint, tensors, counters | counts)

    def become(self, delta: Delta) -> None:
        """Take up what was learned before; it must have been learned on this base with this method."""
        delta.check(self.method, self.base.weights.fingerprint)
        beside = {name: tensor for name, tensor in delta.tensors.items() if name.startswith(("memory/", "average/"))}
        self.scope.restore({name: tensor for name, tensor in delta.tensors.items() if name not in beside})
        if self.average:
            self.average.restore(beside)
        if self.memory is not None:
            self.memory.restore(beside)
        if self.copying:
            self.copying.restore(delta.counters)
        self._encoded = None
        self.lessons_, self.updates_ = delta.counters["lessons"], delta.counters["updates"]


def _short(perplexity: float) -> float:
    """Four digits: enough to read, and the same on machines that round the last bits differently."""
    return float(f"{perplexity:.4g}")
