"""The learner of a person's work: it learns each confirmation, and what it learned is found again after a restart.

Its state follows from the lessons in order: translated units of the file first, then the confirmations in the trace.
Snapshots of both are in the folder of the work. A project of a server keeps its lessons itself. The last confirmation
is sent again only if a kill came before the file `sent.txt` says that it was sent.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from mtloop.core.atomic import write_text
from mtloop.core.protocols import Learner, RecallsCorrections, SupportsForget
from mtloop.core.record import Snapshots
from mtloop.core.types import Learned, PostEdit, Proposal, Segment, SimilarCorrection, Step
from mtloop.metrics.effort import StaticCompleter
from mtloop.translation.fill_files import EngineChoice
from mtloop.translation.fill_state import FillState, writing
from mtloop.translation.lesson_choice import TranslatedUnit
from mtloop.translation.translator import KeepsCorrections, Translator, UsesTerms
from mtloop.translation.unit_translation import ProtectsText, as_written, learn_unit, propose_all
from mtloop.translation.work_file import text_of

SNAPSHOT_EVERY = 20  # confirmations; so many are learned again at most, after a kill or an undo
FIRST_SNAPSHOT_EVERY = 100  # translated units

Progress: TypeAlias = Callable[[str, int, int], None]
"""Shows progress: what is done, the number of lessons that are done, and their total."""


class WorkLearner:
    """A learner, its lessons and their snapshots."""

    def __init__(self, engine: EngineChoice, translator: Translator, state: FillState, snapshots: Snapshots) -> None:
        self.engine, self.translator = engine, translator
        self._state, self._snapshots = state, snapshots
        self._lesson_numbers: dict[int, int] = {}  # by step; only lessons of this process

    @property
    def learner(self) -> Learner:
        return self.translator.learner

    @property
    def keeps_corrections(self) -> bool:
        """Whether the learner is a project of a server."""
        return isinstance(self.learner, KeepsCorrections)

    def begin(self, steps: Sequence[Step], progress: Progress) -> None:
        """Learn what is not in a snapshot: translated units of the file, then confirmations."""
        if self.keeps_corrections and steps:
            if self._last_sent() != len(steps):
                self.learn(steps[-1], len(steps))
            return
        done = self._snapshots.restore(self.learner, len(steps))
        if not done:
            self._learn_first(progress)
        for number, step in enumerate(steps[done:], start=done + 1):
            progress("learning what was confirmed", number - 1, len(steps))
            self.learn(step, number)
        if len(steps) > done:
            progress("learning what was confirmed", len(steps), len(steps))
        known = len(self._state.lessons()) + len(steps)
        self.translator.corrections_ = getattr(self.learner, "lessons_", known)

    def _learn_first(self, progress: Progress) -> None:
        lessons = self._state.lessons()
        done = self._state.snapshots.restore(self.learner, len(lessons)) if lessons else 0
        for number, lesson in enumerate(lessons[done:], start=done + 1):
            progress("learning the translated units", number - 1, len(lessons))
            learn_unit(self.learner, lesson)
            if number % FIRST_SNAPSHOT_EVERY == 0 or number == len(lessons):
                self._state.save_learner(self.learner, number, {})
        if len(lessons) > done:
            progress("learning the translated units", len(lessons), len(lessons))

    def learn(self, step: Step, number: int) -> Learned:
        """Learn a confirmation, the `number`th of the trace that counts."""
        self._lesson_numbers[step.index] = getattr(self.learner, "lessons_", -1)
        if self.keeps_corrections:
            learned = self.learner.learn(step.proposal, PostEdit(text_of(step)))
            self._note_sent(number)
        else:
            learned = learn_unit(self.learner, TranslatedUnit(step.proposal.segment, text_of(step)))
        self.translator.corrections_ += learned.rejected is None
        if number % SNAPSHOT_EVERY == 0:
            self.save(number)
        return learned

    @property
    def _sent_file(self) -> Path:
        return self._state.folder / "sent.txt"

    def _note_sent(self, number: int) -> None:
        """Write that the project has this number of confirmations of the trace; -1: that is not certain."""
        with writing(self._sent_file):
            write_text(self._sent_file, f"{number}\n")

    def _last_sent(self) -> int:
        return int(self._sent_file.read_text(encoding="utf-8")) if self._sent_file.exists() else -1

    def save(self, number: int) -> None:
        """Save the learner after this number of confirmations."""
        if number:
            with writing(self._snapshots.folder):
                self._snapshots.save(self.learner, number)

    def prepare_retraction(self, step: Step, number: int) -> None:
        """Delete the snapshots with more confirmations than `number`. Call it before the trace retracts the step.

        A project undoes the correction now. If a kill comes before the trace has it, the correction is sent again.
        """
        if isinstance(self.learner, KeepsCorrections):
            self._note_sent(-1)
            self.learner.retract(step.proposal.segment, text_of(step))
        self._snapshots.discard_after(number)

    def forget(self, step: Step, steps: Sequence[Step], progress: Progress) -> None:
        """Undo the lesson of a step. A learner that cannot do that is replaced by one that learned `steps` only."""
        if self.keeps_corrections:
            self._note_sent(len(steps))
            return
        number = self._lesson_numbers.pop(step.index, -1)
        known = {lesson.segment.source for lesson in self._state.lessons()}
        known |= {one.proposal.segment.source for one in steps}  # the lesson may have replaced an earlier one
        is_new = number >= 0 and step.proposal.segment.source not in known
        if is_new and isinstance(self.learner, SupportsForget) and self.learner.forget(number):
            self.translator.corrections_ -= 1
        else:
            self._rebuild(steps, progress)

    def _rebuild(self, steps: Sequence[Step], progress: Progress) -> None:
        new = self.fresh()
        self.translator.close()
        self.translator = Translator(new, self.translator.config, loaded=self.translator.loaded)
        self._lesson_numbers.clear()
        self.begin(steps, progress)

    def fresh(self) -> Learner:
        """Return the engine as it was before this work, with its glossary: the frozen model."""
        base = getattr(self.learner, "base", None)
        if base is None:
            return self.engine.load().learner
        new = self.translator.config.make(base, PostEdit)  # with the model that is in memory
        if isinstance(new, UsesTerms) and isinstance(self.learner, UsesTerms):
            new.terms = self.learner.terms
        return new

    def propose(self, segment: Segment) -> Proposal:
        if isinstance(self.learner, ProtectsText):
            return self.learner.propose(segment)
        return propose_all(self.learner, [segment])[0]

    def complete(self, proposal: Proposal, prefix: str) -> str:
        """Return a translation that begins with what was typed."""
        if not prefix:
            return proposal.text
        if isinstance(self.learner, ProtectsText) and "prefix" in inspect.signature(self.learner.propose).parameters:
            return self.learner.propose(proposal.segment, prefix).text  # type: ignore[call-arg]
        return StaticCompleter(proposal.text)(prefix)

    def explain(self, proposal: Proposal, steps: Sequence[Step]) -> tuple[str, tuple[SimilarCorrection, ...]]:
        """Say where a suggestion comes from, and return the corrections most similar to its source."""
        source, recalls = proposal.segment.source, isinstance(self.learner, RecallsCorrections)
        found = self.learner.similar_corrections(source) if recalls else None  # type: ignore[attr-defined]
        confirmed = (TranslatedUnit(step.proposal.segment, text_of(step)) for step in steps)
        similar = as_written(found, [*self._state.lessons(), *confirmed]) if found is not None else None
        return self.translator._explain(proposal, similar), similar or ()
