"""Thot behind a small door: translate, n-best lists with feature values, weights to read and set, learn one pair."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtloop.core.errors import InputError, UnknownName, need
from mtloop.smt.card import Card, describe, read_words, write_words
from mtloop.smt.tokens import SmtTokeniser

FEATURES = (
    "word_penalty",
    "language_model",
    "target_segment_length",
    "jump",
    "source_segment_length",
    "phrase",
    "inverse_phrase",
)  # Thot's eighth, the sentence length, has no part in its scores
UNTUNED = dict.fromkeys(FEATURES, 1.0)
SMALLEST = 1e-4  # Thot gives the best translation's features times weights: with none they could not be read
EMPTY = math.log(0.7)  # the word penalty of no words, which is in Thot's scores and not in its components
LONGEST = 80  # words decoded at once; a longer source is cut
WIDTH = 10  # translations of a phrase that are tried
PHRASE = 10  # words of the longest source phrase that is tried: what is learned may be longer than what was extracted
STRONG, WEAK = frozenset(".!?;"), frozenset(",:)")


@dataclass(frozen=True)
class Candidate:
    """One translation: its words, its unweighted feature values by name, and which words came from which.

    `phrases` pairs spans (start, end) of the source's words with spans of the target's.
    """

    words: tuple[str, ...]
    features: Mapping[str, float]
    score: float
    phrases: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = ()


class Thot:
    """A phrase-based model that decodes and learns. One lock: Thot's decoder and its training share tables."""

    def __init__(self, folder: Path, words: SmtTokeniser, card: Card, *, emphasis: int = 1) -> None:
        self.folder, self.words, self.card, self.emphasis = folder, words, card, emphasis
        self._lock = threading.RLock()
        self._model = _load(folder, max(PHRASE, _phrase(card)))
        self._decoder = _decoder(self._model)
        self.weights = card.weights

    @classmethod
    def load(cls, folder: str | Path, *, emphasis: int = 1) -> Thot:
        """The model of a folder; `emphasis` is how many times a pair counts when it is learned."""
        card = Card.read(Path(folder))
        return cls(Path(folder), read_words(Path(folder)), card, emphasis=emphasis)

    @property
    def fingerprint(self) -> str:
        return self.card.fingerprint

    @property
    def weights(self) -> dict[str, float]:
        """The log-linear weights by feature."""
        return dict(self._weights)

    @weights.setter
    def weights(self, values: Mapping[str, float]) -> None:
        for name in values:
            if name not in FEATURES:
                raise UnknownName("feature", name, FEATURES)
        if missing := [name for name in FEATURES if name not in values]:
            raise InputError(f"no weight for feature {missing[0]}; give all of: {', '.join(FEATURES)}")
        with self._lock:
            self._weights = {name: _not_nothing(float(values[name])) for name in FEATURES}
            self._model.weights = [*self._weights.values(), SMALLEST]

    def translate(self, source: str) -> str:
        """The best translation of a text of any length."""
        pieces = [self.decode(piece, 1)[0].words for piece in self.pieces(source)]
        return self.words.write((word for piece in pieces for word in piece), source)

    def nbest(self, source: str, n: int) -> list[tuple[str, dict[str, float]]]:
        """Up to `n` different translations with their feature values, best first; a text is decoded in one piece."""
        tokens = self.words.read(source)[: 2 * LONGEST]
        found: dict[str, dict[str, float]] = {}
        for candidate in self.decode(tokens, n) if tokens else ():
            found.setdefault(self.words.write(candidate.words, source), dict(candidate.features))
        return list(found.items())

    def pieces(self, source: str) -> Iterator[list[str]]:
        """The source's words in pieces short enough to decode; cut behind a sign where there is one."""
        tokens = self.words.read(source)
        while len(tokens) > LONGEST:
            cut = _cut(tokens)
            yield tokens[:cut]
            tokens = tokens[cut:]
        if tokens:
            yield tokens

    def decode(self, tokens: Sequence[str], n: int) -> list[Candidate]:
        """The `n` best candidates for the words of one piece."""
        sentence = " ".join(tokens)
        with self._lock:
            if n > 1:
                return [_candidate(data) for data in self._decoder.translate_n(sentence, n)]
            return [_candidate(self._decoder.translate(sentence), list(self._weights.values()))]

    def learn(self, source: str, target: str) -> bool:
        """Learn one pair; False when there is nothing in it to learn or it is too long to align."""
        sides = self.words.read(source), self.words.read_target(target)
        if not all(0 < len(side) <= 2 * LONGEST for side in sides):
            return False
        with self._lock:
            done = [self._decoder.train_sentence_pair(*map(" ".join, sides)) for _ in range(self.emphasis)]
        return all(done)

    def align(self, source: Sequence[str], target: Sequence[str]) -> Any:
        """Which words of a pair belong together, by both alignment models: a matrix of source by target."""
        ta = need("thot.alignment", "smt")
        with self._lock:
            direct, inverse = self._model.direct_word_alignment_model, self._model.inverse_word_alignment_model
            aligner = ta.SymmetrizedAligner(direct, inverse)
            aligner.heuristic = ta.SymmetrizationHeuristic.GROW_DIAG_FINAL_AND
            return aligner.get_best_alignment(list(source), list(target))[1].to_numpy()

    def save(self, folder: Path) -> None:
        """Write the model as it is now, what it learned included, as a folder that `load` takes."""
        folder.mkdir(parents=True, exist_ok=True)
        with self._lock:
            done = self._model.print_translation_model(str(folder / "tm"))
            done = self._model.print_language_model(str(folder / "lm")) and done
        if not done:
            raise InputError("the model could not be written there", path=folder)
        write_words(folder, self.words)
        describe(folder, self.weights, self.card.rescoring, self.card.facts).write(folder)


