"""Optimisers for a few weights: Adam and Adadelta, with state that can be saved.

They are written by hand, because statistical methods run without torch: the extra `smt` does not install it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from mtloop.bandits.ridge import Vector


class Optimiser(Protocol):
    """Turns a gradient of the reward into a step (ascent). `state` is its whole state; setting it resumes."""

    state: list[Vector]

    def step(self, gradient: Vector) -> Vector: ...


@dataclass
class Adam:
    """Kingma and Ba (2014); `learning_rate` is about the size of one step.

    >>> adam = Adam(learning_rate=0.1)
    >>> [round(float(adam.step(np.array([4.0]))[0]), 3) for _ in range(2)]
    [0.1, 0.1]
    """

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    state: list[Vector] = field(default_factory=list)

    def step(self, gradient: Vector) -> Vector:
        mean, square, count = self.state or [np.zeros_like(gradient), np.zeros_like(gradient), np.zeros(1)]
        count = count + 1
        mean = self.beta1 * mean + (1 - self.beta1) * gradient
        square = self.beta2 * square + (1 - self.beta2) * gradient**2
        self.state = [mean, square, count]
        unbiased = mean / (1 - self.beta1**count), square / (1 - self.beta2**count)
        return np.asarray(self.learning_rate * unbiased[0] / (np.sqrt(unbiased[1]) + self.epsilon))


@dataclass
class Adadelta:
    """Zeiler (2012): needs no learning rate; the ratio of mean step size to mean gradient size scales each step.

    >>> adadelta = Adadelta(decay=0.5, epsilon=0.01)
    >>> round(float(adadelta.step(np.array([1.0]))[0]), 4)
    0.14
    """

    decay: float = 0.95
    epsilon: float = 1e-6
    state: list[Vector] = field(default_factory=list)

    def step(self, gradient: Vector) -> Vector:
        gradients, steps = self.state or [np.zeros_like(gradient), np.zeros_like(gradient)]
        gradients = self.decay * gradients + (1 - self.decay) * gradient**2
        step = np.sqrt(steps + self.epsilon) / np.sqrt(gradients + self.epsilon) * gradient
        self.state = [gradients, self.decay * steps + (1 - self.decay) * step**2]
        return np.asarray(step)
