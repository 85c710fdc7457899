"""TER counts equal those of sacreBLEU, including its shifts, ties, limits and beam."""

from __future__ import annotations

import csv
import lzma
import os
import random
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from helpers.tiers import slow
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics import lib_ter
from sacrebleu.metrics.lib_ter import BeamEditDistance, trace_to_alignment, translation_edit_rate
from sacrebleu.metrics.ter import TER

from mtloop.metrics import ter

REAL_DATA = os.environ.get("MTLOOP_TER_DATA")
"""A table with columns `mt` and `post_edit` (.tsv or .tsv.xz); without it, the test on real segments is skipped."""

Segment = tuple[list[str], list[str]]


def words_of(alphabet: str, max_length: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(alphabet), max_size=max_length)


def numbers(count: int, first: int = 0) -> list[str]:
    return [str(number) for number in range(first, first + count)]


def random_words(rng: random.Random, length: int, vocabulary: int) -> list[str]:
    return [str(rng.randrange(vocabulary)) for _ in range(length)]


def edited(rng: random.Random, words: list[str], edits: int) -> list[str]:
    """The words after random deletions, insertions, substitutions and moves of blocks."""
    words = words.copy()
    for _ in range(edits):
        start = rng.randrange(len(words) + 1)
        block = words[start : start + rng.choice([1, 1, 1, 2, 4, 12])]
        del words[start : start + len(block)]
        target = rng.randrange(len(words) + 1)
        words[target:target] = rng.choice([block, block, block[1:], ["new", *block[1:]], [*block, *block]])
    return words


def shuffled(rng: random.Random, words: list[str]) -> list[str]:
    return rng.sample(words, len(words))


