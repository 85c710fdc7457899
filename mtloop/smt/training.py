"""From parallel text to a model folder, in one go: words, language model, alignment, phrases, tuning."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np

from mtloop.core.errors import InputError, need
from mtloop.core.types import JSON
from mtloop.smt.alignment import FEW, ROUNDS, Pair, align
from mtloop.smt.card import CARD, describe, write_words
from mtloop.smt.engine import UNTUNED, Candidate, Thot
from mtloop.smt.foreground import FOREGROUND, START, Foreground
from mtloop.smt.language_model import NgramCounts
from mtloop.smt.phrases import ALIGNED, PhraseTable, extract_phrases
from mtloop.smt.tokens import Casing, SmtTokeniser
from mtloop.smt.tuner import Array, Tuned, bleu, bleu_row, ngrams, tune, tune_rescoring
from mtloop.text.reversible import split

BEST = 20  # translations of a phrase that are kept
LONGEST = 60  # words: longer pairs are left out, aligning one costs the cube of its length
UNFINISHED = ".unfinished"
PREDICTOR = 10_000  # sentences for Thot's word predictor
DEV = 0.5  # of the dev set teaches the companion's foreground, the rest tunes its weights


@dataclass(frozen=True, kw_only=True)
class SmtJob:
    """What to train on and where to. `valid` tunes the weights; without it a model has Thot's plain ones.

    Everything is written beside `out` and takes its name when it is whole: an interrupted training leaves no model,
    and the next one starts clean.
    """

    pairs: Iterable[tuple[str, str]]
    out: Path
    valid: Sequence[tuple[str, str]] = ()
    tests: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    order: int = 3
    phrase: int = 6
    say: Callable[[str], None] = print

    def run(self) -> dict[str, float]:
        """Train, tune, write the folder; returns BLEU (on Thot's words) of every set, tuned and untuned."""
        need("thot.translation", "smt")
        if self.out.exists():
            raise InputError("is there already; choose another name, or remove it", path=self.out)
        begun = time.perf_counter()
        folder = self.out.with_name(self.out.name + UNFINISHED)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        build(self.pairs, folder, order=self.order, phrase=self.phrase, valid=self.valid, say=self.say)
        scores = self._tune(folder)
        self.say(f"trained in {time.perf_counter() - begun:.0f} s")
        folder.replace(self.out)
        return scores

    def _tune(self, folder: Path) -> dict[str, float]:
        engine = Thot.load(folder)
        untuned = {f"{name} (untuned)": score(engine, pairs) for name, pairs in self.tests.items()}
        tuned = tune(engine, self.valid, say=self.say) if self.valid else Tuned(engine.weights, float("nan"), 0.0)
        rescoring = companion(engine, self.valid) if self.valid else engine.card.rescoring
        facts = dict(engine.card.facts) | {"tuned": bool(self.valid)}
        (folder / CARD).unlink()
        describe(folder, tuned.weights, rescoring, facts).write(folder)
        valid = {"valid (untuned)": tuned.before, "valid": tuned.after} if self.valid else {}
        return valid | untuned | {name: score(engine, pairs) for name, pairs in self.tests.items()}


def build(
    pairs: Iterable[tuple[str, str]],
    folder: Path,
    *,
    order: int = 3,
    phrase: int = 6,
    valid: Sequence[tuple[str, str]] = (),
    words: SmtTokeniser | None = None,
    phrases: PhraseTable | None = None,
    longest: int = LONGEST,
    say: Callable[[str], None] = lambda text: None,
) -> None:
    """All the files of an untuned model; `words` and alignments of `phrases` are another's, else found in the text."""
    found, words = prepare(pairs, words, longest, say)
    write_words(folder, words)
    held_out = [words.read_target(target) for _, target in valid]
    _language_model(found, held_out, order, folder / "lm")
    _translation_model(found, phrase, folder, phrases, say)
    longest_phrase = phrases.longest if phrases else phrase
    facts: dict[str, JSON] = {
        "pairs": len(found),
        "order": order,
        "phrase": longest_phrase,
        "sil-thot": version("sil-thot"),
    }
    describe(folder, UNTUNED, dict.fromkeys(FOREGROUND, START), facts).write(folder)


def prepare(
    pairs: Iterable[tuple[str, str]], words: SmtTokeniser | None, longest: int, say: Callable[[str], None]
) -> tuple[list[Pair], SmtTokeniser]:
    """The words of every pair that has any on both sides and is not too long."""
    cut = [(split(source), split(target)) for source, target in pairs]
    kept = [(s, t) for s, t in cut if usable(s, t, longest)]
    if not kept:
        raise InputError(f"nothing to train on: {len(cut)} pairs, none with 1 to {longest} words on both sides")
    say(f"{len(kept):,} pairs, {len(cut) - len(kept):,} left out (empty, or over {longest} words)")
    words = words or SmtTokeniser(Casing.of(s for s, _ in kept), Casing.of(t for _, t in kept))
    return [(words.source(s), words.target(t)) for s, t in kept], words


def usable(source: Sequence[str], target: Sequence[str], longest: int) -> bool:
    return 0 < len(source) <= longest and 0 < len(target) <= longest


def companion(engine: Thot, pairs: Sequence[tuple[str, str]], size: int = 50) -> dict[str, float]:
    """Weights of foreground features, from a dev set whose first half plays the corrections (2012: a companion)."""
    sides = [(engine.words.read(source), engine.words.read_target(target)) for source, target in pairs]
    sides = [(s, t) for s, t in sides if 0 < len(s) <= 60 and 0 < len(t) <= 60]
    taught, foreground = int(len(sides) * DEV), Foreground()
    for source, target in sides[:taught]:
        foreground.add(source, target, engine.align(source, target))
    lists = [(t, _rescored(engine.decode(s, size), s, foreground)) for s, t in sides[taught:]]
    return tune_rescoring(FOREGROUND, lists)


def score(engine: Thot, pairs: Sequence[tuple[str, str]]) -> float:
    """BLEU of the texts on Thot's words."""
    rows = [_bleu_row(engine, source, target) for source, target in pairs]
    return float(bleu(np.sum(rows, axis=0))) if rows else float("nan")


def _bleu_row(engine: Thot, source: str, target: str) -> Array:
    wanted = split(target)
    return np.array(bleu_row(split(engine.translate(source)), ngrams(wanted), len(wanted)))


def _rescored(
    candidates: Sequence[Candidate], source: Sequence[str], foreground: Foreground
) -> list[tuple[Candidate, dict[str, float]]]:
    return [(one, foreground.features(source, one.words, one.phrases)) for one in candidates]


def _language_model(pairs: Sequence[Pair], held_out: Sequence[Sequence[str]], order: int, prefix: Path) -> None:
    """Interpolation weights fit the dev set; without one they are Witten and Bell's, for little text (2012)."""
    targets = [target for _, target in pairs]
    counts = NgramCounts.of(targets, order, kept=not held_out)
    weights = counts.fit(held_out) if held_out else counts.witten_bell()
    counts.write(prefix, weights, targets[:PREDICTOR])


def _translation_model(
    pairs: Sequence[Pair], phrase: int, folder: Path, phrases: PhraseTable | None, say: Callable[[str], None]
) -> None:
    rounds = ROUNDS if phrases is None else FEW  # who aligns nothing has word models for smoothing only
    align(pairs, folder / "tm_invswm", say, rounds, best=phrases is None)
    align([(target, source) for source, target in pairs], folder / "tm_swm", say, rounds, best=phrases is None)
    say("phrases")
    if phrases is None:
        _symmetrise(folder)
        extract_phrases(folder, phrase, BEST)
    else:
        phrases.write(pairs, folder)
    settings = {"lambda": "0.7 0.7", "srcsegmlentable": "Uniform", "trgcutstable": "0.999"}
    for name, text in (settings | {"trgsegmlentable": "Geometric"}).items():
        (folder / f"tm.{name}").write_text(text)


def _symmetrise(folder: Path) -> None:
    extractor = need("thot.translation", "smt").AlignmentExtractor()
    direct, inverse, both = (str(folder / name) for name in ("tm_swm.bestal", "tm_invswm.bestal", ALIGNED))
    if not (extractor.open(direct) and extractor.symmetrize1(inverse, both, transpose=True)):
        raise InputError("Thot could not put the two alignments together", path=folder)
    extractor.close()
    for path in folder.glob("*.bestal"):
        path.unlink()
