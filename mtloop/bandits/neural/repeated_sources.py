"""A sentence that comes again: say what pleased, and say something else where nothing did.

A user who gave a translation a bad mark and gets the same one the next day learns that marks are of no use. So what was
said of each source, and what it earned, is kept. Where the best of it earned enough on average it is said again; where
not, the likeliest translation that was not tried yet is. What a second try earns against the first is also the clearest
of lessons: the sentence is the same, and only the translation differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import torch
from torch import Tensor

from mtloop.bandits.draws import seed_of
from mtloop.bandits.neural.baselines import Baseline, Heard
from mtloop.bandits.neural.explorers import ExpectedLoss, RewardedProposal, Tried, tokens_of
from mtloop.core.errors import InputError
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import LengthLimits, beam
from mtloop.nmt.scopes.scope import Scope

NOTES = "notes/"
ROUNDING = 1e-9  # equal rewards differ from their mean by as little, and that is no lesson


@dataclass
class Earned:
    """What one translation of one source earned, over all the times it was said."""

    total: float = 0.0
    times: int = 0

    @property
    def mean(self) -> float:
        return self.total / self.times


@dataclass
class Notebook:
    """What was said of each source, in the order it was first said."""

    pages_: dict[int, dict[tuple[int, ...], Earned]] = field(default_factory=dict)

    def page(self, source: Encoded) -> Mapping[tuple[int, ...], Earned]:
        return self.pages_.get(seed_of(*source.ids), {})

    def note(self, source: Encoded, said: Sequence[int], reward: float) -> None:
        earned = self.pages_.setdefault(seed_of(*source.ids), {}).setdefault(tuple(said), Earned())
        earned.total += reward
        earned.times += 1

    def tensors(self) -> dict[str, Tensor]:
        lines = [(source, said, earned) for source, page in self.pages_.items() for said, earned in page.items()]
        numbers = {
            "source": [source for source, _, _ in lines],
            "length": [len(said) for _, said, _ in lines],
            "tokens": [token for _, said, _ in lines for token in said],
            "times": [earned.times for _, _, earned in lines],
        }
        found = {name: torch.tensor(values, dtype=torch.int64) for name, values in numbers.items()}
        return found | {"total": torch.tensor([earned.total for _, _, earned in lines], dtype=torch.float64)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.pages_.clear()
        tokens = iter(tensors["tokens"].tolist())
        columns = (tensors[name].tolist() for name in ("source", "length", "total", "times"))
        for source, length, total, times in zip(*columns, strict=True):
            self.pages_.setdefault(source, {})[tuple(islice(tokens, length))] = Earned(total, times)


@dataclass
class OwnMean:
    """A reward weighs what it is above the mean of this very source's, or what `otherwise` says of a new one."""

    notebook: Notebook
    otherwise: Baseline

    def weigh(self, heard: Heard) -> Tensor:
        page = self.notebook.page(heard.source).values()
        if not page:
            return self.otherwise.weigh(heard)
        mean = sum(earned.total for earned in page) / sum(earned.times for earned in page)
        above = heard.reward - mean
        return torch.tensor(above if abs(above) > ROUNDING else 0.0, dtype=torch.float64)

    def tensors(self) -> dict[str, Tensor]:
        notes = {f"{NOTES}{name}": tensor for name, tensor in self.notebook.tensors().items()}
        return notes | self.otherwise.tensors()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        notes = {name.removeprefix(NOTES): tensor for name, tensor in tensors.items() if name.startswith(NOTES)}
        self.notebook.restore(notes)
        self.otherwise.restore({name: tensor for name, tensor in tensors.items() if not name.startswith(NOTES)})


class SecondTries:
    """A new source is drawn; one that was met before gets what earned most, if that was `content` or more on average.

    Otherwise it gets the first translation of a search with so many `beams` that was not tried, while there is one.
    What is said a second time is chosen and not drawn: it teaches by how much it earned above the first, at full
    weight, which is no step along the gradient of draws, but one away from what failed for this very source.
    """

    def __init__(self, drawing: ExpectedLoss, content: float = 0.4, beams: int = 8) -> None:
        """Draws and their lessons are those of `drawing`; its baseline is asked about new sources."""
        if not 0 <= content <= 1:
            raise InputError(f"content = {content:g}; expected a mean reward, from 0 to 1")
        if beams < 1:
            raise InputError(f"beams = {beams}; expected how many translations are searched for, 1 or more")
        self.notebook, self.content, self.beams = Notebook(), content, beams
        self.baseline = OwnMean(self.notebook, drawing.baseline)
        self.drawing = replace(drawing, baseline=self.baseline)

    def tries(self, scope: Scope, source: Encoded, limits: LengthLimits, seed: int, temperature: float) -> Tried:
        page = self.notebook.page(source)
        if not page:
            return self.drawing.tries(scope, source, limits, seed, temperature)
        best = max(page, key=lambda said: page[said].mean)
        if page[best].mean < self.content:
            best = next(self._untried(scope, source, limits, page), best)
        return Tried(best, 1.0, {"temperature": temperature, "tokens": list(best)})

    def _untried(
        self, scope: Scope, source: Encoded, limits: LengthLimits, page: Mapping[tuple[int, ...], Earned]
    ) -> Iterator[tuple[int, ...]]:
        """Translations whose text was not said yet, as a search ranks them; saying nothing is none."""
        model: Marian = scope.model
        tried = {model.target.decode(said) for said in page} | {""}
        for found in beam(model, source, self.beams, limits, scope.extra_bias):
            if model.target.decode(found.ids) not in tried:
                yield found.ids

    def lesson(self, scope: Scope, limits: LengthLimits, rewarded: RewardedProposal) -> tuple[Lesson, Tensor]:
        return self.drawing.lesson(scope, limits, rewarded)

    def hear(self, rewarded: RewardedProposal) -> None:
        self.notebook.note(rewarded.read(), tokens_of(rewarded.proposal), rewarded.reward)

    def tensors(self) -> dict[str, Tensor]:
        return self.baseline.tensors()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.baseline.restore(tensors)
