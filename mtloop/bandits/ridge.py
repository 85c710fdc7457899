"""Ridge regression, fitted one example at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass
class Ridge:
    """Least squares with a penalty on the distance from `prior`; examples are added one at a time.

    >>> ridge = Ridge(np.zeros(2), penalty=1e-9)
    >>> for x, y in [((1.0, 0.0), 0.5), ((0.0, 2.0), 1.0)]:
    ...     ridge.add(np.array(x), y)
    >>> np.round(ridge.predict(np.array([[1.0, 1.0]])), 6).tolist()
    [1.0]
    """

    prior: Vector
    penalty: float
    products_: Vector = field(init=False)
    targets_: Vector = field(init=False)

    def __post_init__(self) -> None:
        self.products_, self.targets_ = self.penalty * np.eye(len(self.prior)), np.zeros(len(self.prior))

    def add(self, example: Vector, value: float) -> None:
        self.products_ = self.products_ + np.outer(example, example)
        self.targets_ = self.targets_ + (value - example @ self.prior) * example

    def predict(self, examples: Vector) -> Vector:
        return np.asarray(examples @ (self.prior + np.linalg.solve(self.products_, self.targets_)))