def pieces(rng: random.Random, words: list[str], length: int) -> list[str]:
    """Pieces of the words, displaced by about the width of the beam."""
    copied: list[str] = []
    while len(copied) < length:
        offset = rng.choice([0, -25, -24, 24, 25, rng.randint(-40, 40)])
        start = max(0, len(copied) * len(words) // length + offset)
        copied += words[start : start + rng.choice([1, 2, 5, 20, 60])] or ["new"]
    return copied[:length]


def assert_counts_equal(hypothesis: list[str], reference: list[str]) -> None:
    assert ter.edit_counts(hypothesis, reference) == translation_edit_rate(hypothesis, reference), (
        f"counts differ for {' '.join(hypothesis)!r} and {' '.join(reference)!r}"
    )


@pytest.mark.slow
@settings(max_examples=1500)
@given(words_of("abc", 9), words_of("abc", 9))
def test_few_words_that_recur(hypothesis: list[str], reference: list[str]) -> None:
    assert_counts_equal(hypothesis, reference)


@settings(max_examples=800)
@given(words_of("abcdefghijklmnop", 24), words_of("abcdefghijklmnop", 24))
def test_words_in_any_order(hypothesis: list[str], reference: list[str]) -> None:
    assert_counts_equal(hypothesis, reference)


@settings(max_examples=500)
@given(
    st.lists(st.text("ab", max_size=3), max_size=16, unique=True).flatmap(
        lambda ws: st.tuples(st.permutations(ws), st.just(ws))
    )
)
def test_permutations(segment: Segment) -> None:
    assert_counts_equal(*segment)


@settings(max_examples=40)
@given(words_of("abcdefghijklmnopqrstuvwxyz", 80), words_of("abcdefghijklmnopqrstuvwxyz", 80))
def test_long_segments(hypothesis: list[str], reference: list[str]) -> None:
    assert_counts_equal(hypothesis, reference)


@settings(max_examples=60)
@given(words_of("abc", 3), words_of("abcdefg", 200))
def test_lengths_far_apart(short: list[str], long: list[str]) -> None:
    assert_counts_equal(short, long)
    assert_counts_equal(long, short)


@pytest.mark.parametrize("vocabulary", [slow(2), 4, slow(10), 40, slow(1000)])
def test_edited_references(vocabulary: int) -> None:
    rng = random.Random(vocabulary)
    for _ in range(400):
        reference = random_words(rng, rng.randrange(1, 25), vocabulary)
        assert_counts_equal(edited(rng, reference, rng.randrange(6)), reference)


@pytest.mark.parametrize(
    ("length", "edits", "cases"), [slow(60, 8, 12), (60, 8, 4), slow(120, 6, 6), (120, 30, 1), slow(250, 4, 4)]
)
def test_long_edited_references(length: int, edits: int, cases: int) -> None:
    rng = random.Random(length + edits)
    for _ in range(cases):
        reference = random_words(rng, length, 500)
        assert_counts_equal(edited(rng, reference, edits), reference)


def test_shuffled_references() -> None:
    rng = random.Random(7)
    for length in [*range(1, 15)] * 6 + [20, 30]:
        reference = random_words(rng, length, 30)
        assert_counts_equal(shuffled(rng, reference), reference)


ROUNDED_DOWN = [
    (hyp_length, ref_length)
    for hyp_length, ref_length in product(range(40, 110), repeat=2)
    if any(int(row * (ref_length / hyp_length)) < row * ref_length // hyp_length for row in range(1, hyp_length + 1))
]
"""Lengths whose ratio, as a float, puts the centre of the beam one column before its exact position in some rows."""


def lengths(rng: random.Random) -> tuple[int, int]:
    hyp_length = rng.choice([rng.randrange(1, 6), rng.randrange(20, 150)])
    return rng.choice(
        [(hyp_length, rng.randrange(25, 150)), (hyp_length, rng.randrange(25, 29)), *rng.sample(ROUNDED_DOWN, 2)]
    )


def alignments(cases: int) -> Iterator[Segment]:
    rng = random.Random(cases)
    for _ in range(cases):
        hyp_length, ref_length = lengths(rng)
        reference = random_words(rng, ref_length, rng.choice([2, 5, 20, 200]))
        yield pieces(rng, reference, hyp_length), reference


@pytest.mark.slow
def test_alignments_that_the_beam_changes() -> None:
    changed = 0
    for hypothesis, reference in alignments(1500):
        edits, trace = BeamEditDistance(reference)(hypothesis)
        aligned, ref_errors, hyp_errors = trace_to_alignment(trace.translate(str.maketrans("id", "di")))
        hyp, ref = ter._as_characters(hypothesis, reference)
        alignment = ter._align(hyp, ref, edits)
        assert ter._distance(hyp, ref) == edits
        assert alignment.insertion_points == [0, *(aligned[place] + 1 for place in range(len(ref)))]
        assert list(ter._members(alignment.hyp_errors)) == [at for at, error in enumerate(hyp_errors) if error]
        assert list(ter._members(alignment.ref_errors)) == [at for at, error in enumerate(ref_errors) if error]
        changed += edits != Levenshtein.distance(hyp, ref)
    assert changed > 100


BY_HAND = {
    "both empty": ([], []),
    "empty hypothesis": ([], numbers(60)),
    "empty reference": (numbers(60), []),
    "identical": (numbers(120), numbers(120)),
    "nothing shared": (numbers(70), numbers(60, first=100)),
    "one word against many": (["5"], numbers(120)),
    "many words against one": (numbers(120), ["5"]),
    "more words per word than twice the beam": (["5", "150"], numbers(160)),
    "one word over and over": (["a"] * 30, ["a"] * 37),
    "two words that alternate": (["a", "b"] * 8, ["b", "a"] * 8),
    "reversed": (numbers(25)[::-1], numbers(25)),
    "halves swapped": (numbers(8, first=8) + numbers(8), numbers(16)),
    "block to the front": ([*numbers(30), "x", "y"], ["x", "y", *numbers(30)]),
    "block to the back": (["x", "y", *numbers(30)], [*numbers(30), "x", "y"]),
    "block doubled": (numbers(6) * 2, numbers(6)),
    "block halved": (numbers(6), numbers(6) * 2),
    "target within the block": (list("bcbbca"), list("abcbcb")),
    "target right after the block": (list("bcacb"), list("abbcc")),
    "case and punctuation are words": (["A", ".", "a"], ["a", "A", "."]),
    "more than 256 distinct words": (numbers(300)[5:] + numbers(5), numbers(300)),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str) -> None:
    assert_counts_equal(*BY_HAND[name])


SACREBLEU_NAMES = {
    "MAX_SHIFT_SIZE": "_MAX_SHIFT_SIZE",
    "MAX_SHIFT_DISTANCE": "_MAX_SHIFT_DIST",
    "MAX_SHIFT_CANDIDATES": "_MAX_SHIFT_CANDIDATES",
    "BEAM_WIDTH": "_BEAM_WIDTH",
}


@pytest.mark.parametrize("limit", SACREBLEU_NAMES)
def test_limits_are_the_same(limit: str) -> None:
    assert getattr(ter, limit) == getattr(lib_ter, SACREBLEU_NAMES[limit])


@pytest.fixture
def set_limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, int], None]]:
    def set_both(limit: str, value: int) -> None:
        monkeypatch.setattr(ter, limit, value)
        monkeypatch.setattr(lib_ter, SACREBLEU_NAMES[limit], value)
        ter._beam.cache_clear()

    yield set_both
    ter._beam.cache_clear()


