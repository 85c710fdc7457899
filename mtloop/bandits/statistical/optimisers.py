"""How far to go along the gradient of a handful of weights: Adam and Adadelta, with state that can be saved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Optimiser(Protocol):
    """Turns a gradient to climb into a step. `state` is all it remembers; setting it takes up where it was."""

    state: list[Vector]

    def step(self, gradient: Vector) -> Vector: ...


@dataclass
class Adam:
    """Kingma and Ba (2014); `rate` is about how far one step goes.

    >>> adam = Adam(rate=0.1)
    >>> [round(float(adam.step(np.array([4.0]))[0]), 3) for _ in range(2)]
    [0.1, 0.1]
    """

    rate: float = 1e-3
    first: float = 0.9
    second: float = 0.999
    tiny: float = 1e-8
    state: list[Vector] = field(default_factory=list)

    def step(self, gradient: Vector) -> Vector:
        mean, square, count = self.state or [np.zeros_like(gradient), np.zeros_like(gradient), np.zeros(1)]
        count = count + 1
        mean = self.first * mean + (1 - self.first) * gradient
        square = self.second * square + (1 - self.second) * gradient**2
        self.state = [mean, square, count]
        unbiased = mean / (1 - self.first**count), square / (1 - self.second**count)
        return np.asarray(self.rate * unbiased[0] / (np.sqrt(unbiased[1]) + self.tiny))


@dataclass
class Adadelta:
    """Zeiler (2012): no rate to choose; steps are as long as steps were, for gradients as long as they were.

    >>> adadelta = Adadelta(share=0.5, tiny=0.01)
    >>> round(float(adadelta.step(np.array([1.0]))[0]), 4)
    0.14
    """

    share: float = 0.95
    tiny: float = 1e-6
    state: list[Vector] = field(default_factory=list)

    def step(self, gradient: Vector) -> Vector:
        gradients, steps = self.state or [np.zeros_like(gradient), np.zeros_like(gradient)]
        gradients = self.share * gradients + (1 - self.share) * gradient**2
        step = np.sqrt(steps + self.tiny) / np.sqrt(gradients + self.tiny) * gradient
        self.state = [gradients, self.share * steps + (1 - self.share) * step**2]
        return np.asarray(step)
