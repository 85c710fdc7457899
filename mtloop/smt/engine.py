"""The Thot engine: translations, n-best lists with feature values, log-linear weights, and learning of a pair."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtloop.core.errors import InputError, UnknownName, need
from mtloop.smt.card import SmtModelCard, make_card, read_tokeniser, write_tokeniser
from mtloop.smt.tokens import SmtTokeniser

FEATURES = (
    "word_penalty",
    "language_model",
    "target_segment_length",
    "jump",
    "source_segment_length",
    "phrase",
    "inverse_phrase",
)  # Thot's eighth feature, the sentence length, does not change its scores
UNTUNED_WEIGHTS = dict.fromkeys(FEATURES, 1.0)
MIN_WEIGHT = 1e-4  # for the best translation Thot returns feature x weight: with weight 0 the feature would be lost
EMPTY_WORD_PENALTY = math.log(0.7)  # word penalty of an empty output: in Thot's scores, but not in its components
MAX_WORDS = 80  # longest source that is decoded at once; longer sources are split
MAX_TRANSLATIONS = 10  # translations of a phrase that the decoder tries
MIN_PHRASE_LIMIT = 10  # least limit on source phrases in decoding: learned phrases may be longer than extracted ones
STRONG_BREAKS, WEAK_BREAKS = frozenset(".!?;"), frozenset(",:)")


@dataclass(frozen=True)
class Candidate:
    """One translation: its words, its unweighted feature values by name, its score and its segmentation.

    `phrases` pairs spans (start, end) of source words with spans of target words.
    """

    words: tuple[str, ...]
    features: Mapping[str, float]
    score: float
    phrases: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = ()


class Thot:
    """A phrase-based model that translates and learns. One lock guards both: decoding and training share tables."""

    def __init__(self, folder: Path, tokeniser: SmtTokeniser, card: SmtModelCard, *, repetitions: int = 1) -> None:
        self.folder, self.tokeniser, self.card, self.repetitions = folder, tokeniser, card, repetitions
        self._lock = threading.RLock()
        self._model = _load(folder, max(MIN_PHRASE_LIMIT, _max_phrase_length(card)))
        self._decoder = _decoder(self._model)
        self.weights = card.weights

    @classmethod
    def load(cls, folder: str | Path, *, repetitions: int = 1) -> Thot:
        """Load the model of a folder; each learned pair is trained `repetitions` times."""
        card = SmtModelCard.read(Path(folder))
        return cls(Path(folder), read_tokeniser(Path(folder)), card, repetitions=repetitions)

    @property
    def fingerprint(self) -> str:
        return self.card.fingerprint

    @property
    def weights(self) -> dict[str, float]:
        """The log-linear weights by feature name."""
        return dict(self._weights)

    @weights.setter
    def weights(self, values: Mapping[str, float]) -> None:
        for name in values:
            if name not in FEATURES:
                raise UnknownName("feature", name, FEATURES)
        if missing := [name for name in FEATURES if name not in values]:
            raise InputError(f"no weight for feature {missing[0]}; give all of: {', '.join(FEATURES)}")
        with self._lock:
            self._weights = {name: _at_least_min_weight(float(values[name])) for name in FEATURES}
            self._model.weights = [*self._weights.values(), MIN_WEIGHT]

    def translate(self, source: str) -> str:
        """Return the best translation of a text of any length."""
        pieces = [self.decode(piece, 1)[0].words for piece in self.pieces(source)]
        return self.tokeniser.detokenise((word for piece in pieces for word in piece), source)

    def nbest(self, source: str, n: int) -> list[tuple[str, dict[str, float]]]:
        """Return up to `n` different translations with their feature values, best first; the source is not split."""
        tokens = self.tokeniser.tokenise_source(source)[: 2 * MAX_WORDS]
        found: dict[str, dict[str, float]] = {}
        for candidate in self.decode(tokens, n) if tokens else ():
            found.setdefault(self.tokeniser.detokenise(candidate.words, source), dict(candidate.features))
        return list(found.items())

    def pieces(self, source: str) -> Iterator[list[str]]:
        """Yield the source words in pieces of at most MAX_WORDS, split after punctuation where possible."""
        tokens = self.tokeniser.tokenise_source(source)
        while len(tokens) > MAX_WORDS:
            end = _split_index(tokens)
            yield tokens[:end]
            tokens = tokens[end:]
        if tokens:
            yield tokens

    def decode(self, tokens: Sequence[str], n: int) -> list[Candidate]:
        """Return the `n` best candidates for the words of one piece."""
        sentence = " ".join(tokens)
        with self._lock:
            if n > 1:
                return [_candidate(data) for data in self._decoder.translate_n(sentence, n)]
            return [_candidate(self._decoder.translate(sentence), list(self._weights.values()))]

    def learn(self, source: str, target: str) -> bool:
        """Learn one pair; return False if a side is empty or too long to align."""
        sides = self.tokeniser.tokenise_source(source), self.tokeniser.tokenise_target(target)
        if not all(0 < len(side) <= 2 * MAX_WORDS for side in sides):
            return False
        with self._lock:
            done = [self._decoder.train_sentence_pair(*map(" ".join, sides)) for _ in range(self.repetitions)]
        return all(done)

    def align(self, source: Sequence[str], target: Sequence[str]) -> Any:
        """Return the symmetrised word alignment of a pair: a boolean matrix, source by target."""
        ta = need("thot.alignment", "smt")
        with self._lock:
            direct, inverse = self._model.direct_word_alignment_model, self._model.inverse_word_alignment_model
            aligner = ta.SymmetrizedAligner(direct, inverse)
            aligner.heuristic = ta.SymmetrizationHeuristic.GROW_DIAG_FINAL_AND
            return aligner.get_best_alignment(list(source), list(target))[1].to_numpy()

    def save(self, folder: Path) -> None:
        """Write the current model, with all it has learned, as a folder that `load` can read."""
        folder.mkdir(parents=True, exist_ok=True)
        with self._lock:
            done = self._model.print_translation_model(str(folder / "tm"))
            done = self._model.print_language_model(str(folder / "lm")) and done
        if not done:
            raise InputError("cannot write the model to this folder", path=folder)
        write_tokeniser(folder, self.tokeniser)
        make_card(folder, self.weights, self.card.rescoring, self.card.facts).write(folder)


def _max_phrase_length(card: SmtModelCard) -> int:
    length = card.facts.get("phrase")
    return length if isinstance(length, int) else 0


def _load(folder: Path, max_phrase_length: int) -> Any:
    ta, tt = need("thot.alignment", "smt"), need("thot.translation", "smt")
    model = tt.SmtModel(ta.AlignmentModelType.INCR_HMM)
    if not (model.load_translation_model(str(folder / "tm")) and model.load_language_model(str(folder / "lm"))):
        raise InputError("Thot cannot read the model in this folder; train it again", path=folder)
    model.non_monotonicity, model.w, model.a, model.e, model.heuristic = 0, MAX_TRANSLATIONS, max_phrase_length, 2, 6
    learning = tt.OnlineTrainingParameters()
    learning.algorithm = learning.learning_rate_policy = learning.r = 0  # incremental, fixed rate, only the new pair
    learning.learn_step_size, learning.em_iters, learning.e = 1.0, 5, 1
    model.online_training_parameters = learning
    return model


def _decoder(model: Any) -> Any:
    decoder = need("thot.translation", "smt").SmtDecoder(model)
    decoder.s, decoder.is_breadth_first = 10, True
    return decoder


def _candidate(data: Any, weights: Sequence[float] = (1.0,) * len(FEATURES)) -> Candidate:
    """Divide the score components by `weights`: Thot multiplies them for a best translation, not in n-best lists."""
    components = zip(data.score_components[: len(FEATURES)], weights, strict=True)
    features = dict(zip(FEATURES, (component / weight for component, weight in components), strict=True))
    features["word_penalty"] += EMPTY_WORD_PENALTY
    return Candidate(tuple(data.target), features, data.score, tuple(_phrases(data)))


def _phrases(data: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    start = 0
    for (first, last), end in zip(data.source_segmentation, data.target_segment_cuts, strict=True):
        yield (first - 1, last), (start, end)
        start = end


def _split_index(tokens: Sequence[str]) -> int:
    """Return the end of the next piece: after its last strong break, else its last weak break, else MAX_WORDS."""
    for breaks in (STRONG_BREAKS, WEAK_BREAKS):
        for end in range(MAX_WORDS, MAX_WORDS // 4, -1):
            if tokens[end - 1].strip("￭") in breaks:
                return end
    return MAX_WORDS


def _at_least_min_weight(weight: float) -> float:
    return weight if abs(weight) >= MIN_WEIGHT else MIN_WEIGHT