@pytest.mark.parametrize(
    ("limit", "smallest"), [(limit, 3 if limit == "BEAM_WIDTH" else 1) for limit in SACREBLEU_NAMES]
)
def test_low_limits(limit: str, smallest: int, set_limit: Callable[[str, int], None]) -> None:
    """With low limits on both sides, short segments reach them often."""
    rng = random.Random(limit)
    for _ in range(400):
        set_limit(limit, rng.randrange(smallest, smallest + 6))
        reference = random_words(rng, rng.randrange(1, 24), rng.choice([3, 8, 40]))
        hypothesis = edited(rng, reference, rng.randrange(1, 8))
        assert_counts_equal(hypothesis[: rng.choice([3, 10, 100])], reference)


def beyond_the_beam() -> Segment:
    moved, kept = numbers(30), numbers(60, first=100)
    return moved + kept, kept + moved


def too_many_candidates() -> Segment:
    rng = random.Random(3)
    reference = random_words(rng, 45, 12)
    return shuffled(rng, reference), reference


AT_A_LIMIT = {
    "MAX_SHIFT_SIZE": (numbers(15) + numbers(20, first=50), numbers(20, first=50) + numbers(15)),
    "MAX_SHIFT_DISTANCE": (["x", "y", *numbers(60)], [*numbers(60), "x", "y"]),
    "MAX_SHIFT_CANDIDATES": too_many_candidates(),
    "BEAM_WIDTH": beyond_the_beam(),
}


@pytest.mark.parametrize("limit", AT_A_LIMIT)
def test_limits_matter(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hypothesis, reference = AT_A_LIMIT[limit]
    counts = ter.edit_counts(hypothesis, reference)
    assert counts == translation_edit_rate(hypothesis, reference)
    monkeypatch.setattr(ter, limit, 100_000)
    assert ter.edit_counts(hypothesis, reference) != counts, f"the case does not reach {limit}"


SENTENCES = [
    ("The cat, it sat on the Mat.", "On the mat sat the cat."),
    ("„Öffnen“ Sie &quot;Datei&quot; - jetzt!", "Jetzt „öffnen“ Sie die Datei (bitte)!"),
    ("猫は マットの上に、座った。", "マットの上に 猫は座った。"),
    ("3.5 % off; see www.example.org", "See www.example.org: 3,5% off"),
    ("  ", "Nothing there."),
    ("...", "!?"),
]


@pytest.mark.parametrize("flags", list(product([False, True], repeat=4)))
def test_every_tokenisation(flags: tuple[bool, bool, bool, bool]) -> None:
    normalized, no_punct, asian_support, case_sensitive = flags
    metric = TER(normalized, no_punct, asian_support, case_sensitive)
    for hypothesis, reference in SENTENCES:
        score = metric.sentence_score(hypothesis, [reference])
        sides = [metric.tokenizer(side.rstrip()).split() for side in (hypothesis, reference)]
        assert ter.edit_counts(*sides) == (score.num_edits, score.ref_length)


def test_words_may_be_in_any_sequence_type() -> None:
    assert ter.edit_counts(("b", "a"), ["a", "b"]) == ter.edit_counts(["b", "a"], ("a", "b")) == (1, 2)


@pytest.mark.skipif(REAL_DATA is None, reason="MTLOOP_TER_DATA is not set")
def test_real_segments() -> None:
    path = Path(str(REAL_DATA))
    with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            assert_counts_equal(row["mt"].lower().split(), row["post_edit"].lower().split())


def test_a_line_of_a_megabyte_is_counted_without_shifts() -> None:
    """sacreBLEU would need a table of 4e10 cells."""
    reference = [f"w{i % 977}" for i in range(200_000)]
    hypothesis = [*reference[:100_000], "new", *reference[100_000:-3]]
    assert ter.edit_counts(hypothesis, reference) == (4, 200_000)
