"""The 2012 paper's systems as learners: background only, background and foreground, foreground only.

    SmtLearner(make) ── Fixed(engine)             never learns
                     ├─ Incremental(engine)       each pair goes into the engine's own models
                     ├─ Rescoring(engine)         each pair goes into foreground models that rescore n-best lists
                     └─ Alone(base)               no background: nothing but what was corrected

A snapshot holds the lessons and not the tables: learning them again gives the same model to the last bit, whenever
snapshots were taken.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.types import Feedback, Fields, Learned, PostEdit, Proposal, Segment
from mtloop.smt.card import Card, read_words
from mtloop.smt.engine import Candidate, Thot
from mtloop.smt.foreground import Foreground
from mtloop.smt.phrases import PhraseTable
from mtloop.smt.training import build, usable
from mtloop.text.pair_filter import PairFilter

LESSONS = "lessons.json"
LONGEST = 160  # words of a side of a lesson
NO_MODEL = {"model": "none"}  # on proposals made before there was a model; fits of learning curves leave them out


@dataclass(frozen=True)
class Base:
    """A background model on disk. A learner changes the tables it learns in, so each loads its own."""

    folder: Path
    card: Card

    @classmethod
    def open(cls, folder: str | Path) -> Base:
        return cls(Path(folder), Card.read(Path(folder)))

    @property
    def fingerprint(self) -> str:
        return self.card.fingerprint

    def engine(self, emphasis: int = 1) -> Thot:
        return Thot.load(self.folder, emphasis=emphasis)


class Adapting(Protocol):
    """What a learner translates with: `translate` may say how it came by the text, `learn` whether it learned."""

    def translate(self, source: str) -> tuple[str, Fields]: ...

    def learn(self, source: str, target: str) -> bool: ...


class Fixed:
    """The background alone."""

    def __init__(self, engine: Thot) -> None:
        self.engine = engine

    def translate(self, source: str) -> tuple[str, Fields]:
        return self.engine.translate(source), {}

    def learn(self, source: str, target: str) -> bool:
        return False


class Incremental(Fixed):
    """Background and foreground in one set of tables, which every pair is counted into."""

    def learn(self, source: str, target: str) -> bool:
        return self.engine.learn(source, target)


class Rescoring:
    """Two sets of models: the background proposes `size` candidates, the foreground says which it has seen before."""

    def __init__(self, engine: Thot, size: int = 50) -> None:
        self.engine, self.size = engine, size
        self.foreground_ = Foreground()
        self._learned = 0

    def translate(self, source: str) -> tuple[str, Fields]:
        words = [word for piece in self.engine.pieces(source) for word in self._best(piece)]
        return self.engine.words.write(words, source), {}

    def _best(self, tokens: list[str]) -> tuple[str, ...]:
        if not self._learned:
            return self.engine.decode(tokens, 1)[0].words
        candidates = self.engine.decode(tokens, self.size)
        return max(candidates, key=lambda one: one.score + self._foreground_score(tokens, one)).words

    def _foreground_score(self, tokens: list[str], candidate: Candidate) -> float:
        values = self.foreground_.features(tokens, candidate.words, candidate.phrases)
        return sum(self.engine.card.rescoring[name] * value for name, value in values.items())

    def learn(self, source: str, target: str) -> bool:
        sides = self.engine.words.read(source), self.engine.words.read_target(target)
        if not usable(*sides, LONGEST):
            return False
        self.foreground_.add(*sides, self.engine.align(*sides))
        self._learned += 1
        return True


class Alone:
    """No background: the models are estimated anew on all lessons whenever `words` more source words have come.

    Casing and word alignments are the base's: aligned by themselves, the first thousand words would make a worse
    memory of themselves than of what follows. Phrases, lexicon and n-grams are the lessons' alone. Phrases are
    long: the decoder keeps to the source's order, so a sentence that does not fit into one comes back only in parts,
    and what was just learned would look like something forgotten. Weights are plain: those tuned for a background
    make little of long phrases. Until there is a model, the source is copied.
    """

    def __init__(self, base: Base, words: int = 1000, phrase: int = 20) -> None:
        self.base, self.words = base, words
        self._phrases = PhraseTable(self._align, phrase)
        self._lessons: list[tuple[str, str]] = []
        self._size = self._due = self._done = 0  # words waiting; lessons the model should, and does, stand on
        self._engine: Thot | None = None
        self._background: Thot | None = None

    @property
    def engine(self) -> Thot | None:
        """Estimated when it is needed, not when it is due: learning a long record again estimates once."""
        if self._due != self._done:
            self._engine, self._done = self._estimated(self._lessons[: self._due]), self._due
        return self._engine

    def translate(self, source: str) -> tuple[str, Fields]:
        engine = self.engine
        return (source, NO_MODEL) if engine is None else (engine.translate(source), {})

    def learn(self, source: str, target: str) -> bool:
        self._lessons.append((source, target))
        self._size += len(source.split())
        if self._size >= self.words:
            self._size, self._due = 0, len(self._lessons)
        return True

    def _estimated(self, lessons: list[tuple[str, str]]) -> Thot | None:
        words = read_words(self.base.folder)
        if not any(usable(words.read(source), words.read_target(target), LONGEST) for source, target in lessons):
            return None
        with tempfile.TemporaryDirectory() as folder:
            build(lessons, Path(folder), words=words, phrases=self._phrases, longest=LONGEST)
            return Thot.load(folder)

    def _align(self, source: Sequence[str], target: Sequence[str]) -> Any:
        self._background = self._background or self.base.engine()
        return self._background.align(source, target)


class SmtLearner:
    """One of them in the loop. `make` gives it as it is before the first lesson; one that never `learns` says so.

    The model is made when it is first asked for anything: taking up a run that was finished costs nothing.
    """

    def __init__(
        self,
        make: Callable[[], Adapting],
        *,
        method: str,
        fingerprint: str,
        learns: bool = True,
        guard: PairFilter | None = None,
    ) -> None:
        self.make, self.method, self.fingerprint, self.guard = make, method, fingerprint, guard or PairFilter()
        self.learns = learns
        self.lessons_: list[tuple[str, str]] = []
        self._model: Adapting | None = None

    @property
    def model_(self) -> Adapting:
        """What all lessons so far made of it."""
        if self._model is None:
            self._model = self.make()
            for lesson in self.lessons_:
                self._model.learn(*lesson)
        return self._model

    @property
    def learns_from(self) -> tuple[type[Feedback], ...]:
        return (PostEdit,) if self.learns else ()

    def propose(self, segment: Segment) -> Proposal:
        text, memo = self.model_.translate(segment.source)
        return Proposal(segment, text, system=self.method, memo=memo)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        if not isinstance(feedback, PostEdit):
            return Learned(rejected=f"learns from post-edits, not from {type(feedback).__name__}")
        source, target = proposal.segment.source, feedback.text
        if (reason := self.guard(source, target)) is not None:
            return Learned(rejected=reason)
        if not self.model_.learn(source, target):
            return Learned(rejected="too long" if self.learns else None)
        self.lessons_.append((source, target))
        return Learned(updates=1)

    def save(self, folder: Path) -> None:
        state = {"method": self.method, "fingerprint": self.fingerprint, "lessons": self.lessons_}
        write_text(folder / LESSONS, json.dumps(state, ensure_ascii=False))

    def load(self, folder: Path) -> None:
        """Learn everything again, from the start; it must have been learned on this base with this method."""
        state = json.loads((folder / LESSONS).read_text(encoding="utf-8"))
        if (state["method"], state["fingerprint"]) != (self.method, self.fingerprint):
            raise InputError(f"was learned with method {state['method']} on another base model", path=folder)
        self._model, self.lessons_ = None, [(source, target) for source, target in state["lessons"]]
