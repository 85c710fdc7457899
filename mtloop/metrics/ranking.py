"""Agreement between two rankings of systems (2021)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from mtloop.core.errors import InputError


def rank(scores: Mapping[str, float]) -> list[str]:
    """Return the systems from best to worst: the highest score first, equal scores by name, NaN scores last.

    >>> rank({"c": 0.2, "b": 0.5, "a": 0.5, "d": float("nan")})
    ['a', 'b', 'c', 'd']
    """
    return sorted(scores, key=lambda name: (math.isnan(scores[name]), -scores[name], name))


def top_n_overlap(ranking: Sequence[str], gold: Sequence[str], n: int) -> float:
    """Return the share (0 to 1) of the gold ranking's top n that are in this ranking's top n, in any order.

    A gold system that is not in `ranking` counts as not found. The caller breaks ties when it makes the rankings
    (`rank` does it by name), so each side has exactly n systems.

    >>> top_n_overlap(["a", "b", "c", "d"], ["b", "x", "a", "c"], 3)
    0.6666666666666666
    """
    _check_ranking(ranking)
    _check_ranking(gold)
    if not 1 <= n <= len(gold):
        raise InputError(f"top {n} of {len(gold)} ranked systems; expected a number from 1 to {len(gold)}")
    return len(set(ranking[:n]) & set(gold[:n])) / n


def within_tie(chosen: Sequence[str], gold: Sequence[str], scores: Mapping[str, float], within: float) -> bool:
    """Return whether every chosen system is a gold system, or scores at most `within` below the worst gold system.

    >>> within_tie(["a", "c"], ["a", "b"], {"a": 80, "b": 71, "c": 70.5}, 1)
    True
    """
    threshold = min(scores[name] for name in gold) - within
    return all(name in gold or scores.get(name, -math.inf) >= threshold for name in chosen)


def converged_at(correct: Sequence[bool]) -> int | None:
    """Return the first index from which all values are true to the end; None if the last value is false.

    >>> converged_at([False, True, False, True, True]), converged_at([True, False])
    (3, None)
    """
    wrong = [index for index, value in enumerate(correct) if not value]
    first = wrong[-1] + 1 if wrong else 0
    return first if first < len(correct) else None


def kendall_tau(scores: Mapping[str, float], gold: Mapping[str, float]) -> float:
    """Return Kendall's tau-b: 1 if both scores order every pair of systems alike, -1 if always in opposite order.

    A pair tied on one side counts as neither; the denominator corrects for it. Systems without a score (or with NaN)
    on either side are left out. NaN if fewer than two systems are left or one side ties all of them.

    >>> kendall_tau({"a": 3, "b": 2, "c": 1}, {"a": 0.9, "b": 0.1, "c": 0.5, "x": 1})
    0.3333333333333333
    """
    shared = sorted(name for name in scores.keys() & gold.keys() if not math.isnan(scores[name] + gold[name]))
    pairs = Counter((_sign(scores[a] - scores[b]), _sign(gold[a] - gold[b])) for a, b in combinations(shared, 2))
    agreement = sum(ours * theirs * count for (ours, theirs), count in pairs.items())
    untied = sum(count for (ours, _), count in pairs.items() if ours)
    untied_gold = sum(count for (_, theirs), count in pairs.items() if theirs)
    return agreement / math.sqrt(untied * untied_gold) if untied and untied_gold else math.nan


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _check_ranking(ranking: Sequence[str]) -> None:
    name, times = Counter(ranking).most_common(1)[0] if ranking else ("", 0)
    if times > 1:
        raise InputError(f"system {name!r} appears {times} times in one ranking")
