"""Expected loss: what one reward for one drawn translation says about the weights (Kreutzer et al., 2017).

The loss is L = -w * sum_t log p_T(y_t), summed over the tokens that were drawn and not averaged. For expected loss w
is the reward; with a control variate it is the reward less the mean of those heard so far, for less variance. The
gradient by the logits is w / T * (p_T - truth), and from there on the way back is that of post-edits.
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
from mtloop.nmt.engine.truncation import WHOLE, Truncation
from mtloop.nmt.scopes.scope import NotFinite


@dataclass
class Weighed(Lesson):
    """A lesson whose way back was gone already, so that its whole gradient could be clipped."""

    found: dict[str, Gradient] = field(default_factory=dict)

    def gradients(self) -> dict[str, Gradient]:
        return self.found


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
    cut: Truncation = WHOLE,
) -> Lesson:
    """The lesson of one draw. Its `loss` is the mean of -log p_T; its gradient that of -weight * (sum of log p_T).

    Padding is never drawn and has no share, nor has what `cut` leaves out; an end that `limits` set was not drawn and
    teaches nothing.
    """
    ids = list(drawn)
    decoded = model.decode(source, ids)
    logits = model.logits(decoded.states, extra_bias) / temperature
    logits[:, model.target.pad] = -math.inf
    wanted = torch.arange(len(ids)), torch.tensor(ids)
    log_probabilities = cut(logits, wanted[1]).log_softmax(-1)
    error = log_probabilities.exp()
    error[wanted] -= 1.0
    forced = [place for place in range(len(ids)) if limits is not None and limits.loops(ids[:place])]
    error[forced] = 0.0
    counted = log_probabilities[wanted].clone()
    counted[forced] = 0.0
    return Lesson(-float(counted.mean()), wanted[1], decoded, error * (weight / temperature), scope, model)


def weighed(lesson: Lesson, most: float, pace: float, biased: bool) -> Weighed:
    """The lesson with its whole gradient clipped to a norm of `most` (0: as it is), to be taken at `pace`.

    One norm over all that learns, a second output bias (`biased`) included, as the paper has it.
    """
    gradients = lesson.gradients()
    squares = [gradient.norm() ** 2 for gradient in gradients.values()]
    squares += [float(lesson.error.sum(0).pow(2).sum())] if biased else []
    norm = math.sqrt(sum(squares))
    if not math.isfinite(norm):
        raise NotFinite("the gradient is not finite")
    factor = most / norm if most and norm > most else 1.0
    fields = {name: getattr(lesson, name) for name in ("loss", "target", "decoded", "_scope", "_model")}
    found = {name: gradient.scaled(factor) for name, gradient in gradients.items()}
    return Weighed(**fields, error=lesson.error * factor, pace=pace, found=found)


def pointed(model: Marian, wishes: Mapping[str, Tensor], bias: Tensor | None) -> Weighed:
    """A lesson whose gradient is known without a way back: of some tensors, and of a second output bias."""
    nowhere = Decoded(torch.empty(0), [], lambda dx, tape: None)
    error = torch.zeros(0, len(model.target.pieces)) if bias is None else bias[None]
    found = {name: Gradient(dense=wish) for name, wish in wishes.items()}
    return Weighed(0.0, torch.empty(0), nowhere, error, frozenset(wishes), model, found=found)
