"""Translation edit rate (TER): exactly sacreBLEU's counts, in a fraction of its time.

TER counts the word edits and block shifts that turn a hypothesis into its reference. sacreBLEU searches greedily: align
the two, list the shifts that the alignment leaves open, make the one that saves most edits, repeat. The result depends
on how every tie on this way is broken, so this module goes the same way and saves work only where it cannot matter:

* Words become characters, so that a shifted hypothesis is four string slices and rapidfuzz scores it in C.
* Shifts keep the words, and an alignment matches no more words than the two sides share. This bounds what shifts can
  still save; where that is one edit at most, the shift costs as much and the count is final. Most segments end here.
* sacreBLEU drops the round that reaches its limit on candidates, and otherwise sees all candidates of a round. So the
  order in which they are found is free, and one that cannot beat the best so far needs no exact score.
* The alignment is bit-parallel dynamic programming (Myers 1999, Hyyrö 2003): a row of the edit distance table is a few
  integers. They keep what the way back through the table needs to prefer the operations that sacreBLEU prefers.

sacreBLEU fills only a beam around the diagonal of the table. Alignments with few edits cannot leave it (`_beam_binds`),
so the plain edit distance and its alignment are the beam's. Otherwise the table is filled without the matches outside
the beam, which yields the beam's values inside it: a detour outside costs one edit per step, and since both edges of
the beam rise with the same slope, there is a way inside between the same two cells with no more steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from math import ceil, inf

from rapidfuzz.distance import Levenshtein

MAX_SHIFT_SIZE = 10
MAX_SHIFT_DISTANCE = 50
MAX_SHIFT_CANDIDATES = 1000
BEAM_WIDTH = 25
MAX_TABLE = 10_000**2  # cells; sacreBLEU cannot fill a larger table, we could not keep it: no shifts are looked for

_MATCHES_NOTHING = "\0"

_Row = tuple[int, int, int]
"""Sets of reference words: equal to the row's word, no dearer than one word less on both sides, one dearer than above.

These sets, like all in this module, are integers with one bit per position.
"""

_Shift = tuple[int, int, int]
"""Length (negated), start and target of a moved block: tuples sort by sacreBLEU's preference among equal savings."""


@dataclass(frozen=True, slots=True)
class _Alignment:
    insertion_points: list[int]
    """For each number of reference words, how many hypothesis words there are up to the one aligned with the last."""
    hyp_errors: int
    ref_errors: int
    misplaced: list[int]
    """For each hypothesis word, the set of equal reference words that it is not aligned with."""


def edit_counts(hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int]:
    """The number of edits, shifts included, that make the reference of the hypothesis, and the reference length.

    >>> edit_counts("at home she is".split(), "she is at home now".split())
    (2, 5)
    """
    if not hypothesis or not reference:
        return max(len(hypothesis), len(reference)), len(reference)
    if hypothesis == reference:
        return 0, len(reference)
    hyp, ref = _as_characters(hypothesis, reference)
    if len(hyp) * len(ref) > MAX_TABLE:
        return Levenshtein.distance(hyp, ref), len(ref)
    return _edits_and_shifts(hyp, ref), len(ref)


