"""Learn from the units of files and translate them, with any learner: what is protected comes out unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Protocol, TypeAlias, runtime_checkable

from mtloop.core.protocols import Learner
from mtloop.core.types import JSON, Learned, PostEdit, Proposal, Segment, SimilarCorrection
from mtloop.text.messages import join_names
from mtloop.text.protected.format_strings import fit_formats
from mtloop.text.protected.word_links import Link
from mtloop.text.text_unit import TextUnit
from mtloop.translation.fill_state import FilledUnit
from mtloop.translation.lesson_choice import TranslatedUnit
from mtloop.translation.quality_checks import FailedCheck, failed_checks, is_better

SECOND_BEAM = 4  # beam size of the second try
MAX_SECOND_TRY = 1000  # characters of a source that gets one; a search with beams is not done in batches
OneThread: TypeAlias = Callable[[], AbstractContextManager[object]]
"""Makes the engine compute with one thread. A beam is too small for more: on a busy machine they are much slower."""


@runtime_checkable
class ProtectsText(Protocol):
    """A learner that finds what is protected in a segment itself. It learns without its own proposal."""

    def align(self, source: str, target: str) -> list[Link]: ...


@runtime_checkable
class ProposesMany(Protocol):
    """A learner that translates several segments at a time."""

    def propose_many(self, segments: Sequence[Segment]) -> list[Proposal]: ...


@runtime_checkable
class HasBeam(Protocol):
    """A learner with beam search."""

    beam_size: int


def learn_unit(learner: Learner, lesson: TranslatedUnit) -> Learned:
    """Learn from a unit that is translated already: its sentences as the learner sees them when it translates."""
    if isinstance(learner, ProtectsText):
        return learner.learn(Proposal(lesson.segment, ""), PostEdit(lesson.target))
    if not (lesson.segment.source.strip() and lesson.target.strip()):
        return Learned(rejected="empty")
    pairs = _text_unit(lesson.segment).lessons(lesson.target)
    learned = [_learn_pair(learner, replace(lesson.segment, source=source), target) for source, target in pairs]
    kept = [one for one in learned if one.rejected is None]
    if kept:
        return Learned(sum(one.updates for one in kept))
    return learned[0] if learned else Learned(rejected="placeholders")


def as_written(similar: Iterable[SimilarCorrection], units: Sequence[TranslatedUnit]) -> tuple[SimilarCorrection, ...]:
    """Return similar corrections with the texts of the user's units. A learner knows sentences with stand-ins.

    One that belongs to no unit stays as it is. Of several sentences of one unit, the first one counts.
    """
    similar = list(similar)
    unknown = {(one.source, one.target) for one in similar} - {unit.key for unit in units}
    written: dict[tuple[str, str], tuple[str, str]] = {}
    for unit in units if unknown else ():
        pairs = _text_unit(unit.segment).lessons(unit.target)
        written |= {pair: unit.key for pair in pairs if pair in unknown}
    found: dict[tuple[str, str], SimilarCorrection] = {}
    for one in similar:
        source, target = written.get((one.source, one.target), (one.source, one.target))
        found.setdefault((source, target), replace(one, source=source, target=target))
    return tuple(found.values())


def translate_units(
    learner: Learner, segments: Sequence[tuple[int, Segment]], target_lang: str, one_thread: OneThread = nullcontext
) -> list[FilledUnit]:
    """Translate units, given with their index, and check them. One that fails gets a second try with a larger beam."""
    proposals = propose_all(learner, [segment for _, segment in segments])
    filled = [_checked(index, one, target_lang) for (index, _), one in zip(segments, proposals, strict=True)]
    failing = [
        number
        for number, unit in enumerate(filled)
        if (unit.failed or unit.repaired) and len(segments[number][1].source) <= MAX_SECOND_TRY
    ]
    if failing and isinstance(learner, HasBeam) and learner.beam_size < SECOND_BEAM:
        with _beam_of(learner, SECOND_BEAM), one_thread():
            again = propose_all(learner, [segments[number][1] for number in failing])
        for number, proposal in zip(failing, again, strict=True):
            filled[number] = _better(filled[number], _checked(segments[number][0], proposal, target_lang))
    return filled


def propose_all(learner: Learner, segments: Sequence[Segment]) -> list[Proposal]:
    """Translate segments, several at a time if the learner can."""
    if isinstance(learner, ProposesMany):
        return learner.propose_many(segments)
    if isinstance(learner, ProtectsText):
        return [learner.propose(segment) for segment in segments]
    return [_propose_parts(learner, segment) for segment in segments]


def _propose_parts(learner: Learner, segment: Segment) -> Proposal:
    """Translate the sentences of a segment, and put them together with what is protected."""
    unit = _text_unit(segment)
    assembled = unit.assemble([learner.propose(replace(segment, source=part)).text for part in unit.parts])
    memo: dict[str, JSON] = {"repaired": list(assembled.repaired)} if assembled.repaired else {}
    return Proposal(segment, assembled.text, memo=memo)


def _learn_pair(learner: Learner, segment: Segment, target: str) -> Learned:
    return learner.learn(learner.propose(segment), PostEdit(target))


def _text_unit(segment: Segment) -> TextUnit:
    return TextUnit.of(segment.source, str(segment.context["syntax"]))


def _checked(index: int, proposal: Proposal, target_lang: str) -> FilledUnit:
    segment, repaired = proposal.segment, proposal.memo.get("repaired", [])
    syntax, flags = str(segment.context["syntax"]), segment.context.get("flags", ())
    text = fit_formats(segment.source, proposal.text, flags)
    failed = failed_checks(segment.source, text, syntax=syntax, target_lang=target_lang, flags=flags)
    if isinstance(missed := proposal.memo.get("missed terms"), list):
        message = f"{join_names(map(str, missed))} not translated as the glossary says"
        failed = (*failed, FailedCheck("glossary", message))
    return FilledUnit(index, text, tuple(map(str, repaired if isinstance(repaired, list) else ())), failed)


def _better(first: FilledUnit, second: FilledUnit) -> FilledUnit:
    """Return the try that fails fewer checks, else the one with fewer repairs; the first one if they are equal."""
    if is_better(second.failed, first.failed):
        return second
    if is_better(first.failed, second.failed):
        return first
    return second if len(second.repaired) < len(first.repaired) else first


@contextmanager
def _beam_of(learner: HasBeam, size: int) -> Iterator[None]:
    before, learner.beam_size = learner.beam_size, size
    try:
        yield
    finally:
        learner.beam_size = before
