"""Measure what a glossary changes: hits of its terms and BLEU, with the base model and no learning.

    python benchmarks/glossary.py                       the demo document
    python benchmarks/glossary.py office-help.en-de.tsv.xz --documents odd

The glossary is taken from the data: short segments of one to three words, such as headings, that occur in longer
segments, where at least four of five references contain their translation. Counted are the occurrences of terms in
sources whose reference has the term too; all comparisons are by base form. A term that follows a sentence as it was
without the glossary is appended: that is a miss. Settings are tuned on documents with an even index (from 0), results
are reported on those with an odd index. Intervals are of 95 %, by drawing segments again (bootstrap). The last row has
all segments in which the model misses no term.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import sacrebleu
from sacrebleu.metrics.bleu import BLEU

from mtloop.core.types import Segment
from mtloop.data import read
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.decoding.term_places import is_appended
from mtloop.nmt.decoding.terms import TermModel
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.threads import set_threads
from mtloop.text.glossary import Glossary, Term, group_matches, tokenise_text
from mtloop.text.sentence_cutting import cut_sentences

Rows: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
DEMO = Path(__file__).parents[1] / "mtloop" / "demo" / "manual.en-de.tsv"
HEADING = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+){0,2}")
MIN_LETTERS, MIN_WORDS, MIN_SEGMENTS, MIN_SHARE = 4, 5, 2, 0.8
LANGUAGES = ("en", "de")
MISSED, HIT, NO_TERMS = "with a missed term", "with all their terms", "without terms"
OTHER_REFERENCE = "reference without the term"
OTHERS, RESAMPLES = "no missed term, all", 1000
ROWS = (MISSED, OTHER_REFERENCE, HIT, NO_TERMS)


@dataclass(frozen=True)
class Pair:
    """A segment of the data."""

    source: str
    target: str
    document: str


@dataclass(frozen=True)
class Counts:
    """Occurrences of terms: all, those the model missed, those of them that were hit, and hits that were lost.

    `appended`: those that only follow the old sentence. They are not hits.
    """

    all: int = 0
    missed: int = 0
    gained: int = 0
    appended: int = 0
    lost: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv)
    set_threads(options.threads)
    pairs = list(read_pairs(options.data, options.documents))
    glossary = sample_terms(take_glossary(pairs), options.terms, options.seed)
    learner = make_learner("baseline", Marian.load(find_model(options.model)), {"beam_size": options.beam_size})
    assert isinstance(learner, AdaptiveNMT)
    groups = choose_segments(pairs, glossary, options.segments, options.others, options.seed)
    print(f"{len(glossary)} terms, {len(groups['with'])} segments with terms, {len(groups['without'])} without\n")
    report(learner, glossary, groups, options.examples)


def read_pairs(path: Path, documents: str) -> Iterator[Pair]:
    """Yield the segments of the chosen documents; of equal sources only the first."""
    numbers: dict[str, int] = {}
    seen: set[str] = set()
    for segment, truth in read(path):
        document = str(segment.context.get("document", ""))
        number = numbers.setdefault(document, len(numbers))
        is_chosen = documents == "all" or number % 2 == (documents == "odd")
        if is_chosen and segment.source not in seen:
            seen.add(segment.source)
            yield Pair(segment.source, truth.references[0], document)


def take_glossary(pairs: Sequence[Pair]) -> Glossary:
    """Return the headings that recur in longer segments and are translated there in the same way."""
    candidates = Glossary.of([(one.source, one.target) for one in pairs if is_heading(one)], *LANGUAGES)
    where: dict[Term, list[bool]] = defaultdict(list)
    for pair in pairs:
        if len(tokenise_text(pair.source)) >= MIN_WORDS:
            for term in group_matches(candidates.find(pair.source)):
                where[term].append(candidates.count_targets(term, pair.target) > 0)
    terms = (term for term, found in where.items() if is_consistent(found) and len(term.targets) == 1)
    return Glossary(tuple(sorted(terms, key=lambda term: term.source)), *LANGUAGES)


def is_heading(pair: Pair) -> bool:
    texts = (pair.source, pair.target)
    return len(pair.source) >= MIN_LETTERS and pair.source != pair.target and all(map(HEADING.fullmatch, texts))


def is_consistent(found: Sequence[bool]) -> bool:
    return len(found) >= MIN_SEGMENTS and sum(found) >= MIN_SHARE * len(found)


def sample_terms(glossary: Glossary, number: int, seed: int) -> Glossary:
    chosen = random.Random(seed).sample(glossary.terms, min(number, len(glossary)))
    return Glossary(tuple(chosen), *LANGUAGES)


def choose_segments(
    pairs: Sequence[Pair], glossary: Glossary, segments: int, others: int, seed: int
) -> dict[str, list[Pair]]:
    groups: dict[str, list[Pair]] = {"with": [], "without": []}
    for pair in pairs:
        if len(tokenise_text(pair.source)) >= MIN_WORDS:
            groups["with" if glossary.find(pair.source) else "without"].append(pair)
    rng = random.Random(seed)
    limits = {"with": segments or len(groups["with"]), "without": others}
    return {name: rng.sample(group, min(limits[name], len(group))) for name, group in groups.items()}


def report(learner: AdaptiveNMT, glossary: Glossary, groups: dict[str, list[Pair]], examples: int) -> None:
    pairs = groups["with"] + groups["without"]
    before = translate(learner, pairs)
    learner.terms = TermModel(glossary)
    after = translate(learner, pairs)
    counts = [count(glossary, *one) for one in zip(pairs, before, after, strict=True)]
    total = sum(counts, Counts())
    print(f"occurrences            {total.all:6}")
    print(f"missed by the model    {total.missed:6}")
    print(f"of these hit           {total.gained:6}   {share(total.gained, total.missed):6.1f} %")
    print(f"  95 % interval                {interval(partial(share_of_hits, counts), len(counts))} %")
    print(f"only appended: a miss  {total.appended:6}   {share(total.appended, total.missed):6.1f} %")
    print(f"hit before, now missed {total.lost:6}   {share(total.lost, total.all - total.missed):6.1f} %\n")
    rows = group_segments(glossary, pairs, before, counts)
    print(f"{'segments':26} {'number':>6} {'same':>6} {'before':>7} {'after':>7}   BLEU")
    for name, numbers in rows.items():
        if numbers:
            print_row(name, numbers, pairs, before, after)
    others = [number for name, numbers in rows.items() if name != MISSED for number in numbers]
    if others:
        print_row(OTHERS, others, pairs, before, after)
        gain = partial(bleu_gain, *(bleu_rows(texts, pairs, others) for texts in (before, after)))
        print(f"difference {gain(np.arange(len(others))):+.2f}, 95 % interval {interval(gain, len(others))}")
    for number in [number for numbers in rows.values() for number in numbers[:examples]]:
        print(f"\n{pairs[number].source}\n- {pairs[number].target}\n< {before[number]}\n> {after[number]}")


def group_segments(
    glossary: Glossary, pairs: Sequence[Pair], before: Sequence[str], counts: Sequence[Counts]
) -> dict[str, list[int]]:
    """Return the numbers of the segments by what the model does with their terms."""
    rows: dict[str, list[int]] = {name: [] for name in ROWS}
    for number, (pair, text) in enumerate(zip(pairs, before, strict=True)):
        matches = group_matches(glossary.find(pair.source)).items()
        has_all = all(glossary.count_targets(term, text) >= len(found) for term, found in matches)
        name = MISSED if counts[number].missed else OTHER_REFERENCE if not has_all else HIT if matches else NO_TERMS
        rows[name].append(number)
    return rows


def print_row(
    name: str, numbers: Sequence[int], pairs: Sequence[Pair], before: Sequence[str], after: Sequence[str]
) -> None:
    same = sum(before[number] == after[number] for number in numbers)
    targets = [pairs[number].target for number in numbers]
    scores = [bleu([texts[number] for number in numbers], targets) for texts in (before, after)]
    print(f"{name:26} {len(numbers):6} {same:6} {scores[0]:7.2f} {scores[1]:7.2f}")


def translate(learner: AdaptiveNMT, pairs: Sequence[Pair]) -> list[str]:
    return [proposal.text for proposal in learner.propose_many([Segment("", pair.source) for pair in pairs])]


def count(glossary: Glossary, pair: Pair, before: str, after: str) -> Counts:
    """Count the terms of one segment."""
    kept, total = without_appended(before, after), Counts()
    for term, matches in group_matches(glossary.find(pair.source)).items():
        wanted = min(len(matches), glossary.count_targets(term, pair.target))
        old, new, real = (min(wanted, glossary.count_targets(term, text)) for text in (before, after, kept))
        total += Counts(wanted, wanted - old, max(0, real - old), max(0, new - max(old, real)), max(0, old - real))
    return total


def without_appended(before: str, after: str) -> str:
    """Return a translation without what follows a whole sentence of the old one.

    >>> without_appended("Datei öffnen. Fertig.", "Datei öffnen Akte. Akte fertig.")
    'Datei öffnen. Akte fertig.'
    """
    old = cut_sentences(before)
    return "".join(
        next((one for one in old if is_appended(one, sentence)), sentence) for sentence in cut_sentences(after)
    )


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    return float(sacrebleu.corpus_bleu(list(hypotheses), [list(references)]).score)


def share_of_hits(counts: Sequence[Counts], chosen: Rows) -> float:
    total = sum((counts[number] for number in chosen), Counts())
    return share(total.gained, total.missed)


def bleu_rows(texts: Sequence[str], pairs: Sequence[Pair], numbers: Sequence[int]) -> Rows:
    """Return for each segment what BLEU is made of: matches, n-grams and both lengths."""
    metric = BLEU(effective_order=True)
    scores = [metric.sentence_score(texts[number], [pairs[number].target]) for number in numbers]
    return np.array([[*one.counts, *one.totals, one.sys_len, one.ref_len] for one in scores])


def bleu_gain(before: Rows, after: Rows, chosen: Rows) -> float:
    scores = []
    for rows in (before, after):
        *ngrams, hypothesis, reference = map(int, rows[chosen].sum(axis=0))
        scores.append(BLEU.compute_bleu(ngrams[:4], ngrams[4:], hypothesis, reference, "exp").score)
    return float(scores[1] - scores[0])


def interval(value: Callable[[Rows], float], count: int) -> str:
    """Return the 95 % interval of a value of segments, given by their numbers, when the segments are drawn again."""
    rng = np.random.default_rng(1)
    values = [value(rng.integers(count, size=count)) for _ in range(RESAMPLES)]
    low, high = np.percentile(values, [2.5, 97.5])
    return f"({low:.2f}, {high:.2f})"


def share(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=DEMO)
    parser.add_argument("--documents", choices=["all", "even", "odd"], default="all")
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--terms", type=int, default=200)
    parser.add_argument("--segments", type=int, default=0, help="number of segments with terms (0: all)")
    parser.add_argument("--others", type=int, default=300, help="number of segments without terms")
    parser.add_argument("--beam-size", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=0, help="number of segments with a missed term to print")
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    options = parser.parse_args(argv)
    if options.small:
        options.segments, options.others = 3, 2
    return options


if __name__ == "__main__":
    main()
