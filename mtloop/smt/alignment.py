"""Word alignment of a parallel text in one direction: IBM 1, then HMM. Thot symmetrises two directions later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from mtloop.core.errors import need

Pair: TypeAlias = tuple[list[str], list[str]]
EM_ITERATIONS = {"IBM 1": 5, "HMM": 3}  # of expectation-maximisation; the HMM starts from IBM 1
SMOOTHING_EM_ITERATIONS = {"IBM 1": 2, "HMM": 1}  # enough when the word models only smooth phrase scores
BATCH_SIZE = 1000  # pairs aligned in one call to Thot


def train_alignment(
    pairs: Sequence[Pair],
    prefix: Path,
    log: Callable[[str], None],
    iterations: Mapping[str, int] = EM_ITERATIONS,
    *,
    write_alignments: bool = True,
) -> None:
    """Train an alignment model and write it to `prefix`; optionally write the best alignments to `prefix`.bestal."""
    model = _train(pairs, prefix.name, log, iterations)
    if not model.print(str(prefix)):
        raise OSError(f"could not write {prefix}")
    if write_alignments:
        with prefix.with_name(prefix.name + ".bestal").open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(_best_alignments(model, pairs))
    model.clear()


def _train(pairs: Sequence[Pair], name: str, log: Callable[[str], None], iterations: Mapping[str, int]) -> Any:
    ta = need("thot.alignment", "smt")
    ibm1 = ta.Ibm1AlignmentModel()
    hmm = ta.HmmAlignmentModel(ibm1)
    hmm.hmm_p0, hmm.lexical_smoothing_factor, hmm.hmm_alignment_smoothing_factor = 0.1, 0.1, 0.3
    for source, target in pairs:
        hmm.add_sentence_pair(source, target, 1)
    for kind, model in (("IBM 1", ibm1), ("HMM", hmm)):
        model.start_training()
        for number in range(1, iterations[kind] + 1):
            model.train()
            log(f"{name}: {kind}, iteration {number} of {iterations[kind]}")
        model.end_training()
    return hmm


def _best_alignments(model: Any, pairs: Sequence[Pair]) -> Iterator[str]:
    for start in range(0, len(pairs), BATCH_SIZE):
        sources, targets = zip(*pairs[start : start + BATCH_SIZE], strict=True)
        for (_, matrix), source, target in zip(
            model.get_best_alignments(list(sources), list(targets)), sources, targets, strict=True
        ):
            yield giza_alignment(source, target, matrix.to_numpy())


def giza_alignment(source: Sequence[str], target: Sequence[str], matrix: Any) -> str:
    """Return one alignment in the GIZA format, which Thot reads.

    >>> import numpy
    >>> print(giza_alignment(["a", "b"], ["x"], numpy.array([[False], [True]])), end="")
    # 1
    x
    NULL ({ }) a ({ }) b ({ 1 })
    """
    columns: list[list[int]] = [[] for _ in source]
    for i, j in zip(*(indices.tolist() for indices in matrix.nonzero()), strict=True):
        columns[i].append(j + 1)
    unaligned = sorted(set(range(1, len(target) + 1)).difference(*columns))
    words = zip(["NULL", *source], [unaligned, *columns], strict=True)
    aligned = " ".join(f"{word} ({{ {''.join(f'{j} ' for j in positions)}}})" for word, positions in words)
    return f"# 1\n{' '.join(target)}\n{aligned}\n"