def _phrase(card: Card) -> int:
    longest = card.facts.get("phrase")
    return longest if isinstance(longest, int) else 0


def _load(folder: Path, phrase: int) -> Any:
    ta, tt = need("thot.alignment", "smt"), need("thot.translation", "smt")
    model = tt.SmtModel(ta.AlignmentModelType.INCR_HMM)
    if not (model.load_translation_model(str(folder / "tm")) and model.load_language_model(str(folder / "lm"))):
        raise InputError("Thot cannot read the model here; train it again", path=folder)
    model.non_monotonicity, model.w, model.a, model.e, model.heuristic = 0, WIDTH, phrase, 2, 6
    learning = tt.OnlineTrainingParameters()
    learning.algorithm = learning.learning_rate_policy = learning.r = 0  # incremental, at a fixed rate, no look back
    learning.learn_step_size, learning.em_iters, learning.e = 1.0, 5, 1
    model.online_training_parameters = learning
    return model


def _decoder(model: Any) -> Any:
    decoder = need("thot.translation", "smt").SmtDecoder(model)
    decoder.s, decoder.is_breadth_first = 10, True
    return decoder


def _candidate(data: Any, weights: Sequence[float] = (1.0,) * len(FEATURES)) -> Candidate:
    """`weights` are those the components were multiplied with: in n-best lists none, in a best translation all."""
    parts = zip(data.score_components[: len(FEATURES)], weights, strict=True)
    features = dict(zip(FEATURES, (part / weight for part, weight in parts), strict=True))
    features["word_penalty"] += EMPTY
    return Candidate(tuple(data.target), features, data.score, tuple(_phrases(data)))


def _phrases(data: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    start = 0
    for (first, last), end in zip(data.source_segmentation, data.target_segment_cuts, strict=True):
        yield (first - 1, last), (start, end)
        start = end


def _cut(tokens: Sequence[str]) -> int:
    """Where to cut: behind the last strong sign of the piece, else the last weak one, else where it is full."""
    for signs in (STRONG, WEAK):
        for place in range(LONGEST, LONGEST // 4, -1):
            if tokens[place - 1].strip("￭") in signs:
                return place
    return LONGEST


def _not_nothing(weight: float) -> float:
    return weight if abs(weight) >= SMALLEST else SMALLEST
