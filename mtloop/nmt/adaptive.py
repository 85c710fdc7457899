"""A neural translator that learns from every post-edit (2019): it takes a few gradient steps after each one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path

from torch import Tensor

from mtloop.core.ranges import check_at_least
from mtloop.core.types import JSON, Feedback, Learned, PostEdit, Proposal, Segment, SimilarCorrection, feedback_words
from mtloop.nmt.batch_translation import BatchTranslation
from mtloop.nmt.decoding.base_translations import BaseTranslations
from mtloop.nmt.decoding.changed_words import ChangedWords
from mtloop.nmt.decoding.copying import CopyModel
from mtloop.nmt.decoding.memory import Memory, MemoryProcessor, StoredSegment, attended_words
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.decoding.term_places import PlacedTermProcessor, TermRewriter, missing_terms
from mtloop.nmt.decoding.terms import TermModel
from mtloop.nmt.decoding.word_alignment import AttendedWord, align_words, attended_source
from mtloop.nmt.decoding.word_origins import WordOrigin, word_origins
from mtloop.nmt.delta import Delta, fitting
from mtloop.nmt.engine.byte_spelling import ByteSpellingProcessor
from mtloop.nmt.engine.lesson import Lesson, forward_pass
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import Hypothesis, LengthLimits, LogitsProcessor, beam, greedy
from mtloop.nmt.engine.threads import one_thread
from mtloop.nmt.last_encoding import LastEncoding
from mtloop.nmt.piece_length import MAX_PIECE_TOKENS
from mtloop.nmt.regularisation import Regularisation
from mtloop.nmt.scopes.scope import Frozen, NotFinite, Scope, base_of
from mtloop.nmt.scopes.weight_average import WeightAverage
from mtloop.text.pair_filter import PairFilter
from mtloop.text.protected.word_links import Link
from mtloop.text.text_unit import Syntax, TextUnit

MAX_SIMILAR_CORRECTIONS, MIN_SIMILARITY = 3, 0.2  # fewer shared words say little about a translation
TERM_BEAM = 4  # hypotheses of a search that must write a term in its place
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")


class AdaptiveNMT:
    """A model and the part of it that learns.

    For each post-edit: while the pair's perplexity is above `target_perplexity` and fewer than `max_updates` steps were
    taken, take one (batch of one, no dropout). An unusable pair, or updates that increase the loss, leave the model
    unchanged; then `Learned.rejected` gives the reason. The loss is checked before each further update. It is not
    checked after the last update: that costs one more forward pass per pair, and the last update has the same learning
    rate and clipping as the earlier ones.
    """

    def __init__(
        self,
        scope: Scope,
        *,
        method: str = "full",
        beam_size: int = 1,
        max_updates: int = 3,
        target_perplexity: float = 2.0,
        max_piece_tokens: int = MAX_PIECE_TOKENS,
        max_sentence_tokens: int = 256,
        max_loss: float = 14.0,
        max_loss_increase: float = 2.0,
        pair_filter: PairFilter | None = None,
        limits: LengthLimits | None = None,
        memory: Memory | None = None,
        copying: CopyModel | None = None,
        regularisation: Regularisation | None = None,
    ) -> None:
        """`max_piece_tokens`: a longer sentence is split after a full stop inside it, and translated in pieces.

        `max_sentence_tokens`: a sentence with more tokens is split between words; pairs with more are not learned.

        `max_loss` (nats per token): pairs with a higher loss are rejected. `max_loss_increase` (nats per token): if
        updates increase the loss by more, they are rolled back.
        """
        check_at_least(1, max_piece_tokens=max_piece_tokens)
        self.scope, self.method = scope, method
        self.beam_size, self.max_updates, self.target_perplexity = beam_size, max_updates, target_perplexity
        self.max_piece_tokens = min(max_piece_tokens, max_sentence_tokens)
        self.max_sentence_tokens = max_sentence_tokens
        self.max_loss, self.max_loss_increase = max_loss, max_loss_increase
        self.pair_filter, self.limits = pair_filter or PairFilter(), limits or LengthLimits()
        self.memory, self.copying, self.regularisation = memory, copying, regularisation or Regularisation()
        weight = self.regularisation.weight_average
        self.average = WeightAverage(scope, weight) if weight else None
        self.terms: TermModel | None = None
        self.word_origins_: list[WordOrigin] | None = None
        self.repeats_exactly = True
        """Whether a source that was confirmed before gets exactly its confirmed translation."""
        self.lessons_ = self.updates_ = 0
        self._last, self._uses_memory = LastEncoding(), True

    @property
    def model(self) -> Marian:
        return self.scope.model

    @property
    def base(self) -> Marian:
        """The shared base model."""
        return base_of(self.scope)

    @property
    def learns_from(self) -> tuple[type[Feedback], ...]:
        return (PostEdit,) if self.max_updates or self.memory is not None or self.copying else ()

    def propose(self, segment: Segment, prefix: str = "") -> Proposal:
        """Translate a segment sentence by sentence; what is protected in it (`TextUnit`) comes out unchanged."""
        unit = text_unit(segment)
        if prefix:
            text = unit.complete(prefix, self._complete, self.align)
            return Proposal(segment, text, system=self.method, prefix=prefix)
        if (whole := self._known(segment.source)) is not None:
            missed = self._missed_terms(segment.source, whole) if unit.is_protected else {}
            return Proposal(segment, whole, system=self.method, memo={"memory": "exact"} | missed)
        known = {part: self._known(part) for part in unit.parts}
        found = {part: self.translate_sentence(part) if text is None else text for part, text in known.items()}
        return self._assembled(segment, unit, found, None not in known.values())

    def propose_many(self, segments: Sequence[Segment]) -> list[Proposal]:
        """Translate segments in batches with the present state: like `propose`, up to rounding, and much faster."""
        units = [text_unit(segment) for segment in segments]
        known = {part: self._known(part) for unit in units for part in unit.parts}
        open_parts = [part for part, text in known.items() if text is None]
        found = known | dict(zip(open_parts, self._translate_many(open_parts), strict=True))
        return [
            self.propose(segment)
            if self._known(segment.source) is not None
            else self._assembled(segment, unit, found, all(known[part] is not None for part in unit.parts))
            for segment, unit in zip(segments, units, strict=True)
        ]

    def propose_unit(self, segment: Segment, unit: TextUnit) -> Proposal:
        """Translate a piece of a segment: some of its sentences and what stands around them."""
        known = {part: self._known(part) for part in unit.parts}
        open_parts = [part for part, text in known.items() if text is None]
        found = known | dict(zip(open_parts, self._translate_many(open_parts), strict=True))
        return self._assembled(segment, unit, found, None not in known.values())

    def is_repeated(self, source: str) -> bool:
        """Whether a text gets the translation that was confirmed for exactly this text."""
        return self._known(source) is not None

    def propose_best(self, segment: Segment, count: int) -> list[str]:
        """Return up to `count` different translations, the best first: each part with its k-th best translation."""
        best = [self.propose(segment).text, *self.rank_unit(text_unit(segment), count)]
        return list(dict.fromkeys(best))[:count]

    def rank_unit(self, unit: TextUnit, count: int) -> list[str]:
        """Return `count` translations of a text or of a piece of it, some of which may be equal: the best first.

        None of its sentences takes over a lesson with another meaning.
        """
        before, self.beam_size = self.beam_size, max(count, self.beam_size)
        try:
            found = [self._ranked(part, count) for part in unit.parts]
        finally:
            self.beam_size = before
        return [unit.assemble([texts[rank] for texts in found], self.align).text for rank in range(count)]

    def _ranked(self, sentence: str, count: int) -> list[str]:
        """Return `count` translations of a sentence, as the model sees it.

        In place of those that take over a lesson with another meaning come translations without the memory.
        """
        found = self._searched(sentence, count)
        kept = [text for text in found if not self._takes_over(sentence, text)]
        if len(kept) < count:
            with self._without_memory():
                kept += self._searched(sentence, count)
            kept = [text for text in dict.fromkeys(kept) if not self._takes_over(sentence, text)]
        kept = kept or [self._base_translations.translate(sentence)]
        return [kept[min(rank, len(kept) - 1)] for rank in range(count)]

    def _searched(self, sentence: str, count: int) -> list[str]:
        """Return `count` translations of a sentence, some of which may be equal."""
        pieces = [self.search(piece) for piece in self.split_source(sentence)]
        texts = [[self.model.target.decode(one.ids) for one in found] for found in pieces]
        return [" ".join(found[min(rank, len(found) - 1)] for found in texts) for rank in range(count)]

    def _known(self, sentence: str) -> str | None:
        """Return the newest confirmed translation of exactly this sentence, or None."""
        return self.memory.exact_match(sentence) if self.memory and self.repeats_exactly else None

    def _assembled(self, segment: Segment, unit: TextUnit, found: Mapping[str, str | None], exact: bool) -> Proposal:
        assembled = unit.assemble([found[part] or "" for part in unit.parts], self.align)
        memo: dict[str, JSON] = {"memory": "exact"} if exact and unit.parts else {}
        if assembled.repaired:
            memo["repaired"] = list(assembled.repaired)
        memo |= self._missed_terms(segment.source, assembled.text)
        return Proposal(segment, assembled.text, system=self.method, memo=memo)

    def _missed_terms(self, source: str, text: str) -> dict[str, JSON]:
        """Return the terms of the glossary that a translation lacks, as a memo."""
        missed = missing_terms(self.terms.glossary, source, text) if self.terms else []
        return {"missed terms": [term.source for term in missed]} if missed else {}

    def _translate_many(self, sentences: Sequence[str]) -> list[str]:
        if self.beam_size > 1:
            return [self.translate_sentence(sentence) for sentence in sentences]
        translator: WeightAverage | Scope = self.average or self.scope
        pieces = [list(self.split_source(sentence)) for sentence in sentences]
        translate = BatchTranslation(translator.model, self.limits, translator.extra_bias, self._processors)
        flat = list(chain.from_iterable(pieces))
        found = iter([self._with_terms(piece, text) for piece, text in zip(flat, translate(flat), strict=True)])
        texts = [" ".join(islice(found, len(group))) for group in pieces]
        return [self._checked(sentence, text, self._decode) for sentence, text in zip(sentences, texts, strict=True)]

    def translate_sentence(self, sentence: str) -> str:
        """Translate a sentence as the model sees it: with stand-ins, without tags."""
        return self._decoded_and_checked(sentence, self._decode)

    def _decoded_and_checked(self, sentence: str, decode: Callable[[str], str], prefix: str = "") -> str:
        before, decoded = len(self.word_origins_ or ()), decode(sentence)
        text = self._checked(sentence, decoded, decode, prefix)
        if text != decoded and self.word_origins_ is not None:
            del self.word_origins_[before:]  # this translation does not come from the memory
        return text

    def explain_words(self, segment: Segment, prefix: str = "") -> tuple[Proposal, list[WordOrigin]]:
        """Translate a segment, and return the words that the memory decided, with their lessons."""
        self.word_origins_ = []
        try:
            return self.propose(segment, prefix), self.word_origins_
        finally:
            self.word_origins_ = None

    def _decode(self, sentence: str) -> str:
        pieces = self.split_source(sentence)
        found = ((piece, self.model.target.decode(self.search(piece)[0].ids)) for piece in pieces)
        return " ".join(self._with_terms(piece, text) for piece, text in found)

    def _checked(self, sentence: str, text: str, decode: Callable[[str], str], prefix: str = "") -> str:
        """Return the translation, or another one if it takes over that of a lesson with another meaning.

        Then it is the translation without the memory, and if that is the same, the translation of the base model.
        """
        if not self._takes_over(sentence, text, prefix):
            return text
        with self._without_memory():
            own = decode(sentence)
        return own if own != text else self._base_translations.translate(sentence, prefix)

    def _takes_over(self, sentence: str, text: str, prefix: str = "") -> bool:
        """Return whether a translation is that of a lesson with another meaning.

        What a translator typed is a fact: then the base model's completions of it must differ.
        """
        if self.memory is None or not self.memory.settings or not self.memory.settings.check_changed_words:
            return False
        return self._base_translations.takes_over(sentence, self.memory.sources_of(text), prefix)

    @property
    def _base_translations(self) -> BaseTranslations:
        return BaseTranslations(self.base, self.limits, self.split_source)

    @contextmanager
    def _without_memory(self) -> Iterator[None]:
        """Let no state of the memory vote."""
        self._uses_memory = False
        try:
            yield
        finally:
            self._uses_memory = True

    def _complete(self, sentence: str, prefix: str) -> str:
        """Translate a sentence whose translation begins with a prefix."""
        text = self._decoded_and_checked(sentence, partial(self._decode_with, prefix=prefix), prefix)
        return text if text.startswith(prefix) else prefix  # the vocabulary may not be able to spell the prefix

    def _decode_with(self, sentence: str, prefix: str) -> str:
        pieces = list(self.split_source(sentence, self.max_sentence_tokens))  # a prefix may span several pieces
        found = [self.search(piece, prefix if i == 0 else "") for i, piece in enumerate(pieces)]
        return " ".join(self.model.target.decode(hypotheses[0].ids) for hypotheses in found)

    def align(self, source: str, target: str) -> list[Link]:
        """Return for each word of a translation the source word that it comes from, by attention."""
        if max(len(self.model.source.encode(source)), len(self.model.target.encode(target))) > self.max_sentence_tokens:
            return []
        encoded = self._last.encode(self.model, self.model.source.encode(source))
        return align_words(self.model, encoded, source, target)

    def search(self, source: str, prefix: str = "") -> list[Hypothesis]:
        """Return the best translations of one piece, best first: one, or as many as the beam size."""
        translator: WeightAverage | Scope = self.average or self.scope
        ids, model, bias = self.model.source.encode(source), translator.model, translator.extra_bias
        encoded = model.encode(ids) if self.average else self._last.encode(model, ids)
        processors = self._processors(ids)
        if self.beam_size == 1 or prefix:
            memory = next((one for one in processors if isinstance(one, MemoryProcessor)), None)
            if memory is not None and self.word_origins_ is not None:
                memory.votes = []
            found = greedy(model, encoded, self.limits, bias, prefix, scored=False, processors=processors)
            self._record_origins(found, memory)
            return [found]
        return beam(model, encoded, self.beam_size, self.limits, bias, processors=processors)

    def _record_origins(self, found: Hypothesis, memory: MemoryProcessor | None) -> None:
        """Record which words the memory decided, if somebody wants to know."""
        if memory is not None and memory.votes and self.memory is not None and self.word_origins_ is not None:
            lessons = self.memory.lessons_of_rows(memory.rows)
            ids = [token for token in found.ids if token != self.model.target.end]
            self.word_origins_ += word_origins(ids, self.model.target.pieces, memory.votes, lessons)

    def _processors(self, ids: Sequence[int]) -> list[LogitsProcessor]:
        """Return the logits processors for this source."""
        spelling = ByteSpellingProcessor.for_source(ids, self.model.source, self.model.target)
        if self.memory is None and self.copying is None and self.terms is None:
            return [spelling] if spelling else []
        words = SourceWords.of(ids, self.model.source)
        copying = self.copying.processor(words, self._spell, self.model.target.pieces) if self.copying else None
        memory = self._memory_processor(ids, words)
        processors: list[LogitsProcessor] = [one for one in (copying, memory, spelling) if one is not None]
        draft = partial(self._draft, ids, processors)
        terms = self.terms.processor(words, self.model.target, draft) if self.terms else None
        return [*processors, terms] if terms else processors

    def _with_terms(self, piece: str, text: str) -> str:
        """Return a translation with the terms of the glossary that it lacks, in place of what stands for them."""
        if self.terms is None or not missing_terms(self.terms.glossary, piece, text):
            return text
        speller, search = self.terms.spell_with(self.model.target), partial(self._search_with_term, piece)
        with one_thread():
            return TermRewriter(self.terms, speller, self._attend, search, self._score)(piece, text)

    def _score(self, source: str, target: str) -> float:
        return -self._forward_pass(self.model.source.encode(source), self.model.target.encode(target)).loss

    def _attend(self, source: str, target: str) -> list[AttendedWord]:
        encoded = self._last.encode(self.model, self.model.source.encode(source))
        return attended_source(self.model, encoded, source, target)

    def _search_with_term(self, piece: str, processor: PlacedTermProcessor) -> list[str]:
        translator: WeightAverage | Scope = self.average or self.scope
        ids = self.model.source.encode(piece)
        found = beam(translator.model, ids, TERM_BEAM, self.limits, translator.extra_bias, processors=[processor])
        return [self.model.target.decode(one.ids) for one in found]

    def _memory_processor(self, ids: Sequence[int], words: SourceWords) -> MemoryProcessor | None:
        if self.memory is None or not self._uses_memory:
            return None
        settings = self.memory.settings
        changed = ChangedWords(self.base, ids, words) if settings and settings.check_changed_words else None
        return self.memory.processor(words, self.model.target.end, changed.silent if changed else None)

    def _draft(self, ids: Sequence[int], processors: Sequence[LogitsProcessor]) -> str:
        """Return the translation without a glossary."""
        translator: WeightAverage | Scope = self.average or self.scope
        bias = translator.extra_bias
        found = greedy(translator.model, list(ids), self.limits, bias, scored=False, processors=processors)
        return self.model.target.decode(found.ids)

    def _spell(self, word: str) -> list[int]:
        return self.model.target.encode(word)[:-1]

    def split_source(self, source: str, max_tokens: int = 0) -> Iterator[str]:
        """Split a longer source after full stops inside it, into as few pieces of at most `max_tokens` as it allows.

        `max_tokens` 0 means `max_piece_tokens`. A sentence of more than `max_sentence_tokens` is split between words.
        No text is lost.
        """
        max_tokens = max_tokens or self.max_piece_tokens
        return self._pack(self._sentences(source, max_tokens), max_tokens)

    def _pack(self, parts: Iterable[str], max_tokens: int) -> Iterator[str]:
        """Join consecutive parts to pieces of at most `max_tokens`; a longer part is a piece of its own."""
        piece = ""
        for part in parts:
            longer = f"{piece} {part}" if piece else part
            if piece and len(self.model.source.encode(longer)) > max_tokens:
                yield piece
                longer = part
            piece = longer
        if piece.strip():
            yield piece

    def _sentences(self, source: str, max_tokens: int) -> Iterator[str]:
        if len(self.model.source.encode(source)) <= max_tokens:
            yield source
            return
        for sentence in SENTENCE_END.split(source):
            if len(self.model.source.encode(sentence)) <= self.max_sentence_tokens:
                yield sentence
            else:
                parts = (part for word in sentence.split() for part in self._split_word(word))
                yield from self._pack(parts, self.max_sentence_tokens)

    def _split_word(self, word: str) -> Iterator[str]:
        """Split a word that is too long for the model (a key, a data URL) by characters."""
        fits = len(self.model.source.encode(word)) <= self.max_sentence_tokens
        size = len(word) if fits else self.max_sentence_tokens // 4
        return (word[start : start + size] for start in range(0, len(word), size))

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        if not isinstance(feedback, PostEdit):
            reason = f"learns from post-edits, not from {feedback_words(type(feedback))}"
            return Learned(rejected=reason if self.max_updates else None)
        self.lessons_ += 1
        if not self._reads:
            return Learned()
        try:
            return self._learn_post_edit(proposal.segment, feedback.text)
        except BaseException:  # a lesson that failed is not counted, and the next one takes its number
            self.lessons_ -= 1
            self.forget_in_memory(self.lessons_)
            raise

    @property
    def _reads(self) -> bool:
        """Whether something learns from a pair, so that it has to be read."""
        learns_weights = bool(self.max_updates) and not isinstance(self.scope, Frozen)
        return learns_weights or self.memory is not None or self.copying is not None

    def _learn_post_edit(self, segment: Segment, target: str) -> Learned:
        source = segment.source
        if (rejection := self.pair_filter(source, target)) is not None:
            return Learned(rejected=rejection)
        unit = text_unit(segment)
        pairs = unit.lessons(target)
        if not pairs:  # it leaves out a placeholder
            is_known = self._remember_whole(source, target)
            return Learned(info={"remembered": "whole"}) if is_known else Learned(rejected="placeholders")
        learned = [self._learn_sentence(*pair, part, part == len(pairs) - 1) for part, pair in enumerate(pairs)]
        joined = learned[0] if len(learned) == 1 else join_learned(learned)
        if unit.is_protected and joined.rejected is None:
            self._remember_whole(source, target, part=len(pairs))
        return joined

    def _remember_whole(self, source: str, target: str, part: int = 0) -> bool:
        """Remember a correction for exactly this source, as it is written; return False without a memory that votes.

        Its sentences alone do not say where tags, line breaks and left-out placeholders belong.
        """
        if self.memory is None or self.memory.settings is None:
            return False
        self.memory.add(StoredSegment.without_states(self.lessons_ - 1, source, target, self.model.shape.width, part))
        return True

    def _learn_sentence(self, source: str, target: str, part: int, is_last: bool) -> Learned:
        """Learn one sentence of a post-edit; after the last one, learn earlier pairs again."""
        if (rejection := self.pair_filter(source, target)) is not None:
            return Learned(rejected=rejection)
        source_ids, target_ids = self.model.source.encode(source), self.model.target.encode(target)
        if max(len(source_ids), len(target_ids)) > self.max_sentence_tokens:
            return Learned(rejected="too long")
        learned, lesson = self.learn_pair(source_ids, target_ids)
        if not learned.rejected:
            self._remember(source, target, source_ids, lesson, part)
            self._commit(learned.updates + (self._replay() if is_last else 0))
        return learned

    def _commit(self, updates: int) -> None:
        """Apply all updates of a post-edit and of its replay in one pass over the weights."""
        self.updates_ += updates
        self.scope.commit()
        if updates:  # states encoded during the lesson differ by rounding from those of a restored model
            self._last.clear()
        if updates and self.average:
            self.average.update()

    def _remember(self, source: str, target: str, ids: list[int], lesson: Lesson, part: int) -> None:
        if self.memory is None and self.copying is None:
            return
        words = SourceWords.of(ids, self.model.source)
        if self.copying:
            self.copying.learn(words, target)
        if self.memory is not None:
            keys = lesson.states.half() if self.memory.settings else lesson.states[:, :0].half()
            attended = attended_words(words, lesson.decoded.attention)
            self.memory.add(StoredSegment(self.lessons_ - 1, source, target, lesson.target, keys, attended, part))

    def similar_corrections(self, source: str) -> list[SimilarCorrection] | None:
        """Return the corrections in the memory that are most similar to a source, the most similar first.

        Return None without a memory.
        """
        if self.memory is None:
            return None
        parts = TextUnit.of(source).parts
        ids = self.model.source.encode(" ".join(parts))[:-1]  # without the end of the sentence, which all sources share
        words = [word for word in SourceWords.of(ids, self.model.source).texts if any(map(str.isalnum, word))]
        whole = self.memory.newest(source)
        exact = {one.key: (one, 1.0) for part in (source, *parts) if (one := self.memory.newest(part)) is not None}
        near = {one.key: (one, value) for one, value in self.memory.most_similar(words) if value >= MIN_SIMILARITY}
        found = list((exact | {key: one for key, one in near.items() if key not in exact}).values())
        if whole is not None and not len(whole.tokens):  # the sentences of this lesson would say the same once more
            found = [pair for pair in found if pair[0] is whole or pair[0].lesson != whole.lesson]
        chosen = islice(found, MAX_SIMILAR_CORRECTIONS)
        return [SimilarCorrection(one.source, one.target, value, one.lesson) for one, value in chosen]

    def forget(self, index: int) -> bool:
        """Undo one lesson (counted from 0); return False if it is not in the memory.

        This works only for method `memory` alone. Return False for methods that update weights or count copied words.
        """
        if not isinstance(self.scope, Frozen) or self.memory is None or self.copying:
            return False
        return self.memory.forget(index)

    def forget_in_memory(self, index: int) -> None:
        """Drop a lesson (counted from 0) from the memory; all weights keep what they learned from it."""
        if self.memory is not None:
            self.memory.drop(index)

    def limit_memory(self, lessons: Container[int] | None) -> None:
        """Let exact matches and votes come from these lessons only (counted from 0); None: from all."""
        if self.memory is not None:
            self.memory.visible = lessons

    def learn_pair(self, source: list[int], target: list[int]) -> tuple[Learned, Lesson]:
        """Update until the target perplexity or the maximal number of updates; roll back harmful updates.

        Also return the lesson of the last forward pass. The caller must commit the scope.
        """
        lesson = self._forward_pass(source, target)
        info: dict[str, JSON] = {"perplexity": _round(lesson.perplexity)}
        if not lesson.loss < self.max_loss:  # also if it is NaN
            return Learned(rejected="improbable", info=info), lesson
        limit, done = lesson.loss + self.max_loss_increase, 0
        learns = self.max_updates and lesson.perplexity > self.target_perplexity
        base_probabilities = self._base_probabilities(source, target) if learns else None
        try:
            while done < self.max_updates and lesson.perplexity > self.target_perplexity:
                self.scope.update(self.regularisation.apply(lesson, base_probabilities))
                self._last.clear()
                done += 1
                if done < self.max_updates:
                    lesson = self._forward_pass(source, target)
                if not lesson.loss <= limit:
                    return self._reject("harmful", info), lesson
        except NotFinite:
            return self._reject("not finite", info), lesson
        return Learned(done, info=info), lesson

    def _base_probabilities(self, source: list[int], target: list[int]) -> Tensor | None:
        """Return the base model's token probabilities for a pair, or None without a KL term."""
        if not self.regularisation.kl_weight:
            return None
        return forward_pass(self.base, source, target, frozenset()).probabilities

    def _replay(self) -> int:
        """Learn a few earlier pairs again, with at most one update each; return the number of updates."""
        if self.memory is None or not len(self.memory):
            return 0
        earlier = self.regularisation.sample_replay(self.lessons_, [one for one in self.memory if len(one.tokens)])
        return sum(self._replay_pair(one.source, one.target) for one in earlier)

    def _replay_pair(self, source: str, target: str) -> int:
        lesson = self._forward_pass(self.model.source.encode(source), self.model.target.encode(target))
        if not math.log(self.target_perplexity) < lesson.loss < self.max_loss:
            return 0
        try:
            self.scope.update(self.regularisation.apply(lesson, None))
        except NotFinite:
            return 0
        self._last.clear()
        return 1

    def _reject(self, reason: str, info: dict[str, JSON]) -> Learned:
        self.scope.rollback()
        self._last.clear()
        return Learned(rejected=reason, info=info)

    def _forward_pass(self, source: list[int], target: list[int]) -> Lesson:
        encoded = self._last.encode(self.model, source)
        return forward_pass(self.model, encoded, target, self.scope.names, self.scope.extra_bias)

    def write_delta(self, path: Path) -> None:
        self.delta().write(path)

    def save(self, folder: Path) -> None:
        self.delta().write(folder / "delta.safetensors")

    def load(self, folder: Path) -> None:
        self.load_delta(Delta.read(folder / "delta.safetensors"))

    def delta(self) -> Delta:
        """Return the learned state, relative to the base."""
        counters = {"lessons": self.lessons_, "updates": self.updates_}
        tensors = self.scope.tensors() | (self.memory.tensors() if self.memory else {})
        tensors |= self.average.tensors() if self.average else {}
        counts = self.copying.counts() if self.copying else {}
        return Delta(self.method, self.base.weights.fingerprint, tensors, counters | counts)

    def load_delta(self, delta: Delta) -> None:
        """Restore the learned state. Raise InputError if it was learned on another base or with another method."""
        delta.check(self.method, self.base.weights.fingerprint)
        others = {name: tensor for name, tensor in delta.tensors.items() if name.startswith(("memory/", "average/"))}
        with fitting(delta, self.base.weights):
            self.scope.restore({name: tensor for name, tensor in delta.tensors.items() if name not in others})
            if self.average:
                self.average.restore(others)
            if self.memory is not None:
                self.memory.restore(others)
            if self.copying:
                self.copying.restore(delta.counters)
            self.lessons_, self.updates_ = delta.counters["lessons"], delta.counters["updates"]
        self._last.clear()


def text_unit(segment: Segment) -> TextUnit:
    """Return the text of a segment; its context may say that it is a fragment of XML."""
    return TextUnit.of(segment.source, str(segment.context.get("syntax", Syntax.PLAIN)))


def join_learned(learned: Sequence[Learned]) -> Learned:
    """Return the result of several sentences as one: it is rejected if every sentence was."""
    kept = [one for one in learned if one.rejected is None]
    values = [float(value) for one in learned if isinstance(value := one.info.get("perplexity"), float)]
    mean = math.exp(sum(map(math.log, values)) / len(values)) if values else None
    info: dict[str, JSON] = {"sentences": len(learned)} | ({"perplexity": _round(mean)} if mean else {})
    return Learned(sum(one.updates for one in kept), None if kept else learned[0].rejected, info)


def _round(perplexity: float) -> float:
    """Round to four digits: readable, and the same on machines that differ in the last bits."""
    return float(f"{perplexity:.4g}")