def _as_characters(hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[str, str]:
    alphabet = dict(zip(reference, map(chr, range(1, len(reference) + 1)), strict=True))
    hyp = "".join([alphabet.get(word, _MATCHES_NOTHING) for word in hypothesis])
    return hyp, "".join([alphabet[word] for word in reference])


def _edits_and_shifts(hyp: str, ref: str) -> int:
    fewest_edits = _fewest_edits(hyp, ref)
    edits = _distance(hyp, ref)
    shifts = 0
    budget = MAX_SHIFT_CANDIDATES
    while edits > fewest_edits + 1:
        candidates = list(islice(_candidate_shifts(hyp, ref, _align(hyp, ref, edits)), budget))
        budget -= len(candidates)
        if not budget:
            break
        hyp, shifted_edits = _best_shift(hyp, ref, edits, candidates)
        if shifted_edits == edits:
            break
        edits = shifted_edits
        shifts += 1
    return shifts + edits


def _fewest_edits(hyp: str, ref: str) -> int:
    """A lower bound on the edit distance of the hypothesis, however its words are shifted."""
    unmatched = hyp
    for word in ref:
        unmatched = unmatched.replace(word, "", 1)
    return len(unmatched) + max(0, len(ref) - len(hyp))


def _best_shift(hyp: str, ref: str, edits: int, candidates: list[_Shift]) -> tuple[str, int]:
    """The hypothesis and its edits after the preferred shift, or as they are if no shift saves an edit."""
    best = hyp
    for negated_length, start, target in sorted(candidates):
        shifted = _shift(hyp, start, start - negated_length, target)
        shifted_edits = _distance(shifted, ref, at_most=edits - 1)
        if shifted_edits < edits:
            best, edits = shifted, shifted_edits
    return best, edits


def _shift(hyp: str, start: int, end: int, target: int) -> str:
    if target < start:
        return hyp[:target] + hyp[start:end] + hyp[target:start] + hyp[end:]
    if target <= end:
        # Here sacreBLEU takes the target as an index into the words without the block.
        target += end - start
    return hyp[:start] + hyp[end:target] + hyp[start:end] + hyp[target:]


def _candidate_shifts(hyp: str, ref: str, alignment: _Alignment) -> Iterator[_Shift]:
    for start, places in enumerate(alignment.misplaced):
        for place in _members(places) if places else ():
            for length in _block_lengths(hyp, ref, start, place, alignment):
                for target in dict.fromkeys(alignment.insertion_points[place : place + length + 1]):
                    yield -length, start, target


def _block_lengths(hyp: str, ref: str, start: int, place: int, alignment: _Alignment) -> Iterator[int]:
    """Lengths of the blocks at `start` and `place` that are equal, have errors on both sides and lie apart."""
    if abs(start - place) > MAX_SHIFT_DISTANCE:
        return
    longest = min(MAX_SHIFT_SIZE, len(hyp) - start, len(ref) - place)
    gap = alignment.insertion_points[place + 1] - 1 - start
    if 0 <= gap < longest:
        longest = gap
    hyp_errors = alignment.hyp_errors >> start
    ref_errors = alignment.ref_errors >> place
    for length in range(1, longest + 1):
        if hyp[start + length - 1] != ref[place + length - 1]:
            return
        block = (1 << length) - 1
        if hyp_errors & block and ref_errors & block:
            yield length


def _members(bits: int) -> Iterator[int]:
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1


def _distance(hyp: str, ref: str, at_most: float = inf) -> int:
    """The edit distance within the beam; instead of one above `at_most` perhaps a lower bound that is above it too."""
    edits = Levenshtein.distance(hyp, ref)
    if edits > at_most or not _beam_binds(len(hyp), len(ref), edits):
        return edits
    return _beam_table(_equal_words(hyp, ref), len(ref))[1]


def _beam_binds(hyp_length: int, ref_length: int, edits: int) -> bool:
    """Whether an alignment with this many edits might leave the beam.

    With e edits and d the difference in length, it strays at most (e + d) / 2 cells from the beam's centre, or one more
    as the centre is rounded. The beam's narrow side has BEAM_WIDTH - 1 cells, and rows shorter than this fit whole.
    """
    return ref_length >= BEAM_WIDTH and edits + abs(hyp_length - ref_length) > 2 * (BEAM_WIDTH - 2)


def _align(hyp: str, ref: str, edits: int) -> _Alignment:
    equal_words = _equal_words(hyp, ref)
    fill = _beam_table if _beam_binds(len(hyp), len(ref), edits) else _table
    rows, _ = fill(equal_words, len(ref))
    return _trace_back(rows, equal_words, len(ref))


def _equal_words(hyp: str, ref: str) -> list[int]:
    """For each hypothesis word, the set of equal reference words."""
    places: dict[str, int] = {}
    bit = 1
    for word in ref:
        places[word] = places.get(word, 0) | bit
        bit <<= 1
    return [places.get(word, 0) for word in hyp]


def _table(equal_words: list[int], width: int) -> tuple[list[_Row], int]:
    """The rows of the edit distance table, one per hypothesis word, and the distance in its last cell."""
    everywhere = (1 << width) - 1
    rises, falls = everywhere, 0  # columns that differ by +1 or -1 from the one before in the same row
    rows = []
    for equal in equal_words:
        free = ((((equal & rises) + rises) ^ rises) | equal | falls) & everywhere
        grows = falls | ((free | rises) ^ everywhere)
        rows.append((equal, free, grows))
        grows_before = (grows << 1 | 1) & everywhere
        rises = ((free & rises) << 1 | (free | grows_before) ^ everywhere) & everywhere
        falls = grows_before & free
    return rows, len(rows) + rises.bit_count() - falls.bit_count()


def _beam_table(equal_words: list[int], width: int) -> tuple[list[_Row], int]:
    """The table with only the steps between cells of the beam; rows hold for cells in the beam alone."""
    beam = _beam(len(equal_words), width)
    steps = [equal & above & here >> 1 for equal, (above, here) in zip(equal_words, pairwise(beam), strict=True)]
    rows, distance = _table(steps, width)
    within = zip(rows, beam[:-1], strict=True)
    return [(equal, free | ~above, grows & above >> 1) for (equal, free, grows), above in within], distance


@lru_cache(maxsize=16)
def _beam(hyp_length: int, ref_length: int) -> tuple[int, ...]:
    """For each row of the table the set of its columns in the beam, both counted from the empty prefix."""
    ratio = ref_length / hyp_length
    width = BEAM_WIDTH if ratio / 2 <= BEAM_WIDTH else ceil(ratio / 2 + BEAM_WIDTH)
    columns = (1 << ref_length + 1) - 1
    centres = [int(row * ratio) for row in range(1, hyp_length + 1)]
    return columns, *(columns & ((1 << centre + width) - (1 << max(0, centre - width))) for centre in centres)


def _trace_back(rows: list[_Row], equal_words: list[int], width: int) -> _Alignment:
    """The alignment read from the last cell on; it prefers a match, then substitution, deletion, insertion."""
    insertion_points = [0] * (width + 1)
    misplaced = equal_words.copy()
    hyp_errors = ref_errors = 0
    row, column = len(rows), width
    while row and column:
        equal, free, grows = rows[row - 1]
        bit = 1 << column - 1
        if equal & bit:
            insertion_points[column] = row
            row, column = row - 1, column - 1
            misplaced[row] ^= bit
        elif free & grows & bit:
            row -= 1
            hyp_errors |= 1 << row
        else:
            insertion_points[column] = row
            column -= 1
            ref_errors |= bit
            if not free & bit:
                row -= 1
                hyp_errors |= 1 << row
    hyp_errors |= (1 << row) - 1
    ref_errors |= (1 << column) - 1
    return _Alignment(insertion_points, hyp_errors, ref_errors, misplaced)
