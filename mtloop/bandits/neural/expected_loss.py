"""Expected loss: the gradient of one reward for one sampled translation (Kreutzer et al., 2017).

The loss is L = -w * sum_t log p_T(y_t), summed over the sampled tokens and not averaged. For expected loss w is the
reward; with a control variate it is the reward minus the mean of the rewards so far, which reduces the variance. The
gradient with respect to the logits is w / T * (p_T - one-hot(y)); the rest of the backward pass is that of post-edits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mtloop.nmt.engine.gradients import Gradient
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Decoded, Encoded, Marian
from mtloop.nmt.engine.search import LengthLimits
from mtloop.nmt.engine.truncation import NO_TRUNCATION, Truncation
from mtloop.nmt.scopes.scope import NotFinite


@dataclass
class PrecomputedLesson(Lesson):
    """A lesson whose gradients are already computed, for example to clip them together."""

    computed: dict[str, Gradient] = field(default_factory=dict)

    def gradients(self) -> dict[str, Gradient]:
        return self.computed


@torch.no_grad()
def expected_loss(
    model: Marian,
    source: Encoded,
    drawn: Sequence[int],
    weight: float,
    *,
    temperature: float = 1.0,
    limits: LengthLimits | None = None,
    scope: frozenset[str] = frozenset(),
    extra_bias: Tensor | None = None,
    truncation: Truncation = NO_TRUNCATION,
) -> Lesson:
    """Return the lesson of one draw: `loss` is the mean of -log p_T, the gradient is that of -weight * sum(log p_T).

    Padding and the tokens that `truncation` excludes have probability 0. An end token forced by `limits` was not
    sampled, and has no gradient.
    """
    ids = list(drawn)
    decoded = model.decode(source, ids)
    logits = model.logits(decoded.states, extra_bias) / temperature
    logits[:, model.target.pad] = -math.inf
    sampled = torch.arange(len(ids)), torch.tensor(ids)
    log_probabilities = truncation(logits, sampled[1]).log_softmax(-1)
    error = log_probabilities.exp()
    error[sampled] -= 1.0
    forced = [position for position in range(len(ids)) if limits is not None and limits.is_looping(ids[:position])]
    error[forced] = 0.0
    counted = log_probabilities[sampled].clone()
    counted[forced] = 0.0
    return Lesson(-float(counted.mean()), sampled[1], decoded, error * (weight / temperature), scope, model)


def clip_lesson(lesson: Lesson, max_norm: float, learning_rate_scale: float, has_bias: bool) -> PrecomputedLesson:
    """Return the lesson with its whole gradient clipped to `max_norm` (0: not clipped).

    There is one norm over all parameters that learn, as in the paper, including an extra output bias (`has_bias`).
    """
    gradients = lesson.gradients()
    squares = [gradient.norm() ** 2 for gradient in gradients.values()]
    squares += [float(lesson.error.sum(0).pow(2).sum())] if has_bias else []
    norm = math.sqrt(sum(squares))
    if not math.isfinite(norm):
        raise NotFinite("the gradient is NaN or infinite")
    factor = max_norm / norm if max_norm and norm > max_norm else 1.0
    fields = {name: getattr(lesson, name) for name in ("loss", "target", "decoded", "_scope", "_model")}
    clipped = {name: gradient.scaled(factor) for name, gradient in gradients.items()}
    return PrecomputedLesson(
        **fields, error=lesson.error * factor, learning_rate_scale=learning_rate_scale, computed=clipped
    )


def lesson_from_gradients(model: Marian, gradients: Mapping[str, Tensor], bias: Tensor | None) -> PrecomputedLesson:
    """Return a lesson with given gradients: of some tensors, and of an extra output bias."""
    nothing = Decoded(torch.empty(0), [], lambda dx, collector: None)
    error = torch.zeros(0, len(model.target.pieces)) if bias is None else bias[None]
    computed = {name: Gradient(dense=gradient) for name, gradient in gradients.items()}
    return PrecomputedLesson(0.0, torch.empty(0), nothing, error, frozenset(gradients), model, computed=computed)
