"""How long to train, and how fast to learn meanwhile."""

from __future__ import annotations

import math

from mtloop.nmt.training.recipe import Recipe


def spent(recipe: Recipe, step: int, seconds: float) -> float:
    """How much of the budget is spent, from 0 to 1.

    >>> spent(Recipe(minutes=2), step=7, seconds=30)
    0.25
    """
    if recipe.minutes is not None:
        return min(1.0, seconds / (60 * recipe.minutes))
    return min(1.0, step / (recipe.steps or 1))


def rate(recipe: Recipe, step: int, share: float) -> float:
    """The learning rate of a step (from 0), with that share of the budget spent.

    >>> recipe = Recipe(steps=100, lr=1.0, warmup=10)
    >>> [round(rate(recipe, step, step / 100), 2) for step in (0, 9, 50, 99)]
    [0.1, 0.98, 0.5, 0.0]
    """
    warm = min(1.0, (step + 1) / recipe.warmup)
    if recipe.schedule == "cosine":
        return recipe.lr * warm * (1 + math.cos(math.pi * share)) / 2
    return recipe.lr * warm * math.sqrt(recipe.warmup / max(recipe.warmup, step + 1))
