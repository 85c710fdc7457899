"""Selects the next item for a rater: what the policy asks about, overlap, attention checks.

A rater stays on a segment until all systems that the policy asks about are rated on it, so that the same person
compares them. Policies that ask about one translation at a time, and pairs, take one segment after the other.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from random import Random

import numpy as np

from mtloop.core.protocols import Choice
from mtloop.selection.campaign_state import CampaignState
from mtloop.selection.damaged_text import damaged
from mtloop.selection.rating_item import RatingItem, RatingTurn, ShownTranslation

MAX_SIDE_BY_SIDE = 10  # translations that are shown together
Cell = tuple[str, str]


class ItemSelection:
    """The next item for one rater. `busy` holds the cells (segment, system) that others are rating elsewhere."""

    def __init__(self, state: CampaignState, rater: str, busy: Collection[Cell] = ()) -> None:
        self.state, self.plan, self.rater = state, state.plan, rater
        self._busy = set(busy)
        self._mine = [turn for turn in state.turns if turn.rater == rater]

    def next(self) -> RatingItem | None:
        """The next item; None if there is none for this rater."""
        check = self._attention_check()
        if check is not None:
            return check
        item = self._asked_item(self._full) if self.state.verdict is None else None
        missing = self.plan.min_per_rater - sum(turn.values is not None for turn in self._mine)
        return self._extra_item() if item is None and missing > 0 else item

    def rounds_left(self) -> int | None:
        """The number of items that this rater may still get; None if a stopping rule decides about it."""
        if self.plan.stops:
            return None
        if self._by_cell:
            texts = {(str(at + 1), lines[at]) for lines in self.plan.outputs.values() for at in range(len(lines))}
            done = {(segment, self.plan.outputs[of][int(segment) - 1]) for segment, of in self._full | self._seen}
            return len(texts - done)
        taken = {key[0] for key, raters in self._raters_by_round.items() if len(raters) >= self.plan.overlap}
        return len(self.plan.sources) - len(taken | {segment for segment, _ in self._seen_keys})

    @property
    def _by_cell(self) -> bool:
        """Whether single translations are handed out, rather than the rounds of the policy."""
        return self.state.asks_several and self.plan.kind != "pair"

    def _asked_item(self, full: Collection[Cell]) -> RatingItem | None:
        return self._cell_item(full) if self._by_cell else self._round_item()

    def _extra_item(self) -> RatingItem | None:
        """An item for a rater who has not rated enough, though the policy needs no more ratings."""
        if not self._by_cell:
            return next(self._known_rounds(most=len(self.state.turns)), None)
        everything = tuple(self.plan.outputs)
        return self._cell_item(self._full, everything) or self._cell_item((), everything)

    # Cells: policies that ask about several systems

    def _cell_item(self, full: Collection[Cell], asked: Sequence[str] = ()) -> RatingItem | None:
        """The first open translations, on the last segment of the rater if possible."""
        last = [turn.item.segment for turn in self._mine if turn.item.choice is not None][-1:]
        for segment in [*last, *self._order]:
            closed = {of for of in self.plan.outputs if (segment, of) in full or (segment, of) in self._seen}
            if len(closed) < len(self.plan.outputs):
                choice = self._choose(segment)
                wanted = [of for of in self._blind(asked or choice.asked, segment) if of not in closed]
                if wanted:
                    return self._cells_shown(choice, wanted)
        return None

    def _cells_shown(self, choice: Choice, wanted: Sequence[str]) -> RatingItem:
        texts = list(dict.fromkeys(self._text(choice.segment, of) for of in wanted))
        shown = texts[: MAX_SIDE_BY_SIDE if self.plan.side_by_side else 1]
        return self._item(replace(choice, system=wanted[0]), shown, everyone_counts=True)

    # Rounds: policies that ask about one system, and pairs

    def _round_item(self) -> RatingItem | None:
        """A round that needs another rater, or a new one."""
        known = next(self._known_rounds(self.plan.overlap), None)
        return known or self._new_round()

    def _known_rounds(self, most: int) -> Iterator[RatingItem]:
        """Rounds with fewer than `most` raters which this rater has not seen."""
        for key, turn in self._rounds.items():
            if key not in self._seen_keys and len(self._raters_by_round[key]) < most:
                shown = self._blind(turn.item.texts, f"{turn.item.segment}/{self.rater}")
                by_text = {one.text: one for one in turn.item.translations}
                yield replace(turn.item, translations=tuple(by_text[text] for text in shown))

    def _new_round(self) -> RatingItem | None:
        used: dict[str, int] = defaultdict(int)
        for segment, _ in self._rounds:
            used[segment] += 1
        levels = range(len(self.plan.outputs)) if self.plan.stops else range(1)
        for level in levels:
            for segment in self._order:
                if used[segment] == level and (item := self._round_on(segment)) is not None:
                    return item
        return None

    def _round_on(self, segment: str) -> RatingItem | None:
        choice = self._choose(segment)
        free = [of for of in choice.asked if (segment, of) not in self._rounds and (segment, of) not in self._busy]
        if self.plan.kind != "pair":
            text = self._text(segment, choice.system)
            return self._item(choice, [text], everyone_counts=True) if choice.system in free else None
        return self._pair(choice, free)

    def _pair(self, choice: Choice, free: Sequence[str]) -> RatingItem | None:
        """A system that the policy asks about, and another one at random.

        The other one counts too only if the policy asks about all: else its opponents would not be a fair sample.
        """
        counts = self._rounds_by_system
        order = self._blind(free, choice.segment)
        systems = sorted(order, key=counts.__getitem__) if self.state.asks_several else order
        for system in systems:
            own = self._text(choice.segment, system)
            others = [of for of in self.plan.outputs if self._text(choice.segment, of) != own]
            if others:
                other = self._random(f"pair/{choice.segment}/{system}").choice(others)
                texts = [own, self._text(choice.segment, other)]
                everyone = len(choice.asked) == len(self.plan.outputs)
                return self._item(replace(choice, system=system), texts, everyone)
        return None

    # Attention checks

    def _attention_check(self) -> RatingItem | None:
        """Now and then a damaged copy of a translation that this rater found good."""
        chance = self._random(f"check/{self.rater}/{len(self._mine)}")
        if chance.random() >= self.plan.attention_checks:
            return None
        used = {turn.item.segment for turn in self._mine if turn.item.damaged is not None}
        good = [
            (turn, at)
            for turn in self._mine
            if turn.item.damaged is None and turn.item.segment not in used
            for at, value in enumerate(turn.values or ())
            if value >= 0.5 and damaged(turn.item.texts[at], str(self.plan.seed)) is not None
        ]
        return self._check_of(*chance.choice(good)) if good else None

    def _check_of(self, turn: RatingTurn, at: int) -> RatingItem:
        item, text = turn.item, turn.item.texts[at]
        copy = damaged(text, str(self.plan.seed)) or ""
        alone = self.plan.kind != "pair" and not self.plan.side_by_side
        shown = [copy] if alone else self._blind([copy, text], f"check/{item.segment}/{self.rater}")
        own = turn.values[at] if alone and turn.values else None
        translations = tuple(ShownTranslation(one) for one in shown)
        return RatingItem(
            item.segment, item.source, translations, item.reference, damaged=shown.index(copy), own_value=own
        )

    # What was shown so far

    @cached_property
    def _full(self) -> set[Cell]:
        """The cells that enough raters have rated, or are about to rate."""
        raters: dict[Cell, set[str]] = defaultdict(set)
        for turn in self.state.counted:
            if turn.values is not None or turn.waiting:
                for cell in turn.item.cells:
                    raters[cell].add(turn.rater)
        return {cell for cell, names in raters.items() if len(names) >= self.plan.overlap} | self._busy

    @cached_property
    def _seen(self) -> set[Cell]:
        """The cells that this rater was shown."""
        return {cell for turn in self._mine for cell in turn.item.cells}

    @cached_property
    def _rounds(self) -> dict[tuple[str, str], RatingTurn]:
        """The first turn of every round, by segment and chosen system."""
        found: dict[tuple[str, str], RatingTurn] = {}
        for turn in self.state.counted:
            if turn.item.choice is not None:
                found.setdefault((turn.item.segment, turn.item.choice.system), turn)
        return found

    @cached_property
    def _raters_by_round(self) -> dict[tuple[str, str], set[str]]:
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        for turn in self.state.counted:
            if turn.item.choice is not None and (turn.values is not None or turn.waiting):
                found[turn.item.segment, turn.item.choice.system].add(turn.rater)
        return found

    @cached_property
    def _rounds_by_system(self) -> dict[str, int]:
        counts = dict.fromkeys(self.plan.outputs, 0)
        for turn in self._rounds.values():
            for system in turn.item.choice.asked if turn.item.choice else ():
                counts[system] += 1
        return counts

    @cached_property
    def _seen_keys(self) -> set[tuple[str, str]]:
        choices = [turn.item.choice for turn in self._mine if turn.item.choice is not None]
        return {(choice.segment, choice.system) for choice in choices}

    # Parts

    def _item(self, choice: Choice, texts: Sequence[str], everyone_counts: bool) -> RatingItem:
        at = int(choice.segment) - 1
        shown = self._blind(texts, f"{choice.segment}/{self.rater}") if len(texts) > 1 else texts
        translations = tuple(ShownTranslation(text, self._systems_of(at, text)) for text in shown)
        counted = translations if everyone_counts else [one for one in translations if choice.system in one.systems]
        asked = tuple(of for one in counted for of in one.systems)
        reference = self.plan.references[at] if self.plan.references else ""
        return RatingItem(
            choice.segment, self.plan.sources[at], translations, reference, replace(choice, asked=asked, weights={})
        )

    def _choose(self, segment: str) -> Choice:
        chance = self._random(f"{len(self._rounds)}/{segment}")
        return self.state.policy.choose(self.plan.segment(int(segment) - 1), chance)

    def _text(self, segment: str, system: str) -> str:
        return self.plan.outputs[system][int(segment) - 1]

    def _systems_of(self, at: int, text: str) -> tuple[str, ...]:
        return tuple(name for name, lines in self.plan.outputs.items() if lines[at] == text)

    @cached_property
    def _order(self) -> list[str]:
        """The ids of the segments in the order of rating."""
        order = np.random.default_rng(self.plan.seed).permutation(len(self.plan.sources))
        return [str(index + 1) for index in order.tolist()]

    def _blind(self, names: Sequence[str], segment: str) -> list[str]:
        """Systems or texts in a pseudo-random order, so that the order does not identify them."""
        key = f"{self.plan.seed}/{segment}/"
        return sorted(names, key=lambda name: hashlib.sha256((key + name).encode()).digest())

    def _random(self, what: str) -> Random:
        return Random(f"{self.plan.seed}/{what}")
