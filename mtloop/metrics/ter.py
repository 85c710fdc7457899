"""Translation edit rate (TER): exactly sacreBLEU's counts, in a fraction of its time.

TER counts the word edits and block shifts that turn a hypothesis into its reference. sacreBLEU searches greedily: it
aligns both sides, lists the shifts that the alignment allows, applies the one that saves most edits, and repeats. The
result depends on how every tie is broken, so this module takes the same decisions and saves work only where the result
cannot change:

* Words become characters: a shifted hypothesis is four string slices, and rapidfuzz scores it in C.
* Shifts keep the words, and an alignment matches no more words than both sides share. This bounds the edits that shifts
  can save. If the bound is one edit, a shift costs as much as it saves and the count is final. Most segments end here.
* sacreBLEU discards the round that reaches its limit on candidates, and otherwise scores all candidates of a round. So
  their order does not matter, and a candidate that cannot beat the best so far needs no exact score.
* The alignment is bit-parallel dynamic programming (Myers 1999, Hyyrö 2003): a row of the edit distance table is a few
  integers. They store the information that the trace back needs to prefer the same operations as sacreBLEU.

sacreBLEU fills only a beam around the diagonal of the table. Alignments with few edits cannot leave it
(`_may_leave_beam`); then the plain edit distance and its alignment equal those of the beam. Otherwise matches outside
the beam are removed before the table is filled. Then a path outside the beam saves nothing: every step costs one edit.
For each such path there is a path inside the beam between the same two cells that is not longer, because both edges of
the beam have the same slope. So the cells inside the beam have sacreBLEU's values.
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
MAX_TABLE = 10_000**2  # cells; sacreBLEU cannot fill a larger table and we could not store it: no shifts are searched

_MATCHES_NOTHING = "\0"

_Row = tuple[int, int, int]
"""A row of the table, which belongs to one hypothesis word: three sets of reference positions.

* `equal`: the hypothesis word equals this reference word.
* `free`: the cell costs no more than its diagonal neighbour (row above, column before).
* `grows`: the cell costs one more than the cell above.

Sets are integers with one bit per position, here and in the whole module.
"""

_Shift = tuple[int, int, int]
"""Negated length, start and target of a moved block; tuples sort by sacreBLEU's preference among equal savings."""


@dataclass(frozen=True, slots=True)
class _Alignment:
    insertion_points: list[int]
    """insertion_points[j]: how many hypothesis words come up to and including the word aligned with reference word j.

    Words count from 1, so insertion_points[0] is 0. If reference word j has no aligned word: the words before the gap.
    """
    hyp_errors: int
    ref_errors: int
    misplaced: list[int]
    """For each hypothesis word: the set of equal reference words that it is not aligned with."""


