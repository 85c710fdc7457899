"""Training of an SMT model folder from parallel text: tokens, language model, alignment, phrases, tuning."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np

from mtloop.core.errors import InputError, need
from mtloop.core.extras import need_extras
from mtloop.core.types import JSON
from mtloop.smt.alignment import EM_ITERATIONS, SMOOTHING_EM_ITERATIONS, Pair, train_alignment
from mtloop.smt.card import CARD_FILE, make_card, write_tokeniser
from mtloop.smt.engine import UNTUNED_WEIGHTS, Candidate, Thot
from mtloop.smt.foreground import FOREGROUND_FEATURES, INITIAL_WEIGHT, Foreground
from mtloop.smt.language_model import NgramCounts
from mtloop.smt.phrases import ALIGNMENT_FILE, PhraseTable, extract_phrases
from mtloop.smt.tokens import FirstWordTruecaser, SmtTokeniser
from mtloop.smt.tuner import Array, TuningResult, bleu, bleu_statistics, ngrams, tune, tune_rescoring
from mtloop.text.reversible import tokenise_reversibly

MAX_TRANSLATIONS = 20  # translations of a phrase that are kept
MAX_PAIR_WORDS = 60  # on each side; longer pairs are left out, because alignment time grows with the cube of the length
UNFINISHED_SUFFIX = ".unfinished"
PREDICTOR_SENTENCES = 10_000  # sample of sentences for Thot's word predictor
COMPANION_SHARE = 0.5  # share of the dev set that trains the foreground; the rest tunes its weights


@dataclass(frozen=True, kw_only=True)
class SmtJob:
    """Training data, output folder and settings. `valid` tunes the weights; without it the weights stay untuned.

    The model is written to a folder beside `out`, which is renamed to `out` when it is complete: an interrupted
    training leaves no model, and the next one starts from scratch.
    """

    pairs: Iterable[tuple[str, str]]
    out: Path
    valid: Sequence[tuple[str, str]] = ()
    tests: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    order: int = 3
    max_phrase_length: int = 6
    source_lang: str = ""
    target_lang: str = ""
    log: Callable[[str], None] = print

    def run(self) -> dict[str, float]:
        """Train, tune and write the folder; return BLEU (on Thot's tokens) of every set, tuned and untuned."""
        need_extras("smt")
        if self.out.exists():
            raise InputError("already exists; choose another name, or remove it", path=self.out)
        started = time.perf_counter()
        folder = self.out.with_name(self.out.name + UNFINISHED_SUFFIX)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        limit = self.max_phrase_length
        build(self.pairs, folder, order=self.order, max_phrase_length=limit, valid=self.valid, log=self.log)
        scores = self._tune(folder)
        self.log(f"trained in {time.perf_counter() - started:.0f} s")
        folder.replace(self.out)
        return scores

    def _tune(self, folder: Path) -> dict[str, float]:
        engine = Thot.load(folder)
        untuned = {f"{name} (untuned)": corpus_bleu(engine, pairs) for name, pairs in self.tests.items()}
        if self.valid:
            tuned = tune(engine, self.valid, log=self.log)
            rescoring: Mapping[str, float] = tune_foreground(engine, self.valid)
        else:
            tuned, rescoring = TuningResult(engine.weights, float("nan"), 0.0), engine.card.rescoring
        languages = {"source_lang": self.source_lang, "target_lang": self.target_lang}
        known = {name: language for name, language in languages.items() if language}
        facts = dict(engine.card.facts) | {"tuned": bool(self.valid)} | known
        (folder / CARD_FILE).unlink()
        make_card(folder, tuned.weights, rescoring, facts).write(folder)
        valid = {"valid (untuned)": tuned.before, "valid": tuned.after} if self.valid else {}
        return valid | untuned | {name: corpus_bleu(engine, pairs) for name, pairs in self.tests.items()}


def build(
    pairs: Iterable[tuple[str, str]],
    folder: Path,
    *,
    order: int = 3,
    max_phrase_length: int = 6,
    valid: Sequence[tuple[str, str]] = (),
    tokeniser: SmtTokeniser | None = None,
    phrases: PhraseTable | None = None,
    max_words: int = MAX_PAIR_WORDS,
    log: Callable[[str], None] = lambda text: None,
) -> None:
    """Write all files of an untuned model. Without `tokeniser` or `phrases`, they are estimated from the pairs.

    `phrases` aligns the pairs with another model, and its phrase length limit replaces `max_phrase_length`.
    """
    tokens, tokeniser = tokenise_pairs(pairs, tokeniser, max_words, log)
    write_tokeniser(folder, tokeniser)
    held_out = [tokeniser.tokenise_target(target) for _, target in valid]
    _language_model(tokens, held_out, order, folder / "lm")
    _translation_model(tokens, max_phrase_length, folder, phrases, log)
    facts: dict[str, JSON] = {
        "pairs": len(tokens),
        "order": order,
        "phrase": phrases.max_phrase_length if phrases else max_phrase_length,
        "sil-thot": version("sil-thot"),
    }
    make_card(folder, UNTUNED_WEIGHTS, dict.fromkeys(FOREGROUND_FEATURES, INITIAL_WEIGHT), facts).write(folder)


def tokenise_pairs(
    pairs: Iterable[tuple[str, str]], tokeniser: SmtTokeniser | None, max_words: int, log: Callable[[str], None]
) -> tuple[list[Pair], SmtTokeniser]:
    """Return the tokens of every pair that fits the length limit, and the tokeniser. Raise InputError if none fits."""
    tokens = [(tokenise_reversibly(source), tokenise_reversibly(target)) for source, target in pairs]
    kept = [(s, t) for s, t in tokens if fits_length(s, t, max_words)]
    if not kept:
        raise InputError(f"nothing to train on: {len(tokens)} pairs, none with 1 to {max_words} words on both sides")
    log(f"{len(kept):,} pairs, {len(tokens) - len(kept):,} left out (empty, or over {max_words} words)")
    if tokeniser is None:
        sides = (s for s, _ in kept), (t for _, t in kept)
        tokeniser = SmtTokeniser(*map(FirstWordTruecaser.of, sides))
    return [(tokeniser.source(s), tokeniser.target(t)) for s, t in kept], tokeniser


def fits_length(source: Sequence[str], target: Sequence[str], max_words: int) -> bool:
    """Return whether both sides have 1 to `max_words` words."""
    return 0 < len(source) <= max_words and 0 < len(target) <= max_words


def tune_foreground(engine: Thot, pairs: Sequence[tuple[str, str]], nbest_size: int = 50) -> dict[str, float]:
    """Return tuned weights of the foreground features.

    The first part of the dev set stands in for corrections and trains the foreground; the rest tunes the weights (the
    companion system of the 2012 paper).
    """
    tokeniser = engine.tokeniser
    sides = [(tokeniser.tokenise_source(source), tokeniser.tokenise_target(target)) for source, target in pairs]
    sides = [(s, t) for s, t in sides if 0 < len(s) <= 60 and 0 < len(t) <= 60]
    count, foreground = int(len(sides) * COMPANION_SHARE), Foreground()
    for source, target in sides[:count]:
        foreground.add(source, target, engine.align(source, target))
    lists = [(t, _foreground_features(engine.decode(s, nbest_size), s, foreground)) for s, t in sides[count:]]
    return tune_rescoring(FOREGROUND_FEATURES, lists)


def corpus_bleu(engine: Thot, pairs: Sequence[tuple[str, str]]) -> float:
    """Return BLEU of the engine's translations, on Thot's tokens; NaN without pairs."""
    rows = [_bleu_statistics(engine, source, target) for source, target in pairs]
    return float(bleu(np.sum(rows, axis=0))) if rows else float("nan")


def _bleu_statistics(engine: Thot, source: str, target: str) -> Array:
    reference = tokenise_reversibly(target)
    hypothesis = tokenise_reversibly(engine.translate(source))
    return np.array(bleu_statistics(hypothesis, ngrams(reference), len(reference)))


def _foreground_features(
    candidates: Sequence[Candidate], source: Sequence[str], foreground: Foreground
) -> list[tuple[Candidate, dict[str, float]]]:
    return [(one, foreground.features(source, one.words, one.phrases)) for one in candidates]


def _language_model(pairs: Sequence[Pair], held_out: Sequence[Sequence[str]], order: int, prefix: Path) -> None:
    """Fit the interpolation weights to the dev set; without one use Witten-Bell weights, for little text (2012)."""
    targets = [target for _, target in pairs]
    counts = NgramCounts.of(targets, order, keep_first=not held_out)
    weights = counts.fit(held_out) if held_out else counts.witten_bell()
    counts.write(prefix, weights, targets[:PREDICTOR_SENTENCES])


def _translation_model(
    pairs: Sequence[Pair],
    max_phrase_length: int,
    folder: Path,
    phrases: PhraseTable | None,
    log: Callable[[str], None],
) -> None:
    align = phrases is None  # a phrase table brings its own alignments; the word models then only smooth scores
    iterations = EM_ITERATIONS if align else SMOOTHING_EM_ITERATIONS
    train_alignment(pairs, folder / "tm_invswm", log, iterations, write_alignments=align)
    swapped = [(target, source) for source, target in pairs]
    train_alignment(swapped, folder / "tm_swm", log, iterations, write_alignments=align)
    log("phrases")
    if phrases is None:
        _symmetrise(folder)
        extract_phrases(folder, max_phrase_length, MAX_TRANSLATIONS)
    else:
        phrases.write(pairs, folder)
    settings = {"lambda": "0.7 0.7", "srcsegmlentable": "Uniform", "trgcutstable": "0.999"}
    for name, text in (settings | {"trgsegmlentable": "Geometric"}).items():
        (folder / f"tm.{name}").write_text(text)


def _symmetrise(folder: Path) -> None:
    extractor = need("thot.translation", "smt").AlignmentExtractor()
    direct, inverse, both = (str(folder / name) for name in ("tm_swm.bestal", "tm_invswm.bestal", ALIGNMENT_FILE))
    if not (extractor.open(direct) and extractor.symmetrize1(inverse, both, transpose=True)):
        raise InputError("Thot could not symmetrise the two alignments", path=folder)
    extractor.close()
    for path in folder.glob("*.bestal"):
        path.unlink()
