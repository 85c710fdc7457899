"""Training budget and learning rate schedule."""

from __future__ import annotations

import math

from mtloop.nmt.training.recipe import Recipe


def budget_spent(recipe: Recipe, step: int, seconds: float) -> float:
    """Return the share of the training budget that is spent, from 0 to 1.

    >>> budget_spent(Recipe(minutes=2), step=7, seconds=30)
    0.25
    """
    if recipe.minutes is not None:
        return min(1.0, seconds / (60 * recipe.minutes))
    return min(1.0, step / (recipe.steps or 1))


def learning_rate(recipe: Recipe, step: int, spent: float) -> float:
    """Return the learning rate of a step (counted from 0) when the share `spent` of the budget is used.

    >>> recipe = Recipe(steps=100, learning_rate=1.0, warmup=10)
    >>> [round(learning_rate(recipe, step, step / 100), 2) for step in (0, 9, 50, 99)]
    [0.1, 0.98, 0.5, 0.0]
    """
    warmup = min(1.0, (step + 1) / recipe.warmup)
    if recipe.lr_schedule == "cosine":
        return recipe.learning_rate * warmup * (1 + math.cos(math.pi * spent)) / 2
    return recipe.learning_rate * warmup * math.sqrt(recipe.warmup / max(recipe.warmup, step + 1))