def edit_counts(hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int]:
    """Return the number of edits, including shifts, that turn the hypothesis into the reference; and its length.

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
    """Return a lower bound on the edit distance of the hypothesis after any shifts."""
    unmatched = hyp
    for word in ref:
        unmatched = unmatched.replace(word, "", 1)
    return len(unmatched) + max(0, len(ref) - len(hyp))


def _best_shift(hyp: str, ref: str, edits: int, candidates: list[_Shift]) -> tuple[str, int]:
    """Return the hypothesis and its edits after the preferred shift; unchanged if no shift saves an edit."""
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
        # Here sacreBLEU uses the target as an index into the words without the block.
        target += end - start
    return hyp[:start] + hyp[end:target] + hyp[start:end] + hyp[target:]


def _candidate_shifts(hyp: str, ref: str, alignment: _Alignment) -> Iterator[_Shift]:
    for start, positions in enumerate(alignment.misplaced):
        for position in _members(positions) if positions else ():
            for length in _block_lengths(hyp, ref, start, position, alignment):
                for target in dict.fromkeys(alignment.insertion_points[position : position + length + 1]):
                    yield -length, start, target


def _block_lengths(hyp: str, ref: str, start: int, position: int, alignment: _Alignment) -> Iterator[int]:
    """Yield lengths of equal blocks at `start` (hyp) and `position` (ref) with errors on both sides and no overlap."""
    if abs(start - position) > MAX_SHIFT_DISTANCE:
        return
    max_length = min(MAX_SHIFT_SIZE, len(hyp) - start, len(ref) - position)
    gap = alignment.insertion_points[position + 1] - 1 - start
    if 0 <= gap < max_length:
        max_length = gap
    hyp_errors = alignment.hyp_errors >> start
    ref_errors = alignment.ref_errors >> position
    for length in range(1, max_length + 1):
        if hyp[start + length - 1] != ref[position + length - 1]:
            return
        block = (1 << length) - 1
        if hyp_errors & block and ref_errors & block:
            yield length


def _members(bits: int) -> Iterator[int]:
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1


def _distance(hyp: str, ref: str, at_most: float = inf) -> int:
    """Return the edit distance within the beam; or, if that exceeds `at_most`, a lower bound that does too."""
    edits = Levenshtein.distance(hyp, ref)
    if edits > at_most or not _may_leave_beam(len(hyp), len(ref), edits):
        return edits
    return _beam_table(_equal_words(hyp, ref), len(ref))[1]


def _may_leave_beam(hyp_length: int, ref_length: int, edits: int) -> bool:
    """Return whether an alignment with this many edits might leave the beam.

    With e edits and a length difference d, it is at most (e + d) / 2 cells from the beam's centre, or one more because
    the centre is rounded. The beam's narrow side has BEAM_WIDTH - 1 cells; shorter rows are completely inside.
    """
    return ref_length >= BEAM_WIDTH and edits + abs(hyp_length - ref_length) > 2 * (BEAM_WIDTH - 2)


def _align(hyp: str, ref: str, edits: int) -> _Alignment:
    equal_words = _equal_words(hyp, ref)
    fill = _beam_table if _may_leave_beam(len(hyp), len(ref), edits) else _table
    rows, _ = fill(equal_words, len(ref))
    return _trace_back(rows, equal_words, len(ref))


def _equal_words(hyp: str, ref: str) -> list[int]:
    """Return, for each hypothesis word, the set of equal reference words."""
    positions: dict[str, int] = {}
    bit = 1
    for word in ref:
        positions[word] = positions.get(word, 0) | bit
        bit <<= 1
    return [positions.get(word, 0) for word in hyp]


def _table(equal_words: list[int], width: int) -> tuple[list[_Row], int]:
    """Return the rows of the edit distance table, one per hypothesis word, and the distance in its last cell."""
    mask = (1 << width) - 1
    rises, falls = mask, 0  # columns that differ by +1 or -1 from the one before in the same row
    rows = []
    for equal in equal_words:
        free = ((((equal & rises) + rises) ^ rises) | equal | falls) & mask
        grows = falls | ((free | rises) ^ mask)
        rows.append((equal, free, grows))
        grows_before = (grows << 1 | 1) & mask
        rises = ((free & rises) << 1 | (free | grows_before) ^ mask) & mask
        falls = grows_before & free
    return rows, len(rows) + rises.bit_count() - falls.bit_count()


def _beam_table(equal_words: list[int], width: int) -> tuple[list[_Row], int]:
    """Return the table with only the steps between cells of the beam; rows are valid only for cells in the beam."""
    beam = _beam(len(equal_words), width)
    steps = [equal & above & here >> 1 for equal, (above, here) in zip(equal_words, pairwise(beam), strict=True)]
    rows, distance = _table(steps, width)
    within = zip(rows, beam[:-1], strict=True)
    return [(equal, free | ~above, grows & above >> 1) for (equal, free, grows), above in within], distance


@lru_cache(maxsize=16)
def _beam(hyp_length: int, ref_length: int) -> tuple[int, ...]:
    """Return the columns in the beam, one set per row of the table; row 0 and column 0 stand for the empty prefix."""
    ratio = ref_length / hyp_length
    width = BEAM_WIDTH if ratio / 2 <= BEAM_WIDTH else ceil(ratio / 2 + BEAM_WIDTH)
    columns = (1 << ref_length + 1) - 1
    centres = [int(row * ratio) for row in range(1, hyp_length + 1)]
    return columns, *(columns & ((1 << centre + width) - (1 << max(0, centre - width))) for centre in centres)


def forget_beams() -> None:
    """Forget the beams of the lengths that came last: the next score is not faster for them."""
    _beam.cache_clear()


def _trace_back(rows: list[_Row], equal_words: list[int], width: int) -> _Alignment:
    """Return the alignment, read backwards from the last cell; prefers match, substitution, deletion, insertion."""
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
