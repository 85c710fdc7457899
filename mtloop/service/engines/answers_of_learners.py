"""What an engine does with a learner: translate texts, and prove what a lesson changed. It runs in a thread."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from mtloop.bandits.draws import DRAW_BY_ID
from mtloop.core.errors import InputError
from mtloop.core.protocols import DeclaresFeedback, Interactive, Learner, RecallsCorrections
from mtloop.core.types import JSON, Learned, Proposal, Reward, Segment, SimilarCorrection
from mtloop.metrics.effort import StaticCompleter
from mtloop.service.engines.learner_state import learn_lesson
from mtloop.service.project_log.event_log import LoggedLesson
from mtloop.text.text_unit import TextUnit
from mtloop.translation.unit_translation import ProtectsText, propose_all

MAX_ALIKE = 3  # sources that a proof shows
MIN_ALIKE = 0.2  # share of words that they have in common


@runtime_checkable
class RepeatsCorrections(Protocol):
    """A learner that answers a source it knows with the confirmed translation, unless this is switched off."""

    repeats_exactly: bool


class DecidedWord(Protocol):
    """A word of a translation, and the lesson that it comes from."""

    @property
    def word(self) -> str: ...

    @property
    def lesson(self) -> int: ...


@runtime_checkable
class ExplainsWords(Protocol):
    """A learner that says which words of a translation come from which lesson."""

    def explain_words(self, segment: Segment, prefix: str = "") -> tuple[Proposal, Sequence[DecidedWord]]: ...


@runtime_checkable
class ProposesBest(Protocol):
    """A learner that gives several translations, the best first."""

    def propose_best(self, segment: Segment, count: int) -> list[str]: ...


@runtime_checkable
class ProposesUnits(Protocol):
    """A learner that translates a long text piece by piece, as well as at once."""

    def is_repeated(self, source: str) -> bool: ...

    def propose_unit(self, segment: Segment, unit: TextUnit) -> Proposal: ...

    def rank_unit(self, unit: TextUnit, count: int) -> list[str]: ...


@runtime_checkable
class LimitsMemory(Protocol):
    """A learner whose memory can be limited to some lessons, by their index. None: all."""

    def limit_memory(self, lessons: Container[int] | None) -> None: ...


@dataclass(frozen=True)
class TranslationCall:
    """Texts to translate, in the syntax `plain`, `html` or `xml`; with a prefix, each translation begins with it.

    With `documents`, exact matches and similar corrections come from these documents only. The weights of the model
    know all corrections.

    `names` are ids for the segments that no other segment of a project has: a method that draws at random draws anew
    for each of them. Empty: the segments have no ids.

    `explains`: for a single text the answer also says which words come from which correction.
    """

    texts: Sequence[str]
    syntax: str = "plain"
    prefix: str = ""
    candidates: int = 1
    documents: Sequence[str] | None = None
    names: Sequence[str] = ()
    explains: bool = True

    @property
    def segments(self) -> list[Segment]:
        if not self.names:
            return [Segment("", text, {"syntax": self.syntax}) for text in self.texts]
        context: dict[str, JSON] = {"syntax": self.syntax, DRAW_BY_ID: True}
        return [Segment(name, text, context) for name, text in zip(self.names, self.texts, strict=True)]


@dataclass(frozen=True)
class Proof:
    """What a lesson changed: its own source with exact repeats switched off, and similar sources of the project."""

    before: str
    after: str
    changed: Sequence[Mapping[str, str]] = field(default_factory=tuple)

    def to_json(self) -> dict[str, Any]:
        return {"before": self.before, "after": self.after, "changed": [dict(one) for one in self.changed]}


def translate(
    learner: Learner, call: TranslationCall, numbers: Sequence[int], visible: Container[int] | None = None
) -> list[dict[str, Any]]:
    """Translate texts. `numbers` are the events of the corrections that the learner counts, in order.

    `visible` are indexes of them: the memory is limited to these.
    """
    with _memory_of(learner, visible):
        if len(call.texts) == 1 and call.explains and isinstance(learner, ExplainsWords):
            proposal, origins = learner.explain_words(call.segments[0], call.prefix)
            answers = [_answer(learner, proposal, numbers, origins)]
        else:
            answers = [_answer(learner, proposal, numbers) for proposal in _propose(learner, call)]
        if call.candidates > 1 and isinstance(learner, ProposesBest):
            for answer, segment in zip(answers, call.segments, strict=True):
                answer["candidates"] = learner.propose_best(segment, call.candidates)
        return answers


def translate_piece(
    learner: Learner,
    call: TranslationCall,
    piece: TextUnit,
    numbers: Sequence[int],
    visible: Container[int] | None = None,
) -> dict[str, Any]:
    """Translate a piece of the only text of a call. Its corrections are those that are similar to the piece."""
    segment = replace(call.segments[0], source=" ".join(piece.parts))
    with _memory_of(learner, visible):
        if isinstance(learner, ProposesUnits):
            proposal = learner.propose_unit(segment, piece)
        else:
            texts = [learner.propose(replace(segment, source=part)).text for part in piece.parts]
            proposal = Proposal(segment, piece.assemble(texts).text)
        answer: dict[str, Any] = {
            "translation": proposal.text,
            "repeated": proposal.memo.get("memory") == "exact" or not piece.parts,
            "corrections": list(_corrections(learner, proposal, numbers, (), piece.parts)),
            "protected": list(piece.protected),
        }
        if call.candidates > 1 and isinstance(learner, ProposesUnits):
            answer["candidates"] = [proposal.text, *learner.rank_unit(piece, call.candidates)]
        return answer


@contextmanager
def _memory_of(learner: Learner, lessons: Container[int] | None) -> Iterator[None]:
    """Limit the memory of a learner to some lessons during a block, if it can be. None: all."""
    if lessons is None or not isinstance(learner, LimitsMemory):
        yield
        return
    learner.limit_memory(lessons)
    try:
        yield
    finally:
        learner.limit_memory(None)


def check_call(learner: Learner, call: TranslationCall) -> None:
    """Raise InputError if a learner cannot answer a call, before anything is computed or drawn."""
    if call.prefix and rates(learner):
        raise InputError("this method draws whole translations; leave out `prefix`")
    if call.candidates == 1:
        return
    if not isinstance(learner, ProposesBest):
        raise InputError("this method gives one translation of a text; leave out `candidates`")
    if call.prefix:
        raise InputError("a prefix has one completion; leave out `candidates` or `prefix`")


def rates(learner: Learner) -> bool:
    """Whether a learner learns from ratings."""
    return isinstance(learner, DeclaresFeedback) and Reward in learner.learns_from


def _propose(learner: Learner, call: TranslationCall) -> list[Proposal]:
    if call.prefix:
        return [_complete(learner, segment, call.prefix) for segment in call.segments]
    if rates(learner):
        return [learner.propose(segment) for segment in call.segments]  # with all that its rating needs
    return propose_all(learner, call.segments)


def _complete(learner: Learner, segment: Segment, prefix: str) -> Proposal:
    if isinstance(learner, ProtectsText) and isinstance(learner, Interactive):
        return learner.propose(segment, prefix)
    whole = propose_all(learner, [segment])[0]
    return Proposal(segment, StaticCompleter(whole.text)(prefix), prefix=prefix)


def _answer(
    learner: Learner, proposal: Proposal, numbers: Sequence[int], origins: Sequence[DecidedWord] = ()
) -> dict[str, Any]:
    unit = TextUnit.of(proposal.segment.source, str(proposal.segment.context["syntax"]))
    answer: dict[str, Any] = {
        "translation": proposal.text,
        "repeated": proposal.memo.get("memory") == "exact",
        "corrections": list(_corrections(learner, proposal, numbers, origins, unit.parts)),
        "protected": list(unit.protected),
    }
    if rates(learner):
        answer["proposal"] = proposal
    return answer


def _corrections(
    learner: Learner,
    proposal: Proposal,
    numbers: Sequence[int],
    origins: Sequence[DecidedWord],
    parts: Sequence[str],
) -> Iterator[dict[str, Any]]:
    """The most similar corrections, with the words of the translation that the memory took from each.

    A translation that was confirmed as a whole has all its words from one correction. If its sentences were, each of
    the `parts` has its words from its own one.
    """
    source, repeated = proposal.segment.source, proposal.memo.get("memory") == "exact"
    similar = _similar_corrections(learner, source)
    exact: list[SimilarCorrection] = []
    if repeated and not any(one.target == proposal.text for one in similar):
        exact = [one for part in dict.fromkeys(parts) for one in _similar_corrections(learner, part, exactly=True)]
    for one in exact or similar:
        if exact:
            words = [word for word in one.target.split() if word in proposal.text]  # no stand-ins of placeholders
        elif repeated and one.target == proposal.text:
            words = proposal.text.split()
        else:
            words = [word.word for word in origins if word.lesson == one.lesson]
        yield {
            "number": numbers[one.lesson] if 0 <= one.lesson < len(numbers) else None,
            "source": one.source,
            "translation": one.target,
            "similarity": round(one.similarity, 4),
            "words": words,
        }


def _similar_corrections(learner: Learner, source: str, exactly: bool = False) -> list[SimilarCorrection]:
    """The corrections that are most similar to a source; with `exactly`, the newest of this source alone."""
    similar = learner.similar_corrections(source) if isinstance(learner, RecallsCorrections) else None
    found = list(similar or ())
    return [one for one in found if one.source == source][:1] if exactly else found


def learn_with_proof(learner: Learner, lesson: LoggedLesson, known: Sequence[str] = ()) -> tuple[Learned, Proof]:
    """Learn a lesson, and show what it changed. `known` are sources of the project, the newest first."""
    segment = lesson.proposal.segment
    alike = _similar_sources(learner, segment, known)
    segments = [segment, *(Segment("", source, segment.context) for source in alike)]
    before = _without_repeats(learner, segments)
    learned = learn_lesson(learner, lesson)
    after = _without_repeats(learner, segments)
    changed = [
        {"source": source, "before": old, "after": new}
        for source, old, new in zip(alike, before[1:], after[1:], strict=True)
        if old != new
    ]
    return learned, Proof(before[0], after[0], tuple(changed))


def _similar_sources(learner: Learner, segment: Segment, known: Sequence[str]) -> list[str]:
    """The most similar sources. A learner without a memory finds none, so they are searched among the `known`."""
    similar = learner.similar_corrections(segment.source) if isinstance(learner, RecallsCorrections) else None
    if similar is None:
        return _alike(segment.source, known)
    sources = dict.fromkeys(one.source for one in similar if one.source != segment.source)
    return list(sources)[:MAX_ALIKE]


def _alike(source: str, known: Sequence[str]) -> list[str]:
    """The sources that share most words with a source, in order; of equal ones the newest, which comes first.

    >>> _alike("Save the file.", ["Close it.", "Open the file.", "Save the old file.", "Save the file."])
    ['Save the old file.', 'Open the file.']
    """
    others = list(dict.fromkeys(one for one in known if one != source))
    similarity = Levenshtein.normalized_similarity
    words = [one.split() for one in others]
    found = process.extract(
        source.split(), words, scorer=similarity, processor=None, limit=MAX_ALIKE, score_cutoff=MIN_ALIKE
    )
    return [others[place] for _, _, place in found]


def _without_repeats(learner: Learner, segments: Sequence[Segment]) -> list[str]:
    with repeats_off(learner):
        if isinstance(learner, ProtectsText):
            return [learner.propose(segment).text for segment in segments]
        return [one.text for one in propose_all(learner, segments)]


def repeats_off(learner: Learner) -> AbstractContextManager[None]:
    """Switch exact repeats off during a block, if the learner has them."""
    return _repeats_off(learner) if isinstance(learner, RepeatsCorrections) else nullcontext()


@contextmanager
def _repeats_off(learner: RepeatsCorrections) -> Iterator[None]:
    learner.repeats_exactly = False
    try:
        yield
    finally:
        learner.repeats_exactly = True
