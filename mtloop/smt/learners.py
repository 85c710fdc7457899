"""The systems of the 2012 paper as learners: background only, background and foreground, foreground only.

Background: the model trained on a large corpus. Foreground: what was learned from the corrections.

    SmtLearner(make_system) ── BackgroundOnly(engine)         never learns
                            ├─ IncrementalTraining(engine)    adds each pair to the models of the engine
                            ├─ NbestRescoring(engine)         rescores n-best lists with foreground models
                            └─ ForegroundOnly(background)     trains models on the corrections alone

A snapshot holds the learned pairs, not the tables: learning them again gives the same model to the last bit,
independently of when snapshots were taken.
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
from mtloop.core.json_files import json_errors, parse_json
from mtloop.core.types import Feedback, Fields, Learned, PostEdit, Proposal, Segment, feedback_words
from mtloop.smt.card import SmtModelCard, read_tokeniser
from mtloop.smt.engine import Candidate, Thot
from mtloop.smt.foreground import Foreground
from mtloop.smt.phrases import PhraseTable
from mtloop.smt.training import build, fits_length
from mtloop.text.pair_filter import PairFilter

LESSONS_FILE = "lessons.json"
MAX_PAIR_WORDS = 160  # on each side of a pair that is learned
NO_MODEL = {"model": "none"}  # memo of proposals made before the first model; fits of learning curves leave them out


@dataclass(frozen=True)
class BackgroundModel:
    """A background model on disk. Each learner loads its own copy, because learning changes the tables."""

    folder: Path
    card: SmtModelCard

    @classmethod
    def open(cls, folder: str | Path) -> BackgroundModel:
        return cls(Path(folder), SmtModelCard.read(Path(folder)))

    @property
    def fingerprint(self) -> str:
        return self.card.fingerprint

    def engine(self, repetitions: int = 1) -> Thot:
        """Load a new engine; it trains each learned pair `repetitions` times."""
        return Thot.load(self.folder, repetitions=repetitions)


class TranslationSystem(Protocol):
    """The model of a learner: `translate` returns a text and its memo, `learn` whether the pair was learned."""

    def translate(self, source: str) -> tuple[str, Fields]: ...

    def learn(self, source: str, target: str) -> bool: ...


class BackgroundOnly:
    """The background model, which never learns."""

    def __init__(self, engine: Thot) -> None:
        self.engine = engine

    def translate(self, source: str) -> tuple[str, Fields]:
        return self.engine.translate(source), {}

    def learn(self, source: str, target: str) -> bool:
        return False


class IncrementalTraining(BackgroundOnly):
    """Background and foreground in one set of tables; each pair is added to their counts."""

    def learn(self, source: str, target: str) -> bool:
        return self.engine.learn(source, target)


class NbestRescoring:
    """Separate models: the background proposes `nbest_size` candidates, the foreground rescores them."""

    def __init__(self, engine: Thot, nbest_size: int = 50) -> None:
        self.engine, self.nbest_size = engine, nbest_size
        self.foreground_ = Foreground()
        self._learned = 0

    def translate(self, source: str) -> tuple[str, Fields]:
        words = [word for piece in self.engine.pieces(source) for word in self._best(piece)]
        return self.engine.tokeniser.detokenise(words, source), {}

    def _best(self, tokens: list[str]) -> tuple[str, ...]:
        if not self._learned:
            return self.engine.decode(tokens, 1)[0].words
        candidates = self.engine.decode(tokens, self.nbest_size)
        return max(candidates, key=lambda candidate: candidate.score + self._foreground_score(tokens, candidate)).words

    def _foreground_score(self, tokens: list[str], candidate: Candidate) -> float:
        values = self.foreground_.features(tokens, candidate.words, candidate.phrases)
        return sum(self.engine.card.rescoring[name] * value for name, value in values.items())

    def learn(self, source: str, target: str) -> bool:
        sides = self.engine.tokeniser.tokenise_source(source), self.engine.tokeniser.tokenise_target(target)
        if not fits_length(*sides, MAX_PAIR_WORDS):
            return False
        self.foreground_.add(*sides, self.engine.align(*sides))
        self._learned += 1
        return True


class ForegroundOnly:
    """Models trained on the corrections alone, again from scratch after every `retrain_words` new source words.

    Truecasing and word alignments come from the background model: a thousand words are too few to align well. Phrases,
    lexicon and n-grams come from the corrections alone. Phrases may be long (`max_phrase_length`). The decoder does not
    reorder phrases, so with short phrases it could not reproduce a corrected sentence that has another word order. The
    log-linear weights are untuned: weights tuned for a background give long phrases too little influence. Until the
    first model is trained, the source is copied.
    """

    def __init__(self, background: BackgroundModel, retrain_words: int = 1000, max_phrase_length: int = 20) -> None:
        self.background, self.retrain_words = background, retrain_words
        self._phrases = PhraseTable(self._align, max_phrase_length)
        self._pairs: list[tuple[str, str]] = []
        self._new_words = 0  # source words since the last retraining was due
        self._due = self._trained = 0  # number of pairs that the model should be, and is, trained on
        self._engine: Thot | None = None
        self._aligner: Thot | None = None

    @property
    def engine(self) -> Thot | None:
        """Train when a model is needed, not when training is due: learning a long trace again trains only once."""
        if self._due != self._trained:
            self._engine, self._trained = self._train(self._pairs[: self._due]), self._due
        return self._engine

    def translate(self, source: str) -> tuple[str, Fields]:
        engine = self.engine
        return (source, NO_MODEL) if engine is None else (engine.translate(source), {})

    def learn(self, source: str, target: str) -> bool:
        self._pairs.append((source, target))
        self._new_words += len(source.split())
        if self._new_words >= self.retrain_words:
            self._new_words, self._due = 0, len(self._pairs)
        return True

    def _train(self, pairs: list[tuple[str, str]]) -> Thot | None:
        """Return a new engine, or None if no pair has a usable length."""
        tokeniser = read_tokeniser(self.background.folder)
        sides = ((tokeniser.tokenise_source(source), tokeniser.tokenise_target(target)) for source, target in pairs)
        if not any(fits_length(source, target, MAX_PAIR_WORDS) for source, target in sides):
            return None
        with tempfile.TemporaryDirectory() as folder:
            build(pairs, Path(folder), tokeniser=tokeniser, phrases=self._phrases, max_words=MAX_PAIR_WORDS)
            return Thot.load(folder)

    def _align(self, source: Sequence[str], target: Sequence[str]) -> Any:
        self._aligner = self._aligner or self.background.engine()
        return self._aligner.align(source, target)


class SmtLearner:
    """A learner over one translation system. `make_system` returns the system before its first correction.

    The system is made at first use, so resuming a finished run costs nothing. Set `learns` to False for a system that
    never learns.
    """

    def __init__(
        self,
        make_system: Callable[[], TranslationSystem],
        *,
        method: str,
        fingerprint: str,
        learns: bool = True,
        pair_filter: PairFilter | None = None,
    ) -> None:
        self.make_system, self.method, self.fingerprint = make_system, method, fingerprint
        self.learns, self.pair_filter = learns, pair_filter or PairFilter()
        self.pairs_: list[tuple[str, str]] = []
        self._system: TranslationSystem | None = None

    @property
    def system_(self) -> TranslationSystem:
        """The system after all pairs learned so far."""
        if self._system is None:
            self._system = self.make_system()
            for pair in self.pairs_:
                self._system.learn(*pair)
        return self._system

    @property
    def learns_from(self) -> tuple[type[Feedback], ...]:
        return (PostEdit,) if self.learns else ()

    def propose(self, segment: Segment) -> Proposal:
        text, memo = self.system_.translate(segment.source)
        return Proposal(segment, text, system=self.method, memo=memo)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        if not isinstance(feedback, PostEdit):
            return Learned(rejected=f"learns from post-edits, not from {feedback_words(type(feedback))}")
        source, target = proposal.segment.source, feedback.text
        if (reason := self.pair_filter(source, target)) is not None:
            return Learned(rejected=reason)
        if not self.system_.learn(source, target):
            return Learned(rejected="too long" if self.learns else None)
        self.pairs_.append((source, target))
        return Learned(updates=1)

    def save(self, folder: Path) -> None:
        state = {"method": self.method, "fingerprint": self.fingerprint, "lessons": self.pairs_}
        write_text(folder / LESSONS_FILE, json.dumps(state, ensure_ascii=False))

    def load(self, folder: Path) -> None:
        """Load the learned pairs; raise InputError if they belong to another method or background model."""
        with json_errors(folder / LESSONS_FILE, "a record of lessons"):
            state = parse_json((folder / LESSONS_FILE).read_bytes())
            if (state["method"], state["fingerprint"]) != (self.method, self.fingerprint):
                raise InputError(f"learned with method {state['method']}, or on another base model", path=folder)
            pairs = [(str(source), str(target)) for source, target in state["lessons"]]
        self._system, self.pairs_ = None, pairs
