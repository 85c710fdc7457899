"""Word alignments of a parallel text: IBM 1, then HMM, in both directions, put together by Thot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from mtloop.core.errors import need

Pair: TypeAlias = tuple[list[str], list[str]]
ROUNDS = {"IBM 1": 5, "HMM": 3}  # of expectation-maximisation; the second model starts from the first
FEW = {"IBM 1": 2, "HMM": 1}
BATCH = 1000


def align(
    pairs: Sequence[Pair],
    prefix: Path,
    say: Callable[[str], None],
    rounds: Mapping[str, int] = ROUNDS,
    *,
    best: bool = True,
) -> None:
    """Train a model of one direction, write it to `prefix`, and the `best` alignments to `prefix`.bestal."""
    model = _trained(pairs, prefix.name, say, rounds)
    if not model.print(str(prefix)):
        raise OSError(f"could not write {prefix}")
    if best:
        with prefix.with_name(prefix.name + ".bestal").open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(_giza(model, pairs))
    model.clear()


def _trained(pairs: Sequence[Pair], name: str, say: Callable[[str], None], rounds: Mapping[str, int]) -> Any:
    ta = need("thot.alignment", "smt")
    first = ta.Ibm1AlignmentModel()
    hmm = ta.HmmAlignmentModel(first)
    hmm.hmm_p0, hmm.lexical_smoothing_factor, hmm.hmm_alignment_smoothing_factor = 0.1, 0.1, 0.3
    for source, target in pairs:
        hmm.add_sentence_pair(source, target, 1)
    for kind, model in (("IBM 1", first), ("HMM", hmm)):
        model.start_training()
        for number in range(1, rounds[kind] + 1):
            model.train()
            say(f"{name}: {kind}, round {number} of {rounds[kind]}")
        model.end_training()
    return hmm


def _giza(model: Any, pairs: Sequence[Pair]) -> Iterator[str]:
    for start in range(0, len(pairs), BATCH):
        sources, targets = zip(*pairs[start : start + BATCH], strict=True)
        for (_, matrix), source, target in zip(
            model.get_best_alignments(list(sources), list(targets)), sources, targets, strict=True
        ):
            yield giza(source, target, matrix.to_numpy())


def giza(source: Sequence[str], target: Sequence[str], matrix: Any) -> str:
    """One alignment in GIZA's format, which Thot reads.

    >>> import numpy
    >>> print(giza(["a", "b"], ["x"], numpy.array([[False], [True]])), end="")
    # 1
    x
    NULL ({ }) a ({ }) b ({ 1 })
    """
    columns: list[list[int]] = [[] for _ in source]
    for i, j in zip(*(places.tolist() for places in matrix.nonzero()), strict=True):
        columns[i].append(j + 1)
    alone = sorted(set(range(1, len(target) + 1)).difference(*columns))
    words = zip(["NULL", *source], [alone, *columns], strict=True)
    aligned = " ".join(f"{word} ({{ {''.join(f'{j} ' for j in places)}}})" for word, places in words)
    return f"# 1\n{' '.join(target)}\n{aligned}\n"
