"""The most probable token without the whole output layer in float32: the same token, for a quarter of the bytes.

The output matrix is two thirds of what a token reads. Here the state and the matrix are rounded to int8, and their
products are exact integers. The rounding errors are known vectors, so a logit is wrong by at most (Cauchy-Schwarz)
|row| |error of the state| + |error of the row| |rounded state|. Few tokens, usually one, can still be the most probable
one. Their logits are computed in float32. If these are so close that the order of a sum would decide, there is no
answer, and the caller multiplies with the whole matrix.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

LARGEST = 127  # of an int8
MAX_CANDIDATES = 64  # with more, the whole matrix costs no more
MIN_PRODUCTS = 64  # with a matrix, before it is rounded: rounding it costs as much as about twenty products
MIN_SIZE = 1_000_000  # numbers in a matrix: a smaller one is multiplied as fast
ROUNDING = 2.0**-22  # of a number in a float32 product of two vectors, per number: twice what either side may lose
Array = npt.NDArray[np.float32]


@cache
def multiplies_int8() -> bool:
    """Return whether the processor has instructions for products of int8 numbers."""
    capabilities: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(capabilities.get(name) for name in ("avx512_vnni", "avx_vnni", "amx_int8"))


class OutputScreen:
    """A matrix in int8, with what is lost by rounding it."""

    def __init__(self, matrix: Tensor) -> None:
        self._matrix = matrix
        self._scales = matrix.abs().amax(1).clamp_min(torch.finfo().tiny).div_(LARGEST)
        rounded = (matrix / self._scales[:, None]).round_()
        norms = torch.linalg.vector_norm(matrix, dim=1)
        errors = torch.linalg.vector_norm(matrix - rounded * self._scales[:, None], dim=1)
        self._lost = float((errors / norms.clamp_min(torch.finfo().tiny)).max())
        self._columns = rounded.to(torch.int8).contiguous().t()
        self._norms = norms
        self._size = matrix.shape[1] * ROUNDING

    def best(self, state: Tensor, bias: Tensor) -> int | None:
        """Return the index of the largest value of `matrix @ state + bias`; None if rounding could decide."""
        x: Array = state.numpy()
        peak = float(np.abs(x).max())
        if not 0 < peak < np.inf:
            return None
        scale = peak / LARGEST
        rounded = np.rint(x * np.float32(1 / scale))
        missed = x - rounded * np.float32(scale)
        length = float(np.sqrt(x.dot(x)))
        slack = float(np.sqrt(missed.dot(missed)))
        slack += self._lost * (length + slack) + self._size * length
        products = torch._int_mm(torch.from_numpy(rounded.astype(np.int8))[None], self._columns)[0]
        scores = torch.addcmul(bias, products, self._scales, value=scale)
        found = self._candidates(scores, slack)
        if len(found) < 2 or len(found) > MAX_CANDIDATES:
            return int(found[0]) if len(found) == 1 else None
        return self._settled(state, bias, torch.from_numpy(found), self._size * length)

    def _candidates(self, scores: Tensor, slack: float) -> npt.NDArray[np.int64]:
        """Return the rows that may have the largest score, if each is wrong by at most its norm times `slack`."""
        values = scores.numpy()
        first = int(values.argmax())
        least = float(values[first]) - slack * float(self._norms[first])
        least -= ROUNDING * abs(least)
        return np.flatnonzero(torch.add(scores, self._norms, alpha=slack).numpy() >= least)

    def _settled(self, state: Tensor, bias: Tensor, rows: Tensor, error: float) -> int | None:
        values, where = (self._matrix[rows] @ state + bias[rows]).topk(2)
        first, second = values.tolist()
        close = 2 * error * float(self._norms[rows].max()) + ROUNDING * (abs(first) + abs(second))
        return int(rows[where[0]]) if first - second > close else None


class OutputScreens:
    """The screen of one matrix: made when the matrix was used often enough, and again after it has changed."""

    def __init__(self) -> None:
        self._screen: OutputScreen | None = None
        self._version, self._products = -1, 0

    def of(self, matrix: Tensor) -> OutputScreen | None:
        """Return the screen of a matrix; None while it was used too rarely, or where int8 is no faster."""
        if matrix.is_inference():  # torch does not say whether it changes
            return None
        if self._version != matrix._version:
            self._screen, self._version, self._products = None, matrix._version, 0
        self._products += 1
        if self._screen is None and self._products > MIN_PRODUCTS and _is_worth_it(matrix):
            self._screen = OutputScreen(matrix)
        return self._screen


def _is_worth_it(matrix: Tensor) -> bool:
    return matrix.numel() >= MIN_SIZE and multiplies_int8()
